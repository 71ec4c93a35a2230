import Foundation
import TouchstoneSignInProtocol

/// The header of a token or proof, which says by which key JWTKit has to verify it.
///
/// JWTKit's own type for headers is not used: it ends the process for a number that no `Int` holds, as 1e300.
enum TokenHeader {
    /// In bytes, of the whole text.
    static let maximumLength = 4096

    /// Nil if the text does not have three parts in base64url, or its first part is not such a header.
    static func read<Header: Decodable>(_ text: String, as type: Header.Type) -> Header? {
        guard text.utf8.count <= maximumLength else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Data(base64URL: String($0)) }
        guard parts.count == 3, !parts.contains(nil), let header = parts[0] else { return nil }
        return try? JSONDecoder().decode(type, from: header)
    }
}
