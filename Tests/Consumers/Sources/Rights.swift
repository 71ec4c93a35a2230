// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import LocalAuthentication
import Security

/// The part of an app that only its owner sees.
@MainActor
final class PrivateArea {
    private let right = LARight()
    private(set) var isOpen = false

    func open() async throws {
        try await right.checkCanAuthorize()
        try await right.authorize(localizedReason: "show your private notes")
        isOpen = right.state == .authorized
    }

    func close() async {
        await right.deauthorize()
        isOpen = false
    }
}

/// A key that a server knows, and a token: both for the owner only.
struct ServerAccess {
    let identifier: String

    func enroll(token: Data) async throws -> Data {
        let right = LARight(requirement: .biometry(fallback: .devicePasscode))
        let saved = try await LARightStore.shared.saveRight(right, identifier: identifier, secret: token)
        return try await saved.key.publicKey.bytes
    }

    func answer(_ challenge: Data) async throws -> (signature: Data, token: Data) {
        let right = try await LARightStore.shared.right(forIdentifier: identifier)
        try await right.authorize(localizedReason: "sign in")
        guard right.key.canSign(using: .ecdsaSignatureMessageX962SHA256) else { throw LAError(.authenticationFailed) }
        let signature = try await right.key.sign(challenge, algorithm: .ecdsaSignatureMessageX962SHA256)
        return (signature, try await right.secret.rawData)
    }

    func leave(done: @escaping @Sendable (Bool) -> Void) {
        LARightStore.shared.removeRight(forIdentifier: identifier) { error in done(error == nil) }
    }
}

// Unchecked: what changes is behind its lock.
/// Shows whether the button for signing in has a finger on it.
final class SignInButton: NSObject, LAEnvironment.Observer, @unchecked Sendable {
    private let lock = NSLock()
    private var symbols = [String]()

    var symbol: String? { lock.withLock { symbols.last } }

    func appear() {
        show(LAEnvironment.currentUser.state)
        LAEnvironment.currentUser.addObserver(self)
    }

    func disappear() {
        LAEnvironment.currentUser.removeObserver(self)
    }

    func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
        show(environment.state)
    }

    private func show(_ state: LAEnvironment.State) {
        let usable = state.allMechanisms.first { $0.isUsable }
        lock.withLock { symbols.append(usable?.iconSystemName ?? "nosign") }
    }
}

/// Whether the fingers are those of last time.
func isSameOwner(as known: Data?) -> Bool {
    let state = LAContext().domainState
    switch state.biometry.biometryType {
    case .none: return known == nil
    case .touchID, .faceID, .opticID: return state.biometry.stateHash == known
    @unknown default: return false
    }
}
