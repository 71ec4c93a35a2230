import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave

@testable import TouchstoneTesting
@testable import TouchstoneTransport

/// Holds every interface file against the code that answers it: methods, parameters, replies and errors, both ways.
@Suite struct InterfaceConformanceTests {
    /// Every error of the vocabulary.
    ///
    /// `everyErrorIsListed` holds that none is missing here.
    static let errors: [any VarlinkError.Type] = [
        KeychainInterface.Failed.self, KeychainInterface.AuthenticationNeeded.self,
        AuthenticationInterface.Failed.self, AuthenticationInterface.MissingUsageDescription.self,
        AgentInterface.NoSuchPrompt.self, AgentInterface.UnsupportedVersion.self, DeviceInterface.NotSimulated.self,
        DeviceInterface.PasscodeRejected.self, DeviceInterface.Refused.self, EnclaveInterface.NotWrapped.self,
        EnclaveInterface.InvalidContext.self, EnclaveInterface.NoSuchEvaluation.self, EnclaveInterface.NotKept.self,
        EnclaveInterface.NoSuchBackup.self, EnclaveInterface.Deferred.self, BackupInterface.NotOwner.self,
        BackupInterface.NoSuchSession.self,
        BackupInterface.Malformed.self, BackupInterface.Failed.self, KeyInterface.Failed.self,
        KeyInterface.AuthenticationNeeded.self, KeyInterface.Invalidated.self,
    ]
    private static let serviceErrors: [any VarlinkError.Type] = [
        VarlinkServiceError.InterfaceNotFound.self, VarlinkServiceError.MethodNotFound.self,
        VarlinkServiceError.InvalidParameter.self, VarlinkServiceError.PermissionDenied.self,
        VarlinkServiceError.ExpectedMore.self,
    ]

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

    /// Where a file and the code differ, one line for each place.
    private static func mismatches(
        _ text: String, name: String, handlers: [VarlinkHandler], errors: [any VarlinkError.Type]
    ) throws -> [String] {
        let file = try InterfaceText(text)
        var found: [String] = file.name == name ? [] : ["the file is of \(file.name)"]
        let answered = Dictionary(uniqueKeysWithValues: handlers.map { ($0.name, $0) })
        let described = Dictionary(uniqueKeysWithValues: file.methods.map { ("\(file.name).\($0.key)", $0.value) })
        for method in Set(answered.keys).union(described.keys).sorted() {
            switch (described[method], answered[method]) {
            case (let described?, let answered?):
                found += Shape.differences(
                    described.parameters, try ShapeRecorder.shape(of: answered.parameters), at: "\(method)()")
                found += Shape.differences(
                    described.reply, try ShapeRecorder.shape(of: answered.reply), at: "\(method)() ->")
            case (nil, _): found.append("\(method) is in the code only")
            case (_, nil): found.append("\(method) is in the file only")
            }
        }
        let thrown = Dictionary(
            uniqueKeysWithValues: errors.filter { $0.name.hasPrefix("\(name).") }.map { ($0.name, $0) })
        let told = Dictionary(uniqueKeysWithValues: file.errors.map { ("\(file.name).\($0.key)", $0.value) })
        for error in Set(thrown.keys).union(told.keys).sorted() {
            switch (told[error], thrown[error]) {
            case (let told?, let thrown?):
                found += Shape.differences(told, try ShapeRecorder.shape(of: thrown), at: error)
            case (nil, _): found.append("\(error) is in the code only")
            case (_, nil): found.append("\(error) is in the file only")
            }
        }
        return found
    }

