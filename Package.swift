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

/// One line for each target: what it may import is what stands here; `script/check-layers` holds the code against it.
func library(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: asUsers)
}

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "touchstone",
    products: [
        .library(name: "Security", targets: ["Security"]),
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "CryptoKit", targets: ["CryptoKit"]),
        // The same without a facade, which another package could find: for targets that give them Apple's names by a flag.
        .library(name: "TouchstoneSecurity", targets: ["TouchstoneSecurity"]),
        .library(name: "TouchstoneLocalAuthentication", targets: ["TouchstoneLocalAuthentication"]),
        .library(name: "TouchstoneCryptoKit", targets: ["TouchstoneCryptoKit"]),
        .library(name: "TouchstoneTesting", targets: ["TouchstoneTesting"]),
        .library(name: "TouchstoneDevice", targets: ["TouchstoneDevice"]),
        .library(name: "TouchstoneAgent", targets: ["TouchstoneAgent"]),
        // For the package Bridges: who is at the other end of a socket is asked in one place.
        .library(name: "CTouchstoneSystem", targets: ["CTouchstoneSystem"]),
        // For the same package: D-Bus, and powers modulo a prime.
        .library(name: "CSystemd", targets: ["CSystemd"]),
        .library(name: "CGMP", targets: ["CGMP"]),
        // For the same package and the package SignIn: what passkeys are written in.
        .library(name: "TouchstoneCBOR", targets: ["TouchstoneCBOR"]),
        // For its programs that hold passwords of others.
        .library(name: "CTouchstoneWiping", targets: ["CTouchstoneWiping"]),
        .library(name: "TouchstoneSignIn", targets: ["TouchstoneSignIn"]),
        .library(name: "TouchstoneSignInProtocol", targets: ["TouchstoneSignInProtocol"]),
        // What libtouchstone-dev has for builds without SwiftPM: the three and all that they stand on, in one archive.
        .library(name: "TouchstoneStatic", type: .static, targets: ["Security", "LocalAuthentication", "CryptoKit"]),
        .executable(name: "touchstone", targets: ["touchstone"]),
        .executable(name: "touchstoned", targets: ["touchstoned"]),
        .executable(name: "touchstone-enclave", targets: ["touchstone-enclave"]),
        .executable(name: "touchstone-peers", targets: ["touchstone-peers"]),
        .executable(name: "touchstone-pam-verify", targets: ["touchstone-pam-verify"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // ground
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CGMP", pkgConfig: "gmp", providers: [.apt(["libgmp-dev"])]),
        .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CTSS", pkgConfig: "tss2-esys tss2-sys tss2-mu", providers: [.apt(["libtss2-dev"])]),
        .target(name: "COpenSSL"),
        .target(name: "CTouchstoneSystem"),
        .target(name: "CTouchstoneTCTI"),
        // Replaces the allocator of what links it: for the two daemons and the bridges that hold passwords, and nothing else.
        .target(name: "CTouchstoneWiping"),
        .target(name: "CLocalAuthentication"),
        library("TouchstoneCore"),
        // what programs say to a device: the interface files, and the Swift that script/interfaces writes from them
        library(
            "TouchstoneInterfaces", ["TouchstoneCore"],
            resources: [
                .embedInCode("io.touchstone.Agent.varlink"), .embedInCode("io.touchstone.Authentication.varlink"),
                .embedInCode("io.touchstone.Backup.varlink"), .embedInCode("io.touchstone.Device.varlink"),
                .embedInCode("io.touchstone.Inspector.varlink"), .embedInCode("io.touchstone.Key.varlink"),
                .embedInCode("io.touchstone.Keychain.varlink"), .embedInCode("io.touchstone.Sync.varlink"),
            ]),
        library("TouchstoneMemory", ["CSodium"]),
        library("TouchstoneCertificates", [asn1]),
        library("TouchstoneAge", ["TouchstoneMemory", "CSodium", crypto]),
        // canonical CBOR, as passkeys have it: for the packages Bridges and SignIn
        library("TouchstoneCBOR"),

        library("TouchstoneLog", ["TouchstoneCore", crypto]),
        // what the devices of one owner say to each other through a store that they do not trust: no I/O
        library("TouchstoneCircle", [crypto]),

        // transport: messages, client and dispatch without a server; the socket server apart, so that apps do not link it
        library("TouchstoneTransport", ["TouchstoneCore", "TouchstoneInterfaces", "CTouchstoneSystem"]),
        // this machine: where devices are and which is meant, systemd, whose a device is, the key that passcodes are sealed with
        library("TouchstoneSystem", ["TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", crypto]),
        // who is at the other end of a connection; apart from the server, since it looks at everybody's processes
        library("TouchstonePeers", ["TouchstoneCore", "TouchstoneTransport", "CTouchstoneSystem", crypto]),
        library("TouchstoneSocketServer", ["TouchstoneCore", "TouchstoneTransport", "CTouchstoneSystem"]),

        // what touchstoned and the enclave say to each other: no app links it
        library(
            "TouchstoneEnclaveInterface", ["TouchstoneCore", "TouchstoneInterfaces"],
            resources: [.embedInCode("io.touchstone.Enclave.varlink")]),

        // what programs of the owner's stand on: agents, bridges, the command, the simulator's page
        library(
            "TouchstoneDevice", ["TouchstoneCore", "TouchstoneMemory", "TouchstoneTransport", "TouchstoneSystem"]),

        // what shows prompts to the owner, at a terminal or in a window: what to say, when keys count, how answers go back
        library(
            "TouchstoneAgent",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", "TouchstoneSystem", "TouchstoneDevice",
            ]),

        // enclave and its root of trust
        library(
            "TouchstoneEnclave",
            ["TouchstoneCore", "TouchstoneMemory", "TouchstoneLog", "TouchstoneCircle", "CSodium", crypto]),
        library(
            "TouchstoneEnclaveHost",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclave", "TouchstoneEnclaveInterface",
                "TouchstoneLog", "TouchstoneCircle", "TouchstoneTransport",
            ]),
        library("TouchstoneFileRoot", ["TouchstoneEnclave", "TouchstoneMemory", crypto]),
        library("TouchstoneTPMRoot", ["TouchstoneEnclave", "TouchstoneMemory", "CTSS", "CTouchstoneTCTI", crypto]),
        library(
            "TouchstoneSensors",
            ["TouchstoneCore", "TouchstoneEnclave", "CTouchstoneSystem", "CSystemd", crypto]),

        // services
        library(
            "TouchstoneEnclaveClient", ["TouchstoneCore", "TouchstoneEnclaveInterface", "TouchstoneTransport"]),
        library(
            "TouchstoneKeychain",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneTransport",
                "TouchstoneEnclaveClient",
                "TouchstoneCertificates", "TouchstoneMemory", "TouchstoneCircle",
                "CTouchstoneSystem", crypto,
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        library(
            "TouchstoneAuthentication",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneTransport",
                "TouchstoneEnclaveClient",
                "TouchstoneLog",
            ]),
        library(
            "TouchstoneServices",
            [
                "TouchstoneCore", "TouchstoneTransport", "TouchstoneEnclaveClient", "TouchstoneEnclaveInterface",
                "TouchstoneKeychain", "TouchstoneAuthentication",
            ]),

        // app API
        // whether a chain of certificates is trusted, by libcrypto, which is loaded when it is first needed
        library("TouchstoneTrust", ["COpenSSL"]),
        library("TouchstoneKeyAlgorithms", ["TouchstoneCore", "CGMP", "CNettle", crypto, cryptoExtras]),
        library("TouchstoneCoreFoundation"),
        library(
            "TouchstoneSecurity",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", "TouchstoneSystem",
                "TouchstoneCoreFoundation",
                "TouchstoneCertificates", "TouchstoneKeyAlgorithms", "TouchstoneTrust", "CTouchstoneSystem", "CNettle",
                asn1, crypto, cryptoExtras,
            ]),
        library(
            "TouchstoneLocalAuthentication",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", "TouchstoneSystem",
                "TouchstoneSecurity",
                "TouchstoneCoreFoundation", "CLocalAuthentication",
            ]),
        library(
            "TouchstoneCryptoKit",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", "TouchstoneSystem",
                "TouchstoneSecurity",
                "TouchstoneLocalAuthentication", crypto,
            ]),
        library("Security", ["TouchstoneSecurity"]),
        library("LocalAuthentication", ["TouchstoneLocalAuthentication"]),
        library("CryptoKit", ["TouchstoneCryptoKit"]),
        library(
            "TouchstoneTesting",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneTransport",
                "TouchstoneEnclave", "TouchstoneEnclaveHost", "TouchstoneMemory",
                "TouchstoneKeychain", "TouchstoneAuthentication", "TouchstoneServices", "TouchstoneSystem", crypto,
            ]),

        // signing in to a server: what both halves say, and the client's half, on Apple's platforms over Apple's own modules
        library("TouchstoneSignInProtocol"),
        library(
            "TouchstoneSignIn",
            [
                "TouchstoneSignInProtocol", crypto,
                .target(name: "TouchstoneSecurity", condition: .when(platforms: [.linux])),
                .target(name: "TouchstoneLocalAuthentication", condition: .when(platforms: [.linux])),
                .target(name: "TouchstoneCoreFoundation", condition: .when(platforms: [.linux])),
            ]),

        // programs
        tool(
            "touchstoned",
            [
                "TouchstoneCore", "TouchstoneTransport", "TouchstoneSystem", "TouchstonePeers",
                "TouchstoneSocketServer", "TouchstoneKeychain", "TouchstoneAuthentication", "TouchstoneServices",
                "CTouchstoneSystem", "CTouchstoneWiping", arguments, log,
            ]),
        tool(
            "touchstone-enclave",
            [
                "TouchstoneCore", "TouchstoneTransport", "TouchstoneSystem", "TouchstoneEnclave",
                "TouchstoneEnclaveHost",
                "TouchstoneFileRoot", "TouchstoneTPMRoot", "TouchstoneMemory", "TouchstoneSensors", "CTouchstoneSystem",
                "CTouchstoneWiping",
                arguments, crypto,
            ]),
        tool(
            "touchstone-peers",
            ["TouchstoneCore", "TouchstoneTransport", "TouchstoneSystem", "TouchstonePeers", "CTouchstoneSystem"]),
        .executableTarget(name: "touchstone-pam-verify", linkerSettings: [.linkedLibrary("pam")]),
        tool(
            "touchstone",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneMemory", "TouchstoneAge", "TouchstoneLog",
                "TouchstoneTransport", "TouchstonePeers", "TouchstoneCircle",
                "TouchstoneSystem", "TouchstoneDevice", "TouchstoneAgent", "CTouchstoneSystem", crypto, arguments,
            ]),

        // tests of the ground
        tests("TouchstoneCBORTests", ["TouchstoneCBOR"]),
        tests("TouchstoneAgeTests", ["TouchstoneAge", "TouchstoneMemory"], resources: [.copy("Fixtures")]),

        tests("TouchstoneCircleTests", ["TouchstoneCircle", crypto]),

        // tests of signing in; those with a server are in the package SignIn
        tests("TouchstoneSignInProtocolTests", ["TouchstoneSignInProtocol"]),
        tests(
            "TouchstoneSignInTests",
            [
                "TouchstoneSignIn", "TouchstoneSignInProtocol", "TouchstoneTesting", "Security", "LocalAuthentication",
                crypto,
            ]),

        // tests of the transport
        tests(
            "TouchstoneTransportTests",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneTransport",
                "TouchstoneSystem",
                "TouchstonePeers",
                "TouchstoneSocketServer", "TouchstoneDevice", "TouchstoneEnclave", "TouchstoneEnclaveHost",
                "TouchstoneTesting",
                "CTouchstoneSystem", crypto,
            ], resources: [.copy("Fixtures")]),

        // tests of the command
        tests(
            "CommandTests",
            [
                "touchstone", "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneLog", "TouchstoneTransport",
                "TouchstoneSystem",
                "TouchstoneDevice", "TouchstoneAgent", crypto, arguments,
            ]),

        // tests of the app API
        tests(
            "SourceCompatibilityTests",
            [
                "Security", "LocalAuthentication", "TouchstoneCore", "TouchstoneSecurity", "TouchstoneTransport",
                "TouchstoneSystem",
            ],
            resources: [.copy("Fixtures")]),
        // the libraries of Tests/Consumers, which script/check-consumers builds from outside, with a device
        .testTarget(
            name: "ConsumerTests", dependencies: ["TouchstoneTesting", "Security", "LocalAuthentication", "CryptoKit"],
            path: "Tests/Consumers", exclude: ["Plain", "WithCertificates", "Sources/main.swift"],
            sources: ["Sources", "Tests"], swiftSettings: asUsers),
        // the examples that are worth a test of their own, with their sources
        .testTarget(
            name: "ExampleTests", dependencies: ["TouchstoneTesting", "LocalAuthentication"],
            path: "Examples/Sources/SupportedBiometry",
            swiftSettings: asUsers),
        tests(
            "TouchstoneSecurityTests",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneLog", "TouchstoneTransport", "TouchstoneSystem",
                "TouchstoneCoreFoundation", "TouchstoneSecurity", "TouchstoneLocalAuthentication", "TouchstoneTesting",
                "Security", "LocalAuthentication", crypto,
            ]),
        tests(
            "TouchstoneKeyAlgorithmsTests", ["TouchstoneKeyAlgorithms", "TouchstoneCore", crypto],
            resources: [.copy("Fixtures")]),
        tests(
            "TouchstoneTrustTests", ["TouchstoneTrust", "TouchstoneCertificates"], resources: [.copy("Fixtures")]),
        tests(
            "TouchstoneCertificatesTests",
            [
                "TouchstoneTesting", "TouchstoneCertificates", "TouchstoneSecurity", "TouchstoneKeyAlgorithms",
                "TouchstoneCore", "TouchstoneInterfaces", "Security", asn1, crypto,
            ]),
        tests(
            "TouchstoneCryptoKitTests",
            [
                "TouchstoneTesting", "Security", "LocalAuthentication", "CryptoKit", "TouchstoneTransport",
                "TouchstoneSystem",
            ]),
        tests(
            "TouchstoneTestingTests",
            ["TouchstoneTesting", "TouchstoneTransport", "TouchstoneSystem", "Security", "LocalAuthentication"]),

        // tests of the keychain, through the app API and beneath it
        tests(
            "TouchstoneKeychainTests",
            [
                "TouchstoneTesting", "TouchstoneKeychain", "TouchstoneAuthentication", "TouchstoneCircle",
                "TouchstoneEnclaveClient",
                "TouchstoneEnclaveInterface",
                "TouchstoneEnclave", "TouchstoneEnclaveHost", "TouchstoneFileRoot", "TouchstoneCore",
                "TouchstoneInterfaces", "TouchstoneLog", "TouchstoneMemory", "TouchstoneTransport", "TouchstoneSystem",
                "Security", "LocalAuthentication", crypto,
                .product(name: "GRDB", package: "GRDB.swift"),
            ], resources: [.copy("Fixtures")]),

        // tests of the sensors
        tests("TouchstoneSensorsTests", ["TouchstoneSensors", "TouchstoneEnclave"]),

        // tests of the roots of trust
        tests(
            "TouchstoneTPMRootTests",
            [
                "CTSS", "CTouchstoneTCTI", "TouchstoneTPMRoot", "TouchstoneFileRoot", "TouchstoneEnclave",
                "TouchstoneEnclaveHost",
                "TouchstoneCore", "TouchstoneMemory",
                "TouchstoneTransport", "TouchstoneSystem", crypto,
            ]),

        // tests of the services
        tests(
            "TouchstoneAuthenticationTests",
            [
                "TouchstoneTesting", "TouchstoneAuthentication", "TouchstoneEnclaveClient", "TouchstoneEnclave",
                "TouchstoneEnclaveInterface", "Security", "LocalAuthentication", "TouchstoneCore",
                "TouchstoneInterfaces", "TouchstoneLog",
                "TouchstoneTransport",
                "TouchstoneSystem",
            ]),
        tests(
            "TouchstoneEnclaveTests",
            [
                "TouchstoneEnclave", "TouchstoneEnclaveHost", "TouchstoneFileRoot", "TouchstoneCore",
                "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneLog", "TouchstoneMemory",
                "TouchstoneCircle", "TouchstoneTransport", crypto,
            ], resources: [.copy("Fixtures")]),
    ]
)
