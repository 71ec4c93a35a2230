import Foundation
import Security
import Testing
import TouchstoneTesting

/// What a function puts its result into holds anything before: it is written, never read.
@Suite struct OutPointerTests {
    /// Runs `body` with memory of which no byte means anything, and gives what it has put there.
    private func filled<T>(_ body: (UnsafeMutablePointer<T?>) -> OSStatus) -> (status: OSStatus, result: T?) {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<T?>.size, alignment: MemoryLayout<T?>.alignment)
        defer { memory.deallocate() }
        // An address that nobody has: to release what is there would end the process.
        for index in 0..<MemoryLayout<T?>.size { memory.storeBytes(of: 0x5A, toByteOffset: index, as: UInt8.self) }
        let pointer = memory.bindMemory(to: T?.self, capacity: 1)
        let status = body(pointer)
        return (status, status == errSecSuccess ? pointer.move() : nil)
    }

    @Test("An item's result is written over whatever was there") func items() throws {
        try SimulatedDevice().run {
            let item: Entries = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
            let data: Entries = [kSecValueData: Data("x".utf8), kSecReturnData: true]
            let added: (OSStatus, CFTypeRef?) = filled { SecItemAdd(item.merging(data) { $1 } as CFDictionary, $0) }
            #expect(added.0 == errSecSuccess)
            #expect(added.1 as? Data == Data("x".utf8))
            let query = item.merging([kSecReturnAttributes: true]) { $1 }
            let found: (OSStatus, CFTypeRef?) = filled { SecItemCopyMatching(query as CFDictionary, $0) }
            #expect((found.1 as? [String: Any])?["acct"] as? String == "a")
            let limited = query.merging([kSecMatchLimit: kSecMatchLimitAll]) { $1 }
            let all: (OSStatus, CFTypeRef?) = filled { SecItemCopyMatching(limited as CFDictionary, $0) }
            #expect((all.1 as? [Any])?.count == 1)
            // What fails leaves it alone.
            let none = query.merging([kSecAttrAccount: "b"]) { $1 }
            let missing: (OSStatus, CFTypeRef?) = filled { SecItemCopyMatching(none as CFDictionary, $0) }
            #expect(missing.0 == errSecItemNotFound)
            let duplicate: (OSStatus, CFTypeRef?) = filled { SecItemAdd(query as CFDictionary, $0) }
            #expect(duplicate.0 == errSecDuplicateItem)
        }
    }

    @Test("Both halves of a pair are written over whatever was there") func pair() throws {
        let parameters: Entries = [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256]
        var publicKey: SecKey?
        let made: (OSStatus, SecKey?) = filled { privateKey in
            let other: (OSStatus, SecKey?) = filled { SecKeyGeneratePair(parameters as CFDictionary, $0, privateKey) }
            publicKey = other.1
            return other.0
        }
        #expect(made.0 == errSecSuccess)
        #expect(try SecKeyCopyPublicKey(#require(made.1)) == publicKey)
    }
}
