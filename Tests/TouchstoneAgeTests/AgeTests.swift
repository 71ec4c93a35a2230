import Foundation
import Testing
import TouchstoneMemory

@testable import TouchstoneAge

/// The age v1 format of https://age-encryption.org/v1, against files of the `age` program and against damage.
@Suite(.timeLimit(.minutes(10))) struct AgeTests {
    private static let passphrase = "four words make a passphrase"
    private static let two = Data((0..<65537).map { UInt8(($0 * 7) % 251) })

    /// Made with `age --passphrase` 1.1.1, and the passphrase above.
    private func fixture(_ name: String) throws -> Data {
        let directory = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures")
        return try Data(contentsOf: directory.appendingPathComponent("\(name).age"))
    }

    private func decrypt(_ file: Data, passphrase: String = passphrase, pieces: Int = .max) throws -> Data {
        var rest = file[...]
        var reader = try AgeReader(passphrase: SecretBytes(passphrase.utf8)) { count in
            defer { rest = rest.dropFirst(min(count, pieces)) }
            return Data(rest.prefix(min(count, pieces)))
        }
        var plain = Data()
        while let part = try reader.next() { plain += part }
        #expect(try reader.next() == nil)
        return plain
    }

    /// As `AgeWriter` does, but for a work factor that takes no time.
    private func encrypt(_ parts: [Data]) throws -> Data {
        var file = Data()
        var writer = try AgeWriter(passphrase: SecretBytes(Self.passphrase.utf8), workFactor: 8) { file += $0 }
        for part in parts { try writer.write(part) }
        try writer.finish()
        return file
    }

    private func error(_ file: Data, passphrase: String = passphrase) -> AgeError? {
        do {
            _ = try decrypt(file, passphrase: passphrase)
            return nil
        } catch {
            return error as? AgeError
        }
    }

    @Test("A file of the age program opens, an empty one and one of two chunks, however it comes in")
    func foreignFiles() throws {
        #expect(try decrypt(fixture("empty")) == Data())
        #expect(try decrypt(fixture("two"), pieces: 1000) == Self.two)
    }

    @Test("What is written is read, at every length around a chunk", arguments: [0, 1, 65535, 65536, 65537, 200_000])
    func roundTrip(count: Int) throws {
        let plain = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = try encrypt([plain.prefix(count / 3), plain.dropFirst(count / 3)])
        #expect(try decrypt(file) == plain)
        // Header, nonce, and 16 bytes for each chunk: as any other writer of the format has it.
        let header = try #require(file.range(of: Data("\n--- ".utf8))).upperBound + 44
        #expect(file.count == header + 16 + count + 16 * max(1, (count + 65535) / 65536))
    }

    @Test("The header names the fixed work factor, and no two files are alike") func header() throws {
        var file = Data()
        var writer = try AgeWriter(passphrase: SecretBytes(Self.passphrase.utf8)) { file += $0 }
        try writer.write(Data("a".utf8))
        try writer.finish()
        let lines = String(decoding: file.prefix(200), as: UTF8.self).split(separator: "\n")
        #expect(lines[0] == "age-encryption.org/v1")
        #expect(lines[1].hasPrefix("-> scrypt ") && lines[1].hasSuffix(" 18"))
        #expect(lines[3].hasPrefix("--- "))
        #expect(try encrypt([Data("a".utf8)]) != file)
    }

    @Test("A wrong passphrase is told as such") func wrongPassphrase() throws {
        #expect(error(try fixture("empty"), passphrase: "four words make a passphrasf") == .wrongPassphrase)
        #expect(error(try fixture("empty"), passphrase: "") == .wrongPassphrase)
    }

    @Test("A changed, moved or missing byte of the payload is found") func damage() throws {
        let file = try encrypt([Self.two])
        let payload = try #require(file.range(of: Data("\n--- ".utf8))).upperBound + 44 + 16
        func changed(_ index: Int) -> Data {
            var copy = file
            copy[index] ^= 1
            return copy
        }
        #expect(error(changed(payload)) == .damaged)
        #expect(error(changed(file.count - 1)) == .damaged)
        // Cut at the end of the first chunk: what is left is whole, but not the end.
        #expect(error(file.prefix(payload + 65536 + 16)) == .truncated)
        #expect(error(file.prefix(payload - 3)) == .truncated)
        #expect(error(file.prefix(file.count - 17)) == .truncated)
        #expect(error(changed(payload - 1)) == .damaged)
        #expect(error(file + Data([0])) == .damaged)
    }

    @Test("A changed header is refused") func changedHeader() throws {
        let text = Data("age-encryption.org/v1\n-> scrypt ".utf8)
        var salt = try encrypt([])
        salt[text.count] = salt[text.count] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        #expect(error(salt) == .wrongPassphrase)
        var code = try encrypt([])
        let index = try #require(code.range(of: Data("\n--- ".utf8))).upperBound
        code[index] = code[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        #expect(error(code) == .damaged)
    }

    /// Refused before any key is derived: none of these takes a second.
    @Test("What is no age file of this kind is refused by name, before anything is computed")
    func hostileHeaders() throws {
        func header(_ lines: String...) -> Data { Data((lines.joined(separator: "\n") + "\n").utf8) + Data(count: 64) }
        let version = "age-encryption.org/v1"
        let salt = "AAAAAAAAAAAAAAAAAAAAAA"
        let body = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        let end = "--- " + body
        #expect(error(Data()) == .notAge)
        #expect(error(Data(repeating: 0x41, count: 100_000)) == .notAge)
        #expect(error(header("age-encryption.org/v2")) == .notAge)
        #expect(error(header("-----BEGIN AGE ENCRYPTED FILE-----")) == .notAge)
        #expect(error(header(version)) == .damaged)
        #expect(error(header(version, "-> X25519 \(body)", body, end)) == .unsupported)
        #expect(error(header(version, "-> scrypt \(salt) 21", body, end)) == .tooExpensive(workFactor: 21))
        #expect(
            error(header(version, "-> scrypt \(salt) 9223372036854775807", body, end))
                == .tooExpensive(workFactor: .max))
        for factor in ["0", "-1", "018", "+18", "18 ", "", "99999999999999999999", "x"] {
            #expect(
                [.damaged, .unsupported].contains(error(header(version, "-> scrypt \(salt) \(factor)", body, end))),
                "\(factor)")
        }
        #expect(error(header(version, "-> scrypt \(salt)A 18", body, end)) == .damaged)
        #expect(error(header(version, "-> scrypt AAAAAAAAAAAAAAAAAAAAAB 18", body, end)) == .damaged)
        #expect(error(header(version, "-> scrypt \(salt) 18", body + "A", end)) == .damaged)
        #expect(error(header(version, "-> scrypt \(salt) 18", body, "-> X25519 \(body)", body, end)) == .unsupported)
        #expect(error(header(version, "-> scrypt \(salt) 18", body, "--- A")) == .damaged)
    }
}
