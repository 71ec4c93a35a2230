internal import Crypto
public import P11RPC

/// The one token, as one connection sees it: its sessions, searches, and signatures that were begun (PK-10…16).
///
/// What it holds is the device's. A connection that ends takes all of this with it, and nothing else.
public struct Token {
    /// The most sessions of one connection.
    public static let mostSessions = 64
    private static let signatureLength = 64
    private static let longestIdentifier = 64
    private static let longestLabel = 64

    private var isInitialized = false
    private var isLoggedIn = false
    private var sessions: [UInt64: Session] = [:]
    private var lastSession: UInt64 = 0

    /// That of a new connection.
    public init() {}

    /// Answers one request.
    ///
    /// - Parameters:
    ///   - request: Of the client.
    ///   - device: Whose keys.
    /// - Returns: The answer to ``Request/manage(_:)`` is always a refusal: it is not for the token.
    public mutating func answer(_ request: Request, _ device: some TokenDevice) -> Answer {
        do throws(ReturnValue) {
            return .done(try values(request, device))
        } catch {
            return .failed(error)
        }
    }

    private mutating func values(_ request: Request, _ device: some TokenDevice) throws(ReturnValue) -> [AnswerValue] {
        switch request {
        case .initialize:
            guard !isInitialized else { throw .cryptokiAlreadyInitialized }
            isInitialized = true
            return []
        case _ where !isInitialized: throw .cryptokiNotInitialized
        case .finalize:
            self = Token()
            return []
        case .getInfo:
            return Self.information
        case .getSlotList(let room): return [Self.list([Self.slot], room)]
        case .getSlotInfo(let slot):
            try Self.check(slot)
            return Self.slotInformation
        case .getTokenInfo(let slot):
            try Self.check(slot)
            return try Self.info(device, sessions.values.map(\.isReadWrite))
        case .getMechanismList(let slot, let room):
            try Self.check(slot)
            return [Self.list(Mechanism.all.map { UInt64($0.type) }, room)]
        case .getMechanismInfo(let slot, let mechanism):
            try Self.check(slot)
            return try Self.info(of: mechanism)
        case .openSession(let slot, let flags):
            try Self.check(slot)
            return [.number(try openSession(flags))]
        case .closeSession(let session):
            guard sessions.removeValue(forKey: session) != nil else { throw .sessionHandleInvalid }
            if sessions.isEmpty { isLoggedIn = false }
            return []
        case .closeAllSessions(let slot):
            try Self.check(slot)
            sessions = [:]
            isLoggedIn = false
            return []
        case .getSessionInfo(let session):
            let isReadWrite = try self.session(session).isReadWrite
            let state: UInt64 = (isReadWrite ? 2 : 0) + (isLoggedIn ? 1 : 0)
            let flags = SessionFlags.serial | (isReadWrite ? SessionFlags.readWrite : 0)
            return [.number(Self.slot), .number(state), .number(flags), .number(0)]
        case .login(let session, let user):
            try logIn(session, user)
            return []
        case .logout(let session):
            _ = try self.session(session)
            guard isLoggedIn else { throw .userNotLoggedIn }
            isLoggedIn = false
            return []
        case .getAttributes(let session, let handle, let wishes):
            _ = try self.session(session)
            return try attributes(handle, wishes, device)
        case .findInit(let session, let template):
            guard try self.session(session).found == nil else { throw .operationActive }
            sessions[session]?.found = try Self.keys(device).flatMap { Self.matches($0, template) }
            return []
        case .find(let session, let most):
            guard let found = try self.session(session).found else { throw .operationNotInitialized }
            sessions[session]?.found = Array(found.dropFirst(most))
            return [.numbers(Array(found.prefix(most)))]
        case .findFinal(let session):
            guard try self.session(session).found != nil else { throw .operationNotInitialized }
            sessions[session]?.found = nil
            return []
        case .signInit(let session, let mechanism, let key):
            try beginSignature(session, mechanism, key, device)
            return []
        case .sign(let session, let data, let room): return [try sign(session, data, room, device)]
        case .signUpdate(let session, let data):
            try update(session, data)
            return []
        case .signFinal(let session, let room): return [try endSignature(session, room, device)]
        case .generateKeyPair(let session, let mechanism, let publicKey, let privateKey):
            return try makeKey(session, mechanism, publicKey, privateKey, device)
        case .waitForSlotEvent(let isWaiting): throw isWaiting ? .functionNotSupported : .noEvent
        case .sessionCancel(let session):
            _ = try self.session(session)
            sessions[session]?.found = nil
            sessions[session]?.signing = nil
            return []
        case .manage: throw .functionNotSupported
        case .refused(let code): throw code
        }
    }

