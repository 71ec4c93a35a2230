import Foundation
import SSHAgentProtocol
import Testing

@Suite struct UserCertificateTests {
    private let point = [4] + Array(repeating: UInt8(9), count: 64)

    private func blob(
        type: UInt8 = 1, curve: String = "nistp256", after: UInt64 = 100, before: UInt64 = 200, end: [UInt8] = []
    ) -> [UInt8] {
        func long(_ value: UInt64) -> [UInt8] { (0..<8).reversed().map { UInt8(value >> (8 * $0) & 255) } }
        let head = string(UserCertificate.algorithm) + string("nonce") + string(curve) + string(point)
        let names = long(7) + [0, 0, 0, type] + string("ann") + string(string("root"))
        return head + names + long(after) + long(before) + string("") + string("") + string("") + string("ca")
            + string("signature") + end
    }

    @Test("SA-5: a certificate names its key, and when it is good") func good() throws {
        let certificate = try #require(UserCertificate(blob: blob()))
        #expect(certificate.key == P256Key.blob(point: point))
        #expect(!certificate.isValid(at: 99) && certificate.isValid(at: 100))
        #expect(certificate.isValid(at: 199) && !certificate.isValid(at: 200))
        #expect(try #require(UserCertificate(blob: blob(after: 0, before: .max))).isValid(at: 1 << 40))
        let line = "\(UserCertificate.algorithm) \(Data(blob()).base64EncodedString()) a comment\n"
        #expect(UserCertificate(file: Array(line.utf8)) == certificate)
    }

    @Test("SA-5: what is almost a certificate of a user is refused") func almost() {
        for bytes in [
            blob(type: 2), blob(curve: "nistp384"), blob(end: [0]), Array(blob().dropLast()), [], userKey,
        ] {
            #expect(UserCertificate(blob: bytes) == nil)
        }
        for text in ["", "nonsense", UserCertificate.algorithm, "\(UserCertificate.algorithm) %%%"] {
            #expect(UserCertificate(file: Array(text.utf8)) == nil)
        }
    }

    @Test("SA-13: a login with a certificate names it, and its algorithm") func logins() throws {
        let certificate = blob()
        let key = try #require(P256Key.blob(point: point))
        let data = login([1], key: certificate, algorithm: UserCertificate.algorithm)
        #expect(SignaturePurpose(data: data, key: key) == .login(sessionID: [1], user: "git", hostKey: nil))
        // Of another key, and with the name of another algorithm.
        #expect(SignaturePurpose(data: data, key: userKey) == .unknown)
        #expect(SignaturePurpose(data: login([1], key: certificate), key: key) == .unknown)
        #expect(
            SignaturePurpose(data: login([1], key: key, algorithm: UserCertificate.algorithm), key: key) == .unknown)
    }
}
