extension String {
    /// Whether it is the same, byte for byte.
    ///
    /// `==` also takes another spelling of the same characters for equal ("é" is one scalar, or two). The names of apps and of access groups
    /// are bytes, as paths are: two files may be called by two spellings.
    package func isSpelled(like other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Its UTF-8, for what is looked up by it.
    package var spelling: [UInt8] { Array(utf8) }
}