    // MARK: Sessions

    private enum SessionFlags {
        static let readWrite: UInt64 = 2
        static let serial: UInt64 = 4
    }

    private func session(_ handle: UInt64) throws(ReturnValue) -> Session {
        guard let session = sessions[handle] else { throw .sessionHandleInvalid }
        return session
    }

    private mutating func openSession(_ flags: UInt64) throws(ReturnValue) -> UInt64 {
        guard flags & SessionFlags.serial != 0 else { throw .sessionParallelNotSupported }
        guard sessions.count < Self.mostSessions else { throw .sessionCount }
        lastSession += 1
        sessions[lastSession] = Session(isReadWrite: flags & SessionFlags.readWrite != 0)
        return lastSession
    }

    /// Any PIN is right, since it means nothing: the owner is asked when a key is used (PK-13).
    private mutating func logIn(_ session: UInt64, _ user: UInt64) throws(ReturnValue) {
        let signing = try self.session(session).signing
        switch user {
        case 1:
            guard !isLoggedIn else { throw .userAlreadyLoggedIn }
            isLoggedIn = true
        case 2:
            guard signing != nil else { throw .operationNotInitialized }
            sessions[session]?.signing?.wantsLogin = false
        default: throw .functionNotSupported
        }
    }

    // MARK: Objects

    private static func keys(_ device: some TokenDevice) throws(ReturnValue) -> [TokenKey] {
        do { return try device.keys() } catch { throw error.returnValue }
    }

    /// The handles of the objects of a key that are as a template says.
    private static func matches(_ key: TokenKey, _ template: [Attribute]) -> [UInt64] {
        key.objects.filter { object, _ in
            let attributes = key.attributes(of: object)
            return template.allSatisfy { $0.value != nil && attributes[$0.kind] == $0.value }
        }.map(\.handle)
    }

    private func attributes(
        _ handle: UInt64, _ wishes: [AttributeRoom], _ device: some TokenDevice
    ) throws(ReturnValue) -> [AnswerValue] {
        let keys = try Self.keys(device)
        guard let object = TokenKey.ObjectClass(rawValue: handle & 3),
            let key = keys.first(where: { $0.objects.contains { $0.handle == handle } })
        else { throw .objectHandleInvalid }
        let all = key.attributes(of: object)
        var codes: [ReturnValue] = []
        let values = wishes.map { wish -> Attribute in
            guard let value = all[wish.kind] else {
                let isSecret = object == .privateKey && wish.kind == .value
                codes.append(isSecret ? .attributeSensitive : .attributeTypeInvalid)
                return Attribute(wish.kind, nil)
            }
            guard wish.room == 0 || wish.room >= value.length else {
                codes.append(.bufferTooSmall)
                return Attribute(wish.kind, nil)
            }
            return Attribute(wish.kind, value)
        }
        let code = [.attributeSensitive, .attributeTypeInvalid, .bufferTooSmall].first { codes.contains($0) }
        return [.attributes(values), .number((code ?? .ok).rawValue)]
    }

    // MARK: Signatures

    private mutating func beginSignature(
        _ session: UInt64, _ mechanism: Mechanism, _ handle: UInt64, _ device: some TokenDevice
    ) throws(ReturnValue) {
        let isActive = try self.session(session).signing != nil
        switch mechanism {
        case .none:
            sessions[session]?.signing = nil
            return
        case .ecdsa, .ecdsaSHA256: break
        case .ecKeyPairGeneration, .other: throw .mechanismInvalid
        }
        guard !isActive else { throw .operationActive }
        let key = try Self.key(handle, device)
        sessions[session]?.signing = Session.Signing(
            key: handle, hash: mechanism == .ecdsaSHA256 ? SHA256() : nil, wantsLogin: key.wantsExplicitLogin)
    }

    private static func key(_ handle: UInt64, _ device: some TokenDevice) throws(ReturnValue) -> TokenKey {
        let keys = try keys(device)
        guard let key = keys.first(where: { $0.objects.contains { $0.handle == handle } }) else {
            throw .keyHandleInvalid
        }
        guard handle == key.handle(of: .privateKey) else { throw .keyFunctionNotPermitted }
        return key
    }

