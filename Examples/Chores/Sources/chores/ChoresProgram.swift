import Foundation

/// A list of chores that anybody may read, and only the owner changes.
@main
struct ChoresProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1, let port = UInt16(arguments.first ?? "0") else {
            FileHandle.standardError.write(Data("usage: chores [PORT]\n".utf8))
            exit(2)
        }
        try await ChoresServer().run(port: Int(port))
    }
}