    @Test func everyFileSaysWhatTheCodeDoes() throws {
        let interfaces = try Self.interfaces()
        #expect(
            Set(interfaces.map(\.name)) == [
                "org.varlink.service", "io.touchstone.Keychain", "io.touchstone.Backup", "io.touchstone.Authentication",
                "io.touchstone.Agent", "io.touchstone.Device", "io.touchstone.Enclave", "io.touchstone.Key",
                "io.touchstone.Inspector",
            ])
        for interface in interfaces where interface.name != "org.varlink.service" {
            let found = try Self.mismatches(
                interface.description, name: interface.name, handlers: interface.handlers, errors: Self.errors)
            #expect(found == [])
        }
    }

    @Test func theServiceInterfaceSaysWhatTheCodeDoes() throws {
        let interface = try #require(try Self.interfaces().first { $0.name == "org.varlink.service" })
        let found = try Self.mismatches(
            interface.description, name: interface.name, handlers: interface.handlers, errors: Self.serviceErrors)
        // Part of the standard's text, and never answered: what a file has is implemented.
        #expect(found == ["org.varlink.service.MethodNotImplemented is in the file only"])
    }

    @Test func everyInterfaceFileIsServed() throws {
        let served = Set(try Self.interfaces().map { "\($0.name).varlink" })
        let sources = Self.repository.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path))
            .compactMap { ($0 as? String).map { URL(fileURLWithPath: $0).lastPathComponent } }
            .filter { $0.hasSuffix(".varlink") }
        #expect(files.count == 8)
        #expect(served.isSuperset(of: files))
    }

    @Test func everyErrorIsListed() throws {
        let messages = Self.repository.appendingPathComponent("Sources/TouchstoneCore/Messages")
        var declared: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(at: messages, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /: VarlinkError \{\s*package static let name = "([^"]+)"/) {
                declared.insert(String(match.1))
            }
        }
        #expect(declared == Set(Self.errors.map { $0.name }))
    }

    /// The comparison is worth what it finds: each of these faults, planted into a true file, is found.
    @Test(
        arguments: [
            ("method Delete(", "method Remove("),
            ("context: ?string\n) -> (item: Item)", "context: string\n) -> (item: Item)"),
            ("-> (item: Item)", "-> (item: ?Item)"),
            ("-> (items: []Item)", "-> (items: Item)"),
            ("-> (items: []Item)", "-> (found: []Item)"),
            ("  number: ?int,", ""),
            ("  number: ?int,", "  number: ?float,"),
            ("  number: ?int,", "  number: ?int,\n  integer: ?int,"),
            ("query: [string]AttributeValue", "query: []AttributeValue"),
            ("type Accessibility (ak, ", "type Accessibility ("),
            ("type Accessibility (ak, ", "type Accessibility (ak, al, "),
            ("error Failed (status: int,", "error Failed (status: string,"),
            ("error Failed (status: int, reason: ?string,", "error Failed (status: int, reason: string,"),
            ("error Failed (status: int,", "error Other ()\nerror Failed (status: int,"),
            ("error AuthenticationNeeded (", "error AuthenticationWanted ("),
            ("interface io.touchstone.Keychain", "interface io.touchstone.Keychains"),
        ])
    func aPlantedFaultIsFound(_ original: String, _ fault: String) throws {
        let interface = try #require(try Self.interfaces().first { $0.name == "io.touchstone.Keychain" })
        #expect(interface.description.contains(original), "the fault is planted nowhere")
        let text = interface.description.replacingOccurrences(of: original, with: fault)
        let found = try Self.mismatches(
            text, name: interface.name, handlers: interface.handlers, errors: Self.errors)
        #expect(found != [])
    }

    @Test func aMethodThatNobodyAnswersIsFound() throws {
        let interface = try #require(try Self.interfaces().first { $0.name == "io.touchstone.Keychain" })
        let found = try Self.mismatches(
            interface.description, name: interface.name, handlers: Array(interface.handlers.dropLast()),
            errors: Self.errors)
        #expect(found == ["io.touchstone.Keychain.Delete is in the file only"])
    }

    @Test func theRecorderKnowsEveryCase() throws {
        #expect(ShapeRecorder.cases(of: Accessibility.self) == Accessibility.allCases)
        #expect(
            ShapeRecorder.cases(of: AgentInterface.Event.self)?.map(\.rawValue)
                == ["ready", "show", "succeeded", "dismissed"])
        #expect(
            try ShapeRecorder.shape(of: Probe.Echo.Parameters.self).description
                == "(bytes: ?string, names: ?[string]int, nested: ?(flag: bool), number: ?int, real: ?float, text: string)"
        )
    }

    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
