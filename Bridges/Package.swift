// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whoever depends on Touchstone resolves and builds no bridges. `name:` lets the products below
// say "touchstone" whatever folder the clone lives in.

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

let device: Target.Dependency = .product(name: "TouchstoneDevice", package: "touchstone")
let system: Target.Dependency = .product(name: "CTouchstoneSystem", package: "touchstone")
let wiping: Target.Dependency = .product(name: "CTouchstoneWiping", package: "touchstone")
let bus: Target.Dependency = .product(name: "CSystemd", package: "touchstone")
let numbers: Target.Dependency = .product(name: "CGMP", package: "touchstone")
let cbor: Target.Dependency = .product(name: "TouchstoneCBOR", package: "touchstone")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: asUsers)
}

let package = Package(
    name: "touchstone-bridges",
    // For the package Sync, whose program is one more that stays.
    products: [
        .library(name: "BridgeCore", targets: ["BridgeCore"]),
        .library(name: "BridgeProcesses", targets: ["BridgeProcesses"]),
    ],
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        // signals, and programs that are started
        library("BridgeProcesses"),
        tests("BridgeProcessesTests", ["BridgeProcesses"]),
        // who asks, and how the owner is asked; no wire format
        library("BridgeCore", ["BridgeProcesses", system, device, crypto]),
        tests("BridgeCoreTests", ["BridgeCore"]),
        // what the commands beside them have in common
        library("BridgeCommands", ["BridgeCore", arguments]),
        // ssh
        library("SSHAgentProtocol", [crypto, cryptoExtras]),
        library("SSHAgent", ["BridgeCore", "SSHAgentProtocol", device, crypto]),
        tests("SSHAgentTests", ["BridgeCore", "SSHAgent", "SSHAgentProtocol", device, crypto, cryptoExtras]),
        tool("touchstone-ssh-agent", ["BridgeCore", "BridgeProcesses", "SSHAgent", arguments]),
        tool(
            "touchstone-ssh",
            ["BridgeCommands", "BridgeCore", "BridgeProcesses", "SSHAgent", "SSHAgentProtocol", arguments]),

        // git and docker
        library("CredentialProtocol"),
        library("CredentialsClient", [system, "CredentialProtocol"]),
        tool("git-credential-touchstone", ["BridgeProcesses", "CredentialProtocol", "CredentialsClient"]),
        tool("docker-credential-touchstone", ["BridgeProcesses", "CredentialProtocol", "CredentialsClient"]),
        .target(name: "CSealedFile"),
        tool(
            "touchstone-credentials",
            [
                "BridgeCore", "BridgeProcesses", "CredentialProtocol", "CredentialsClient", wiping, device, crypto,
                arguments,
            ]),
        tool(
            "touchstone-run", ["BridgeProcesses", "CSealedFile", "CredentialProtocol", "CredentialsClient", arguments]),
        tool("touchstone-security", ["BridgeProcesses", "CredentialProtocol", "CredentialsClient"]),
        tests("CredentialProtocolTests", ["CredentialProtocol"]),

        // gpg
        library("PinentryProtocol"),
        .target(name: "CDumpable"),
        tool(
            "pinentry-touchstone",
            [
                "BridgeProcesses", "CDumpable", system, "CredentialProtocol", "CredentialsClient", "PinentryProtocol",
            ]),
        tests("PinentryProtocolTests", ["PinentryProtocol"]),

        // the Secret Service of desktops
        library("BridgeBus", [bus, system]),
        tests("BridgeBusTests", ["BridgeBus"]),
        library("BridgeJSON"),
        library("SecretServiceModel", ["BridgeJSON", numbers, crypto, cryptoExtras]),
        tests("SecretServiceModelTests", ["BridgeJSON", "SecretServiceModel"]),
        tool(
            "touchstone-secret-service",
            [
                "BridgeBus", "BridgeCore", "BridgeJSON", "BridgeProcesses", "SecretServiceModel", wiping, device,
                arguments,
            ]),

        // PKCS#11, by p11-kit
        library("P11RPC"),
        tests("P11RPCTests", ["P11RPC"]),
        library("P11Token", ["P11RPC", asn1, crypto]),
        tests("P11TokenTests", ["P11RPC", "P11Token", crypto]),
        tool(
            "touchstone-pkcs11",
            [
                "BridgeCommands", "BridgeCore", "BridgeProcesses", "P11RPC", "P11Token", wiping, device, crypto,
                arguments,
            ]),

        // age
        library("AgePlugin", [crypto]),
        tests("AgePluginTests", ["AgePlugin", crypto]),
        tool("age-plugin-touchstone", ["AgePlugin", "BridgeCore", "BridgeProcesses", device, arguments]),

        // sudo, login and lockers; the module itself is C, and script/pam-module builds it
        library("PAMChallenge", [crypto]),
        tests("PAMChallengeTests", ["PAMChallenge", crypto]),
        tool("touchstone-pam-helper", ["BridgeCore", "PAMChallenge", system, device]),

        // passkeys
        library("CTAPHID"),
        library("CTAP", [cbor, crypto, cryptoExtras]),
        tests("CTAPTests", ["CTAP", "CTAPHID", cbor, crypto, cryptoExtras]),
        tool("touchstone-fido", ["BridgeCore", "BridgeProcesses", "CTAP", "CTAPHID", device, arguments]),
    ]
)
