public import Foundation
internal import Synchronization
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// A chain of certificates to evaluate, what it is judged by, and what came of it.
///
/// Any thread may use it. A change forgets the result.
///
/// > Source: TR-1…TR-9.
public final class SecTrust: NSObject, CoreFoundationType, Sendable {
    struct State {
        var certificates: [SecCertificate]
        var policies: [SecPolicy]
        var anchors: [SecCertificate]?
        var anchorsOnly = false
        /// Nil for the time of the evaluation.
        var date: Date?
        /// Nil for what the policies say.
        var isFetchAllowed: Bool?
        var responses: [Data] = []
        var exceptions: TrustExceptions?
        var outcome: TrustOutcome?
        /// Counts the changes.
        var generation = 0
    }

    package static let typeID: CFTypeID = 0x5443_5452

    private let state: Mutex<State>

    init(certificates: [SecCertificate], policies: [SecPolicy]) {
        state = Mutex(State(certificates: certificates, policies: policies))
    }

    /// Whose certificate it is about.
    public override var description: String { "<SecTrust: \(read(\.certificates[0]).description)>" }

    func read<Value: Sendable>(_ path: KeyPath<State, Value>) -> Value { state.withLock { $0[keyPath: path] } }

    /// Changes what is judged, or by what, and forgets the result.
    func change(_ body: (inout sending State) -> Void) {
        state.withLock { state in
            body(&state)
            state.outcome = nil
            state.generation += 1
        }
    }

    /// The result, which is made if there is none.
    func evaluated() -> TrustOutcome {
        // Without the lock: it takes time, and others may ask meanwhile what was set.
        let (outcome, question, generation) = state.withLock { ($0.outcome, TrustQuestion($0), $0.generation) }
        if let outcome { return outcome }
        let made = question.outcome()
        state.withLock { state in
            if state.generation == generation { state.outcome = made }
        }
        return made
    }
}

/// The type of `SecTrust`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { SecTrust.typeID }

/// Makes a trust object.
///
/// Nothing is evaluated yet.
///
/// - Parameters:
///   - certificates: A `SecCertificate`, or a `CFArray` of them. The first is verified; the others may help, in any order.
///   - policies: A `SecPolicy`, or a `CFArray` of them, which all have to be met; nil for `SecPolicyCreateBasicX509`.
///   - trust: Takes the object.
/// - Returns: `errSecSuccess`, or `errSecParam` for anything else.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let certificates = objects(certificates, SecCertificate.self), !certificates.isEmpty,
        let policies = policies.map({ objects($0, SecPolicy.self) }) ?? []
    else { return Status.param.rawValue }
    unsafe trust.initialize(
        to: SecTrust(certificates: certificates, policies: policies.isEmpty ? [SecPolicyCreateBasicX509()] : policies))
    return Status.success.rawValue
}

/// One object, or those of an array; nil if one of them is of another class.
func objects<Object: AnyObject>(_ value: CFTypeRef, _ type: Object.Type) -> [Object]? {
    if let object = value as? Object { return [object] }
    guard let array = value as? NSArray else { return nil }
    let objects = array.compactMap { $0 as? Object }
    return objects.count == array.count ? objects : nil
}
