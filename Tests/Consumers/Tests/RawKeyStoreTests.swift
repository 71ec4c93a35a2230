import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct RawKeyStoreTests {
    struct Key: RawKey, Equatable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        init<Bytes: ContiguousBytes>(raw: Bytes) throws {
            bytes = raw.withUnsafeBytes { Array($0) }
            guard bytes.count == 32 else { throw RawKeyFailure(description: "not a key") }
        }

        var raw: Data { bytes.data }
    }

    @Test("A key goes in and out in its bytes")
    func roundTrip() throws {
        try SimulatedDevice().run {
            let store = RawKeyStore()
            let key = Key((0..<32).map { $0 &* 7 })
            try store.delete("key")
            let none: Key? = try store.read("key")
            #expect(none == nil)
            try store.add(key, account: "key")
            let read: Key? = try store.read("key")
            #expect(read == key)
            let error = #expect(throws: RawKeyFailure.self) { try store.add(key, account: "key") }
            #expect(error?.description.hasSuffix(errSecDuplicateItem.text) == true)
            try store.delete("key")
            let deleted: Key? = try store.read("key")
            #expect(deleted == nil)
        }
    }

    @Test("Bytes that are no key are an error, and no bytes are no key")
    func notAKey() throws {
        try SimulatedDevice().run {
            let store = RawKeyStore()
            try store.add(Key([1, 2]), account: "short")
            #expect(throws: RawKeyFailure.self) { let _: Key? = try store.read("short") }
            try store.add(Key([]), account: "empty")
            #expect(throws: RawKeyFailure.self) { let _: Key? = try store.read("empty") }
        }
    }
}
