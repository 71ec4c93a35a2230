// swift-tools-version: 6.2
import PackageDescription

// A consumer with swift-certificates in its graph, which looks for a module named Security: the facades go by other names,
// which only this target's sources do not notice. Built by script/check-consumers.
let package = Package(
    name: "WithCertificates",
    dependencies: [
        .package(path: "../touchstone"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.0.0"),
    ],
    targets: [
        .executableTarget(
            name: "WithCertificates",
            dependencies: [
                .product(
                    name: "Security", package: "touchstone", moduleAliases: ["Security": "Touchstone_Security"]),
                .product(
                    name: "LocalAuthentication", package: "touchstone",
                    moduleAliases: ["LocalAuthentication": "Touchstone_LocalAuthentication"]),
                .product(
                    name: "CryptoKit", package: "touchstone", moduleAliases: ["CryptoKit": "Touchstone_CryptoKit"]),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)])
    ]
)
