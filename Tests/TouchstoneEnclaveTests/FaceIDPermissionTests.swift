import Foundation
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneInterfaces

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// What the enclave keeps of the owner's answers (CE-09, CE-10).
@Suite struct FaceIDPermissionTests {
    private func answer(_ isAllowed: Bool?, _ app: AppIdentifier, in enclave: inout Enclave) throws {
        _ = try enclave.setFaceIDPermission(isAllowed, of: app, now: 0)
    }

    @Test("CE-09: answers are kept in the state file, and a file that was written before there were any has none")
    func kept() throws {
        var enclave = try Enclave.device(.faceID)
        #expect(enclave.faceIDPermission(of: "app") == nil)
        let before = String(decoding: try enclave.stateFile(), as: UTF8.self)
        #expect(!before.contains("faceIDPermissions"), "as version 1 wrote it")
        #expect(try enclave.restarted().state.faceIDPermissions == nil)
        try answer(true, "allowed", in: &enclave)
        try answer(false, "denied", in: &enclave)
        let restarted = try enclave.restarted()
        #expect(restarted.faceIDPermission(of: "allowed") == true)
        #expect(restarted.faceIDPermission(of: "denied") == false)
        #expect(restarted.faceIDPermission(of: "other") == nil)
    }

    @Test("CE-09: the 128 last answers are kept; whose is older is asked about again, and nobody else is")
    func bounded() throws {
        var enclave = try Enclave.device(.faceID)
        for number in 0..<128 { try answer(false, "app \(number)", in: &enclave) }
        try answer(true, "app 0", in: &enclave)
        #expect(enclave.state.faceIDPermissions?.count == 128, "a changed answer is no further one")
        try answer(false, "app 128", in: &enclave)
        #expect(enclave.state.faceIDPermissions?.count == 128)
        #expect(enclave.faceIDPermission(of: "app 1") == nil)
        #expect(enclave.faceIDPermission(of: "app 0") == true)
        #expect(enclave.faceIDPermission(of: "app 2") == false)
    }

    @Test("CE-09: another spelling of the same characters is another app")
    func spellings() throws {
        var enclave = try Enclave.device(.faceID)
        try answer(true, "/opt/caf\u{e9}", in: &enclave)
        #expect(enclave.faceIDPermission(of: "/opt/cafe\u{301}") == nil)
    }

