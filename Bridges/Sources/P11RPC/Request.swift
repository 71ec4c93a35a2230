/// A call of a client's.
///
/// A PIN is passed over: it is no part of any value (PK-13).
public enum Request: Hashable, Sendable {
    case initialize
    case finalize
    case getInfo
    /// `room`: for how many slots; 0 where the client only asks how many there are.
    case getSlotList(room: Int)
    case getSlotInfo(slot: UInt64)
    case getTokenInfo(slot: UInt64)
    case getMechanismList(slot: UInt64, room: Int)
    case getMechanismInfo(slot: UInt64, Mechanism)
    case openSession(slot: UInt64, flags: UInt64)
    case closeSession(UInt64)
    case closeAllSessions(slot: UInt64)
    case getSessionInfo(UInt64)
    /// `user`: 0 the security officer, 1 the user, 2 for the operation that was begun.
    case login(session: UInt64, user: UInt64)
    case logout(session: UInt64)
    case getAttributes(session: UInt64, object: UInt64, [AttributeRoom])
    case findInit(session: UInt64, [Attribute])
    case find(session: UInt64, most: Int)
    case findFinal(session: UInt64)
    case signInit(session: UInt64, Mechanism, key: UInt64)
    /// `room`: for how many bytes of the signature; 0 where the client only asks how long it is.
    case sign(session: UInt64, data: [UInt8], room: Int)
    case signUpdate(session: UInt64, data: [UInt8])
    case signFinal(session: UInt64, room: Int)
    case generateKeyPair(session: UInt64, Mechanism, publicKey: [Attribute], privateKey: [Attribute])
    /// `isWaiting`: whether the client wants to wait for an event.
    case waitForSlotEvent(isWaiting: Bool)
    case sessionCancel(session: UInt64)
    /// What the owner's command asks of the bridge, in a format of its own.
    case manage([UInt8])
    /// What this token does not do, whatever it is given.
    case refused(ReturnValue)
}

extension Request {
    /// The words with which every client begins.
    static let handshake = Array("PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1".utf8)

    /// Reads the body of a frame.
    ///
    /// - Parameter body: From anywhere.
    /// - Returns: The call, for its answer, and what it asks.
    /// - Throws: `ReturnValue.deviceError` for a body that cannot be read, as p11-kit's own server does.
    public static func read(_ body: [UInt8]) throws(ReturnValue) -> (call: Call, request: Request) {
        var reader = Reader(body)
        guard let number = reader.word() else { throw .deviceError }
        // A newer p11-kit has more of them.
        guard let call = Call(rawValue: number) else { throw .functionNotSupported }
        guard let signature = call.signature?.request else { return (call, .refused(call.refusal)) }
        guard reader.text() == signature, let request = reader.request(call) else { throw .deviceError }
        switch request {
        case .generateKeyPair(_, .other, _, _), .signInit(_, .other, _): break
        default: guard reader.isAtEnd else { throw .deviceError }
        }
        return (call, request)
    }
}

extension Reader {
    /// What stands behind the call's signature.
    fileprivate mutating func request(_ call: Call) -> Request? {
        switch call {
        case .initialize:
            // The configuration that follows is that of the client's side.
            guard bytes() == Request.handshake, byte() != nil, skipBytes() else { return nil }
            return .initialize
        case .finalize: return .finalize
        case .getInfo: return .getInfo
        case .getSlotList:
            guard byte() != nil else { return nil }
            return room().map { .getSlotList(room: $0) }
        case .waitForSlotEvent: return number().map { .waitForSlotEvent(isWaiting: $0 & 1 == 0) }
        case .manage: return bytes().map { .manage($0) }
        default: return number().flatMap { requestOf($0, call) }
        }
    }

    /// Those of a slot or of a session, whose number was read.
    private mutating func requestOf(_ first: UInt64, _ call: Call) -> Request? {
        switch call {
        case .getSlotInfo: return .getSlotInfo(slot: first)
        case .getTokenInfo: return .getTokenInfo(slot: first)
        case .getMechanismList: return room().map { .getMechanismList(slot: first, room: $0) }
        case .getMechanismInfo:
            return number().map { .getMechanismInfo(slot: first, Mechanism(type: UInt32(clamping: $0))) }
        case .openSession: return number().map { .openSession(slot: first, flags: $0) }
        case .closeSession: return .closeSession(first)
        case .closeAllSessions: return .closeAllSessions(slot: first)
        case .getSessionInfo: return .getSessionInfo(first)
        case .login, .loginUser:
            guard let user = number(), skipBytes(), call == .login || skipBytes() else { return nil }
            return .login(session: first, user: user)
        case .logout: return .logout(session: first)
        case .getAttributeValue:
            guard let object = number() else { return nil }
            return attributeRooms().map { .getAttributes(session: first, object: object, $0) }
        case .findObjectsInit: return attributes().map { .findInit(session: first, $0) }
        case .findObjects: return room().map { .find(session: first, most: $0) }
        case .findObjectsFinal: return .findFinal(session: first)
        case .signInit:
            guard let mechanism = mechanism() else { return nil }
            // Behind parameters that nobody here can read.
            if case .other = mechanism { return .signInit(session: first, mechanism, key: 0) }
            return number().map { .signInit(session: first, mechanism, key: $0) }
        case .sign:
            guard let data = bytes() else { return nil }
            return room().map { .sign(session: first, data: data, room: $0) }
        case .signUpdate: return bytes().map { .signUpdate(session: first, data: $0) }
        case .signFinal: return room().map { .signFinal(session: first, room: $0) }
        case .generateKeyPair:
            guard let mechanism = mechanism() else { return nil }
            if case .other = mechanism {
                return .generateKeyPair(session: first, mechanism, publicKey: [], privateKey: [])
            }
            guard let publicKey = attributes(), let privateKey = attributes() else { return nil }
            return .generateKeyPair(session: first, mechanism, publicKey: publicKey, privateKey: privateKey)
        case .sessionCancel: return number().map { _ in .sessionCancel(session: first) }
        default: return nil
        }
    }
}
