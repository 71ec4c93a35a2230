import Foundation
import Testing
import TouchstoneCore

/// Names of apps and access groups: bytes.
@Suite struct AppIdentifierTests {
    /// As strings they are equal.
    private let composed = "/opt/caf\u{e9}"
    private let decomposed = "/opt/cafe\u{301}"

    @Test("KC-42: two spellings of the same characters are two names, by whatever they are compared")
    func spellings() {
        #expect(composed == decomposed)
        let (one, other) = (AppIdentifier(composed), AppIdentifier(decomposed))
        #expect(one != other)
        #expect(!(one == other))
        #expect(Set([one, other]).count == 2)
        #expect([one: 1][other] == nil)
        #expect(![one].contains(other))
        #expect(AppIdentifier?.some(one) != other)
        // A composed é comes after any plain letter; a decomposed one is an e, and what follows it.
        #expect([one, other].sorted() == [other, one])
    }

    @Test("The same bytes are the same name, wherever they come from") func sameBytes() throws {
        let one = AppIdentifier(composed)
        let other: AppIdentifier = "/opt/\("caf\u{e9}")"
        #expect(one == other)
        #expect(!(one != other))
        #expect(one.hashValue == other.hashValue)
        #expect([one: 1][other] == 1)
        #expect("\(one)" == composed)
    }

    @Test("In a message and in a file it is a string, whose bytes stay") func coded() throws {
        for name in [composed, decomposed, "", "\"\\\n"] {
            let one = AppIdentifier(name)
            let message = try JSONOutput.encode([one])
            #expect(message == (try JSONOutput.encode([name])))
            #expect(try MessageDecoder.decode([AppIdentifier].self, from: message) == [one])
            let file = try JSONEncoder().encode([one])
            #expect(file == (try JSONEncoder().encode([name])))
            #expect(try JSONDecoder().decode([AppIdentifier].self, from: file) == [one])
        }
        #expect(throws: DecodingError.self) { try MessageDecoder.decode([AppIdentifier].self, from: Data("[1]".utf8)) }
    }

    @Test("KC-30: values of attributes are compared by their bytes too") func values() {
        #expect(AttributeValue.string(composed) != .string(decomposed))
        #expect(Set([AttributeValue.string(composed), .string(decomposed), .string(composed)]).count == 2)
        #expect(AttributeValue.string("1") != .number(1))
        #expect(AttributeValue.date(1) != .real(1))
        for value: AttributeValue in [.string("a"), .data(Data([1])), .number(1), .real(1), .date(1), .boolean(true)] {
            #expect([value].contains(value) && Set([value]).contains(value))
        }
    }
}
