import Crypto
import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces

@testable import TouchstoneSystem
@testable import TouchstoneTransport

/// What programs outside this package have of a device: calls, streams and sealed passcodes, over a socket.
@Suite(.timeLimit(.minutes(20))) struct DeviceTests {
    /// A device whose socket is the probe's.
    private final class Probed {
        let server: ProbeServer
        let device: Device
        let paths: DevicePaths
        private let directory: URL

        init() throws {
            server = try ProbeServer()
            directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "ts-\(UUID().uuidString.prefix(8))")
            paths = DevicePaths(
                name: "test", environment: ["XDG_RUNTIME_DIR": directory.path, "XDG_STATE_HOME": directory.path])
            for directory in [paths.runtime, paths.enclave] {
                try FileManager.default.createDirectory(
                    at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            try FileManager.default.createSymbolicLink(atPath: paths.socket.path, withDestinationPath: server.path)
            device = Device(paths)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }
    }

    private func failure(_ body: () throws(DeviceError) -> some Any) -> DeviceError? {
        do throws(DeviceError) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }

    private struct Echoed: Decodable { var text: String }
    private struct Counted: Decodable { var number: Int }

    private func decode<T: Decodable>(_ type: T.Type, _ json: Data) throws -> T {
        try JSONDecoder().decode(type, from: json)
    }

    @Test("only what can be a device's name is one") func names() throws {
        #expect(try Device(named: "my-device_1.0").name == "my-device_1.0")
        for name in ["", ".hidden", "../other", "a/b", "a b", String(repeating: "a", count: 65)] {
            #expect(failure { () throws(DeviceError) in try Device(named: name) } == .invalidName)
        }
    }

    @Test("a call's parameters and reply go through as they are") func calls() throws {
        let probed = try Probed()
        let reply = try probed.device.call(
            "test.Probe.Echo", Data(#"{"text": "a\u0000\"b\n", "number": 9007199254740993}"#.utf8))
        #expect(try decode(Echoed.self, reply).text == "a\0\"b\n")
        #expect(String(decoding: reply, as: UTF8.self).contains("9007199254740993"))
    }

    @Test("the peer's error comes with its name and parameters") func errors() throws {
        let probed = try Probed()
        let error = failure { () throws(DeviceError) in try probed.device.call("test.Probe.Nothing") }
        guard case .answered(let name, let parameters)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(name == "org.varlink.service.MethodNotFound")
        #expect(try decode([String: String].self, parameters) == ["method": "test.Probe.Nothing"])
    }

    @Test(
        "what is no JSON object is not sent, nor what would say more than parameters",
        arguments: ["", "[]", "1", "{", "null", #"{"a":1,"a":2}"#, #"{},"more":true"#, #"{}}"#, "{} {}"])
    func malformedRequests(parameters: String) throws {
        let probed = try Probed()
        let error = failure { () throws(DeviceError) in try probed.device.call("test.Probe.Echo", Data(parameters.utf8))
        }
        #expect(error == .malformedRequest)
    }

    @Test("more than a service reads is not sent") func tooLargeRequests() throws {
        let probed = try Probed()
        let text = String(repeating: "x", count: VarlinkLimits.maximumRequestBytes)
        let error = failure { () throws(DeviceError) in
            try probed.device.call("test.Probe.Echo", Data(#"{"text":"\#(text)"}"#.utf8))
        }
        #expect(error == .malformedRequest)
    }

    @Test("a record, or a value, of up to 16 MiB is sent") func largeRequests() {
        let methods: [any VarlinkMethod.Type] = [
            KeychainInterface.Add.self, KeychainInterface.Update.self, SyncInterface.AddObjects.self,
        ]
        for method in methods { #expect(method.takesLargeRequests && RawMethods.large.contains(method.name)) }
        #expect(RawMethods.large.count == methods.count)
    }

    @Test("ND-7: calls share a connection, also after an error and a request that is not sent") func connections()
        throws
    {
        let probed = try Probed()
        let session = try probed.device.connect()
        for text in ["one", "two"] {
            let reply = try session.call("test.Probe.Echo", Data(#"{"text":"\#(text)"}"#.utf8))
            #expect(try decode(Echoed.self, reply).text == text)
            #expect(failure { () throws(DeviceError) in try session.call("test.Probe.Nothing") } != .closed)
            let malformed = failure { () throws(DeviceError) in try session.call("test.Probe.Echo", Data("[]".utf8)) }
            #expect(malformed == .malformedRequest)
        }
        session.close()
        #expect(failure { () throws(DeviceError) in try session.call("test.Probe.Echo") } == .closed)
    }

    @Test("ND-7: a stream takes its turn among the calls of its connection, which goes on after it")
    func streamBetweenCalls()
        throws
    {
        let probed = try Probed()
        let connection = try probed.device.connect()
        for last in 1...3 {
            var numbers: [Int] = []
            try connection.stream("test.Probe.Count", Data(#"{"to": \#(last)}"#.utf8)) { reply in
                numbers.append((try? decode(Counted.self, reply).number) ?? 0)
                return true
            }
            #expect(numbers == Array(1...last))
            let reply = try connection.call("test.Probe.Echo", Data(#"{"text":"after"}"#.utf8))
            #expect(try decode(Echoed.self, reply).text == "after")
        }
    }

    @Test("ND-7: who wants no more answers has no connection any more, so that none is taken for another call's")
    func streamCutShort() throws {
        let probed = try Probed()
        let connection = try probed.device.connect()
        var count = 0
        try connection.stream("test.Probe.Count", Data(#"{"to": 3}"#.utf8)) { _ in
            count += 1
            return false
        }
        #expect(count == 1)
        #expect(failure { () throws(DeviceError) in try connection.call("test.Probe.Echo") } == .closed)
    }

    @Test("ND-7: closing a connection ends a call that waits, and tells the other end, which ends its contexts")
    func closingConnection() throws {
        let probed = try Probed()
        let connection = try probed.device.connect()
        let closed = DispatchSemaphore(value: 0)
        let calls = probed.server.calls
        Thread.detachNewThread {
            guard let call = try? calls.wait().first else { return }
            call.connection.onClose { closed.signal() }
            connection.close()
        }
        #expect(failure { () throws(DeviceError) in try connection.call("test.Probe.Wait") } == .closed)
        #expect(closed.wait(timeout: .now() + longestWaitSeconds) == .success)
    }

    @Test("ND-7: a secret stays what it was written as, says nothing of itself, and equals its like alone")
    func secrets()
        throws
    {
        let secret = SecretBuffer(Array("hunter2".utf8))
        let written = unsafe SecretBuffer(count: 7) { unsafe $0.copyBytes(from: Array("hunter2".utf8)) }
        #expect(secret.count == 7)
        #expect(unsafe secret.withUnsafeBytes { unsafe Array($0) } == Array("hunter2".utf8))
        #expect(secret.equals(written))
        for other in ["hunter3", "hunter", "", "hunter22"] {
            #expect(!secret.equals(SecretBuffer(Array(other.utf8))))
        }
        #expect("\(secret)" == "secret of 7 bytes")
        #expect(SecretBuffer([]).count == 0)
    }

    @Test("a stream gives each reply, and then nothing") func streams() throws {
        let probed = try Probed()
        let stream = try probed.device.stream("test.Probe.Count", Data(#"{"to": 3}"#.utf8))
        var numbers: [Int] = []
        while let reply = try stream.next() { numbers.append(try decode(Counted.self, reply).number) }
        #expect(numbers == [1, 2, 3])
        #expect(try stream.next() == nil)
    }

    @Test("closing ends a read that waits in another thread") func closing() throws {
        let probed = try Probed()
        let stream = try probed.device.stream("test.Probe.Wait")
        _ = try probed.server.calls.wait()
        Thread.detachNewThread { stream.close() }
        #expect(failure { () throws(DeviceError) in try stream.next() } == .closed)
    }

    @Test("where nothing listens nothing was called") func notBooted() throws {
        let paths = DevicePaths(name: "test", environment: ["XDG_RUNTIME_DIR": "/nonexistent"])
        #expect(failure { () throws(DeviceError) in try Device(paths).call("test.Probe.Echo") } == .notBooted)
    }

    @Test(
        "a malformed reply is an error, whoever sends it",
        arguments: [
            "", "null", "[]", #"{"parameters":[]}"#, #"{"error":1}"#, #"{"continues":"yes"}"#, "{\"a\":\"\u{1}\"}",
        ])
    func malformedReplies(reply: String) throws {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (near, far) = (SocketChannel(descriptor: ends[0]), SocketChannel(descriptor: ends[1]))
        try far.send(Data(reply.utf8))
        #expect(throws: TransportError.malformed) { try near.receiveJSON() }
        // And one that is.
        try far.send(Data(#"{"continues":true,"parameters":{"a": 1}}"#.utf8))
        let good = try near.receiveJSON()
        #expect(String(decoding: good.parameters, as: UTF8.self) == #"{"a": 1}"#)
        #expect(good.continues)
    }

    private enum Ping: VarlinkMethod {
        static let name = "test.Ping"
        typealias Parameters = Empty
        typealias Reply = Empty
    }

    @Test("EX-5: what is done before an answer is read is done with no byte of it in the process")
    func beforeReading() throws {
        struct Refused: Error {}
        var ends: [Int32] = [-1, -1]
        #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (near, far) = (ends[0], SocketChannel(descriptor: ends[1]))
        let client = VarlinkClient(SocketChannel(descriptor: near))
        let answer = Data(#"{"parameters":{}}"#.utf8)
        Thread.detachNewThread {
            for _ in 0..<2 where (try? far.receive()) != nil { try? far.send(answer) }
        }
        func waiting() -> Int {
            var room = [UInt8](repeating: 0, count: 64)
            return unsafe recv(near, &room, room.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        }
        var before = 0
        _ = try client.call(Ping.self, Empty()) { before = waiting() }
        #expect(before == answer.count + 1)
        #expect(waiting() < 0)
        // The twin: who refuses has read nothing.
        #expect(throws: Refused.self) { _ = try client.call(Ping.self, Empty()) { throw Refused() } }
        #expect(waiting() == answer.count + 1)
    }

    @Test("DEC-005: what is sealed opens with the enclave's key, for its purpose and nonce alone") func seals() throws {
        let probed = try Probed()
        let key = Curve25519.KeyAgreement.PrivateKey()
        try key.publicKey.rawRepresentation.write(to: probed.paths.passcodeKey)
        let nonce = Data([1, 2, 3])
        let purposes: [(PasscodePurpose, String)] = [
            (.unlock, "unlock"), (.change, "change"), (.prompt(app: "org.example"), "prompt org.example"),
            (.credential(context: "c"), "credential c"), (.eraseData(true), "erase data on"),
            (.eraseData(false), "erase data off"),
        ]
        for (purpose, words) in purposes {
            let sealed = try MessageDecoder.decode(
                SealedPasscode.self, from: probed.device.seal([passcode("1234")], for: purpose, nonce: nonce))
            func open(_ context: Data) throws -> Data {
                var recipient = try HPKE.Recipient(
                    privateKey: key, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info,
                    encapsulatedKey: sealed.encapsulatedKey)
                return try recipient.open(sealed.ciphertext, authenticating: context)
            }
            #expect(try open(nonce + Data(words.utf8)).starts(with: [4, 0] + Array("1234".utf8)))
            #expect(throws: (any Error).self) { try open(nonce + Data("other".utf8)) }
            #expect(throws: (any Error).self) { try open(Data(words.utf8)) }
        }
    }

    @Test("DEC-005: without a key that can be trusted nothing is sealed") func untrustedKeys() throws {
        let probed = try Probed()
        let file = probed.paths.passcodeKey
        func seal() -> DeviceError? {
            failure { () throws(DeviceError) in try probed.device.seal([passcode("1234")], for: .unlock, nonce: Data())
            }
        }
        #expect(seal() == .passcodeKey(.unreadable(ENOENT)))
        try Data(count: 31).write(to: file)
        #expect(seal() == .passcodeKey(.malformed))
        try Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation.write(to: file)
        #expect(seal() == nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file.path)
        #expect(seal() == .passcodeKey(.writableByOthers))
    }

    @Test("a passcode of 256 bytes is sealed, a longer one is not") func tooLong() throws {
        let probed = try Probed()
        try Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation.write(to: probed.paths.passcodeKey)
        func seal(_ length: Int) -> DeviceError? {
            failure { () throws(DeviceError) in
                try probed.device.seal([passcode(String(repeating: "1", count: length))], for: .unlock, nonce: Data())
            }
        }
        #expect(seal(256) == nil)
        #expect(seal(257) == .passcodeTooLong)
    }

    private func passcode(_ text: String) -> PasscodeBuffer {
        let buffer = PasscodeBuffer()
        for byte in text.utf8 { buffer.append(byte) }
        return buffer
    }
}
