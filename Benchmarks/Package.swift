// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

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
        .target(name: "Timing", swiftSettings: strict),
        .executableTarget(
            name: "keychain-benchmark",
            dependencies: [
                "Timing", .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: strict),
        .executableTarget(
            name: "floor-benchmark",
            dependencies: ["Timing", "CFloor", "CSQLite", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),
        .executableTarget(name: "benchmark-report", dependencies: ["Timing"], swiftSettings: strict),
    ]
)
