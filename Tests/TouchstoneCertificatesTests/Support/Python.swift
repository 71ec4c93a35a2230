import Foundation
import Testing

/// The Python package cryptography, by way of `foreign.py` of the tests of the algorithms.
enum Python {
    /// What it answers requests with: bytes, or nil for what it refuses.
    static func answers(_ requests: [[String: Any]], _ openssl: OpenSSL) throws -> [Data?] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        try openssl.write(JSONSerialization.data(withJSONObject: requests), "requests")
        try openssl.write(Data(), "answers")
        let process = Process()
        // `script/python-environment` makes it.
        process.executableURL = tests.deletingLastPathComponent().appending(path: ".build-python/bin/python")
        process.arguments = [tests.appending(path: "TouchstoneKeyAlgorithmsTests/Fixtures/foreign.py").path]
        process.standardInput = try FileHandle(forReadingFrom: openssl.directory.appending(path: "requests"))
        process.standardOutput = try FileHandle(forWritingTo: openssl.directory.appending(path: "answers"))
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let answers = try #require(JSONSerialization.jsonObject(with: openssl["answers"]) as? [Any])
        try #require(answers.count == requests.count)
        return answers.map { ($0 as? String).map { Data(hex: $0) } }
    }
}

extension Data {
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self.init(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
