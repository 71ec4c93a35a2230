import BridgeJSON
import Foundation
import SecretServiceModel
import Testing

struct JSONObjectTests {
    private struct Everything: Codable, Equatable {
        struct Inner: Codable, Equatable { var text: String }
        var text: String
        var bytes: Data
        var number: Int
        var isTrue: Bool
        var inner: Inner
        var nothing: String?
    }

    @Test(
        "Foundation reads what was written, whatever the text is",
        arguments: [
            "", "plain", "\"\\/", "\u{0}\u{1}\u{1F}\n\t", "ä€😀\u{2028}", String(repeating: "\"", count: 4096),
        ])
    func itIsRead(text: String) throws {
        let bytes = Data(text.utf8)
        var (json, inner) = (JSONObject(), JSONObject())
        inner.add("text", text)
        json.add("text", text)
        json.add("bytes", base64: bytes)
        json.add("number", Int.min)
        json.add("isTrue", true)
        json.add("inner", inner)
        json.add("nothing", nil as String?)
        let expected = Everything(text: text, bytes: bytes, number: .min, isTrue: true, inner: .init(text: text))
        #expect(try JSONDecoder().decode(Everything.self, from: json.data) == expected)
        #expect(!json.data.contains(0))
        var named = JSONObject()
        named.add(text, false)
        #expect(try JSONDecoder().decode([String: Bool].self, from: named.data) == [text: false])
    }

    @Test("what has no member is an object all the same")
    func empty() { #expect(JSONObject().data == Data("{}".utf8)) }

    @Test(
        "SS-20: a description is kept in the form in which it was before, and read back",
        arguments: [
            ItemDescription(collection: "login", attributes: [:], contentType: "", maker: nil),
            {
                var noted = ItemDescription(collection: "login", attributes: [:], contentType: "", maker: nil)
                noted.secretBytes = 300
                return noted
            }(),
            ItemDescription(
                collection: "a", attributes: ["b": "\"", "a": "\u{1}ä/"], contentType: "text/plain",
                maker: "/usr/bin/x",
                grantee: .init(row: "r", path: "/p", digest: "d"), created: 1, modified: .max),
        ])
    func descriptions(description: ItemDescription) throws {
        let read = try #require(ItemDescription(description.kept))
        #expect(read == description)
        #expect(read.grantee?.path == description.grantee?.path)
        #expect(read.grantee?.digest == description.grantee?.digest)
    }

    @Test("SS-20: the text of a kept description stays, since older rows have it")
    func text() {
        let description = ItemDescription(
            collection: "login", attributes: ["b": "2", "a": "1/\n"], contentType: "text/plain", maker: "/x",
            grantee: .init(row: "r", path: "/p"), created: 5)
        let expected = #"""
            {"attributes":{"a":"1/\u000a","b":"2"},"collection":"login","contentType":"text/plain","created":5,\#
            "grantee":{"path":"/p","row":"r"},"maker":"/x"}
            """#
        #expect(String(decoding: description.kept, as: UTF8.self) == expected)
    }
}
