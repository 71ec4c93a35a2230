import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
import Testing
import TouchstoneCore

@testable import TouchstonePeers

/// What one owner's programs can hold up in touchstone-peers: their owner's questions, so many, and nobody else's.
@Suite struct PeerTurnsTests {
    private static func executable(_ inode: UInt64) -> PeerExecutable {
        PeerExecutable(touchstone_executable(device: 1, inode: inode, birth_seconds: 0, birth_nanoseconds: 0))
    }

    private static func turns(wait: Double = longestWaitSeconds) -> PeerTurns {
        var limits = PeerTurns.Limits()
        (limits.perOwner, limits.wait) = (3, wait)
        return PeerTurns(manifests: AppManifests([], report: { _ in }), limits: limits, report: { _ in })
    }

    /// Begins a question that waits until `end` is signalled; returns when it has begun.
    private static func begin(_ turns: PeerTurns, _ owner: UInt32, _ inode: UInt64, until end: DispatchSemaphore) {
        let hasBegun = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = turns.run(ownerID: owner, executable(inode)) { _ in
                hasBegun.signal()
                end.wait()
            }
        }
        hasBegun.wait()
    }

    @Test(
        "An owner whose programs all hang is answered no more; another one is, at once, and the first when they go on")
    func perOwner() throws {
        let (turns, end) = (Self.turns(), DispatchSemaphore(value: 0))
        for inode in 1...3 { Self.begin(turns, 1, UInt64(inode), until: end) }
        #expect(turns.run(ownerID: 1, Self.executable(4)) { _ in true } == nil)
        #expect(turns.run(ownerID: 2, Self.executable(1)) { _ in true } == true)
        for _ in 1...3 { end.signal() }
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while turns.run(ownerID: 1, Self.executable(4), { _ in true }) == nil, Date() < limit { usleep(1000) }
        #expect(Date() < limit)
    }

    @Test(
        "An executable that hangs has one question looked at: others about it wait so long, others of its owner do not")
    func perExecutable() throws {
        let (turns, end) = (Self.turns(wait: 0.05), DispatchSemaphore(value: 0))
        Self.begin(turns, 1, 1, until: end)
        // Each gives its place back: none of them is the one too many.
        for _ in 1...10 { #expect(turns.run(ownerID: 1, Self.executable(1)) { _ in true } == nil) }
        #expect(turns.run(ownerID: 1, Self.executable(2)) { _ in true } == true)
        end.signal()
    }

    @Test("Who waits for an executable is answered when its turn comes")
    func turnsCome() throws {
        let (turns, end) = (Self.turns(), DispatchSemaphore(value: 0))
        Self.begin(turns, 1, 1, until: end)
        let answers = Events<Bool?>()
        for _ in 1...2 {
            Thread.detachNewThread { answers.append(turns.run(ownerID: 1, Self.executable(1)) { _ in true }) }
        }
        end.signal()
        #expect(try answers.wait(for: 2).count { $0 == true } == 2)
    }

    @Test("A process has so many connections, and the one more is closed")
    func connections() throws {
        var limits = PeerTurns.Limits()
        limits.connectionsPerProcess = 2
        let turns = PeerTurns(manifests: AppManifests([], report: { _ in }), limits: limits, report: { _ in })
        func connect(_ process: Int32) throws -> FileHandle {
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
            turns.serve(ends[1], processID: process)
            return FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        }
        func isOpen(_ end: FileHandle) -> Bool {
            var entry = pollfd(fd: end.fileDescriptor, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, 0) == 0
        }
        let (first, second) = (try connect(1), try connect(1))
        #expect(isOpen(first) && isOpen(second))
        #expect(try !isOpen(connect(1)))
        #expect(try isOpen(connect(2)))
        try first.close()
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while try !isOpen(connect(1)), Date() < limit { usleep(1000) }
        #expect(Date() < limit)
    }
}