    @Test("CE-09: however long the names of the apps are, the device boots with the answers")
    func bootsWithTheWorst() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = PrivateFile(directory.appendingPathComponent("enclave.state"))
        let root = TestRoot()
        try file.replace(Enclave.create(isSimulated: true, biometryType: .faceID, root: root))
        func boot() throws -> EnclaveHost {
            try EnclaveHost(storage: file, root: root, clock: StandingClock(), newPasscodeCost: { .minimum })
        }
        let host = try boot()
        var last: AppIdentifier = ""
        for number in 0..<200 {
            // Two bytes in the file for each: nothing that is taken needs more.
            last = AppIdentifier("\(number)" + String(repeating: "\"", count: 1020))
            try host.change { [last] enclave, now in ((), try enclave.setFaceIDPermission(true, of: last, now: now)) }
        }
        #expect(try #require(try file.read()).count < 1 << 19)
        #expect(try boot().read { enclave, _ in enclave.faceIDPermission(of: last) } == true)
    }

    @Test(
        "CE-09: an app with a control character in its name is not answered for, nor asked about: it may not use Face ID"
    )
    func controlCharacters() throws {
        var enclave = try Enclave.device(.faceID)
        for app: AppIdentifier in ["a\u{1}", "a\nb", "\u{7F}", "a\u{85}"] {
            let error = #expect(throws: Enclave.Refused.self) { try answer(true, app, in: &enclave) }
            #expect(error?.reason == .invalidName)
            #expect(enclave.biometryObstacle(of: app, isFaceIDDescribed: true, now: 0) == .biometryNotAvailable)
        }
        #expect(enclave.biometryObstacle(of: "Café 🔑", isFaceIDDescribed: true, now: 0) == nil)
        try answer(true, "Café 🔑", in: &enclave)
    }

    @Test("CE-09: an identifier that is empty or too long is refused, the longest is not")
    func names() throws {
        var enclave = try Enclave.device(.faceID)
        for app: AppIdentifier in ["", AppIdentifier(String(repeating: "a", count: 1025))] {
            let error = #expect(throws: Enclave.Refused.self) { try answer(true, app, in: &enclave) }
            #expect(error?.reason == .invalidName)
        }
        try answer(true, AppIdentifier(String(repeating: "a", count: 1024)), in: &enclave)
        var touch = try Enclave.device(.touchID)
        let error = #expect(throws: Enclave.Refused.self) { try answer(true, "app", in: &touch) }
        #expect(error?.reason == .noFaceID)
    }

    @Test(
        "CE-10: an app is asked about once; a denial ends biometrics with -6 and leaves the device owner the passcode")
    func phases() throws {
        var enclave = try Enclave.device(.faceID)
        _ = try enclave.begin(.biometrics)
        #expect(enclave.evaluation?.phase == .permission)
        #expect(enclave.touch(.finger(1), now: 0).0 == .notWaiting)
        let denied = try enclave.setFaceIDPermission(false, of: "app", now: 0)
        #expect(denied.map(\.code) == [.biometryNotAvailable])
        _ = try enclave.begin(.deviceOwner)
        #expect(enclave.evaluation?.phase == .passcode)
        _ = try enclave.setFaceIDPermission(true, of: "app", now: 0)
        #expect(enclave.evaluation?.phase == .passcode, "for this evaluation it is over")
        _ = try enclave.begin(.biometrics)
        #expect(enclave.evaluation?.phase == .biometry)
    }

    @Test("CE-10: where a face and the passcode are both wanted, a denial leaves nothing to be met")
    func both() throws {
        var enclave = try Enclave.device(.faceID)
        _ = try enclave.begin(Requirement(proofs: [.biometryAny, .passcode]))
        #expect(enclave.evaluation?.phase == .permission)
        #expect(try enclave.setFaceIDPermission(false, of: "app", now: 0).map(\.code) == [.biometryNotAvailable])
        #expect(enclave.evaluation == nil)
    }

    @Test("CE-09: an answer that cannot be kept is none")
    func notKept() throws {
        let storage = TestStorage(try Enclave.device(.faceID).stateFile())
        let host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: StandingClock(), newPasscodeCost: { .minimum })
        storage.isFull = true
        #expect(throws: EnclaveHost.NotKept.self) {
            try host.change { enclave, now in ((), try enclave.setFaceIDPermission(true, of: "app", now: now)) }
        }
        #expect(host.read { enclave, _ in enclave.faceIDPermission(of: "app") } == nil)
        storage.isFull = false
        try host.change { enclave, now in ((), try enclave.setFaceIDPermission(true, of: "app", now: now)) }
        #expect(host.read { enclave, _ in enclave.faceIDPermission(of: "app") } == true)
    }

    @Test("EV-16: the camera looks only when it is told to, and at the second miss the fallback is all that is left")
    func retry() throws {
        var enclave = try Enclave.device(.faceID)
        try answer(true, "app", in: &enclave)
        _ = try enclave.begin(.biometrics)
        #expect(enclave.tryAgain(now: 0).isEmpty, "it looks already")
        #expect(enclave.touch(.stranger, now: 0).0 == .notMatched)
        #expect(enclave.evaluation?.phase == .retry)
        #expect(enclave.touch(.finger(1), now: 0).0 == .notWaiting)
        #expect(enclave.chooseFallback(now: 0).isEmpty, "what is not offered cannot be chosen")
        #expect(enclave.tryAgain(now: 0).map(\.progress?.phase) == [.biometry])
        #expect(enclave.touch(.stranger, now: 0).0 == .notMatched)
        #expect(enclave.evaluation?.phase == .fallback)
        #expect(enclave.tryAgain(now: 0).isEmpty)
        #expect(enclave.chooseFallback(now: 0).map(\.code) == [.userFallback])
    }
}
