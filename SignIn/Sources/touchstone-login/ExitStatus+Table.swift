extension ExitStatus {
    /// For the help: a number and its meaning in each line.
    static var table: String {
        allCases.map { status in
            let number = String(status.rawValue)
            return number + String(repeating: " ", count: 5 - number.count) + status.meaning
        }.joined(separator: "\n  ")
    }
}
