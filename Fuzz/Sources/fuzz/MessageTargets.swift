import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

@testable import TouchstoneTransport

/// Any JSON.
indirect enum JSONValue: MessageCodable, Equatable {
    case null, bool(Bool), integer(Int64), number(Double), string(String), array([JSONValue])
    case object([String: JSONValue])

    init(from json: MessageDecoder) throws {
        if json.isNull {
            self = .null
        } else if let value = try? json.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? json.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? json.decode(Double.self) {
            self = .number(value)
        } else if let value = try? json.decode(String.self) {
            self = .string(value)
        } else if let value = try? json.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try json.decode([String: JSONValue].self))
        }
    }

    func write(to json: inout JSONOutput) throws {
        switch self {
        case .null: json.write(word: "null")
        case .bool(let value): value.write(to: &json)
        case .integer(let value): value.write(to: &json)
        case .number(let value): try value.write(to: &json)
        case .string(let value): value.write(to: &json)
        case .array(let value): try value.write(to: &json)
        case .object(let value): try value.write(to: &json)
        }
    }
}

/// One type of what is sent: it is read, written and read again, and has to be the same.
struct MessageType: Sendable {
    let roundTrip: @Sendable (Data) -> Void
    let examples: @Sendable () throws -> [Data]

    /// `name` as the recorded messages say it.
    init<T: MessageCodable>(_ type: T.Type, _ name: String) {
        roundTrip = { bytes in
            // An access control refuses what Apple's refuses.
            let errors: [any Error.Type] = [DecodingError.self, Status.self]
            guard let value = unlessRefused(errors, { try MessageDecoder.decode(T.self, from: bytes) }) else { return }
            guard let written = try? JSONOutput.encode(value) else { broken("\(T.self) is read and not written") }
            guard let again = try? MessageDecoder.decode(T.self, from: written),
                let rewritten = try? JSONOutput.encode(again),
                let one = try? MessageDecoder.decode(JSONValue.self, from: written),
                let other = try? MessageDecoder.decode(JSONValue.self, from: rewritten)
            else { broken("\(T.self) is written and not read: \(String(decoding: written, as: UTF8.self))") }
            hold(one == other, "\(T.self) changes: \(written) \(rewritten)")
        }
        examples = { try recorded(name) }
    }
}

/// The first messages of a name that the tests have recorded: with every field, and without what may be absent.
private func recorded(_ name: String) throws -> [Data] {
    let path = "Tests/TouchstoneTransportTests/Fixtures/messages.txt"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    guard let start = lines.firstIndex(of: "# \(name)") else { return [Data("{}".utf8)] }
    return lines[(start + 1)...].prefix { !$0.hasPrefix("# ") }.prefix(2)
        .compactMap { $0.split(separator: "\t").first }.map { Data($0.utf8) }
}

/// Every method and error of every interface: script/fuzz holds that none is missing.
///
/// An input says by its first two bytes, little-endian, which it is of, so that new ones stand at the end.
enum Messages {
    static let all: [MessageType] =
        methods.flatMap { method in
            func types<M: VarlinkMethod>(_ method: M.Type) -> [MessageType] {
                [MessageType(M.Parameters.self, "\(M.name) takes"), MessageType(M.Reply.self, "\(M.name) answers")]
            }
            return types(method)
        }
        + errors.map { error in
            func type<E: VarlinkError>(_ error: E.Type) -> MessageType { MessageType(error, "\(E.name) fails") }
            return type(error)
        }

