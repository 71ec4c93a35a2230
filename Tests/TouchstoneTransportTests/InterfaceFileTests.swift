import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost

@testable import TouchstoneTesting
@testable import TouchstoneTransport

/// What `script/interfaces` cannot see: that every interface is served, every method answered, and every word of the enumerations that
/// are written by hand a case.
@Suite struct InterfaceFileTests {
    /// Every interface that the two daemons serve.
    static func interfaces() throws -> [VarlinkInterface] {
        let device = try SimulatedDevice()
        let storage = MemoryStorage()
        let root = MemoryRoot()
        try storage.replace(Enclave.create(isSimulated: true, biometryType: .touchID, root: root))
        let host = try EnclaveHost(
            storage: storage, root: root, clock: ManualClock(), newPasscodeCost: { .minimum })
        return device.booted.withLock { $0 }.router.interfaces + [EnclaveService(host: host).interface]
    }

    @Test func everyMethodIsAnsweredAndNoOther() throws {
        for interface in try Self.interfaces() {
            let described = interface.description.matches(of: /(?m)^method ([A-Z]\w*)/)
                .map { "\(interface.name).\($0.1)" }
            #expect(!described.isEmpty)
            #expect(interface.handlers.map(\.name).sorted() == described.sorted())
        }
    }

    @Test func everyInterfaceFileIsServed() throws {
        let served = Set(try Self.interfaces().map { "\($0.name).varlink" })
        let repository = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let sources = repository.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path))
            .compactMap { ($0 as? String).map { URL(fileURLWithPath: $0).lastPathComponent } }
            .filter { $0.hasSuffix(".varlink") }
        #expect(served == Set(files + ["org.varlink.service.varlink"]))
    }

    @Test(
        arguments: [
            Accessibility.self, BackupDirection.self, AppIdentity.Evidence.self, PasscodeKind.self,
            ProcessOrigin.Place.self, Proof.self,
        ] as [any MessageEnumeration.Type])
    func everyWordIsACase(_ type: any MessageEnumeration.Type) {
        func words<E: MessageEnumeration>(_ type: E.Type) -> [String] { type.allCases.map(\.rawValue) }
        #expect(words(type).sorted() == type.words.sorted())
    }
}
