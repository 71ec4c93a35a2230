// swift-tools-version: 6.2
import PackageDescription

// A consumer with swift-certificates in its graph, which looks for a module named Security: no facade, and Apple's names by a
// flag, which other targets do not notice. In the shapes that packages have: two libraries, one on another, one whose sources
// import only Foundation, two test targets, a package in between. Built by script/check-consumers.

/// Apple's names for our modules, in the targets that have these settings and in no other.
let appleNames: [SwiftSetting] = [
    .unsafeFlags(
        [
            "-module-alias", "Security=TouchstoneSecurity",
            "-module-alias", "LocalAuthentication=TouchstoneLocalAuthentication",
            "-module-alias", "CryptoKit=TouchstoneCryptoKit",
        ], .when(platforms: [.linux]))
]
let strict: [SwiftSetting] = [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
let touchstone: [Target.Dependency] = [
    .product(name: "TouchstoneSecurity", package: "touchstone"),
    .product(name: "TouchstoneLocalAuthentication", package: "touchstone"),
    .product(name: "TouchstoneCryptoKit", package: "touchstone"),
]

let package = Package(
    name: "WithCertificates",
    dependencies: [
        .package(path: "../touchstone"),
        .package(path: "Between"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.0.0"),
    ],
    targets: [
        .executableTarget(
            name: "WithCertificates",
            dependencies: touchstone + [
                "Vault", "Gate", "Unrelated", .product(name: "X509", package: "swift-certificates"),
            ], swiftSettings: appleNames + strict),
        .target(name: "Vault", dependencies: touchstone, swiftSettings: appleNames + strict),
        .target(name: "Gate", dependencies: touchstone, swiftSettings: appleNames + strict),
        .target(
            name: "Upper", dependencies: touchstone + ["Vault", .product(name: "Between", package: "Between")],
            swiftSettings: appleNames + strict),
        .target(
            name: "OnlyFoundation", dependencies: touchstone,
            swiftSettings: appleNames + strict + [
                .unsafeFlags(
                    ["-Xfrontend", "-import-module", "-Xfrontend", "TouchstoneSecurity"], .when(platforms: [.linux]))
            ]),
        .target(name: "Unrelated", swiftSettings: strict),
        .testTarget(
            name: "VaultTests", dependencies: touchstone + ["Vault", "Gate"], swiftSettings: appleNames + strict),
        .testTarget(
            name: "UpperTests", dependencies: touchstone + ["Upper", "OnlyFoundation", "Unrelated"],
            swiftSettings: appleNames + strict),
    ]
)
