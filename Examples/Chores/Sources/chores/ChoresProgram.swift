import Foundation

/// A list of chores that anybody may read, and only the owner changes.
///
/// `--framed` lets another page of this machine show it, if that page knows the address: the simulator does.
@main
struct ChoresProgram {
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        let isFramed = arguments.first == "--framed"
        if isFramed { arguments = arguments.dropFirst() }
        guard arguments.count <= 1, let port = UInt16(arguments.first ?? "0") else {
            FileHandle.standardError.write(Data("usage: chores [--framed] [PORT]\n".utf8))
            exit(2)
        }
        try await ChoresServer(isFramed: isFramed).run(port: Int(port))
    }
}
