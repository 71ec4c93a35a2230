// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whoever depends on Touchstone resolves and builds no web server. `name:` lets the product
// below say "touchstone" whatever folder the clone lives in.

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
    name: "touchstone-simulator",
    products: [.executable(name: "touchstone-simulator", targets: ["touchstone-simulator"])],
    dependencies: [
        .package(name: "touchstone", path: ".."),
        // The sample app, here only to be built with the same web server, once.
        .package(path: "../Examples/Chores"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        // What is typed is sealed on its way from the page; touchstone has it already.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .executableTarget(
            name: "touchstone-simulator",
            dependencies: [
                .product(name: "TouchstoneDevice", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "chores", package: "chores"),
            ],
            resources: [.embedInCode("Page")],
            swiftSettings: strict),
        .testTarget(
            name: "SimulatorTests",
            dependencies: ["touchstone-simulator", .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: strict),
    ]
)
