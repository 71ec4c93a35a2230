import Foundation

/// The page of an app that stands beside the device, in a frame.
///
/// Its address may have a token in it, so the environment has it: everybody can read a command line.
struct ShownApp: Encodable, Equatable {
    static let variable = "TOUCHSTONE_SIMULATOR_APP"

    /// What prompts call it.
    let name: String
    let url: String
    /// What the page's policy lets into a frame.
    let origin: String

    private enum CodingKeys: CodingKey { case name, url }

    /// - Parameter text: `NAME=URL`; the URL begins with `http://127.0.0.1:PORT/`.
    /// - Throws: `Failure`, if it is nothing like that.
    init(_ text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        // What ends up in a header has no other signs than those of an address.
        guard parts.count == 2, (1...Self.maximumBytes).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let address = URLComponents(string: parts[1]),
            address.scheme == "http", address.host == "127.0.0.1", address.user == nil, address.password == nil,
            let port = address.port, (1...65535).contains(port)
        else {
            throw Failure(
                status: Failure.usage, message: "\(Self.variable) has to be NAME=http://127.0.0.1:PORT/PATH")
        }
        (name, url) = (parts[0], parts[1])
        origin = "http://127.0.0.1:\(port)"
    }

    private static let maximumBytes = 1024
}
