import Crypto
import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneKeyAlgorithms

@Suite struct HashAlgorithmTests {
    @Test func sha224HasTheDigestsOfTheStandard() {
        #expect(HashAlgorithm.sha224.hash(Data()).hex == "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f")
        #expect(
            HashAlgorithm.sha224.hash(Data("abc".utf8)).hex
                == "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7")
        let two = Data("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
        #expect(HashAlgorithm.sha224.hash(two).hex == "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525")
    }

    @Test(arguments: HashAlgorithm.allCases)
    func digestsOfEveryLengthAreThoseOfPython(_ hash: HashAlgorithm) throws {
        let inputs = (0...200).map { Data.random(count: $0) } + [Data.random(count: 10_000)]
        let expected = try Foreign.python(
            inputs.map { ["operation": "digest", "hash": hash.rawValue, "data": $0.hex] })
        for (input, expected) in zip(inputs, expected) { #expect(hash.hash(input) == expected, "\(input.count) bytes") }
        #expect(hash.hash(Data()).count == hash.byteCount)
    }

    @Test func sha224InPiecesIsTheSame() {
        let input = Data.random(count: 1000)
        for size in [1, 7, 63, 64, 65, 128, 999] {
            var hash = SHA224()
            var rest = input
            while !rest.isEmpty {
                hash.update(data: rest.prefix(size))
                rest = Data(rest.dropFirst(size))
            }
            #expect(Data(hash.finalize()) == HashAlgorithm.sha224.hash(input), "\(size) at a time")
        }
    }

    @Test("SE-22: a key of any length is derived")
    func derivedKeysHaveTheLengthAskedFor() throws {
        let secret = SymmetricKey(data: Data.random(count: 32))
        let long = try HashAlgorithm.sha256.deriveKey(from: secret, info: Data("info".utf8), byteCount: 100)
        for count in [0, 1, 31, 32, 33, 64, 99] {
            let key = try HashAlgorithm.sha256.deriveKey(from: secret, info: Data("info".utf8), byteCount: count)
            #expect(key.withUnsafeBytes { Data($0) } == long.withUnsafeBytes { Data($0) }.prefix(count))
        }
    }

    @Test func keysOfNoLengthAreRefused() {
        let secret = SymmetricKey(data: Data(count: 32))
        for count in [-1, .min, HashAlgorithm.maximumDerivedByteCount + 1, .max] {
            #expect(throws: Status.param) {
                try HashAlgorithm.sha256.deriveKey(from: secret, info: Data(), byteCount: count)
            }
        }
    }
}
