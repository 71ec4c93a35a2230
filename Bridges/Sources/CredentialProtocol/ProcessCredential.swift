public import Foundation

/// What a cloud's own command reads from the program that it starts for credentials (CP-1, CP-2): one JSON object.
///
/// It is made from one secret that is kept: a JSON object with the same names, or the most important value alone.
public enum ProcessCredential {
    /// Most bytes of `KUBERNETES_EXEC_INFO`.
    public static let maximumRequestCount = 64 << 10

    /// What AWS's `credential_process` writes.
    ///
    /// - Parameters:
    ///   - secret: An object with `AccessKeyId`, `SecretAccessKey` and, where there are, `SessionToken` and `Expiration`; it may be in
    ///     another one, under `Credentials`, as AWS's commands write it. With `accessKeyID` it may be the secret key alone.
    ///   - accessKeyID: Nil where the secret has it.
    ///   - now: What `Expiration` is held against.
    /// - Returns: The object, without a line feed.
    /// - Throws: `ProcessCredentialError`.
    public static func aws(
        _ secret: [UInt8], accessKeyID: String? = nil, now: Date
    ) throws(ProcessCredentialError) -> [UInt8] {
        var found: [String: Any]
        if let object = JSONText.object(secret) {
            found = object["Credentials"] as? [String: Any] ?? object
        } else {
            guard accessKeyID != nil, let key = text(secret) else { throw .missing("AccessKeyId") }
            found = ["SecretAccessKey": key]
        }
        if let accessKeyID { found["AccessKeyId"] = accessKeyID }
        var answer: [String: Any] = ["Version": 1]
        for name in ["AccessKeyId", "SecretAccessKey"] {
            guard let value = try field(name, found) else { throw .missing(name) }
            answer[name] = value
        }
        answer["SessionToken"] = try field("SessionToken", found)
        answer["Expiration"] = try end("Expiration", found, now)
        return try written(answer)
    }

    /// What `kubectl` reads from a program that it starts: an `ExecCredential`.
    ///
    /// - Parameters:
    ///   - secret: A token, or an object with `token`, or with `clientCertificateData` and `clientKeyData`, and perhaps with
    ///     `expirationTimestamp`; it may be in another one, under `status`.
    ///   - request: `KUBERNETES_EXEC_INFO`, which says the version that is wanted.
    ///   - now: What `expirationTimestamp` is held against.
    /// - Returns: The object, without a line feed.
    /// - Throws: `ProcessCredentialError`.
    public static func kubernetes(
        _ secret: [UInt8], request: [UInt8], now: Date
    ) throws(ProcessCredentialError) -> [UInt8] {
        let version = try kubernetesVersion(request)
        var found: [String: Any]
        if let object = JSONText.object(secret) {
            found = object["status"] as? [String: Any] ?? object
        } else {
            guard let token = text(secret) else { throw .missing("token") }
            found = ["token": token]
        }
        var status: [String: Any] = [:]
        for name in ["token", "clientCertificateData", "clientKeyData"] { status[name] = try field(name, found) }
        // The certificate is of no use without its key, and the key without the certificate.
        guard (status["clientCertificateData"] == nil) == (status["clientKeyData"] == nil) else {
            throw .missing(status["clientKeyData"] == nil ? "clientKeyData" : "clientCertificateData")
        }
        guard !status.isEmpty else { throw .missing("token") }
        status["expirationTimestamp"] = try end("expirationTimestamp", found, now)
        return try written(["apiVersion": version, "kind": "ExecCredential", "status": status])
    }

    /// The version of the answer that `KUBERNETES_EXEC_INFO` asks for.
    ///
    /// - Throws: `ProcessCredentialError.request`, also for a version that is not known.
    public static func kubernetesVersion(_ request: [UInt8]) throws(ProcessCredentialError) -> String {
        guard request.count <= maximumRequestCount, let object = JSONText.object(request),
            object["kind"] as? String == "ExecCredential", let version = object["apiVersion"] as? String,
            ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"].contains(version)
        else { throw .request }
        return version
    }

    /// Without the line feed that an editor leaves.
    private static func text(_ secret: [UInt8]) -> String? {
        guard let text = String(validating: secret, as: UTF8.self) else { return nil }
        let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
        let isLine = !line.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return isLine && !line.isEmpty ? line : nil
    }

    private static func field(_ name: String, _ object: [String: Any]) throws(ProcessCredentialError) -> String? {
        guard let value = object[name], !(value is NSNull) else { return nil }
        guard let text = value as? String, !text.isEmpty else { throw .missing(name) }
        return text
    }

    private static func end(
        _ name: String, _ object: [String: Any], _ now: Date
    ) throws(ProcessCredentialError) -> String? {
        guard let text = try field(name, object) else { return nil }
        let formatter = ISO8601DateFormatter()
        var date = formatter.date(from: text)
        formatter.formatOptions.insert(.withFractionalSeconds)
        date = date ?? formatter.date(from: text)
        guard let date else { throw .date(name) }
        guard date > now else { throw .expired }
        return text
    }

    private static func written(_ object: [String: Any]) throws(ProcessCredentialError) -> [UInt8] {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: options) else { throw .request }
        return Array(data)
    }
}

/// Why there are no credentials.
///
/// No case has a word of the secret.
public enum ProcessCredentialError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The secret has no such text.
    case missing(String)
    /// This is not a date of ISO 8601.
    case date(String)
    /// It is over.
    case expired
    /// `KUBERNETES_EXEC_INFO` is absent, malformed, or of a version that is not known.
    case request

    /// For a person.
    public var description: String {
        switch self {
        case .missing(let name): "the secret has no text \(name)"
        case .date(let name): "\(name) in the secret is not a date like 2026-11-23T19:00:00Z"
        case .expired: "these credentials have expired; keep new ones with: touchstone secret set"
        case .request: "KUBERNETES_EXEC_INFO does not ask for client.authentication.k8s.io/v1; kubectl sets it"
        }
    }
}
