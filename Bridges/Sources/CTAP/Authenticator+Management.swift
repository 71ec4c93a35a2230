internal import Crypto
internal import Foundation
internal import TouchstoneCBOR

/// Passkeys are listed, renamed and removed by a program that has a token for it (FD-57, FD-58).
extension Authenticator {
    mutating func carryOut(
        _ request: CredentialManagement, _ channel: UInt32, _ clock: () -> Double
    ) throws(CTAPStatus) -> CBOR? {
        if let proof = request.proof {
            guard token != nil else { throw .pinAuthInvalid }
            try token?.check(proof, of: request.message, channel: channel, permission: .credentialManagement)
        }
        switch request.action {
        case .metadata:
            try refuseOneSite()
            let all = try device.credentials()
            return .entries([
                (1, CBOR(all.count(where: \.isDiscoverable))), (2, CBOR(max(0, Limits.credentials - all.count))),
            ])
        case .sites:
            try refuseOneSite()
            var seen: Set<[UInt8]> = []
            let sites = try newestFirst().map(\.site).filter { seen.insert(Array($0.utf8)).inserted }
            return begin(
                .sites,
                sites.enumerated().map { index, site in
                    .entries([
                        (3, .names([("id", .text(site))])), (4, .bytes(Self.hash(site))),
                        (5, index == 0 ? CBOR(sites.count) : nil),
                    ])
                }, channel, clock())
        case .credentials(let site):
            try refuseOther(site)
            let found = try newestFirst().filter { Self.hash($0.site) == site }
            guard !found.isEmpty else { throw .noCredentials }
            return begin(
                .credentials,
                found.enumerated().map { index, credential in
                    .entries([
                        (6, Self.user(credential, withNames: true)), (7, Self.descriptor(credential)),
                        (8, COSEKey.key(Array(credential.publicKey), algorithm: Fields.es256)),
                        (9, index == 0 ? CBOR(found.count) : nil), (10, CBOR(credential.protection)),
                    ])
                }, channel, clock())
        case .nextSite: return try next(.sites, channel, clock())
        case .nextCredential: return try next(.credentials, channel, clock())
        case .delete(let id):
            let credential = try found(id)
            // A program that may list does not remove: its owner reads which passkey it is, and gives the passcode.
            try device.ask(.delete(site: credential.site, account: credential.account))
            try device.remove(credential)
            return nil
        case .update(let id, let userID, let userName, let displayName):
            var credential = try found(id)
            guard Array(credential.userID) == userID else { throw .invalidParameter }
            (credential.userName, credential.displayName) = (userName, displayName)
            try device.update(credential)
            return nil
        }
    }

    private func newestFirst() throws(CTAPStatus) -> [Credential] {
        let found = try device.credentials().filter(\.isDiscoverable).sorted { $0.created > $1.created }
        guard !found.isEmpty else { throw .noCredentials }
        return found
    }

    /// A discoverable credential of a site that the token is good for.
    private func found(_ id: [UInt8]) throws(CTAPStatus) -> Credential {
        guard let credential = try device.credentials().first(where: { $0.isDiscoverable && Array($0.id) == id }) else {
            throw .noCredentials
        }
        try refuseOther(Self.hash(credential.site))
        return credential
    }

    private func refuseOneSite() throws(CTAPStatus) {
        guard token?.site == nil else { throw .pinAuthInvalid }
    }

    private func refuseOther(_ site: [UInt8]) throws(CTAPStatus) {
        guard token?.site.map({ Self.hash($0) == site }) ?? true else { throw .pinAuthInvalid }
    }

    private static func hash(_ site: String) -> [UInt8] { Array(SHA256.hash(data: Data(site.utf8))) }
}
