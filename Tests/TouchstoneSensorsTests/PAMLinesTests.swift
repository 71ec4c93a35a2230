import Testing

@testable import TouchstoneSensors

/// What is made of the bytes themselves, however they come in.
@Suite struct PAMLinesTests {
    private func result(_ pieces: [String]) -> (PAMLook.Result?, retries: Int) {
        var (lines, retries) = (PAMLines(), 0)
        for piece in pieces {
            if let result = lines.take(Array(piece.utf8), retry: { retries += 1 }) { return (result, retries) }
        }
        return (nil, retries)
    }

    @Test("a line counts once its end is there, in whatever pieces it comes")
    func pieces() {
        #expect(result(["retry\nresult 0\n"]) == (.match, 1))
        #expect(result(["re", "try", "\nresu", "lt 0", "\n"]) == (.match, 1))
        #expect(result(["result 0"]) == (nil, 0))
        #expect(result(["result 7\n", "result 0\n"]) == (.noMatch, 0))
    }

    @Test("a line that ends as on Windows is none, and neither is one of other bytes")
    func others() {
        #expect(result(["result 0\r\n"]) == (.nothing, 0))
        #expect(result(["\u{FEFF}result 0\n"]) == (.nothing, 0))
        #expect(result(["result 0\0\n"]) == (.nothing, 0))
    }

    @Test("more than 4096 bytes are not read")
    func tooMuch() {
        let most = PAMLines.mostBytes
        #expect(result([String(repeating: "x", count: most)]) == (nil, 0))
        #expect(result([String(repeating: "x", count: most), "x"]) == (.nothing, 0))
    }
}
