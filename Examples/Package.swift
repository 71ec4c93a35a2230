// swift-tools-version: 6.2
import PackageDescription

// The same in several files: Swift settings (script/same-text)
/// What we ship: every warning an error, strict memory safety, and imports that must be said.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
/// Tests, examples and measurements: they call Apple's API as our users do, whose sources do not say `unsafe`.
let asUsers: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
// End: Swift settings

/// The examples show Apple's older spellings too, so its deprecations are warnings.
let examples: [SwiftSetting] = asUsers + [.treatWarning("DeprecatedDeclaration", as: .warning)]

// `name:` lets the products below say "touchstone" whatever folder the clone lives in. A package that depends on
// Touchstone by URL needs no name.
let package = Package(
    name: "touchstone-examples",
    dependencies: [
        .package(name: "touchstone", path: "..")
    ],
    targets: [
        .target(name: "Outcome", dependencies: [.security, .localAuthentication], swiftSettings: examples),
        .executableTarget(
            name: "authenticate-me", dependencies: ["Outcome", .localAuthentication], swiftSettings: examples),
        .executableTarget(name: "gate", dependencies: ["Outcome", .localAuthentication], swiftSettings: examples),
        .target(
            name: "SupportedBiometry", dependencies: [.localAuthentication], exclude: ["SupportedBiometryTests.swift"],
            swiftSettings: examples),
        .executableTarget(
            name: "supported-biometry", dependencies: ["SupportedBiometry"], swiftSettings: examples),
        .executableTarget(name: "owner-check", dependencies: ["Outcome", .security], swiftSettings: examples),
        .executableTarget(
            name: "credentials", dependencies: ["Outcome", .security, .localAuthentication], swiftSettings: examples),
        .executableTarget(
            name: "re-registration", dependencies: ["Outcome", .security, .localAuthentication],
            swiftSettings: examples),
        .executableTarget(
            name: "enclave-note", dependencies: ["Outcome", .security, .localAuthentication], swiftSettings: examples),
        .executableTarget(
            name: "nonce", dependencies: ["Outcome", .security, .localAuthentication, .cryptoKit],
            swiftSettings: examples),
    ]
)

extension Target.Dependency {
    static let security = product(name: "Security", package: "touchstone")
    static let localAuthentication = product(name: "LocalAuthentication", package: "touchstone")
    static let cryptoKit = product(name: "CryptoKit", package: "touchstone")
}
