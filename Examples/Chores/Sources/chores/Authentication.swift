import CryptoKit
import Foundation
import LocalAuthentication
import Security

/// The owner, proven: the only way to a signature, and no list of chores is believed without one.
struct Owner {
    private let key: SecureEnclave.P256.Signing.PrivateKey
    private let context: LAContext

    /// Asks for a finger or face; with `LAError.userFallback` the owner would rather use the password.
    static func biometrics(_ key: Data, _ context: LAContext) async throws -> Owner {
        context.localizedFallbackTitle = "Use Chores Password"
        try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "change the chores")
        context.interactionNotAllowed = true  // What was proven is used; a signature does not ask anew.
        return try Owner(key, context)
    }

    /// Takes the app's own password, which is kept nowhere: the key opens, or does not.
    static func password(_ password: String, _ key: Data) throws -> Owner {
        let context = try context(with: password)
        let owner = try Owner(key, context)
        _ = try owner.sign(Data())
        context.interactionNotAllowed = true
        return owner
    }

    private init(_ key: Data, _ context: LAContext) throws {
        self.context = context
        self.key = try .init(dataRepresentation: key, authenticationContext: context)
    }

    func sign(_ list: Data) throws -> Data { try key.signature(for: list).rawRepresentation }

    func signOut() { context.invalidate() }

    /// Makes a key for the fingers or faces that are enrolled now, and no other.
    static func makeBiometricKey() throws -> Data { try makeKey(.biometryCurrentSet, LAContext()) }

    static func makePasswordKey(_ password: String) throws -> Data {
        try makeKey(.applicationPassword, context(with: password))
    }

    private static func context(with password: String) throws -> LAContext {
        let context = LAContext()
        guard context.setCredential(Data(password.utf8), type: .applicationPassword) else { throw PasswordNotTaken() }
        return context
    }

    /// After several wrong passwords the device makes the app wait for the next.
    struct PasswordNotTaken: Error {}

    private static func makeKey(_ constraint: SecAccessControlCreateFlags, _ context: LAContext) throws -> Data {
        let accessControl = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, constraint], nil)!
        return try SecureEnclave.P256.Signing.PrivateKey(
            accessControl: accessControl, authenticationContext: context
        ).dataRepresentation
    }

    /// Names the set of enrolled fingers or faces: empty without any, nil while the device does not say.
    static var enrolledSet: Data? { LAEnvironment.currentUser.state.biometry?.stateHash }
}
