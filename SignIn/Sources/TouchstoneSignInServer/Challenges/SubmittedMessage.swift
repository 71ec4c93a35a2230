import Foundation
import TouchstoneSignInProtocol

/// A signed request as it came, with nothing about it believed yet.
struct SubmittedMessage: Sendable {
    let bytes: Data
    let signature: Data
    let details: Data
    let newSignature: Data?

    /// - Throws: `malformed` if a field is no base64url.
    init(_ request: SignedRequest) throws {
        guard let bytes = Data(base64URL: request.message), let signature = Data(base64URL: request.signature),
            let details = Data(base64URL: request.details)
        else { throw Failure.malformed(.body) }
        self.bytes = bytes
        self.signature = signature
        self.details = details
        guard let text = request.newSignature else {
            newSignature = nil
            return
        }
        guard let newSignature = Data(base64URL: text) else { throw Failure.malformed(.body) }
        self.newSignature = newSignature
    }

    /// The sixth field, also of a message that is wrong otherwise: what names a challenge spends it (NP-11).
    var challenge: Data? {
        var rest = Data(bytes.dropFirst("LASIGN".utf8.count + 1))
        for index in 1...6 {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = Data(rest.dropFirst(4))
            guard length <= rest.count else { return nil }
            if index == 6 { return Data(rest.prefix(length)) }
            rest = Data(rest.dropFirst(length))
        }
        return nil
    }

    /// The details as one purpose's, with exactly its fields.
    ///
    /// - Throws: `refused`: it is signed, so it is not a slip of the client's JSON.
    func details<Value: Decodable>(_ type: Value.Type, _ fields: Set<String>, optional: Set<String> = [])
        throws -> Value
    {
        guard let read = try? JSONDecoder().decode(WithFields<Value>.self, from: details),
            read.fields.subtracting(optional) == fields
        else { throw Failure.refused(.detailsForm) }
        return read.value
    }
}

/// A JSON object with the names of all its fields, read in one pass.
private struct WithFields<Value: Decodable>: Decodable {
    private struct Field: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    let fields: Set<String>
    let value: Value

    init(from decoder: any Decoder) throws {
        fields = Set(try decoder.container(keyedBy: Field.self).allKeys.map(\.stringValue))
        value = try Value(from: decoder)
    }
}
