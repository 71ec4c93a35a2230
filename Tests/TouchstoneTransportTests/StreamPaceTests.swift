import Foundation
import Testing
import TouchstoneCore
import TouchstonePeers

@testable import TouchstoneSocketServer
@testable import TouchstoneTransport

/// A stream over a socket is made no faster than it is read.
@Suite(.timeLimit(.minutes(10))) struct StreamPaceTests {
    private enum Pour: VarlinkMethod {
        static let name = "test.Pour.Pour"
        typealias Parameters = Empty
        struct Reply: MessageCodable {
            var number: Int
            var ballast: String
            init(number: Int, ballast: String) {
                self.number = number
                self.ballast = ballast
            }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                number = try json.value("number")
                ballast = try json.value("ballast")
            }
            func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(number, for: "number")
                try json.write(ballast, for: "ballast")
                json.endObject()
            }
        }
    }

    private enum Ask: VarlinkMethod {
        static let name = "test.Pour.Ask"
        typealias Parameters = Empty
        typealias Reply = Empty
    }

    /// Pours megabytes until nobody takes them any more.
    private final class Server {
        let made = Events<Int>()
        let ended = Events<Void>()
        let path: String
        private let directory: URL
        private let server: SocketServer

        init(_ configuration: SocketServer.Configuration = .init()) throws {
            directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "ts-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            path = directory.appendingPathComponent("socket").path
            let (made, ended) = (made, ended)
            let interface = VarlinkInterface(
                name: "test.Pour", description: Array("interface test.Pour\n".utf8),
                handlers: [
                    .deferred(Pour.self) { _, call in
                        call.connection.perform {
                            let ballast = String(repeating: "x", count: 1 << 20)
                            var number = 0
                            repeat {
                                number += 1
                                made.append(number)
                            } while number < 1000 && call.continueWhenTaken(.init(number: number, ballast: ballast))
                            call.reply(.init(number: 0, ballast: ""))
                            ended.append(())
                        }
                    },
                    .method(Ask.self) { _, _ in Empty() },
                ])
            server = try SocketServer(
                path: path, router: VarlinkRouter(info: .init(product: "pour", version: "1"), interfaces: [interface]),
                identities: PeerIdentities(
                    ownerID: getuid(), manifests: AppManifests([]) { _ in }, report: { _ in }),
                configuration: configuration)
        }

        deinit {
            server.stop()
            try? FileManager.default.removeItem(at: directory)
        }
    }

    @Test("What a client does not read is not made, and others are answered; when it goes, the stream ends")
    func slowReader() throws {
        let server = try Server()
        let slow = try RawClient(path: server.path)
        slow.send(Array(#"{"method":"test.Pour.Pour","more":true}"#.utf8) + [0])
        _ = try server.made.wait()
        let other = try SocketEndpoint(path: server.path).client()
        // Time enough to make many, if it were not for the pace.
        for _ in 0..<500 { _ = try other.call(Ask.self, Empty()) }
        #expect(try server.made.wait().count <= 2)
        slow.close()
        _ = try server.ended.wait()
        #expect(try server.made.wait().count <= 3)
    }

    @Test("A client that takes nothing for too long loses its stream") func deadline() throws {
        var configuration = SocketServer.Configuration()
        configuration.unreadPartTimeout = 0.05
        let server = try Server(configuration)
        let slow = try RawClient(path: server.path)
        slow.send(Array(#"{"method":"test.Pour.Pour","more":true}"#.utf8) + [0])
        _ = try server.ended.wait()
        #expect(try server.made.wait().count <= 3)
        _ = try SocketEndpoint(path: server.path).client().call(Ask.self, Empty())
    }

    @Test("One process holds only so many waiting streams, and the others' calls have their threads")
    func streamsOfOneProcess() throws {
        var configuration = SocketServer.Configuration()
        configuration.maximumWaitingStreamsPerProcess = 2
        let server = try Server(configuration)
        let slow = try (0..<3).map { _ in try RawClient(path: server.path) }
        for client in slow { client.send(Array(#"{"method":"test.Pour.Pour","more":true}"#.utf8) + [0]) }
        // The third is turned away, by the end of its connection.
        _ = try server.ended.wait()
        _ = try SocketEndpoint(path: server.path).client().call(Ask.self, Empty())
        for client in slow { client.close() }
        #expect(try server.ended.wait(for: 3).count == 3)
    }

    @Test("A client that reads gets all of it, in order") func reader() throws {
        let server = try Server()
        let client = try SocketEndpoint(path: server.path).client()
        var numbers: [Int] = []
        try client.stream(Pour.self, Empty()) { reply in
            numbers.append(reply.number)
            return numbers.count < 20
        }
        #expect(numbers == Array(1...20))
        #expect(try server.made.wait().count <= 23)
        client.close()
        _ = try server.ended.wait()
    }
}
