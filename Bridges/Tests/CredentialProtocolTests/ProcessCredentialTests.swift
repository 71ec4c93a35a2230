import CredentialProtocol
import Foundation
import Testing

@Suite struct ProcessCredentialTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)  // 2027-01-15T08:00:00Z
    private let later = "2027-01-15T09:00:00Z"
    private let request = Array(
        #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{}}"#.utf8)

    private func aws(_ secret: String, _ id: String? = nil) throws(ProcessCredentialError) -> String {
        String(decoding: try ProcessCredential.aws(Array(secret.utf8), accessKeyID: id, now: now), as: UTF8.self)
    }

    private func kubernetes(_ secret: String, _ request: [UInt8]? = nil) throws(ProcessCredentialError) -> String {
        String(
            decoding: try ProcessCredential.kubernetes(Array(secret.utf8), request: request ?? self.request, now: now),
            as: UTF8.self)
    }

    @Test("CP-1: keys that last, and keys of a session")
    func awsKeys() throws {
        #expect(
            try aws(#"{"AccessKeyId":"A","SecretAccessKey":"s/+","other":1}"#)
                == #"{"AccessKeyId":"A","SecretAccessKey":"s/+","Version":1}"#)
        #expect(
            try aws(
                #"{"Credentials":{"AccessKeyId":"A","SecretAccessKey":"s","SessionToken":"t","Expiration":"\#(later)"}}"#
            )
                == #"{"AccessKeyId":"A","Expiration":"\#(later)","SecretAccessKey":"s","SessionToken":"t","Version":1}"#
        )
        #expect(try aws("s3cret\n", "A") == #"{"AccessKeyId":"A","SecretAccessKey":"s3cret","Version":1}"#)
        #expect(try aws(#"{"SecretAccessKey":"s","SessionToken":null}"#, "A").contains(#""AccessKeyId":"A""#))
    }

    @Test("CP-1: secrets that are not keys of AWS's")
    func awsRefused() {
        #expect(throws: ProcessCredentialError.missing("AccessKeyId")) { try aws("s3cret") }
        #expect(throws: ProcessCredentialError.missing("AccessKeyId")) { try aws("two\nlines", "A") }
        #expect(throws: ProcessCredentialError.missing("SecretAccessKey")) { try aws(#"{"AccessKeyId":"A"}"#) }
        #expect(throws: ProcessCredentialError.missing("SessionToken")) {
            try aws(#"{"AccessKeyId":"A","SecretAccessKey":"s","SessionToken":7}"#)
        }
        #expect(throws: ProcessCredentialError.date("Expiration")) {
            try aws(#"{"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"soon"}"#)
        }
    }

    @Test("CP-3: what is over is not given out; to the second", arguments: [(0.0, false), (-1, true)])
    func expired(seconds: Double, isGood: Bool) throws {
        let end = ISO8601DateFormatter().string(from: now)
        let secret = Array(#"{"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"\#(end)"}"#.utf8)
        let result = Result { try ProcessCredential.aws(secret, now: now.addingTimeInterval(seconds)) }
        switch result {
        case .success: #expect(isGood)
        case .failure(let error): #expect(!isGood && error as? ProcessCredentialError == .expired)
        }
    }

    @Test("CP-2: a token, and a certificate with its key")
    func kubernetesStatus() throws {
        let head = #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":"#
        #expect(try kubernetes("t0ken\n") == head + #"{"token":"t0ken"}}"#)
        #expect(
            try kubernetes(#"{"status":{"token":"t","expirationTimestamp":"2027-01-15T09:00:00.5Z"}}"#)
                == head + #"{"expirationTimestamp":"2027-01-15T09:00:00.5Z","token":"t"}}"#)
        #expect(
            try kubernetes(#"{"clientCertificateData":"c","clientKeyData":"k"}"#)
                == head + #"{"clientCertificateData":"c","clientKeyData":"k"}}"#)
    }

    @Test("CP-2: secrets and requests that are refused")
    func kubernetesRefused() {
        #expect(throws: ProcessCredentialError.missing("token")) { try kubernetes("{}") }
        #expect(throws: ProcessCredentialError.missing("clientKeyData")) {
            try kubernetes(#"{"token":"t","clientCertificateData":"c"}"#)
        }
        #expect(throws: ProcessCredentialError.expired) {
            try kubernetes(#"{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}"#)
        }
        for text in [
            "", "{}", #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v9"}"#,
            #"{"kind":"Secret","apiVersion":"client.authentication.k8s.io/v1"}"#,
            #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","x":"#
                + String(repeating: "[", count: 9),
        ] {
            #expect(throws: ProcessCredentialError.request) { try kubernetes("t", Array(text.utf8)) }
        }
    }
}
