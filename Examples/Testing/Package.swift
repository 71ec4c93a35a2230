// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "safe",
    dependencies: [
        .package(path: "../touchstone")
    ],
    targets: [
        .target(
            name: "Safe",
            dependencies: [
                .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
            ]),
        .testTarget(
            name: "SafeTests",
            dependencies: [
                "Safe",
                .product(name: "Security", package: "touchstone"),
                .product(name: "LocalAuthentication", package: "touchstone"),
                .product(name: "TouchstoneTesting", package: "touchstone"),
            ]),
    ]
)
