// swift-tools-version: 6.2
import PackageDescription

// A package between an app and Touchstone. Its tools version is 6.2: SwiftPM refuses the flags of older ones to whoever
// depends on them by version.
let package = Package(
    name: "Between",
    products: [.library(name: "Between", targets: ["Between"])],
    dependencies: [.package(path: "../../touchstone")],
    targets: [
        .target(
            name: "Between", dependencies: [.product(name: "TouchstoneSecurity", package: "touchstone")],
            swiftSettings: [
                .unsafeFlags(["-module-alias", "Security=TouchstoneSecurity"], .when(platforms: [.linux])),
                .treatAllWarnings(as: .error),
            ])
    ]
)
