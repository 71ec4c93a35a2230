import CTSS
import CTouchstoneTCTI
import Foundation
import Glibc
import Testing

/// What the way to a TPM lets through: ESYS reads behind its buffer if an encrypted parameter says that it is longer than its answer.
@Suite struct AnswerLengthTests {
    /// An answer in a session, of `bytes` of parameters; the first says that it has `told`.
    private static func answer(hasHandle: Bool, bytes: Int, told: Int) -> [UInt8] {
        func number(_ value: Int, _ size: Int) -> [UInt8] {
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let body =
            (hasHandle ? number(0x8000_0001, 4) : []) + number(bytes, 4) + number(told, 2)
            + [UInt8](repeating: 5, count: bytes - 2) + [UInt8](repeating: 6, count: 69)
        return number(0x8002, 2) + number(10 + body.count, 4) + number(0, 4) + body
    }

    /// What ESYS is told of an answer to a command.
    private static func heard(_ answer: [UInt8], to command: UInt32) throws -> UInt32 {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("tpm-\(UUID().uuidString.prefix(8))")
            .path
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            close(listener)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && listen(listener, 1) == 0)
        let tcti = try #require(touchstone_tcti_open(path, true, 60_000))
        defer { touchstone_tcti_close(tcti) }
        let peer = accept(listener, nil, nil)
        defer { close(peer) }
        try #require(send(peer, answer, answer.count, 0) == answer.count)
        let functions = UnsafeMutableRawPointer(tcti).assumingMemoryBound(to: TSS2_TCTI_CONTEXT_COMMON_V1.self).pointee
        let asked: [UInt8] = [0x80, 2, 0, 0, 0, 10] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: command >> $0) }
        try #require(functions.transmit(tcti, asked.count, asked) == 0)
        var (bytes, count) = ([UInt8](repeating: 0, count: 4096), 4096)
        return functions.receive(tcti, &count, &bytes, -1)
    }

    private static let malformed: UInt32 = 10 << 16 | 17

    @Test(
        "a parameter that is longer than its answer is malformed, and one that fills it is not",
        arguments: [
            (0x131, true), (0x153, false), (0x154, false), (0x157, true), (0x14E, false), (0x15E, false),
        ] as [(UInt32, Bool)])
    func length(command: UInt32, hasHandle: Bool) throws {
        for told in [0, 1, 34] {
            #expect(try Self.heard(Self.answer(hasHandle: hasHandle, bytes: 36, told: told), to: command) == 0)
        }
        for told in [35, 36, 0x4100, 0xFFFF] {
            #expect(
                try Self.heard(Self.answer(hasHandle: hasHandle, bytes: 36, told: told), to: command) == Self.malformed)
        }
        // Cut off before it, or with a length of all parameters that is too large.
        var cut = Array(Self.answer(hasHandle: hasHandle, bytes: 36, told: 34).prefix(hasHandle ? 19 : 15))
        cut[5] = UInt8(cut.count)
        #expect(try Self.heard(cut, to: command) == Self.malformed)
        var long = Self.answer(hasHandle: hasHandle, bytes: 36, told: 34)
        long[hasHandle ? 16 : 12] = 1
        #expect(try Self.heard(long, to: command) == Self.malformed)
    }

    @Test("answers that begin with something else, or with no session, are not looked at")
    func others() throws {
        #expect(try Self.heard(Self.answer(hasHandle: false, bytes: 36, told: 0xFFFF), to: 0x15D) == 0)
        #expect(try Self.heard([0x80, 1, 0, 0, 0, 10, 0, 0, 1, 0x44], to: 0x15E) == 0)
    }
}
