public import Foundation

/// Messages of `io.touchstone.Credentials`, which `touchstone-credentials` serves: JSON objects, each with a NUL behind it.
public enum CredentialMessages {
    /// Before each method and error.
    public static let interface = "io.touchstone.Credentials."
    /// Most bytes of a message, with its NUL.
    public static let maximumCount = 1 << 20
    /// Most secrets that one call opens.
    public static let maximumSecrets = 1024
    /// Most bytes of a secret.
    public static let maximumSecretCount = 64 << 10

    /// What is kept, as a client names it.
    public struct Item: Codable, Hashable, Sendable {
        /// Who keeps it.
        public enum Kind: String, Codable, Sendable { case git, docker, secret, gpg }

        /// Who keeps it.
        public var kind: Kind
        /// git: the host, without a port.
        ///
        /// docker: the address of the server. gpg: the key's 40 hexadecimal digits. Else the service.
        public var place: String
        /// git alone.
        public var scheme: String?
        /// git alone.
        public var port: UInt16?
        /// git alone.
        public var path: String?
        /// Absent where it is asked for.
        public var account: String?

        /// An item by its parts.
        public init(kind: Kind, place: String, account: String? = nil) {
            self.kind = kind
            self.place = place
            self.account = account
        }

        /// A password of git's.
        public init(_ place: CredentialPlace, account: String?) {
            self.init(kind: .git, place: place.host, account: account)
            (scheme, port, path) = (place.scheme, place.port, place.path)
        }

        /// The place of a password of git's.
        public var credentialPlace: CredentialPlace? {
            scheme.map { CredentialPlace(scheme: $0, host: place, port: port, path: path) }
        }
    }

    /// What one program may read without a question (BR-31).
    public struct Grant: Codable, Hashable, Sendable {
        /// What it reads.
        public var item: Item
        /// The path of the program.
        public var program: String
        /// SHA-256 of its file when it was let in, in hexadecimal digits; absent where only root can change that file.
        public var digest: String?
        /// When it was let in: seconds since 1970.
        public var since: Int64

        /// A grant by its parts.
        public init(item: Item, program: String, digest: String?, since: Int64) {
            (self.item, self.program, self.digest, self.since) = (item, program, digest, since)
        }
    }

    /// Most programs that one call lets in.
    public static let maximumPrograms = 16

    /// The parameters of all methods; each takes some of them.
    public struct Parameters: Codable, Sendable {
        /// Get, Store, Erase, List, RevokeGrants: which one; of List only its kind counts.
        public var item: Item?
        /// Open: several, in the order of the answer.
        public var items: [Item]?
        /// Store: what is kept.
        ///
        /// Erase: only where this is what is kept.
        public var secret: Data?
        /// Store: seconds since 1970.
        public var expiry: Int64?
        /// Store: only if nothing is kept yet.
        public var isNew: Bool?
        /// Store: what is not kept yet is given out without asking the owner.
        public var isOpen: Bool?
        /// Store: files of programs that may read it without asking the owner.
        public var programs: [String]?
        /// RevokeGrants: the path of the program.
        public var program: String?
        /// Open: what is to be run with the secrets; absent: they are read.
        public var command: String?
        /// Open: what the command calls each of them, in the order of ``items``.
        public var names: [String]?
        /// Open: for how many seconds an approval is good.
        public var reuse: Double?

        /// Without any of them.
        public init() {}
    }

    /// A call.
    public struct Call: Codable, Sendable {
        /// With its interface.
        public var method: String
        /// What it takes.
        public var parameters: Parameters

        /// A call of a method, named without its interface.
        public init(_ method: String, _ parameters: Parameters) {
            self.method = interface + method
            self.parameters = parameters
        }

        /// Reads a call; nil if it is not one.
        ///
        /// - Parameter message: Without its NUL. It may go eight levels deep.
        public init?(message: [UInt8]) {
            guard JSONText.isShallow(message), let call = try? JSONDecoder().decode(Call.self, from: Data(message))
            else {
                return nil
            }
            self = call
        }
    }

    /// What comes back.
    public struct Reply: Codable, Sendable {
        /// Absent after success; else ``failed`` with its interface, or `org.varlink.service.MethodNotFound`.
        public var error: String?
        /// What the method answers.
        public var parameters: Results

        /// A reply.
        public init(error: String? = nil, _ parameters: Results = Results()) {
            self.error = error
            self.parameters = parameters
        }
    }

    /// The results of all methods.
    public struct Results: Codable, Sendable {
        /// Get; Open: of the only one.
        public var account: String?
        /// Get: seconds since 1970.
        public var expiry: Int64?
        /// Get: one.
        ///
        /// Open: those that were asked for.
        public var secrets: [Data]?
        /// List.
        public var items: [Item]?
        /// Store: of its programs those that were not let in.
        public var refusedPrograms: [String]?
        /// ListGrants.
        public var grants: [Grant]?
        /// RevokeGrants: how many there were.
        public var count: Int?
        /// Of the error ``failed``: why.
        public var result: Failure?

        /// Without any of them.
        public init() {}
    }

    /// The error that says why a call has no result.
    public static let failed = interface + "Failed"

    /// Why a call has no result.
    public enum Failure: String, Codable, Error, Sendable {
        case cancelled, denied, locked, unavailable, gone, invalid, busy, duplicate

        /// For a person.
        public var sentence: String {
            switch self {
            case .cancelled: "you cancelled it"
            case .denied:
                "the finger or passcode did not match, or the device refuses it; try again, or run 'touchstone doctor'"
            case .locked: "the device is locked; unlock it with: touchstone device unlock"
            case .unavailable:
                "Touchstone cannot ask you; run 'touchstone bridge enable credentials', start the device, and start touchstone-agent"
            case .gone: "there is no such secret"
            case .invalid:
                "Touchstone does not accept this, because a name or the secret is empty, too long or malformed"
            case .busy: "too many requests wait; try again later"
            case .duplicate: "it is kept already"
            }
        }
    }
}
