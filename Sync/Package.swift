// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whoever depends on Touchstone needs no libpq and no HTTP. `name:` lets the products below say
// "touchstone" whatever folder the clone lives in.

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

let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let device: Target.Dependency = .product(name: "TouchstoneDevice", package: "touchstone")
let wiping: Target.Dependency = .product(name: "CTouchstoneWiping", package: "touchstone")
// What every resident program of the owner's does with itself, and with its own items.
let bridgeCore: Target.Dependency = .product(name: "BridgeCore", package: "touchstone-bridges")
let bridgeProcesses: Target.Dependency = .product(name: "BridgeProcesses", package: "touchstone-bridges")

let package = Package(
    name: "touchstone-sync",
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(name: "touchstone-bridges", path: "../Bridges"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // By a link: the package SignIn has the same.
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // In place of swift-crypto, which would be built once more for two functions.
        .systemLibrary(name: "CSodiumHash", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        // where sealed records wait, and nothing that could open one
        .target(name: "SyncStores", dependencies: ["CPostgreSQL", "CSodiumHash"], swiftSettings: strict),
        // what is moved when, between a device and a store
        .target(name: "SyncEngine", dependencies: ["SyncStores"], swiftSettings: strict),
        .testTarget(name: "SyncEngineTests", dependencies: ["SyncEngine", "SyncStores"], swiftSettings: asUsers),
        .executableTarget(
            name: "touchstone-sync",
            dependencies: ["SyncEngine", "SyncStores", bridgeCore, bridgeProcesses, device, wiping, arguments],
            swiftSettings: strict),
        .testTarget(name: "SyncStoresTests", dependencies: ["SyncStores"], swiftSettings: asUsers),
    ]
)
