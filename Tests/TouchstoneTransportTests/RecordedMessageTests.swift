import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

@testable import TouchstoneTransport

/// Holds every message against what was recorded before the Swift of the interfaces was written from their files.
///
/// A line of the recording is a message as it comes, and behind a tab what became of it: `=` where it is written as it was read, the
/// bytes that are written in its place, or why it is not read, with the place.
@Suite struct RecordedMessageTests {
    private static let errors: [any VarlinkError.Type] = [
        KeychainInterface.Failed.self,
        AuthenticationInterface.Failed.self, AuthenticationInterface.MissingUsageDescription.self,
        AgentInterface.NoSuchPrompt.self, AgentInterface.UnsupportedVersion.self, DeviceInterface.NotSimulated.self,
        DeviceInterface.PasscodeRejected.self, DeviceInterface.Refused.self, EnclaveInterface.NotWrapped.self,
        EnclaveInterface.InvalidContext.self, EnclaveInterface.NoSuchEvaluation.self, EnclaveInterface.NotKept.self,
        EnclaveInterface.NoSuchBackup.self, EnclaveInterface.Deferred.self, BackupInterface.NotOwner.self,
        BackupInterface.NoSuchSession.self,
        BackupInterface.Malformed.self, BackupInterface.Failed.self, KeyInterface.Failed.self,
        KeyInterface.Invalidated.self,
    ]

    private static func rewrite<T: MessageCodable>(_ type: T.Type, _ input: String) throws -> String {
        func place(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
        do {
            let value = try MessageDecoder.decode(type, from: Data(input.utf8))
            let output = String(decoding: try JSONOutput.encode(value), as: UTF8.self)
            return output == input ? "=" : output
        } catch DecodingError.keyNotFound(let key, let context) {
            return "missing \(place(context.codingPath + [key]))"
        } catch DecodingError.typeMismatch(_, let context) {
            return "mismatch \(place(context.codingPath))"
        } catch DecodingError.dataCorrupted(let context) {
            return "corrupted \(place(context.codingPath))"
        } catch let status as Status {
            return "status \(status.rawValue)"
        }
    }

    private static func types() throws -> [String: any MessageCodable.Type] {
        var types: [String: any MessageCodable.Type] = [:]
        for interface in try InterfaceFileTests.interfaces() {
            for handler in interface.handlers {
                types["\(handler.name) takes"] = handler.parameters
                types["\(handler.name) answers"] = handler.reply
            }
        }
        for error in Self.errors { types["\(error.name) fails"] = error }
        return types
    }

    @Test func everyMessageIsReadAndWrittenAsItWas() throws {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/messages", withExtension: "txt"))
        let types = try Self.types()
        var name = ""
        var type: any MessageCodable.Type = Empty.self
        var messages = 0
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("# ") {
                name = String(line.dropFirst(2))
                type = try #require(types[name], "\(name)")
                continue
            }
            let parts = line.split(separator: "\t")
            try #require(parts.count == 2)
            #expect(try Self.rewrite(type, String(parts[0])) == parts[1], "\(name): \(parts[0])")
            messages += 1
        }
        #expect(messages > 5000)
    }
}