    /// What was begun; it is over, unless the client is only told how long the signature is.
    private mutating func take(
        _ session: UInt64, inParts: Bool, _ room: Int
    ) throws(ReturnValue) -> Session.Signing? {
        guard let signing = try self.session(session).signing, signing.isInParts == inParts else {
            throw .operationNotInitialized
        }
        guard room >= Self.signatureLength else { return nil }
        sessions[session]?.signing = nil
        guard !signing.wantsLogin else { throw .userNotLoggedIn }
        return signing
    }

    private mutating func sign(
        _ session: UInt64, _ data: [UInt8], _ room: Int, _ device: some TokenDevice
    ) throws(ReturnValue) -> AnswerValue {
        guard let signing = try take(session, inParts: false, room) else { return .countOfBytes(Self.signatureLength) }
        guard var hash = signing.hash else {
            return try Self.sign(try Digest.forSigning(data), signing.key, device)
        }
        hash.update(data: data)
        return try Self.sign(Array(hash.finalize()), signing.key, device)
    }

    private mutating func update(_ session: UInt64, _ data: [UInt8]) throws(ReturnValue) {
        guard let signing = try self.session(session).signing else { throw .operationNotInitialized }
        guard var hash = signing.hash else {
            sessions[session]?.signing = nil
            throw .functionNotSupported
        }
        hash.update(data: data)
        sessions[session]?.signing?.hash = hash
        sessions[session]?.signing?.isInParts = true
    }

    private mutating func endSignature(
        _ session: UInt64, _ room: Int, _ device: some TokenDevice
    ) throws(ReturnValue) -> AnswerValue {
        guard let signing = try take(session, inParts: true, room) else { return .countOfBytes(Self.signatureLength) }
        guard let hash = signing.hash else { throw .operationNotInitialized }
        return try Self.sign(Array(hash.finalize()), signing.key, device)
    }

    private static func sign(
        _ digest: [UInt8], _ handle: UInt64, _ device: some TokenDevice
    ) throws(ReturnValue) -> AnswerValue {
        // Looked up again: the owner may have removed it since.
        let key = try key(handle, device)
        do { return .bytes(try device.sign(digest, with: key)) } catch { throw error.returnValue }
    }

    // MARK: New keys

    private mutating func makeKey(
        _ session: UInt64, _ mechanism: Mechanism, _ publicKey: [Attribute], _ privateKey: [Attribute],
        _ device: some TokenDevice
    ) throws(ReturnValue) -> [AnswerValue] {
        guard mechanism == .ecKeyPairGeneration else { throw .mechanismInvalid }
        guard try self.session(session).isReadWrite else { throw .sessionReadOnly }
        func value(_ kind: Attribute.Kind, in template: [Attribute]) -> Attribute.Value? {
            template.first { $0.kind == kind }?.value
        }
        guard let curve = value(.ecParameters, in: publicKey) else { throw .templateIncomplete }
        guard curve == .bytes(TokenKey.curve) else { throw .curveNotSupported }
        // A key that is gone with the session, or that leaves the enclave, is no key of this token.
        guard value(.token, in: privateKey) == .flag(true), value(.extractable, in: privateKey) != .flag(true),
            value(.sensitive, in: privateKey) != .flag(false)
        else { throw .templateInconsistent }
        func bytes(_ kind: Attribute.Kind, _ longest: Int) throws(ReturnValue) -> [UInt8]? {
            guard case .bytes(let bytes)? = value(kind, in: privateKey) ?? value(kind, in: publicKey), !bytes.isEmpty
            else { return nil }
            guard bytes.count <= longest else { throw .attributeValueInvalid }
            return bytes
        }
        let identifier = try bytes(.identifier, Self.longestIdentifier)
        let label = try bytes(.label, Self.longestLabel).map { bytes throws(ReturnValue) in
            guard let text = String(validating: bytes, as: UTF8.self) else { throw ReturnValue.attributeValueInvalid }
            return text
        }
        let key: TokenKey
        do { key = try device.makeKey(label: label, identifier: identifier) } catch { throw error.returnValue }
        return [.number(key.handle(of: .publicKey)), .number(key.handle(of: .privateKey))]
    }
}
