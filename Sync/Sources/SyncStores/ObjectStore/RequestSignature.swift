import Foundation

/// AWS's signature version 4 of one request, with its headers alone.
struct RequestSignature {
    /// Bytes that stand for themselves in a path and a query.
    static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    var method: String
    /// Not encoded, from the slash on.
    var path: String
    /// Not encoded.
    var query: [(name: String, value: String)] = []
    /// By their names in small letters, `host` among them.
    ///
    /// Those of the signature come to them.
    var headers: [String: String]
    var region: String
    var date: Date

    /// The request's headers, with `x-amz-date`, `x-amz-content-sha256` and `authorization`.
    func signed(body: Data, keyID: String, secret: StoreSecret) -> [String: String] {
        let bodyHash = sha256(body).hexadecimal
        let time = Self.time(date)
        let day = time.prefix(8)
        var headers = headers
        headers["x-amz-date"] = time
        headers["x-amz-content-sha256"] = bodyHash
        let names = headers.keys.sorted()
        let canonical =
            "\(method)\n\(Self.encoded(path, slash: true))\n\(encodedQuery)\n"
            + names.map { "\($0):\(headers[$0]!.trimmingCharacters(in: .whitespaces))\n" }.joined()
            + "\n\(names.joined(separator: ";"))\n\(bodyHash)"
        let scope = "\(day)/\(region)/s3/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(sha256(Data(canonical.utf8)).hexadecimal)"
        var key = StoreSecret(authenticating: String(day), by: secret, prefix: "AWS4")
        for part in [region, "s3", "aws4_request"] { key = StoreSecret(authenticating: part, by: key) }
        let signature = StoreSecret(authenticating: text, by: key).hexadecimal
        headers["authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(keyID)/\(scope),SignedHeaders=\(names.joined(separator: ";")),Signature=\(signature)"
        return headers
    }

    /// In the order that is signed, which is also sent.
    var encodedQuery: String {
        query.map { (Self.encoded($0.name, slash: false), Self.encoded($0.value, slash: false)) }
            .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
    }

    static func encoded(_ text: String, slash: Bool) -> String {
        text.utf8.map { byte in
            unreserved.contains(byte) || slash && byte == UInt8(ascii: "/")
                ? String(UnicodeScalar(byte)) : "%" + [byte].hexadecimal.uppercased()
        }.joined()
    }

    /// `20130524T000000Z`.
    private static func time(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func digits(_ number: Int?, _ count: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        return digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2) + "T" + digits(parts.hour, 2)
            + digits(parts.minute, 2) + digits(parts.second, 2) + "Z"
    }
}
