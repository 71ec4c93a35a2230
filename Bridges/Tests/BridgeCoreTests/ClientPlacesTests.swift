import Testing

@testable import BridgeCore

@Suite("Which connection gives way to one more")
struct ClientPlacesTests {
    private final class Connection {
        var isIdle = true
        var hasEnded = false
    }

    private typealias Places = ClientPlaces<Int, String>

    private func enter(_ places: inout Places, _ process: Int, _ program: String?, _ connection: Connection) -> UInt64?
    {
        places.enter(
            .init(process: process, program: program) {
                connection.isIdle
            } end: {
                connection.hasEnded = true
            })
    }

    private func ended(_ connections: [Connection]) -> Int { connections.count { $0.hasEnded } }

    /// All places taken by eight processes of one program.
    private func crowd(_ places: inout Places) -> [Connection] {
        (0..<Places.all).map { number in
            let connection = Connection()
            #expect(enter(&places, number / Places.ofOneProcess, "crowd", connection) != nil)
            return connection
        }
    }

    @Test("BR-51: the oldest idle connection of the program that has most gives way")
    func idleGivesWay() {
        var places = Places()
        let other = Connection()
        #expect(enter(&places, 100, "other", other) != nil)
        let crowd = (1..<Places.all).map { number in
            let connection = Connection()
            #expect(enter(&places, number / Places.ofOneProcess, "crowd", connection) != nil)
            return connection
        }
        crowd[0].isIdle = false
        #expect(enter(&places, 101, "newcomer", Connection()) != nil)
        #expect(!other.hasEnded && !crowd[0].hasEnded && crowd[1].hasEnded)
        #expect(ended(crowd) == 1)
        #expect(enter(&places, 102, nil, Connection()) != nil)
        #expect(crowd[2].hasEnded && ended(crowd) == 2)
    }

    @Test("BR-51: a connection on which something is under way does not give way")
    func busyStays() {
        var places = Places()
        let crowd = crowd(&places)
        for connection in crowd { connection.isIdle = false }
        #expect(enter(&places, 100, "newcomer", Connection()) == nil)
        #expect(ended(crowd) == 0)
    }

    @Test("BR-51: where there is room, nobody gives way, and one process gets no more than its own")
    func roomIsGiven() {
        var places = Places()
        var connections: [Connection] = []
        for _ in 0..<Places.ofOneProcess {
            connections.append(Connection())
            #expect(enter(&places, 1, "program", connections.last ?? Connection()) != nil)
        }
        #expect(enter(&places, 1, "program", Connection()) == nil)
        #expect(enter(&places, 2, "program", Connection()) != nil)
        #expect(ended(connections) == 0)
        places.leave(1)
        #expect(enter(&places, 1, "program", Connection()) != nil)
    }

    @Test("BR-51: an ended connection that leaves takes nobody's place away")
    func lateLeaving() {
        var places = Places()
        let crowd = crowd(&places)
        let newcomer = Connection()
        #expect(enter(&places, 100, "newcomer", newcomer) != nil)
        places.leave(1)
        for connection in crowd + [newcomer] { connection.isIdle = false }
        #expect(enter(&places, 101, "another", Connection()) == nil)
        places.leave(2)
        #expect(enter(&places, 101, "another", Connection()) != nil)
    }
}
