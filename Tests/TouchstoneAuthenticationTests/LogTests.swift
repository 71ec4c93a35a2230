import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneTransport

@testable import TouchstoneTesting

/// What `touchstone log` shows after what apps and owners did.
@Suite(.timeLimit(.minutes(10))) struct LogTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    /// Everything that was logged, after the entries that set the device up.
    private func entries(_ device: SimulatedDevice? = nil, after setUp: Int = 4) throws -> [LogEntry] {
        let device = device ?? self.device
        _ = try device.call(DeviceInterface.GetLogHead.self, Empty())
        return device.log.lines.compactMap(LogEntry.init(line:)).dropFirst(setUp).map { $0 }
    }

    /// An entry as the test writes it down: event, app, asked, factors, result, count.
    private func told(_ entries: [LogEntry]) -> [String] {
        entries.filter { $0.author == .enclave }.map { entry in
            let app = entry.app.map { $0 == SimulatedDevice.applicationIdentifier ? "me" : $0 } ?? "-"
            return [
                entry.event, app, entry.asked ?? "-", entry.factors?.map(\.rawValue).joined(separator: "+") ?? "-",
                entry.result, entry.count.map { "+\($0)" } ?? "",
            ].joined(separator: " ").trimmingCharacters(in: .whitespaces)
        }
    }

    private func item(_ name: String) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrAccount: name]
    }

    private func add(_ name: String, _ flags: SecAccessControlCreateFlags?, value: String = "value") throws {
        var query = item(name)
        query[kSecValueData] = Data(value.utf8)
        if let flags {
            query[kSecAttrAccessControl] = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
        }
        try #require(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
    }

    private func read(_ name: String, _ context: LAContext? = nil) -> OSStatus {
        var query = item(name)
        query[kSecReturnData] = true
        if let context { query[kSecUseAuthenticationContext] = context }
        var found: CFTypeRef?
        return SecItemCopyMatching(query as CFDictionary, &found)
    }

    // MARK: events

    @Test("Threat 34: setting a device up is logged") func setUp() throws {
        #expect(
            try told(entries(after: 0)) == [
                "device-started - - - ok", "passcode-set - - - ok", "biometry-enrolled - - touch-id ok",
            ])
    }

    @Test("Threat 34: an evaluation by a finger: who, what, by which factor") func finger() async throws {
        await device.run {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
        #expect(
            try told(entries()) == [
                "evaluation-began me biometryAny - ok", "evaluation-ended me biometryAny touch-id ok",
            ])
    }

    @Test("Threat 34: an evaluation by the passcode after a non-match and a wrong passcode") func passcode()
        async throws
    {
        await device.run(as: "org.example.bank") {
            device.present(.nonMatch, .fallback, .passcode("0000"), .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
        }
        #expect(
            try told(entries()) == [
                "evaluation-began org.example.bank presence - ok",
                "biometry-rejected org.example.bank - touch-id not-matched",
                "passcode-rejected org.example.bank evaluation - wrong",
                "evaluation-ended org.example.bank presence passcode ok",
            ])
    }

    @Test(
        "Threat 34: the precise reason of an evaluation that failed",
        arguments: [
            (SimulatedDevice.Action.cancel, "userCancel"), (.leaveApp, "systemCancel"),
        ]) func cancelled(action: SimulatedDevice.Action, result: String) async throws
    {
        await device.run {
            device.present(action)
            _ = await evaluate(biometrics)
        }
        #expect(try told(entries()).last == "evaluation-ended me biometryAny - \(result)")
    }

    @Test("Threat 34: an evaluation whose app invalidates its context, and one that a newer takes the place of")
    func appCancels()
        async throws
    {
        await device.run {
            let (first, second, replies) = (LAContext(), LAContext(), Replies())
            replies.collect(biometrics, on: first)
            await eventually { device.prompts.count == 1 }
            replies.collect(deviceOwner, on: second)
            await eventually { replies.codes.count == 1 }
            second.invalidate()
            await eventually { replies.codes.count == 2 }
        }
        #expect(
            try told(entries()) == [
                "evaluation-began me biometryAny - ok", "evaluation-ended me biometryAny - systemCancel",
                "evaluation-began me presence - ok", "evaluation-ended me presence - appCancel",
            ])
    }

    @Test("Threat 34, EV-31: a proof that is used again says so, and many times are one entry") func reuse()
        async throws
    {
        await device.run {
            let context = LAContext()
            device.present(.finger(1))
            for _ in 0..<5 { #expect(await evaluate(biometrics, on: context) == nil) }
        }
        #expect(
            try told(entries()).suffix(2) == [
                "evaluation-ended me biometryAny reuse ok", "evaluation-ended me biometryAny reuse ok +3",
            ])
    }

    @Test(
        "Threat 34, EV-26: five non-matches are five entries and the lockout, and what is refused afterwards says why")
    func lockout() async throws {
        await device.run { await device.lockOutBiometry() }
        let told = try told(entries())
        #expect(told.filter { $0.hasPrefix("biometry-rejected") }.count == 5)
        #expect(told.filter { $0 == "biometry-locked-out me - touch-id ok" }.count == 1)
        #expect(told.contains("evaluation-ended me biometryAny - biometryLockout"))
        #expect(await device.run { await evaluate(biometrics) } == .biometryLockout)
    }

    @Test("Threat 34: locking, and unlocking by finger, passcode and wrong ones") func lockScreen() throws {
        try device.lock()
        try device.unlock(finger: nil)
        try device.unlock(finger: 1)
        try device.lock()
        #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "0000") }
        #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "0000") }
        try device.unlock(passcode: "1234")
        #expect(
            try told(entries()) == [
                "locked - - - ok", "biometry-rejected - - touch-id not-matched", "unlocked - - touch-id ok",
                "locked - - - ok", "passcode-rejected - unlock - wrong",
                "passcode-rejected - unlock - wrong, the same as before", "unlocked - - passcode ok",
            ])
    }

    @Test("Threat 34: changing and removing passcode and fingers") func settings() throws {
        try device.changePasscode(from: "1234", to: "5678")
        #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "1234", to: "9999") }
        try device.enrollFinger()
        try device.removeFinger(2)
        try device.removePasscode("5678")
        #expect(
            try told(entries()) == [
                "passcode-changed - - passcode ok", "passcode-rejected - change - wrong",
                "biometry-enrolled - - touch-id ok", "biometry-removed - - touch-id ok",
                "passcode-removed - - passcode ok",
            ])
    }

    @Test(
        "Threat 7: a wrong passcode names the program that sent it, on touchstoned's word; a right one, and others, none"
    )
    func guesser() async throws {
        try device.lock()
        #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "0000") }
        try device.unlock(passcode: "1234")
        #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "0001", to: "9999") }
        #expect(throws: SimulatedDeviceError.self) { try device.setEraseData(true, passcode: "0002") }
        await device.run(as: "org.example.bank") {
            device.present(.nonMatch, .fallback, .passcode("0003"), .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
        }
        let all = try entries()
        let rejected = all.filter { $0.event == LogEvent.passcodeRejected.rawValue && $0.result == "wrong" }
        // The owner's program is the agent of this device too.
        #expect(rejected.map(\.by) == Array(repeating: "process:owner", count: 4))
        #expect(rejected.map(\.app) == [nil, nil, nil, "org.example.bank"])
        #expect(rejected.first?.sentence == "passcode rejected (unlock), from process:owner: wrong")
        let naming = [LogEvent.passcodeRejected.rawValue, LogEvent.locked.rawValue]
        #expect(all.allSatisfy { $0.by == nil || naming.contains($0.event) })
        #expect(
            try device.call(DeviceInterface.CheckLog.self, .init(lines: device.log.lines)).genuine.allSatisfy { $0 })
        // And one that is not looked at: after a fourth.
        #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "0004", to: "9999") }
        #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "1234", to: "9999") }
        let refused = try #require(try entries().last)
        #expect(refused.result == "refused: busy" && refused.by == "process:owner")
    }

    @Test("PC-01: the log gives the reason for a passcode that was not checked") func delayed() throws {
        try device.lock()
        for number in 0..<8 {
            #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "000\(number)") }
        }
        #expect(try told(entries()).last?.hasPrefix("passcode-rejected - - - refused: busy") == true)
    }

    @Test("Threat 34: the log calls a face a face") func face() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        await device.run {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
        #expect(try told(entries(device)).last == "evaluation-ended me biometryAny face-id ok")
    }

    @Test("Threat 34: opening an item of the owner's is logged with what opened it, an unprotected read is not")
    func items() throws {
        try device.run {
            try add("open", nil)
            try add("guarded", .userPresence)
            for _ in 0..<3 { #expect(read("open") == errSecSuccess) }
            device.present(.finger(1))
            #expect(read("guarded") == errSecSuccess)
        }
        #expect(
            try told(entries()) == [
                "evaluation-began me presence - ok", "evaluation-ended me presence touch-id ok",
                "item-opened me presence touch-id ok",
            ])
    }

    @Test("Threat 34: reading an item again and again with one proof is one entry and a count") func manyUses() throws {
        try device.run {
            try add("guarded", .userPresence)
            let context = LAContext()
            device.present(.finger(1))
            for _ in 0..<50 { #expect(read("guarded", context) == errSecSuccess) }
        }
        #expect(
            try told(entries()).suffix(2) == [
                "item-opened me presence touch-id ok", "item-opened me presence touch-id ok +49",
            ])
    }

    @Test("Threat 34: a private key is logged when it is made and when it is used, with what it was used for")
    func keys()
        throws
    {
        try device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, [.privateKeyUsage, .biometryAny], nil))
            let context = LAContext()
            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecUseAuthenticationContext: context,
                kSecPrivateKeyAttrs: [kSecAttrAccessControl: control],
            ]
            let key = try #require(SecKeyCreateRandomKey(attributes as CFDictionary, nil))
            device.present(.finger(1))
            for _ in 0..<3 {
                #expect(
                    SecKeyCreateSignature(
                        key, .ecdsaSignatureMessageX962SHA256, Data("message".utf8) as CFData, nil) != nil)
            }
        }
        #expect(
            try told(entries()) == [
                "key-created me biometryAny - ok", "evaluation-began me biometryAny - ok",
                "evaluation-ended me biometryAny touch-id ok", "key-used me sign touch-id ok",
                "key-used me sign touch-id ok +2",
            ])
    }

    @Test(
        "AC-46, AC-51: an item that a new finger made useless, and a wrong application password: the log has the reason"
    )
    func preciseReasons() throws {
        try device.run {
            let right = LAContext()
            let wrong = LAContext()
            #expect(right.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(wrong.setCredential(Data("wrong".utf8), type: .applicationPassword))
            var query = item("password")
            query[kSecValueData] = Data("value".utf8)
            query[kSecUseAuthenticationContext] = right
            query[kSecAttrAccessControl] = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
            try #require(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
            #expect(read("password", wrong) == errSecAuthFailed)
            #expect(read("password", right) == errSecSuccess)
            try add("current", .biometryCurrentSet)
            try device.enrollFinger()
            #expect(read("current") != errSecSuccess)
        }
        let told = try told(entries())
        #expect(told.contains("item-opened me applicationPassword - wrong-application-password"))
        #expect(told.contains("item-opened me applicationPassword application-password ok"))
        #expect(told.contains { $0.hasPrefix("item-opened") && $0.hasSuffix("biometryCurrentSet - enrolment-changed") })
    }

    @Test("Threat 34: who shows prompts came and went, on touchstoned's word") func agents() throws {
        device.setAttended(false)
        var seen: [LogEntry] = []
        // The connection is closed on another thread.
        while seen.count < 2 { seen = try entries(after: 0).filter { $0.author == .touchstoned } }
        #expect(seen.map(\.event) == ["agent-connected", "agent-lost"])
    }

    @Test("Threat 34: restarts in order and without, and the log is whole over all of them") func restarts() throws {
        device.reboot()
        // So that the crash takes no line with it that was on its way.
        _ = try entries(after: 0)
        device.crash()
        device.reboot()
        let starts = try entries(after: 0).filter { ["device-started", "device-stopped"].contains($0.event) }
        #expect(
            starts.map { "\($0.event) \($0.result)" } == [
                "device-started ok", "device-stopped ok", "device-started ok", "device-started after-crash",
                "device-stopped ok", "device-started ok",
            ])
        #expect(Set(starts.map(\.boot)).count == 4)
        #expect(try findings() == [])
    }

    // MARK: verification

    private func findings() throws -> [LogCheck.Finding] {
        let head = try device.call(DeviceInterface.GetLogHead.self, Empty()).head
        var check = LogCheck()
        let lines = device.log.lines
        try check.add(lines) { try device.call(DeviceInterface.CheckLog.self, .init(lines: $0)).genuine }
        check.finish(between: (head, head))
        return check.findings
    }

    @Test(
        "Threat 34: lines that could not be written come later where they can; what was too much is missing, and told")
    func fullDisk() throws {
        device.log.isFull = true
        try device.lock()
        try device.unlock(passcode: "1234")
        #expect(try entries().isEmpty)
        device.log.isFull = false
        try device.lock()
        #expect(try told(entries()) == ["locked - - - ok", "unlocked - - passcode ok", "locked - - - ok"])
        #expect(try findings() == [])

        device.log.isFull = true
        for _ in 0..<600 {
            try device.unlock(finger: 1)
            try device.lock()
        }
        #expect(try entries().count == 3, "the device does all it is asked while its log is full")
        device.log.isFull = false
        try device.unlock(finger: 1)
        var interruption: LogEntry?
        while interruption == nil { interruption = try entries().first { $0.event == "log-interrupted" } }
        let findings = try findings()
        #expect(interruption?.count ?? 0 > 0)
        guard case .missing(let range)? = findings.first, findings.count == 1 else {
            Issue.record("\(findings)")
            return
        }
        #expect(range.count == interruption?.count)
    }

    @Test("Threat 34: only the owner reads or checks the log") func ownerOnly() throws {
        // Another user's connection is another peer: the same handlers, asked by uid 4242.
        let booted = device.booted.withLock { $0 }
        let stranger = try booted.client(userID: 4242)
        #expect(throws: (any Error).self) { try stranger.call(DeviceInterface.GetLogHead.self, Empty()) }
        #expect(throws: (any Error).self) { try stranger.call(DeviceInterface.CheckLog.self, .init(lines: [])) }
        #expect(throws: (any Error).self) {
            try stranger.stream(DeviceInterface.ReadLog.self, .init(follow: false)) { _ in true }
        }
        let owner = try booted.client()
        #expect(throws: Never.self) { try owner.call(DeviceInterface.GetLogHead.self, Empty()) }
    }

    @Test("Threat 34: reading gives the newest, all, and each new one") func reading() async throws {
        let owner = try device.booted.withLock { $0 }.client()
        var read: [String] = []
        _ = try device.call(DeviceInterface.GetLogHead.self, Empty())
        try owner.stream(DeviceInterface.ReadLog.self, .init(follow: false)) {
            read += $0.lines; return true
        }
        #expect(read == device.log.lines)
        read = []
        try owner.stream(DeviceInterface.ReadLog.self, .init(newest: 2, follow: false)) {
            read += $0.lines; return true
        }
        #expect(read == device.log.lines.suffix(2))
        read = []
        try owner.stream(DeviceInterface.ReadLog.self, .init(newest: 1, follow: true)) { reply in
            read += reply.lines
            if read.count == 1 { try device.lock() }
            return read.count < 2
        }
        #expect(read == device.log.lines.suffix(2))
    }

    @Test("Threat 34: lines that are too long to be entries are damaged, however many, and the rest is checked")
    func longLines() throws {
        _ = try entries()
        let count = device.log.lines.count
        let long = String(repeating: "\u{1}", count: 4096)
        device.log.lines += Array(repeating: long, count: 300) + [String(repeating: "x", count: 3 << 20)]
        try device.lock()
        _ = try entries()
        let findings = try findings()
        #expect(findings.count == 301)
        #expect(Set(findings) == Set((1...301).map { .damaged(line: count + $0, entry: nil) }))
        // As the owner reads them: in messages of a size that fits.
        let owner = try device.booted.withLock { $0 }.client()
        var read: [String] = []
        try owner.stream(DeviceInterface.ReadLog.self, .init(follow: false)) { reply in
            let bytes = reply.lines.reduce(0) { $0 + $1.utf8.count }
            #expect(reply.lines.count <= 1 || bytes <= LogBatches<[String]>.maximumBytes)
            read += reply.lines
            return true
        }
        #expect(read == device.log.lines)
    }

    @Test("Threat 34: lines go in batches of a number and a size, in order and none twice")
    func batches() {
        #expect(Array(LogBatches([String]())) == [])
        let sizes = [1, 1 << 17, 1, (1 << 17) - 1, 1, 1 << 18, 0]
        let lines = sizes.map { String(repeating: "x", count: $0) }
        let batches = Array(LogBatches(lines))
        #expect(batches.map { $0.map(\.utf8.count) } == [[1], [1 << 17], [1, (1 << 17) - 1], [1], [1 << 18], [0]])
        let many = (1...2500).map(String.init)
        #expect(Array(LogBatches(many)).map(\.count) == [1000, 1000, 500])
        #expect(LogBatches(many).flatMap { $0 } == many)
    }

    @Test("Threat 34: one that follows and does not read is dropped, and the device goes on") func deafFollower()
        async throws
    {
        let booted = device.booted.withLock { $0 }
        let channel = try booted.connection()
        let request = #"{"method":"io.touchstone.Device.ReadLog","parameters":{"newest":0,"follow":true},"more":true}"#
        try channel.send(Data(request.utf8))
        let isDropped = Mutex(false)
        for _ in 0..<700 {
            try device.lock()
            try device.unlock(finger: 1)
        }
        _ = try entries()
        // What was sent until then is still there to be read, and then nothing more.
        Thread.detachNewThread {
            while (try? channel.receive()) != nil {}
            isDropped.withLock { $0 = true }
        }
        await eventually { isDropped.withLock { $0 } }
    }

    @Test("Threat 34: a process follows four times at once, and again when one has ended") func fewFollowers() throws {
        let booted = device.booted.withLock { $0 }
        func follow(_ body: () throws -> Void) throws {
            var isFirst = true
            try booted.client().stream(DeviceInterface.ReadLog.self, .init(newest: 1, follow: true)) { _ in
                defer { isFirst = false }
                if isFirst { try body() }
                return false
            }
        }
        _ = try entries()
        for _ in 0..<2 {
            let refused = #expect(throws: RemoteError.self) {
                try follow { try follow { try follow { try follow { try follow {} } } } }
            }
            #expect(refused?.as(DeviceInterface.Refused.self)?.reason == .busy)
            #expect(throws: Never.self) { try follow { try follow { try follow { try follow {} } } } }
        }
    }

    // MARK: what is never in it

    @Test("No passcode, password, reason, value, account or name of a finger is ever in the log") func canary()
        async throws
    {
        let canary = "CANARY"
        let device = try SimulatedDevice(passcode: "\(canary)-passcode", fingers: 1)
        try await device.run {
            let context = LAContext()
            context.localizedCancelTitle = "\(canary)-cancel"
            context.localizedFallbackTitle = "\(canary)-fallback"
            device.present(.nonMatch, .fallback, .passcode("\(canary)-wrong"), .passcode("\(canary)-passcode"))
            #expect(await evaluate(deviceOwner, on: context, reason: "\(canary)-reason") == nil)
            #expect(context.setCredential(Data("\(canary)-password".utf8), type: .applicationPassword))
            var query = item("\(canary)-account")
            query[kSecAttrService] = "\(canary)-service"
            query[kSecAttrLabel] = "\(canary)-label"
            query[kSecValueData] = Data("\(canary)-value".utf8)
            query[kSecUseAuthenticationContext] = context
            query[kSecAttrAccessControl] = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, [.userPresence, .applicationPassword], nil))
            try #require(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
            #expect(read("\(canary)-account", context) == errSecSuccess)
        }
        try device.changePasscode(from: "\(canary)-passcode", to: "\(canary)-new")
        _ = try device.call(DeviceInterface.Enroll.self, .init(finger: "\(canary)-finger"))
        try device.lock()
        try? device.unlock(passcode: "\(canary)-passcode")
        try device.unlock(passcode: "\(canary)-new")
        let entries = try entries(device)
        #expect(entries.count >= 10, "it was all logged")
        #expect(!device.log.lines.joined().contains(canary))
    }
}