    static let router: VarlinkRouter = {
        func handler<M: VarlinkMethod>(_ method: M.Type) -> VarlinkHandler {
            .method(method) { _, _ in throw VarlinkServiceError.PermissionDenied() }
        }
        return VarlinkRouter(
            info: .init(product: "fuzz", version: "1"),
            interfaces: [
                VarlinkInterface(
                    name: "io.touchstone.Keychain", description: [], handlers: methods.map { handler($0) })
            ])
    }()
    static let methods: [any VarlinkMethod.Type] = [
        AgentInterface.Subscribe.self, AgentInterface.ConfirmShown.self, AgentInterface.Cancel.self,
        AgentInterface.ChooseFallback.self, AgentInterface.AnswerPermission.self, AgentInterface.TryAgain.self,
        AgentInterface.EnterPasscode.self, AuthenticationInterface.GetEnvironment.self,
        AuthenticationInterface.GetIdentity.self, AuthenticationInterface.CreateContext.self,
        AuthenticationInterface.InvalidateContext.self, AuthenticationInterface.SetCredential.self,
        AuthenticationInterface.IsCredentialSet.self, AuthenticationInterface.CanEvaluatePolicy.self,
        AuthenticationInterface.EvaluatePolicy.self, AuthenticationInterface.EvaluateAccessControl.self,
        AuthenticationInterface.DescribeClient.self, AuthenticationInterface.RequestUnlock.self,
        DeviceInterface.WatchStatus.self,
        BackupInterface.Export.self, BackupInterface.Import.self, BackupInterface.End.self,
        BackupInterface.Check.self, DeviceInterface.GetStatus.self, DeviceInterface.GetNonce.self,
        DeviceInterface.ChangePasscode.self, DeviceInterface.Unlock.self, DeviceInterface.SetEraseData.self,
        DeviceInterface.ForgetReader.self, DeviceInterface.AddReader.self, DeviceInterface.AcceptItems.self,
        DeviceInterface.Lock.self,
        DeviceInterface.AuthorizeBackup.self,
        DeviceInterface.ListFaceIDPermissions.self, DeviceInterface.SetFaceIDPermission.self,
        DeviceInterface.Reboot.self, DeviceInterface.Enroll.self, DeviceInterface.RemoveFinger.self,
        DeviceInterface.ListFingers.self, DeviceInterface.PresentFinger.self,
        DeviceInterface.SetApplicationState.self, DeviceInterface.SetSensorConnected.self,
        DeviceInterface.AdvanceClock.self, EnclaveInterface.CreateKey.self, EnclaveInterface.InspectKey.self,
        EnclaveInterface.Sign.self, EnclaveInterface.ExchangeKeys.self, EnclaveInterface.SetSensorConnected.self,
        EnclaveInterface.AdvanceClock.self, EnclaveInterface.InspectClassKeys.self,
        EnclaveInterface.InspectItems.self, EnclaveInterface.GetFacts.self, EnclaveInterface.CreateContext.self,
        EnclaveInterface.InvalidateContext.self, EnclaveInterface.SetCredential.self,
        EnclaveInterface.IsCredentialSet.self, EnclaveInterface.Preflight.self, EnclaveInterface.BeginEvaluation.self,
        EnclaveInterface.EndEvaluation.self, EnclaveInterface.ChooseFallback.self,
        EnclaveInterface.AnswerPermission.self, EnclaveInterface.TryAgain.self, EnclaveInterface.SubmitPasscode.self,
        EnclaveInterface.WatchEvents.self, EnclaveInterface.GetNonce.self, EnclaveInterface.EndConnection.self,
        EnclaveInterface.ListFaceIDPermissions.self, EnclaveInterface.SetFaceIDPermission.self,
        EnclaveInterface.ChangePasscode.self, EnclaveInterface.Unlock.self, EnclaveInterface.SetEraseData.self,
        EnclaveInterface.ForgetReader.self, EnclaveInterface.AddReader.self, EnclaveInterface.Lock.self,
        EnclaveInterface.Enroll.self,
        EnclaveInterface.RemoveFinger.self, EnclaveInterface.ListFingers.self, EnclaveInterface.PresentFinger.self,
        EnclaveInterface.GetLookupKey.self, EnclaveInterface.GetMetadataKeys.self,
        EnclaveInterface.ConfirmErasure.self, EnclaveInterface.CompareItems.self, EnclaveInterface.RecordItems.self,
        EnclaveInterface.SettleItems.self, EnclaveInterface.AcceptItems.self, EnclaveInterface.WrapKey.self,
        EnclaveInterface.UnwrapKeys.self,
        EnclaveInterface.AuthorizeBackup.self, EnclaveInterface.ExportKeys.self, EnclaveInterface.ImportKeys.self,
        EnclaveInterface.EndBackup.self, InspectorInterface.ListItems.self, InspectorInterface.Watch.self,
        InspectorInterface.WatchMessages.self, KeyInterface.SignMessage.self, KeyInterface.Decapsulate.self,
        EnclaveInterface.SignMessage.self, EnclaveInterface.Decapsulate.self, KeyInterface.Create.self,
        KeyInterface.Inspect.self, KeyInterface.Sign.self, KeyInterface.ExchangeKeys.self, KeychainInterface.Add.self,
        KeychainInterface.CopyMatching.self, KeychainInterface.Update.self, KeychainInterface.Delete.self,
        EnclaveInterface.ResumeLog.self, EnclaveInterface.GetLogHead.self, EnclaveInterface.CheckLog.self,
        EnclaveInterface.NoteObservation.self, EnclaveInterface.CloseLog.self, DeviceInterface.ReadLog.self,
        DeviceInterface.CheckLog.self, DeviceInterface.GetLogHead.self, BackupInterface.ListUse.self,
        BackupInterface.SetQuota.self, EnclaveInterface.SetShown.self,
        SyncInterface.ListObjects.self, SyncInterface.AddObjects.self, SyncInterface.ListLinks.self,
        SyncInterface.AddLinks.self, SyncInterface.Monitor.self, SyncInterface.GetStatus.self,
        SyncInterface.GetNonce.self, SyncInterface.Found.self, SyncInterface.Apply.self, SyncInterface.Challenge.self,
        SyncInterface.Reveal.self, SyncInterface.Approve.self, SyncInterface.Join.self, SyncInterface.Remove.self,
        SyncInterface.AddRecoveryKey.self, SyncInterface.Recover.self, SyncInterface.ListReplaced.self,
        SyncInterface.Restore.self,
        EnclaveInterface.GetCircle.self, EnclaveInterface.FoundCircle.self, EnclaveInterface.ApplyToCircle.self,
        EnclaveInterface.ChallengeApplicant.self, EnclaveInterface.RevealToCircle.self,
        EnclaveInterface.ApproveApplicant.self, EnclaveInterface.JoinCircle.self, EnclaveInterface.RemoveMember.self,
        EnclaveInterface.AddRecoveryKey.self, EnclaveInterface.RecoverCircle.self,
        EnclaveInterface.AuthorizeHistory.self,
        EnclaveInterface.AddLinks.self, EnclaveInterface.SealRecords.self, EnclaveInterface.OpenRecords.self,
        EnclaveInterface.SignHead.self,
    ]
    static let errors: [any VarlinkError.Type] = [
        AgentInterface.UnsupportedVersion.self, AgentInterface.NoSuchPrompt.self,
        AuthenticationInterface.MissingUsageDescription.self, AuthenticationInterface.Failed.self,
        AuthenticationInterface.NoSuchClient.self,
        BackupInterface.NotOwner.self, BackupInterface.NoSuchSession.self, BackupInterface.Malformed.self,
        BackupInterface.Failed.self, DeviceInterface.NotSimulated.self, DeviceInterface.PasscodeRejected.self,
        DeviceInterface.Refused.self, EnclaveInterface.Deferred.self, EnclaveInterface.NoSuchBackup.self,
        EnclaveInterface.NotWrapped.self, EnclaveInterface.InvalidContext.self, EnclaveInterface.NotBegun.self,
        EnclaveInterface.NoSuchEvaluation.self, EnclaveInterface.NotKept.self, KeyInterface.Failed.self,
        KeyInterface.Invalidated.self, KeychainInterface.Failed.self,
        EnclaveInterface.AuthenticationNeeded.self, EnclaveInterface.CircleRefused.self, SyncInterface.NotOwner.self,
        SyncInterface.NoCircle.self, SyncInterface.PasscodeRejected.self, SyncInterface.Refused.self,
        SyncInterface.Failed.self,
    ]
}

