/// Replaces secrets in a stream of bytes, also where one comes in several chunks (EX-3).
public struct OutputMask: Sendable {
    /// Shorter secrets are not replaced: they are found in ordinary words.
    public static let minimumCount = 8
    /// What stands in a secret's place.
    public static let replacement = Array("<concealed by touchstone>".utf8)

    /// The longest first, so that one that contains another goes as a whole.
    private let secrets: [[UInt8]]
    private let isFirst: [Bool]
    /// What may be the beginning of a secret.
    private var held: [UInt8] = []

    /// A mask.
    ///
    /// - Parameter secrets: Those of fewer than ``minimumCount`` bytes are left out.
    public init(_ secrets: [[UInt8]]) {
        let masked = secrets.filter { $0.count >= Self.minimumCount }.sorted { $0.count > $1.count }
        var isFirst = [Bool](repeating: false, count: 256)
        for secret in masked { isFirst[Int(secret[0])] = true }
        self.secrets = masked
        self.isFirst = isFirst
    }

    /// Takes the next bytes.
    ///
    /// - Returns: What can go out. It keeps back what may be the beginning of a secret.
    public mutating func masking(_ chunk: some Sequence<UInt8>) -> [UInt8] {
        held += chunk
        return release(atEnd: false)
    }

    /// The stream ends.
    ///
    /// - Returns: What was kept back.
    public mutating func finish() -> [UInt8] { release(atEnd: true) }

    private mutating func release(atEnd: Bool) -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        scan: while index < held.count {
            if isFirst[Int(held[index])] {
                let rest = held[index...]
                for secret in secrets {
                    if rest.count >= secret.count {
                        guard rest.starts(with: secret) else { continue }
                        output += Self.replacement
                        index += secret.count
                        continue scan
                    }
                    if !atEnd, secret.starts(with: rest) { break scan }
                }
            }
            output.append(held[index])
            index += 1
        }
        held.removeFirst(index)
        return output
    }
}
