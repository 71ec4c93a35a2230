import Foundation
import Testing
import TouchstoneSignInProtocol

@Suite struct Base64URLTests {
    @Test(arguments: 0...64) func bytesComeBack(count: Int) {
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) })
        let text = bytes.base64URL
        #expect(!text.contains("=") && !text.contains("+") && !text.contains("/"))
        #expect(Data(base64URL: text) == bytes)
    }

    /// RFC 4648, section 10, without its padding; the last two are what the alphabet changes.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("<<???>>", "PDw_Pz8-Pg"),
    ]) func vectors(clear: String, text: String) {
        #expect(Data(clear.utf8).base64URL == text)
        #expect(Data(base64URL: text) == Data(clear.utf8))
    }

    @Test(
        "padding, the other alphabet, spaces, an impossible length and surplus bits are refused",
        arguments: [
            "Zg==", "Zm8=", "PDw/Pz8+Pg", "Zm9v\n", " Zm9v", "Z", "Zm9vY", "Zh", "Zm9", "Zm\u{E9}v", "Zm9v\0",
        ])
    func refused(text: String) {
        #expect(Data(base64URL: text) == nil)
    }
}
