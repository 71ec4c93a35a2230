package import Foundation
package import TouchstoneCore
package import TouchstoneEnclave

/// The enclave with what it has outside of tests: the kernel's randomness.
extension Enclave {
    /// Boots from the kept state, as `init(stateFile:root:random:now:policy:touchDelay:)`.
    ///
    /// - Throws: `EnclaveStateError`, after which nothing has changed.
    package init(
        stateFile: Data?, root: any RootOfTrust, now: Double, policy: PasscodePolicy = PasscodePolicy(),
        touchDelay: Double = Limits.touchDelay
    ) throws {
        try self.init(
            stateFile: stateFile, root: root, random: KernelRandomness(), now: now, policy: policy,
            touchDelay: touchDelay)
    }

    /// The first state of a new device, as `create(isSimulated:biometryType:sensor:root:random:revision:recoveryKey:areKeysHeld:)`.
    package static func create(
        isSimulated: Bool, biometryType: BiometryType, sensor: SensorSource? = nil, root: any RootOfTrust,
        revision: UInt64? = nil, recoveryKey: Data? = nil, areKeysHeld: Bool = false
    ) throws -> Data {
        try create(
            isSimulated: isSimulated, biometryType: biometryType, sensor: sensor, root: root,
            random: KernelRandomness(), revision: revision, recoveryKey: recoveryKey, areKeysHeld: areKeysHeld)
    }
}
