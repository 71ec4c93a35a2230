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

let package = Package(
    name: "touchstone-sync",
    targets: [
        // By a link: the package SignIn has the same.
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // In place of swift-crypto, which would be built once more for two functions.
        .systemLibrary(name: "CSodiumHash", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        // where sealed records wait, and nothing that could open one
        .target(name: "SyncStores", dependencies: ["CPostgreSQL", "CSodiumHash"], swiftSettings: strict),
        .testTarget(name: "SyncStoresTests", dependencies: ["SyncStores"], swiftSettings: asUsers),
    ]
)
