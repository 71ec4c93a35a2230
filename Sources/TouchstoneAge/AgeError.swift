/// Why an age file cannot be written or read.
package enum AgeError: Error, Hashable {
    /// It does not begin as an age file does.
    case notAge
    /// An age file, but not of the one kind that is read here: encrypted with a passphrase, binary.
    case unsupported
    /// Its work factor is above ``AgeFormat/maximumWorkFactor``: opening it would take too much memory.
    case tooExpensive(workFactor: Int)
    case wrongPassphrase
    /// Not as it was written.
    case damaged
    /// It ends before its end.
    case truncated
    /// The memory that the passphrase's derivation takes could not be had.
    case noMemory
}
