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

// A package of its own: nobody who builds Touchstone builds libFuzzer's targets. It compiles the parsers' sources again, by the
// link Parsers, so that its own code sees what is `package` and internal, and so that they alone are watched: what they stand on
// is built as always. Of modules with more than parsers only the files that are named are here.
let watched: [SwiftSetting] = strict + [.unsafeFlags(["-sanitize=fuzzer,address", "-O", "-enable-testing"])]
let fuzzers: [SwiftSetting] = asUsers + [.unsafeFlags(["-O"])]

func parsers(
    _ name: String, _ dependencies: [Target.Dependency] = [], sources: [String]? = nil, resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Parsers/\(name)", sources: sources, resources: resources,
        swiftSettings: watched)
}

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")

let package = Package(
    name: "touchstone-fuzz",
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", path: "Parsers/CSodium", pkgConfig: "libsodium"),
        .systemLibrary(name: "CGMP", path: "Parsers/CGMP", pkgConfig: "gmp"),
        .systemLibrary(name: "CNettle", path: "Parsers/CNettle", pkgConfig: "nettle"),
        .systemLibrary(name: "CSystemd", path: "Parsers/CSystemd", pkgConfig: "libsystemd"),
        .systemLibrary(name: "CTSS", path: "Parsers/CTSS", pkgConfig: "tss2-esys tss2-sys tss2-mu"),
        .target(name: "COpenSSL", path: "Parsers/COpenSSL"),
        .target(name: "CTouchstoneSystem", path: "Parsers/CTouchstoneSystem"),
        .target(
            name: "CTouchstoneTCTI", path: "Parsers/CTouchstoneTCTI",
            cSettings: [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]),
        parsers("TouchstoneCore"),
        parsers(
            "TouchstoneInterfaces", ["TouchstoneCore"],
            resources: [
                .embedInCode("io.touchstone.Agent.varlink"), .embedInCode("io.touchstone.Authentication.varlink"),
                .embedInCode("io.touchstone.Backup.varlink"), .embedInCode("io.touchstone.Device.varlink"),
                .embedInCode("io.touchstone.Inspector.varlink"), .embedInCode("io.touchstone.Key.varlink"),
                .embedInCode("io.touchstone.Keychain.varlink"), .embedInCode("io.touchstone.Sync.varlink"),
            ]),
        parsers("TouchstoneMemory", ["CSodium"]),
        parsers("TouchstoneCertificates", [asn1]),
        parsers("TouchstoneCBOR"),
        parsers("TouchstoneAge", ["TouchstoneMemory", "CSodium", crypto]),
        parsers("TouchstoneLog", ["TouchstoneCore", crypto]),
        parsers("TouchstoneCircle", [crypto]),
        parsers("TouchstoneTransport", ["TouchstoneCore", "TouchstoneInterfaces", "CTouchstoneSystem"]),
        parsers("TouchstoneSystem", ["TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", crypto]),
        parsers("TouchstoneEnclaveClient", ["TouchstoneCore", "TouchstoneEnclaveInterface", "TouchstoneTransport"]),
        parsers(
            "TouchstonePeers", ["TouchstoneCore"],
            sources: ["AppManifest.swift", "InfoPropertyList.swift", "KeyFile.swift", "ProcessOrigin+Proc.swift"]),
        parsers("TouchstoneDevice", ["TouchstoneCore"], sources: ["PasscodeBuffer.swift"]),
        parsers(
            "TouchstoneEnclaveInterface", ["TouchstoneCore", "TouchstoneInterfaces"],
            resources: [.embedInCode("io.touchstone.Enclave.varlink")]),
        parsers(
            "TouchstoneEnclave",
            ["TouchstoneCore", "TouchstoneMemory", "TouchstoneLog", "TouchstoneCircle", "CSodium", crypto]),
        parsers("TouchstoneFileRoot", ["TouchstoneEnclave", "TouchstoneMemory", crypto]),
        parsers(
            "TouchstoneTPMRoot", ["TouchstoneEnclave", "TouchstoneMemory", "CTSS", "CTouchstoneTCTI", crypto]),
        parsers(
            "TouchstoneSensors",
            ["TouchstoneCore", "TouchstoneEnclave", "CTouchstoneSystem", "CSystemd", crypto]),
        parsers(
            "TouchstoneKeychain",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneEnclaveInterface", "TouchstoneTransport",
                "TouchstoneEnclaveClient",
                "TouchstoneCertificates",
                "TouchstoneMemory", "TouchstoneCircle", "CSodium", "CTouchstoneSystem", crypto, grdb, sqlite,
            ]),
        parsers("TouchstoneKeyAlgorithms", ["TouchstoneCore", "CGMP", "CNettle", crypto, cryptoExtras]),
        parsers("TouchstoneCoreFoundation"),
        parsers("TouchstoneTrust", ["COpenSSL"]),
        parsers(
            "TouchstoneSecurity",
            [
                "TouchstoneCore", "TouchstoneInterfaces", "TouchstoneTransport", "TouchstoneSystem",
                "TouchstoneCoreFoundation",
                "TouchstoneCertificates", "TouchstoneKeyAlgorithms", "TouchstoneTrust", "CTouchstoneSystem", "CNettle",
                asn1, crypto, cryptoExtras,
            ]),
        parsers("TouchstoneSignInProtocol", [crypto]),
        // Of the command: a module of another name, as two programs do not go into one.
        .target(
            name: "Command", dependencies: ["TouchstoneCore", "TouchstoneDevice"], path: "Parsers/touchstone",
            sources: [
                "Pinentry/AssuanLine.swift", "Item/CSVTable.swift", "Item/ItemName.swift", "Item/PasswordList.swift",
            ], swiftSettings: watched),
        // Of the package Bridges, by the link Bridges.
        .target(
            name: "BridgeBus", dependencies: ["CSystemd", "CTouchstoneSystem"], path: "Bridges/BridgeBus",
            swiftSettings: watched),
        .target(name: "BridgeJSON", path: "Bridges/BridgeJSON", swiftSettings: watched),
        .target(
            name: "SecretServiceModel", dependencies: ["BridgeJSON", "CGMP", crypto, cryptoExtras],
            path: "Bridges/SecretServiceModel", swiftSettings: watched),
        .target(name: "CredentialProtocol", path: "Bridges/CredentialProtocol", swiftSettings: watched),
        .target(name: "CTAPHID", path: "Bridges/CTAPHID", swiftSettings: watched),
        .target(
            name: "CTAP", dependencies: ["TouchstoneCBOR", crypto, cryptoExtras], path: "Bridges/CTAP",
            swiftSettings: watched),
        // Of the package SignIn, by the link SignIn.
        .target(
            name: "WebAuthn", dependencies: ["TouchstoneCBOR", "TouchstoneSignInProtocol", crypto],
            path: "SignIn/WebAuthn", swiftSettings: watched),
        .target(name: "AgePlugin", dependencies: [crypto], path: "Bridges/AgePlugin", swiftSettings: watched),
        .target(name: "PinentryProtocol", path: "Bridges/PinentryProtocol", swiftSettings: watched),
        .target(name: "PAMChallenge", dependencies: [crypto], path: "Bridges/PAMChallenge", swiftSettings: watched),
        // Of the PAM module, which is no target.
        .target(
            name: "CHelperLines", cSettings: [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]),
        .target(
            name: "SSHAgentProtocol", dependencies: [crypto, cryptoExtras], path: "Bridges/SSHAgentProtocol",
            swiftSettings: watched),
        .target(name: "P11RPC", path: "Bridges/P11RPC", swiftSettings: watched),
        .target(
            name: "P11Token", dependencies: ["P11RPC", asn1, crypto], path: "Bridges/P11Token", swiftSettings: watched),
        // Of the package Sync, by the link Sync: what reads a server's answers and a directory's files.
        .systemLibrary(name: "CSodiumHash", path: "Sync/CSodiumHash", pkgConfig: "libsodium"),
        .target(
            name: "SyncStores", dependencies: ["CSodiumHash"], path: "Sync/SyncStores",
            sources: [
                "Directory/RecordFile.swift", "ObjectStore/ObjectListing.swift", "ObjectStore/WriterNumbers.swift",
                "RecordName.swift", "StoreError.swift", "StoreSecret.swift", "SyncStore.swift",
            ], swiftSettings: watched),
        .target(
            name: "SyncEngine", dependencies: ["SyncStores"], path: "Sync/SyncEngine",
            sources: [
                "Board.swift", "NumberRanges.swift", "PaddedBytes.swift", "StoredName.swift", "SyncDevice.swift",
            ],
            swiftSettings: watched),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "AgePlugin", "BridgeBus", "CHelperLines", "CTAP", "CTAPHID", "Command", "CTouchstoneSystem",
                "CredentialProtocol", "P11RPC",
                "P11Token",
                "PAMChallenge", "PinentryProtocol",
                "SSHAgentProtocol", "SecretServiceModel", "SyncEngine", "SyncStores", "TouchstoneAge", "TouchstoneCBOR",
                "TouchstoneCertificates", "TouchstoneCircle",
                "TouchstoneCore",
                "TouchstoneDevice",
                "TouchstoneEnclave", "TouchstoneEnclaveInterface", "TouchstoneFileRoot", "TouchstoneInterfaces",
                "TouchstoneKeyAlgorithms",
                "TouchstoneKeychain",
                "TouchstoneLog", "TouchstoneMemory",
                "TouchstoneSecurity", "TouchstoneSensors", "TouchstoneSignInProtocol", "TouchstonePeers",
                "TouchstoneTPMRoot", "TouchstoneTransport", "TouchstoneTrust", "WebAuthn", crypto, cryptoExtras, grdb,
                asn1,
            ],
            swiftSettings: fuzzers,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]),
    ]
)
