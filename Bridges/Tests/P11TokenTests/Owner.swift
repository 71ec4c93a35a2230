import Crypto
import Foundation
import P11RPC
import P11Token

/// A device whose owner always says the same, with keys of its own.
final class OwnersDevice: TokenDevice {
    var all: [TokenKey] = []
    var keysOfPoints: [[UInt8]: P256.Signing.PrivateKey] = [:]
    /// What the owner, or the device, says to a use.
    var failure: TokenFailure?
    /// What the device says to everything else.
    var trouble: TokenFailure?
    private(set) var digests: [[UInt8]] = []

    func serialNumber() throws(TokenFailure) -> String {
        if let trouble { throw trouble }
        return "0123456789abcdef"
    }

    func keys() throws(TokenFailure) -> [TokenKey] {
        if let trouble { throw trouble }
        return all
    }

    func sign(_ digest: [UInt8], with key: TokenKey) throws(TokenFailure) -> [UInt8] {
        digests.append(digest)
        if let failure { throw failure }
        guard let own = keysOfPoints[key.point], let signature = try? own.signature(for: Given(digest)) else {
            throw .dead
        }
        return Array(signature.rawRepresentation)
    }

    func makeKey(label: String?, identifier: [UInt8]?) throws(TokenFailure) -> TokenKey {
        if let trouble { throw trouble }
        let made = P256.Signing.PrivateKey()
        let point = Array(made.publicKey.x963Representation)
        let number = UInt64(all.count + 1)
        let key = TokenKey(
            number: number, label: label ?? "key", identifier: identifier ?? Array(Insecure.SHA1.hash(data: point)),
            point: point)
        keysOfPoints[point] = made
        all.append(key)
        return key
    }
}

/// A digest that somebody else made.
struct Given: Digest {
    static let byteCount = 32
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
    var description: String { "given" }
}

extension Answer {
    var values: [AnswerValue]? {
        guard case .done(let values) = self else { return nil }
        return values
    }
    var code: ReturnValue? {
        guard case .failed(let code) = self else { return nil }
        return code
    }
    var number: UInt64? {
        guard case .number(let number)? = values?.first else { return nil }
        return number
    }
    var bytes: [UInt8]? {
        guard case .bytes(let bytes)? = values?.first else { return nil }
        return bytes
    }
    var numbers: [UInt64]? {
        guard case .numbers(let numbers)? = values?.first else { return nil }
        return numbers
    }
}

/// A client that has connected and opened a session that may write.
struct OpenToken {
    var token = Token()
    let device = OwnersDevice()
    var session: UInt64 = 0

    init(keys: Int = 1) throws {
        for number in 0..<keys { _ = try device.makeKey(label: "key \(number + 1)", identifier: nil) }
        _ = ask(.initialize)
        session = ask(.openSession(slot: 0, flags: 6)).number ?? 0
    }

    mutating func ask(_ request: Request) -> Answer { token.answer(request, device) }

    /// The handles that a template finds.
    mutating func find(_ template: [Attribute]) -> [UInt64] {
        _ = ask(.findInit(session: session, template))
        defer { _ = ask(.findFinal(session: session)) }
        return ask(.find(session: session, most: 100)).numbers ?? []
    }

    mutating func attributes(_ handle: UInt64, _ wishes: [(Attribute.Kind, Int)]) -> ([Attribute.Value?], ReturnValue) {
        let answer = ask(
            .getAttributes(
                session: session, object: handle, wishes.map { AttributeRoom(kind: $0.0, room: $0.1) }))
        guard case .attributes(let all)? = answer.values?.first, case .number(let code)? = answer.values?.last else {
            return ([], answer.code ?? .ok)
        }
        return (all.map(\.value), ReturnValue(rawValue: code))
    }

    var privateKey: UInt64 { mutating get { find([Attribute(.objectClass, .number(3))]).first ?? 0 } }
}
