/// What a chain is used for, which decides what it has to meet beside RFC 5280.
package struct TrustPolicy: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// Nothing more.
        case basic
        case tlsServer
        case tlsClient
        /// A server or a client of a network with EAP.
        case eap(isServer: Bool)
        case ipSecurity
        case email
        case codeSigning
        case timeStamping
    }

    package var purpose: Purpose
    /// Hosts or mail addresses of which the first certificate has to have one; empty if any will do.
    package var names: [String]
    /// Whether every certificate but the anchor needs a valid OCSP response that says it is good.
    package var requiresRevocationResponse: Bool
    /// Whether the answer has to say what is known of revocation.
    package var checksRevocation: Bool

    package init(
        _ purpose: Purpose, names: [String] = [], checksRevocation: Bool = false,
        requiresRevocationResponse: Bool = false
    ) {
        self.purpose = purpose
        self.names = names
        self.checksRevocation = checksRevocation
        self.requiresRevocationResponse = requiresRevocationResponse
    }
}
