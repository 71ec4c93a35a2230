/// The version of all programs and modules.
package enum TouchstoneVersion {
    package static let current = "0.1.0"
}
