import Foundation
import TouchstoneCore
import TouchstoneMemory

/// The keys of the protection classes: 32 bytes each, made with the device and anew with each change of its passcode, kept sealed, held
/// open only while the device's state allows (KC-14, KC-20).
struct ClassKeys {
    static let keyBytes = 32

    private var open: [Accessibility: SecretBytes] = [:]

    subscript(protection: Accessibility) -> SecretBytes? {
        get { open[protection] }
        set { open[protection] = newValue }
    }

    var isEmpty: Bool { open.isEmpty }

    mutating func merge(_ other: ClassKeys) {
        open.merge(other.open) { _, new in new }
    }

    /// Takes out the keys that `isIncluded`.
    mutating func remove(where isIncluded: (Accessibility) -> Bool) -> ClassKeys {
        var removed = ClassKeys()
        for (protection, key) in open where isIncluded(protection) {
            removed[protection] = key
            open[protection] = nil
        }
        return removed
    }

    static func generate(_ protections: [Accessibility], _ random: any RandomSource) -> ClassKeys {
        var keys = ClassKeys()
        for protection in protections { keys[protection] = random.secret(count: keyBytes) }
        return keys
    }

    func filter(_ isIncluded: (Accessibility) -> Bool) -> ClassKeys {
        var keys = ClassKeys()
        keys.open = open.filter { isIncluded($0.key) }
        return keys
    }

    func sealed(under key: SecretBytes, _ random: any RandomSource) throws -> [String: Data] {
        var sealed: [String: Data] = [:]
        // In an order of their own: from the same source the same bytes.
        for protection in Accessibility.allCases {
            guard let secret = open[protection] else { continue }
            sealed[protection.rawValue] = try random.seal(secret, under: key, context: Self.context(protection))
        }
        return sealed
    }

    /// nil where any of them does not open.
    init?(_ sealed: [String: Data], under key: SecretBytes) {
        for (code, data) in sealed {
            guard let protection = Accessibility(rawValue: code),
                let secret = key.open(data, context: Self.context(protection)), secret.count == Self.keyBytes
            else { return nil }
            open[protection] = secret
        }
    }

    init() {}

    private static func context(_ protection: Accessibility) -> Data {
        Data("io.touchstone class key \(protection.rawValue)".utf8)
    }
}

extension Accessibility {
    /// Exists only while a passcode does (KC-23).
    static let withPasscode: [Accessibility] = [.whenPasscodeSetThisDeviceOnly]
    /// Open to the passcode where there is one, else to the device (KC-22).
    static let untilLocked: [Accessibility] = [
        .whenUnlocked, .whenUnlockedThisDeviceOnly, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly,
    ]
    static let withDevice: [Accessibility] = [.always, .alwaysThisDeviceOnly]
}
