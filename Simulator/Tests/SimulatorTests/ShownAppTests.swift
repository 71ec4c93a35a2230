import Foundation
import Testing

@testable import touchstone_simulator

/// What may stand beside the device.
@Suite struct ShownAppTests {
    @Test("a page of this machine, and nothing more of its address in the policy than its origin")
    func ofThisMachine() throws {
        let app = try ShownApp("Chores=http://127.0.0.1:4567/token/?a=b")
        #expect(app.name == "Chores")
        #expect(app.url == "http://127.0.0.1:4567/token/?a=b")
        #expect(app.origin == "http://127.0.0.1:4567")
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(app)) as? [String: String]
        #expect(json == ["name": "Chores", "url": "http://127.0.0.1:4567/token/?a=b"])
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "Chores", "=http://127.0.0.1:1/", "Chores=", "Chores=https://127.0.0.1:1/",
            "Chores=http://localhost:1/",
            "Chores=http://127.0.0.1/", "Chores=http://127.0.0.1:0/", "Chores=http://127.0.0.1:99999/",
            "Chores=http://a@127.0.0.1:1/", "Chores=http://127.0.0.1.example:1/",
            "Chores=http://127.0.0.1:1/; script-src *",
            "Chores=http://127.0.0.1:1/\r\nX: y", "Chores=javascript:alert(1)",
            "Chores=http://127.0.0.1:1/" + String(repeating: "a", count: 1024),
        ])
    func anythingElse(text: String) {
        #expect(throws: Failure.self) { try ShownApp(text) }
    }
}
