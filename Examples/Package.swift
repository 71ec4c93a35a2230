// swift-tools-version: 6.2
import PackageDescription

// `name:` lets the products below say "touchstone" whatever folder the clone lives in. A package that depends on
// Touchstone by URL needs no name.
let package = Package(
    name: "touchstone-examples",
    dependencies: [
        .package(name: "touchstone", path: "..")
    ],
    targets: [
        .target(name: "Outcome", dependencies: [.security, .localAuthentication], swiftSettings: .strict),
        .executableTarget(
            name: "authenticate-me", dependencies: ["Outcome", .localAuthentication], swiftSettings: .strict),
        .executableTarget(name: "gate", dependencies: ["Outcome", .localAuthentication], swiftSettings: .strict),
        .target(
            name: "SupportedBiometry", dependencies: [.localAuthentication], exclude: ["SupportedBiometryTests.swift"],
            swiftSettings: .strict),
        .executableTarget(
            name: "supported-biometry", dependencies: ["SupportedBiometry"], swiftSettings: .strict),
        .executableTarget(name: "owner-check", dependencies: ["Outcome", .security], swiftSettings: .strict),
        .executableTarget(
            name: "credentials", dependencies: ["Outcome", .security, .localAuthentication], swiftSettings: .strict),
        .executableTarget(
            name: "re-registration", dependencies: ["Outcome", .security, .localAuthentication],
            swiftSettings: .strict),
        .executableTarget(
            name: "enclave-note", dependencies: ["Outcome", .security, .localAuthentication], swiftSettings: .strict),
        .executableTarget(
            name: "nonce", dependencies: ["Outcome", .security, .localAuthentication, .cryptoKit],
            swiftSettings: .strict),
    ]
)

extension Target.Dependency {
    static let security = product(name: "Security", package: "touchstone")
    static let localAuthentication = product(name: "LocalAuthentication", package: "touchstone")
    static let cryptoKit = product(name: "CryptoKit", package: "touchstone")
}

extension [SwiftSetting] {
    /// Every warning an error, but for Apple's deprecations: the examples show the older spellings too.
    static let strict: [SwiftSetting] = [
        .treatAllWarnings(as: .error),
        .treatWarning("DeprecatedDeclaration", as: .warning),
    ]
}
