import Foundation
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneTesting

/// Searches of many items: streamed, decided before the first is sent, and nobody else waits for them.
@Suite(.timeLimit(.minutes(10))) struct StreamedSearchTests {
    private typealias CopyMatching = KeychainInterface.CopyMatching

    private static let app = AppIdentity(
        identifier: AppIdentifier(SimulatedDevice.applicationIdentifier), evidence: .process, name: "App",
        processID: getpid(),
        userID: getuid())

    private func client(_ device: SimulatedDevice) throws -> VarlinkClient {
        try SimulatedEndpoint(app: Self.app, device: device.booted.withLock { $0 }).client()
    }

    private static let all: KeychainInterface.Dictionary = [
        .class: .string("genp"), .matchLimit: .string("m_LimitAll"), .returnData: .boolean(true),
    ]

    private func fill(_ device: SimulatedDevice, _ count: Int, bytes: Int) {
        device.run {
            for number in 0..<count {
                let item: Attributes = [kSecAttrLabel: "filled", kSecValueData: Data(count: bytes)]
                #expect(add(account("\(number)", item)) == errSecSuccess)
            }
        }
    }

    @Test("Section 5: more than one reply holds is found, where it is taken as a stream") func manyBytes() throws {
        let device = try SimulatedDevice()
        fill(device, 60, bytes: 600_000)
        // 36 MB.
        device.run {
            let found = find(generic().data.all).result as? [Data]
            #expect(found?.count == 60)
            #expect(found?.allSatisfy { $0.count == 600_000 } == true)
        }
        // In one reply it is refused, as is said.
        let client = try client(device)
        let error = #expect(throws: RemoteError.self) {
            try client.call(CopyMatching.self, .init(query: Self.all, context: nil))
        }
        #expect(error?.as(KeychainInterface.Failed.self)?.status == errSecAllocate)
        var parts: [Int] = []
        try client.stream(CopyMatching.self, .init(query: Self.all, context: nil)) { reply in
            parts.append(reply.items.count)
            return true
        }
        #expect(parts.reduce(0, +) == 60)
        #expect(parts.allSatisfy { $0 <= 2 }, "\(parts)")
    }

    @Test("A stream is made no faster than it is read, and meanwhile others read and write") func backPressure() throws
    {
        let device = try SimulatedDevice()
        fill(device, 20, bytes: 600_000)
        let client = try client(device)
        var replies = 0
        try client.stream(CopyMatching.self, .init(query: Self.all, context: nil)) { _ in
            replies += 1
            if replies == 1 {
                // Not one of the rows that were not sent yet is held: they can be changed, and then they are not found.
                device.run {
                    #expect(read(account("3")) == errSecSuccess)
                    // Time enough for all of it, if it were not for the pace.
                    for _ in 0..<2 { #expect((find(generic().data.all).result as? [Data])?.count == 20) }
                    #expect(add(account("new")) == errSecSuccess)
                    for number in 10..<20 { #expect(delete(account("\(number)")) == errSecSuccess) }
                    #expect((find(generic().all.data).result as? [Data])?.count == 10)
                }
            }
            return true
        }
        // All that stayed, and of what was deleted no more than was under way.
        #expect((10...13).contains(replies))
    }

    @Test("A client that goes away in the middle of a stream leaves the service to the others") func abandoned() throws
    {
        let device = try SimulatedDevice()
        fill(device, 20, bytes: 600_000)
        for _ in 0..<10 {
            let client = try client(device)
            try client.stream(CopyMatching.self, .init(query: Self.all, context: nil)) { _ in false }
            client.close()
        }
        device.run { #expect((find(generic().data.all).result as? [Data])?.count == 20) }
    }

    @Test("AC-23: what needs the owner is decided before the first item is sent") func decidedFirst() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        fill(device, 600, bytes: 10)
        try device.run { () throws in
            let item: Attributes = [kSecAttrLabel: "filled", kSecAttrAccessControl: try control(.userPresence)]
            #expect(add(account("guarded", item).value("s")) == errSecSuccess)
        }
        // By an attribute that all of them share they are found in the order in which they were added: it comes last.
        let query = Self.all.merging([.label: .string("filled")]) { $1 }
        let client = try client(device)
        var replies = 0
        let error = #expect(throws: RemoteError.self) {
            try client.stream(CopyMatching.self, .init(query: query, context: nil)) { _ in
                replies += 1
                return true
            }
        }
        #expect(error?.as(KeychainInterface.Failed.self)?.reason == RefusalCause.interactionForbidden.rawValue)
        #expect(replies == 0)
        device.run {
            device.present(.finger(1))
            #expect((find(generic().data.all).result as? [Data])?.count == 601)
            #expect(find(generic().data.all.silent).status == errSecInteractionNotAllowed)
            let skipping = generic().data.all.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)
            #expect((find(skipping).result as? [Data])?.count == 600)
        }
    }

    @Test(
        "AC-40: a stream has the owner asked for an item that is guarded by then, and goes on",
        arguments: [true, false])
    func askedInItsMiddle(isApproved: Bool) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        fill(device, 20, bytes: 600_000)
        device.present(isApproved ? .finger(1) : .cancel)
        let guarded = try control(.userPresence)
        let client = try client(device)
        var found: [String] = []
        let query = Self.all.merging([.returnAttributes: .boolean(true)]) { $1 }
        func stream() throws {
            try client.stream(CopyMatching.self, .init(query: query, context: nil, options: .init(reason: "r"))) {
                reply in
                if found.isEmpty {
                    device.run {
                        #expect(update(account("15"), [kSecAttrAccessControl: guarded]) == errSecSuccess)
                    }
                }
                for case .string(let account) in reply.items.compactMap({ $0.attributes?[.account] }) {
                    found.append(account)
                }
                return true
            }
        }
        if isApproved {
            try stream()
            #expect(found.count == 20 && Set(found).count == 20)
        } else {
            let error = #expect(throws: RemoteError.self) { try stream() }
            #expect(error?.as(KeychainInterface.Failed.self)?.status == errSecUserCanceled)
            #expect(!found.isEmpty && !found.contains("15"))
        }
        #expect(device.prompts.count == 1)
    }

    @Test("KC-20: a locked class ends a stream that has begun, and nothing that came counts") func lockedMeanwhile()
        throws
    {
        let device = try SimulatedDevice(passcode: "1234")
        fill(device, 10, bytes: 600_000)
        let client = try client(device)
        let error = #expect(throws: RemoteError.self) {
            try client.stream(CopyMatching.self, .init(query: Self.all, context: nil)) { _ in
                try device.lock()
                return true
            }
        }
        #expect(error?.as(KeychainInterface.Failed.self)?.status == errSecInteractionNotAllowed)
        // The connection is as good as before.
        #expect(throws: RemoteError.self) {
            try client.call(CopyMatching.self, .init(query: [.class: .string("inet")], context: nil))
        }
    }

    @Test("Every item comes once, whatever the limit", arguments: [2, 255, 256, 257, 299, 300, 1000])
    func limits(limit: Int) throws {
        let device = try SimulatedDevice()
        fill(device, 300, bytes: 1)
        device.run {
            let found = find(generic([kSecMatchLimit: limit]).attributes.data).result as? [[String: Any]] ?? []
            #expect(found.count == min(limit, 300))
            #expect(Set(found.compactMap { $0["acct"] as? String }).count == found.count)
        }
    }

    @Test("Section 7: an update changes more items than are opened at a time, or none") func manyUpdated() throws {
        let device = try SimulatedDevice()
        fill(device, 300, bytes: 4000)
        device.run {
            #expect(update(generic(), [kSecAttrLabel: "all", kSecValueData: Data([1])]) == errSecSuccess)
            let found = find(generic([kSecAttrLabel: "all"]).data.all).result as? [Data]
            #expect(found?.count == 300)
            #expect(found?.allSatisfy { $0 == Data([1]) } == true)
            #expect(update(generic(), [kSecAttrLabel: "none", kSecAttrAccount: "one"]) == errSecDuplicateItem)
            #expect((find(generic([kSecAttrLabel: "all"]).attributes.all).result as? [Any])?.count == 300)
        }
    }
}
