import Foundation
import Hummingbird
import NIOCore
import NIOPosix
import SignInConnections
import Testing

@testable import TouchstoneSignInServer

/// A server on a port of this machine, whose clients are slow: real sockets, and a deadline short enough to wait for.
@Suite struct RequestDeadlineTests {
    static let deadline = TimeAmount.seconds(5)

    /// What came back until the server closed the connection, and after how long.
    static func talk(
        pieces: [String], every pause: Duration
    ) async throws -> (text: String, time: Duration) {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let router = Router()
        router.get("/") { _, _ in "hello" }
        let application = Application(
            router: router,
            server: .http1(configuration: .init(additionalChannelHandlers: [RequestDeadline(deadline)])),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            let number = await ports.first { _ in true } ?? 0
            let answer = try await client(number, pieces, pause)
            group.cancelAll()
            return answer
        }
    }

    private static func client(
        _ port: Int, _ pieces: [String], _ pause: Duration
    ) async throws -> (text: String, time: Duration) {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let start = ContinuousClock.now
        var text = ""
        try await channel.executeThenClose { input, output in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for piece in pieces {
                        // The server may have closed it by now, which is what the test waits for.
                        guard (try? await output.write(ByteBuffer(string: piece))) != nil else { return }
                        try? await Task.sleep(for: pause)
                    }
                }
                do {
                    for try await buffer in input { text += String(buffer: buffer) }
                } catch let error as IOError where error.errnoCode == ECONNRESET {
                    // As good an end: what it had not read came too late.
                }
                group.cancelAll()
            }
        }
        return (text, ContinuousClock.now - start)
    }

    @Test(.timeLimit(.minutes(10))) func requestInTimeIsAnsweredAndTheConnectionThenClosed() async throws {
        let (text, time) = try await Self.talk(pieces: ["GET / HTTP/1.1\r\nHost: x\r\n\r\n"], every: .zero)
        #expect(text.contains("hello"))
        #expect(time >= .milliseconds(4900))
    }

    /// A byte at a time, each sooner than any idle time-out: it never ends by itself.
    @Test(.timeLimit(.minutes(10))) func headerThatDripsIsCutOff() async throws {
        let bytes = ["GET / HTTP/1.1\r\nHost: x\r\nX: "] + [String](repeating: "y", count: 10_000)
        let (text, _) = try await Self.talk(pieces: bytes, every: .milliseconds(20))
        #expect(!text.contains("hello"))
    }

    @Test(.timeLimit(.minutes(10))) func bodyThatDripsIsCutOff() async throws {
        let bytes =
            ["GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n"] + [String](repeating: "y", count: 10_000)
        let (_, time) = try await Self.talk(pieces: bytes, every: .milliseconds(20))
        #expect(time < .seconds(120))
    }

    @Test(.timeLimit(.minutes(10))) func connectionThatSaysNothingIsClosed() async throws {
        let (text, time) = try await Self.talk(pieces: [], every: .zero)
        #expect(text.isEmpty && time < .seconds(120))
    }
}
