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

// `name:` lets the products below say "touchstone" whatever folder the clone lives in.
let package = Package(
    name: "touchstone-benchmarks",
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CFloor"),
        .target(name: "Timing", swiftSettings: asUsers),
        .executableTarget(
            name: "keychain-benchmark",
            dependencies: [
                "Timing", .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: asUsers),
        .executableTarget(
            name: "floor-benchmark",
            dependencies: ["Timing", "CFloor", "CSQLite", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: asUsers),
        .executableTarget(name: "benchmark-report", dependencies: ["Timing"], swiftSettings: asUsers),
    ]
)
