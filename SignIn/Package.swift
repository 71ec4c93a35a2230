// swift-tools-version: 6.2
import PackageDescription

// A package of its own: jwt-kit brings swift-certificates, which a graph with the facades must not have, and whoever
// depends on Touchstone resolves and builds no web server. `name:` lets the products below say "touchstone" whatever folder
// the clone lives in.

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

let cbor: Target.Dependency = .product(name: "TouchstoneCBOR", package: "touchstone")
let signInProtocol: Target.Dependency = .product(name: "TouchstoneSignInProtocol", package: "touchstone")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")

let package = Package(
    name: "touchstone-signin",
    // Hummingbird's.
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "TouchstoneSignInServer", targets: ["TouchstoneSignInServer"]),
        .executable(name: "touchstone-signin", targets: ["touchstone-signin"]),
        .executable(name: "touchstone-login", targets: ["touchstone-login"]),
    ],
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSodiumPassword", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        // What the server and the client's program, which does not link the databases, have in common.
        .target(
            name: "SignInConnections",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            swiftSettings: strict),
        // passkeys, as a site judges them: values in, a result or a refusal out
        .target(
            name: "WebAuthn", dependencies: [cbor, signInProtocol, crypto],
            swiftSettings: strict),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: ["WebAuthn", cbor, crypto],
            resources: [.copy("Fixtures")], swiftSettings: asUsers),
        .target(
            name: "TouchstoneSignInServer",
            dependencies: [
                "CEpoll", "CPostgreSQL", "CSodiumPassword", "SignInConnections", "WebAuthn", signInProtocol,
                hummingbird, log,
                lifecycle, crypto,
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            resources: [.embedInCode("Operations/openapi.json"), .embedInCode("Page")],
            swiftSettings: strict),
        .executableTarget(
            name: "touchstone-signin",
            dependencies: [
                "SignInConnections", "TouchstoneSignInServer", hummingbird, log, lifecycle, arguments, crypto,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "touchstone-login",
            dependencies: [
                "SignInConnections", .product(name: "TouchstoneSignIn", package: "touchstone"), signInProtocol,
                hummingbird, log, arguments,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        // the client with the real server, in one process
        .testTarget(
            name: "SignInClientTests",
            dependencies: [
                "TouchstoneSignInServer", signInProtocol, hummingbird, log, crypto,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "TouchstoneSignIn", package: "touchstone"),
                .product(name: "TouchstoneTesting", package: "touchstone"),
            ],
            swiftSettings: strict),
        // Measures servers, with software keys: Benchmarks/run. No product.
        .executableTarget(
            name: "signin-load", dependencies: [signInProtocol, crypto, arguments], swiftSettings: strict),
        .testTarget(
            name: "TouchstoneSignInServerTests",
            dependencies: [
                "SignInConnections", "TouchstoneSignInServer", signInProtocol, hummingbird, log, crypto,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "TouchstoneSignIn", package: "touchstone"),
                .product(name: "TouchstoneTesting", package: "touchstone"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Storage/Fixtures"],
            swiftSettings: strict),
    ]
)
