package import Foundation

/// What keys of ML-DSA and ML-KEM do.
extension KeyInterface {
    package enum Limits {
        /// Of a key's blob: the longest access group there is, and room for the rest.
        package static let keyBytes = 128 << 10
        /// Of what is signed whole: a request is at most 1 MiB.
        package static let messageBytes = 512 << 10
        /// Of the context string of FIPS 204.
        package static let signatureContextBytes = 255
    }

    /// Signs a message (ML-DSA).
    package enum SignMessage: VarlinkMethod {
        package static let name = "io.touchstone.Key.SignMessage"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            package var message: Data
            /// The context string of FIPS 204; empty for none.
            package var signatureContext: Data
            package var context: String?
            package init(key: Data, message: Data, signatureContext: Data, context: String?) {
                self.key = key
                self.message = message
                self.signatureContext = signatureContext
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            /// As FIPS 204 encodes it.
            package var signature: Data
            package init(signature: Data) { self.signature = signature }
        }
    }

    /// Takes out the secret that somebody encapsulated to a key (ML-KEM).
    package enum Decapsulate: VarlinkMethod {
        package static let name = "io.touchstone.Key.Decapsulate"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            /// As FIPS 203 encodes it.
            package var encapsulated: Data
            package var context: String?
            package init(key: Data, encapsulated: Data, context: String?) {
                self.key = key
                self.encapsulated = encapsulated
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            /// 32 bytes.
            package var sharedSecret: Data
            package init(sharedSecret: Data) { self.sharedSecret = sharedSecret }
        }
    }
}

extension EnclaveInterface {
    package enum SignMessage: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SignMessage"
        package struct Parameters: Codable, Sendable {
            package var use: KeyUse
            package var message: Data
            package var signatureContext: Data
            package init(use: KeyUse, message: Data, signatureContext: Data) {
                self.use = use
                self.message = message
                self.signatureContext = signatureContext
            }
        }
        package typealias Reply = KeyInterface.SignMessage.Reply
    }

    package enum Decapsulate: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Decapsulate"
        package struct Parameters: Codable, Sendable {
            package var use: KeyUse
            package var encapsulated: Data
            package init(use: KeyUse, encapsulated: Data) {
                self.use = use
                self.encapsulated = encapsulated
            }
        }
        package typealias Reply = KeyInterface.Decapsulate.Reply
    }
}
