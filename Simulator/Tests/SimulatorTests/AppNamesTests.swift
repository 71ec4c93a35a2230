import Foundation
import Testing

@testable import touchstone_simulator

/// What the page's server remembers of apps, for a page that is reloaded.
@Suite struct AppNamesTests {
    private func reply(_ identifier: String, _ name: String) -> Data {
        Data(
            #"{"event":"show","prompt":{"identifier":"1","app":{"identifier":"\#(identifier)","name":"\#(name)"}}}"#
                .utf8)
    }

    private func apps(_ json: Data?) throws -> [AppNames.App]? {
        try json.map { try JSONDecoder().decode([AppNames.App].self, from: $0) }
    }

    @Test("each app is told once by the name of its last prompt") func names() throws {
        var names = AppNames()
        #expect(
            try apps(names.take(reply("/bin/chores", "Chores"))) == [.init(identifier: "/bin/chores", name: "Chores")])
        #expect(try apps(names.take(reply("/bin/chores", "Chores"))) == nil)
        #expect(try apps(names.take(reply("/bin/gate", "gate")))?.map(\.name) == ["Chores", "gate"])
        #expect(try apps(names.take(reply("/bin/chores", "Duties")))?.map(\.name) == ["Duties", "gate"])
    }

    @Test("a reply without a prompt, and a malformed reply, name nobody") func others() throws {
        var names = AppNames()
        for text in [
            #"{"event":"ready"}"#, #"{"event":"show","prompt":null}"#, "[]", #"{"prompt":{"app":{"name":1}}}"#,
        ] {
            #expect(try apps(names.take(Data(text.utf8))) == nil)
        }
    }

    @Test("AT: another spelling of the same characters is another app") func spellings() throws {
        var names = AppNames()
        _ = names.take(reply("/caf\u{e9}", "One"))
        #expect(try apps(names.take(reply("/cafe\u{301}", "Other")))?.map(\.name) == ["One", "Other"])
    }

    @Test("there is a largest number") func bounded() throws {
        var names = AppNames()
        for number in 0..<AppNames.maximum { _ = names.take(reply("/\(number)", "\(number)")) }
        let last = try #require(try apps(names.take(reply("/last", "last"))))
        #expect(last.count == AppNames.maximum)
        #expect((last.first?.name, last.last?.name) == ("1", "last"))
    }
}
