import Crypto
import Foundation
import SwiftASN1
import Testing
import TouchstoneCertificates

@testable import TouchstoneSecurity

/// A PKCS#12 file in parts that can be changed, with a code that is right for what they have become.
struct MadeFile {
    var contents: [UInt8]
    var iterations: [UInt8] = [1]
    /// In BER of indefinite length, with the contents cut in two.
    var isInPieces = false
    /// Whether the passphrase ends with a zero, as it should.
    var hasTerminator = true
    private let passphrase: String
    private let salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    init(_ file: Data, passphrase: String) throws {
        let fields = try #require(try DER.parse(Array(file)).children(.sequence))
        let content = try #require(fields[1].children(.sequence)?[1].children(.context(0))?[0])
        contents = try #require(content.octets(.octetString))
        self.passphrase = passphrase
    }

    func file() -> Data {
        let password = passphrase.utf16.flatMap { unit -> [UInt8] in [UInt8(unit >> 8), UInt8(unit & 0xff)] }
        let key = PKCS12KeyDerivation<SHA256>(
            passphrase: hasTerminator ? password + [0, 0] : password, salt: salt, iterations: 1
        ).derive(
            .authentication, count: 32)
        let code = Array(HMAC<SHA256>.authenticationCode(for: contents, using: SymmetricKey(data: key)))
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
        let codeInfo = sequence(
            sequence(primitive(.objectIdentifier, sha256) + primitive(.null, [])) + primitive(.octetString, code))
        let authentication = sequence(codeInfo + primitive(.octetString, salt) + primitive(.integer, iterations))
        let version = primitive(.integer, [3])
        let type = primitive(.objectIdentifier, data)
        guard isInPieces else {
            let content = constructed(.context(0), primitive(.octetString, contents))
            return Data(sequence(version + sequence(type + content) + authentication))
        }
        let half = contents.count / 2
        let pieces = [contents.prefix(half), contents.suffix(contents.count - half)].flatMap {
            primitive(.octetString, Array($0))
        }
        let content = indefinite(0xa0, indefinite(0x24, pieces))
        return Data(indefinite(0x30, version + indefinite(0x30, type + content) + authentication))
    }

    private func indefinite(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] { [tag, 0x80] + bytes + [0, 0] }
}
