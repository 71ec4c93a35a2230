import Foundation
import TouchstoneCore

/// What a secret is called: the service and the account.
struct ItemName: Hashable {
    let service: String
    let account: String

    /// Most bytes of each part.
    static let maximumPartBytes = 256

    /// The parts as they are; nil if one is empty, too long, or has a control character (EX-10).
    init?(service: String, account: String) {
        for part in [service, account] {
            guard (1...Self.maximumPartBytes).contains(part.utf8.count),
                !part.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
        }
        self.service = service
        self.account = account
    }

    // Byte for byte: to Swift, two texts may be equal that are not the same.
    static func == (one: ItemName, other: ItemName) -> Bool {
        one.service.utf8.elementsEqual(other.service.utf8) && one.account.utf8.elementsEqual(other.account.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(Array(service.utf8))
        hasher.combine(Array(account.utf8))
    }

    /// What commands call it (EX-1): each byte that is not a letter, a digit, `-`, `.`, `_` or `~` is encoded.
    var reference: String {
        "touchstone://" + [service, account].map(Self.encoded).joined(separator: "/")
    }

    private static func encoded(_ part: String) -> String {
        part.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}

/// For messages and prompts.
extension ItemName: CustomStringConvertible {
    var description: String { PlainText.line("\(account) at \(service)") }
}
