import Foundation

/// What the app keeps about its owner; none of it is secret, and none of it opens anything by itself.
struct Registration: Codable {
    /// The key in the Secure Enclave that the app's password opens.
    let passwordKey: Data
    /// The key that a finger or face opens; nil if none was enrolled.
    var biometricKey: Data?
    /// The set that was enrolled when the key was made.
    var enrolledSet: Data?

    init(password: String) throws {
        passwordKey = try Owner.makePasswordKey(password)
    }

    var keys: [Data] { [passwordKey, biometricKey].compactMap { $0 } }

    /// Whether other fingers or faces are enrolled than those that the app knows.
    var isEnrolledSetChanged: Bool {
        guard let enrolledSet, let now = Owner.enrolledSet else { return false }
        return now != enrolledSet
    }

    /// Has the app know those that are enrolled now: once the password was given, and not before.
    mutating func takeUpEnrolledSet() throws {
        enrolledSet = Owner.enrolledSet.flatMap { $0.isEmpty ? nil : $0 }
        biometricKey = try enrolledSet.map { _ in try Owner.makeBiometricKey() }
    }
}
