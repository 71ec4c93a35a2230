extension Dictionary where Value == Int {
    /// So much less; nothing is kept of what is not there any more.
    package mutating func countDown(_ key: Key, by amount: Int = 1) {
        guard let count = self[key] else { return }
        self[key] = count > amount ? count - amount : nil
    }
}
