import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// The enclave's values, as messages: the two have no type in common that the compiler could compare.
@Suite struct EnclaveMessagesTests {
    /// Each word of the enclave's is one of the interface's.
    private func check<Ours: CaseIterable & RawRepresentable<String>, Theirs: RawRepresentable<String>>(
        _ ours: Ours.Type, in theirs: Theirs.Type
    ) {
        for word in Ours.allCases { #expect(Theirs(rawValue: word.rawValue) != nil, "\(Ours.self): \(word)") }
    }

    @Test("Each word of the enclave's has one of the interface's, and each question's word one of the enclave's")
    func words() {
        check(Enclave.RefusalReason.self, in: DeviceInterface.RefusalReason.self)
        check(Enclave.Phase.self, in: AgentInterface.Phase.self)
        check(Enclave.Touch.self, in: DeviceInterface.Touch.self)
        check(Enclave.KeyState.self, in: EnclaveInterface.KeyState.self)
        check(Enclave.ClassKeyState.self, in: InspectorInterface.ClassKeyState.self)
        check(Enclave.Availability.self, in: InspectorInterface.Availability.self)
        check(SensorKind.self, in: DeviceInterface.SensorKind.self)
        check(SensorProblem.self, in: DeviceInterface.SensorProblem.self)
        check(SensorHint.self, in: AgentInterface.SensorHint.self)
        check(KeyKind.self, in: KeyInterface.Kind.self)
        // The only words that come in.
        check(KeyInterface.Kind.self, in: KeyKind.self)
    }

    @Test("What both sides count and measure is the same") func limits() {
        #expect(PrivateKey.longestMessage == KeyInterface.Limits.messageBytes)
        #expect(PrivateKey.longestContext == KeyInterface.Limits.signatureContextBytes)
        #expect(ItemTags.itemBytes == EnclaveInterface.boundItemBytes)
        #expect(ItemTags.classBytes == EnclaveInterface.boundItemClassBytes)
        #expect(BackupSession.keyBytes == BackupInterface.keyBytes)
        #expect(BackupSession.label == BackupInterface.sessionLabel)
        #expect(AdvancedClock.longest == DeviceInterface.AdvanceClock.maximum)
        #expect(AdvancedClock.longestInTotal == DeviceInterface.AdvanceClock.maximumInTotal)
        #expect(EnclaveHost.resumedLines == EnclaveInterface.ResumeLog.maximumLines)
    }

    @Test("Each event is the message that it always was")
    func events() throws {
        func message(_ event: EnclaveEvent) throws -> String {
            String(decoding: try JSONOutput.encode(EnclaveInterface.WatchEvents.Reply(event)), as: UTF8.self)
        }
        let progress = Enclave.Progress(
            phase: .passcode, fallbackIsPasscode: true, isFallbackOffered: false, failures: 2, hint: nil,
            nonce: Data([1, 2, 3]), retryAfterSeconds: 60, wrongPasscode: true, passcodeKind: .sixDigit)
        let expected: [(EnclaveEvent, String)] = [
            (.environmentChanged, #"{"outcome":"progress"}"#),
            (.erased, #"{"outcome":"erased"}"#),
            (.locked, #"{"outcome":"locked"}"#),
            (.unlocked, #"{"outcome":"unlocked"}"#),
            (.logged(["a"]), #"{"outcome":"progress","log":["a"]}"#),
            (.evaluationEnded("e", .succeeded), #"{"evaluation":"e","outcome":"succeeded"}"#),
            (
                .evaluationEnded("e", .failed(.systemCancel, .lockedMeanwhile)),
                #"{"evaluation":"e","outcome":"failed","code":-4,"reason":"lockedMeanwhile"}"#
            ),
            (
                .evaluationProgressed("e", progress),
                #"{"evaluation":"e","outcome":"progress","progress":{"phase":"passcode","fallbackIsPasscode":true,"#
                    + #""isFallbackOffered":false,"failures":2,"nonce":"AQID","retryAfterSeconds":60.0,"#
                    + #""wrongPasscode":true,"passcodeKind":"sixDigit"}}"#
            ),
            (.answered(ticket: "t", .done), #"{"ticket":"t","outcome":"succeeded"}"#),
            (.answered(ticket: "t", .failed), #"{"ticket":"t","outcome":"failed"}"#),
            (
                .answered(ticket: "t", .rejected(retryAfterSeconds: 60)),
                #"{"ticket":"t","outcome":"failed","retryAfterSeconds":60.0}"#
            ),
            (.answered(ticket: "t", .refused(.busy)), #"{"ticket":"t","outcome":"failed","refusal":"busy"}"#),
            (
                .answered(ticket: "t", .keyUsed(.signature(Data([1, 2, 3])))),
                #"{"ticket":"t","outcome":"succeeded","key":{"signature":"AQID"}}"#
            ),
            (
                .answered(ticket: "t", .keyRefused(.invalidated(.keyLost))),
                #"{"ticket":"t","outcome":"failed","key":{"isInvalidated":true,"reason":"keyLost"}}"#
            ),
        ]
        for (event, text) in expected { #expect(try message(event) == text) }
    }
}