private func frames(_ bytes: Data) {
    // As a service: whatever comes in, what goes out are replies.
    let sent = Frames()
    let connection = VarlinkConnection(
        peer: Peer(processID: 1, userID: 1) { nil }, router: Messages.router, write: { sent.add($0) },
        writeThrough: {
            sent.add($0)
            return true
        }, disconnect: {})
    let requests = bytes.split(separator: 0, omittingEmptySubsequences: false).map { Data($0) }
    for request in requests {
        _ = Messages.router.maximumRequestBytes(beginning: request)
        connection.receive(request)
    }
    connection.closed()
    for reply in sent.taken {
        hold(
            (try? IncomingReply<JSONValue>(reply)) != nil, "unreadable reply: \(String(decoding: reply, as: UTF8.self))"
        )
    }
    // As a client, over a socket: the frames are those that were sent.
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return }
    bytes.withUnsafeBytes { _ = send(ends[1], $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    shutdown(ends[1], Int32(SHUT_WR))
    let channel = SocketChannel(descriptor: ends[0])
    var received: [Data] = []
    while let frame = unlessRefused([TransportError.self], { try channel.receive() }) {
        received.append(frame)
        _ = unlessRefused([DecodingError.self, JSONText.Malformed.self], { try IncomingReply<JSONValue>(frame) })
    }
    close(ends[1])
    hold(received == Array(requests.dropLast()), "frames were lost or made up")
}

private final class Frames: @unchecked Sendable {
    // Unchecked: one thread at a time, which waits for the others.
    private let lock = NSLock()
    private var frames: [Data] = []
    func add(_ frame: Data) { lock.withLock { frames.append(frame) } }
    var taken: [Data] { lock.withLock { frames } }
}

let messageTargets: [FuzzTarget] = [
    FuzzTarget(name: "json") { bytes in
        guard
            let value = unlessRefused([DecodingError.self], { try MessageDecoder.decode(JSONValue.self, from: bytes) })
        else { return }
        guard let written = try? JSONOutput.encode(value) else { broken("JSON is read and not written") }
        hold(!written.contains(0), "a zero within a message")
        guard let again = try? MessageDecoder.decode(JSONValue.self, from: written) else {
            broken("JSON is written and not read")
        }
        hold(value == again, "JSON changes: \(String(decoding: written, as: UTF8.self))")
    } seeds: {
        [
            #"{"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{"c":{}},"d":[]}"#, "[[[[[[[[]]]]]]]]",
            "0.1E-7",
            #""plain text of more than eight bytes \"quoted\" é€😀""#,
            " [ 9223372036854775807 , -9223372036854775808 ] ",
            #"{"\u0061":1,"b":2}"#,
        ].map { Data($0.utf8) }
    },
    FuzzTarget(name: "messages") { bytes in
        let kind = bytes.prefix(2).reversed().reduce(0) { $0 << 8 | Int($1) }
        Messages.all[kind % Messages.all.count].roundTrip(Data(bytes.dropFirst(2)))
    } seeds: {
        try Messages.all.enumerated().flatMap { index, type in
            try type.examples().map { Data([UInt8(index & 0xFF), UInt8(index >> 8)]) + $0 }
        }
    },
    FuzzTarget(name: "frames", run: frames) {
        [
            #"{"method":"io.touchstone.Keychain.Add","parameters":{"attributes":{"acct":{"string":"a"}}}}"#,
            #"{"method":"org.varlink.service.GetInfo","parameters":{}}"# + "\0" + #"{"method":"a.b","more":true}"#,
            #"{"error":"io.touchstone.Keychain.Failed","parameters":{"status":-25300}}"#,
            #"{"continues":true,"parameters":{"x":[]}}"#, #"{"error":"io.touchstone.SendAgain"}"#,
            #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"x"},"oneway":true}"#,
        ].map { Data(($0 + "\0").utf8) }
    },
]
