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

/// An `LAContext` stays with the actor that asks with it.
let chores: [SwiftSetting] = asUsers + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

// A package of its own, so that the other examples build without a web server. `traits: []`: Hummingbird without what
// this does not use.
let package = Package(
    name: "chores",
    products: [
        .executable(name: "chores", targets: ["chores"])
    ],
    dependencies: [
        .package(name: "touchstone", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "chores",
            dependencies: [
                .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
                .product(name: "CryptoKit", package: "touchstone"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [
                .embedInCode("Page/chores.html"), .embedInCode("Page/chores.css"), .embedInCode("Page/chores.js"),
            ],
            swiftSettings: chores)
    ]
)
