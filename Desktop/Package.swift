// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whoever depends on Touchstone resolves and builds no GTK. `name:` lets the product below say
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
    name: "touchstone-desktop",
    products: [.executable(name: "touchstone-agent", targets: ["touchstone-agent"])],
    dependencies: [.package(name: "touchstone", path: "..")],
    targets: [
        .systemLibrary(
            name: "CAdwaita", pkgConfig: "libadwaita-1", providers: [.apt(["libgtk-4-dev", "libadwaita-1-dev"])]),
        // The window in C: macros and varargs of GObject do not import.
        .target(
            name: "CTouchstoneWindow", dependencies: ["CAdwaita"],
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .executableTarget(
            name: "touchstone-agent",
            dependencies: [
                "CTouchstoneWindow", .product(name: "TouchstoneAgent", package: "touchstone"),
                .product(name: "TouchstoneDevice", package: "touchstone"),
            ],
            swiftSettings: strict),
    ]
)
