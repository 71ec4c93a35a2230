// swift-tools-version: 6.2
import PackageDescription

// A consumer that has nothing in its graph that asks for a module named Security. Built by script/check-consumers.
let package = Package(
    name: "Plain",
    dependencies: [.package(path: "../touchstone")],
    targets: [
        .executableTarget(
            name: "Plain",
            dependencies: [
                .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
                .product(name: "CryptoKit", package: "touchstone"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ]
)
