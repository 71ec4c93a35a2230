import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

extension Enclave {
    fileprivate mutating func addReader(_ passcode: String, sealedFor bus: String = "/bus") throws -> [EnclaveEvent] {
        let entry = try seal(
            passcode, to: passcodePublicKey(), nonce: freshNonce(), for: .addReader(bus: bus, templates: "/templates"))
        let job = try addReader(bus: "/bus", templates: "/templates", entry, now: 0)
        return finishAdding(
            .fprintd(bus: "/bus", templates: "/templates"), ticket: "t", key: try #require(job.current).run(), now: 0)
    }
}

/// A reader that a device gets after it was made (DEC-182).
@Suite struct AddedReaderTests {
    @Test("PC-22: the passcode, and no wrong one, gives a device without a sensor a reader, which a restart keeps")
    func addReader() throws {
        var enclave = try Enclave.device(.none, fingers: 0)
        #expect(try enclave.addReader("4321").map(\.outcome) == [.failed])
        #expect(enclave.sensorSource == nil && enclave.biometryType == .none)
        #expect(try enclave.addReader("1234").map(\.outcome) == [.succeeded])
        #expect(
            enclave.sensor.status?.problem == .starting && enclave.biometryObstacle(now: 0) == .biometryNotAvailable)
        enclave = try enclave.restarted()
        #expect(enclave.sensorSource == .fprintd(bus: "/bus", templates: "/templates"))
        try enclave.unlock("1234")
        _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
        #expect(enclave.biometryType == .touchID && enclave.biometryObstacle(now: 0) == nil)
        #expect { _ = try enclave.addReader("1234") } throws: { ($0 as? Enclave.Refused)?.reason == .hasSensor }
    }

    @Test("PC-22: a passcode that was sealed for other paths adds no reader")
    func addReaderElsewhere() throws {
        var enclave = try Enclave.device(.none, fingers: 0)
        #expect {
            _ = try enclave.addReader("1234", sealedFor: "/another")
        } throws: {
            ($0 as? Enclave.Refused)?.reason == .staleNonce
        }
        let entry = SealedPasscode(encapsulatedKey: Data(), ciphertext: Data())
        for path in ["", "bus", "/bus\0", "/" + String(repeating: "a", count: 4095)] {
            for (bus, templates) in [(path, "/templates"), ("/bus", path)] {
                #expect {
                    _ = try enclave.addReader(bus: bus, templates: templates, entry, now: 0)
                } throws: {
                    ($0 as? Enclave.Refused)?.reason == .invalidName
                }
            }
        }
        #expect(enclave.sensorSource == nil)
    }

    @Test("A device that is not simulated takes the machine's own fprintd alone")
    func addReaderToARealDevice() throws {
        let root = TestRoot()
        let file = try Enclave.create(isSimulated: false, biometryType: .none, root: root)
        var enclave = try Enclave(stateFile: file, root: root, now: 0)
        try enclave.changePasscode(from: nil, to: "1234")
        #expect { _ = try enclave.addReader("1234") } throws: { ($0 as? Enclave.Refused)?.reason == .invalidName }
        let (bus, templates) = ("/run/dbus/system_bus_socket", "/var/lib/fprint")
        let entry = try seal(
            "1234", to: enclave.passcodePublicKey(), nonce: enclave.freshNonce(),
            for: .addReader(bus: bus, templates: templates))
        _ = try enclave.addReader(bus: bus, templates: templates, entry, now: 0)
    }

    @Test("AC-50: simulated fingers, and what is bound to them, end with the reader that is added")
    func addReaderToSimulatedFingers() throws {
        var enclave = try Enclave.device()
        let set = enclave.state.database
        #expect(try enclave.addReader("1234").map(\.outcome) == [.succeeded])
        #expect(!enclave.isEnrolled && enclave.state.database != set && enclave.isSimulated)
    }
}
