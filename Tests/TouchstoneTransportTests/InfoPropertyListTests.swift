import Foundation
import Testing

@testable import TouchstonePeers

/// What is read of an app's `Info.plist`, and that nothing in one harms the reader (CE-11).
@Suite struct InfoPropertyListTests {
    private func strings(_ text: String) -> [String: String]? { InfoPropertyList(Data(text.utf8))?.strings }

    private func list(_ body: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>\(body)</dict>
        </plist>

        """
    }

    @Test("CE-11: the strings at the top are read, whatever lies between and below")
    func reads() {
        let body = """
            <!-- <key>NSFaceIDUsageDescription</key><string>not this</string> -->
            <key>CFBundleExecutable</key><string>gate</string>
            <key>LSRequiresIPhoneOS</key><true/>
            <key>UISupportedInterfaceOrientations</key>
            <array><string>Portrait</string><dict><key>NSFaceIDUsageDescription</key><string>nor this</string></dict></array>
            <key>Empty</key><string/>
            <key>NSFaceIDUsageDescription</key>
            <string>Opens the &lt;safe&gt; &amp; says &quot;hello&quot; to you&#39;s &#x1F512;</string>
            """
        #expect(
            strings(list(body)) == [
                "CFBundleExecutable": "gate", "Empty": "",
                "NSFaceIDUsageDescription": "Opens the <safe> & says \"hello\" to you's 🔒",
            ])
        #expect(strings(list("")) == [:])
    }

    @Test(
        "CE-11: what is malformed is no property list",
        arguments: [
            "<key>a</key><string>b", "<key>a</key><string>b</key>", "<key>a</key>", "<string>b</string>",
            "<key>a</key><key>b</key><string>c</string>",
            "<key>a</key><string>b</string><key>a</key><string>c</string>",
            "<key>a</key><string>&unknown;</string>", "<key>a</key><string>&#xD800;</string>",
            "<key>a</key><string>&lt</string>", "<key>a<b/></key><string>c</string>", "<>", "</>", "</dict></dict>",
            "<!-- never ends", "<![CDATA[a]]>", "<", "<key", "</dict/>",
        ])
    func malformed(body: String) {
        #expect(strings(list(body)) == nil)
    }

    @Test("CE-11: other formats, other bytes and types that are declared anew are no property list, or hold nothing")
    func otherFormats() {
        #expect(InfoPropertyList(Data("bplist00\u{1}".utf8))?.strings.isEmpty != false)
        #expect(InfoPropertyList(Data([0x3C, 0xFF, 0xFE])) == nil)
        #expect(strings("")?.isEmpty != false)
        #expect(strings("{ NSFaceIDUsageDescription = \"a\"; }") == [:])
        #expect(
            strings("<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><dict><key>a</key><string>b</string></dict></plist>")
                == nil)
        #expect(strings("<plist><array><key>a</key><string>b</string></array></plist>") == [:])
    }

    @Test("CE-11: depth and size cost nothing but the bytes")
    func deep() {
        let depth = 6000
        let deep = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
        #expect(strings(list("<key>a</key>\(deep)<key>b</key><string>c</string>")) == ["b": "c"])
        #expect(strings(list(String(repeating: "<array>", count: depth))) == nil)
        #expect(strings(String(repeating: "<", count: 60_000)) == nil)
        #expect(
            strings(list("<key>a</key><string>\(String(repeating: "&amp;", count: 10_000))</string>"))?["a"]?.count
                == 10_000)
    }

    @Test("CE-11: bytes changed anywhere never trap", arguments: 0..<64)
    func changedBytes(seed: UInt8) {
        let whole = [UInt8](list("<key>a</key><string>b &amp; c</string><key>d</key><array><true/></array>").utf8)
        for index in whole.indices {
            var bytes = whole
            bytes[index] = bytes[index] &+ seed &* 4 &+ 1
            _ = InfoPropertyList(Data(bytes))
            _ = InfoPropertyList(Data(bytes.prefix(index)))
        }
    }
}
