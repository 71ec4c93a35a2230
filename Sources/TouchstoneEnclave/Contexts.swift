import Foundation
import TouchstoneCore
import TouchstoneMemory

extension Enclave {
    /// One app's context (A.3).
    struct Context {
        let app: AppIdentifier
        /// Whom the app asks for, for the log; nil: for itself.
        let client: AppIdentifier?
        /// A proof opens what is of these, and of no other.
        let accessGroups: Set<AccessGroup>
        fileprivate(set) var proven = Proven()
        fileprivate(set) var password = Password()
        /// What the last evaluation added to that, which goes again if the app hears of a failure after all.
        fileprivate var granted: Grant?

        init(app: AppIdentifier, accessGroups: [AccessGroup], client: AppIdentifier? = nil) {
            self.app = app
            self.client = client
            self.accessGroups = Set(accessGroups)
        }
    }

    /// What an evaluation that succeeded gave to its context.
    struct Grant {
        var evaluation: Evaluation
        var biometry: Bool
        var passcode: Bool
        /// What the context had before.
        var before: Proven
    }

    /// The application password of one context.
    struct Password {
        /// The stretched password.
        fileprivate(set) var key: SecretBytes?
        /// The derivation whose result is still wanted: a later one, or taking the password away, makes it worthless.
        fileprivate var ticket: String?
    }

    /// What the owner proved to a context (EV-31).
    struct Proven {
        /// The hash of the enrolment database at the match: worth nothing once it has changed (EV-33).
        var biometry: Data?
        var passcode = false
        /// When each of them lapses (ND-4); nil: with the context.
        var biometryUntil: Double?
        var passcodeUntil: Double?

        /// What was proven now, too; what is proven already is good for as long as the longer of the two.
        mutating func add(_ new: Proven) {
            func longer(_ one: Double?, _ other: Double?) -> Double? {
                guard let one, let other else { return nil }
                return max(one, other)
            }
            if let match = new.biometry {
                biometryUntil = biometry == match ? longer(biometryUntil, new.biometryUntil) : new.biometryUntil
                biometry = match
            }
            if new.passcode {
                passcodeUntil = passcode ? longer(passcodeUntil, new.passcodeUntil) : new.passcodeUntil
                passcode = true
            }
        }

        mutating func forgetBiometry() { (biometry, biometryUntil) = (nil, nil) }
        mutating func forgetPasscode() { (passcode, passcodeUntil) = (false, nil) }
    }
}

/// The apps' contexts by their identifiers, with what the owner has proven to each.
///
/// Gone with the process.
struct Contexts {
    private(set) var byIdentifier: [String: Enclave.Context] = [:]
    private var countByApp: [AppIdentifier: Int] = [:]
    /// When the first of their proofs lapses; nil: none does.
    private var nextLapse: Double?

    subscript(identifier: String) -> Enclave.Context? { byIdentifier[identifier] }

    /// The context of this name, if it is this app's.
    func context(_ identifier: String?, of app: AppIdentifier) -> Enclave.Context? {
        guard let identifier, let context = byIdentifier[identifier], context.app == app else { return nil }
        return context
    }

    /// Where the app has too many, one of its own goes, but not the one that is `evaluated`.
    ///
    /// Where all apps together have too many, one goes of the app that has most.
    mutating func add(_ context: Enclave.Context, as identifier: String, evaluated: String?) {
        let isFull = byIdentifier.count >= Enclave.Limits.contexts
        if countByApp[context.app, default: 0] >= Enclave.Limits.contextsPerApp {
            removeOne(of: context.app, but: evaluated)
        } else if isFull, let greediest = countByApp.max(by: { $0.value < $1.value })?.key {
            removeOne(of: greediest, but: evaluated)
        }
        byIdentifier[identifier] = context
        countByApp[context.app, default: 0] += 1
    }

    private mutating func removeOne(of app: AppIdentifier, but evaluated: String?) {
        let spare = byIdentifier.first { $0.value.app == app && $0.key != evaluated }
        if let spare { remove(spare.key) }
    }

    mutating func remove(_ identifier: String) {
        if let removed = byIdentifier.removeValue(forKey: identifier) { countByApp.countDown(removed.app) }
    }

    // MARK: proofs

    /// From now on exactly this is proven to the context.
    mutating func prove(_ proven: Enclave.Proven, to identifier: String) {
        byIdentifier[identifier]?.proven = proven
        noteLapse(of: proven)
    }

    /// The same by an evaluation that succeeded, which can be taken back.
    mutating func prove(_ proven: Enclave.Proven, to identifier: String, by grant: Enclave.Grant) {
        prove(proven, to: identifier)
        byIdentifier[identifier]?.granted = grant
    }

    /// Takes back what this evaluation gave to its context.
    ///
    /// - Returns: The evaluation; nil where it gave nothing, or another succeeded since.
    mutating func takeBack(_ evaluation: String) -> Enclave.Evaluation? {
        guard
            let (identifier, grant) = byIdentifier.lazy.compactMap({ key, context in
                context.granted.flatMap { $0.evaluation.identifier == evaluation ? (key, $0) : nil }
            }).first, var context = byIdentifier[identifier]
        else { return nil }
        context.granted = nil
        if grant.biometry {
            context.proven.forgetBiometry()
        } else {
            context.proven.biometryUntil = grant.before.biometryUntil
        }
        if grant.passcode {
            context.proven.forgetPasscode()
        } else {
            context.proven.passcodeUntil = grant.before.passcodeUntil
        }
        byIdentifier[identifier] = context
        return grant.evaluation
    }

    /// Nothing is proven to any context any more.
    mutating func forgetProofs() {
        for identifier in byIdentifier.keys { byIdentifier[identifier]?.proven = Enclave.Proven() }
    }

    /// No finger or face has proven anything any more to this app's contexts; nil: to anybody's.
    mutating func forgetBiometry(of app: AppIdentifier? = nil) {
        for (identifier, context) in byIdentifier where app == nil || context.app == app {
            byIdentifier[identifier]?.proven.forgetBiometry()
        }
    }

    /// Forgets what was proven for a time that is over (ND-4).
    mutating func forgetLapsedProofs(now: Double) {
        guard let nextLapse, now >= nextLapse else { return }
        self.nextLapse = nil
        for (identifier, context) in byIdentifier {
            var proven = context.proven
            if proven.biometryUntil.map({ now >= $0 }) == true { proven.forgetBiometry() }
            if proven.passcodeUntil.map({ now >= $0 }) == true { proven.forgetPasscode() }
            prove(proven, to: identifier)
        }
    }

    /// Remembers when it has to be looked at.
    private mutating func noteLapse(of proven: Enclave.Proven) {
        nextLapse = [nextLapse, proven.biometryUntil, proven.passcodeUntil].compactMap(\.self).min()
    }

    // MARK: application passwords

    /// The derivation that has this ticket is the one whose result is wanted.
    mutating func awaitPassword(of ticket: String, for identifier: String) {
        byIdentifier[identifier]?.password.ticket = ticket
    }

    /// Takes what came of that derivation, if it is still wanted; nil: nothing came of it.
    mutating func takePassword(_ key: SecretBytes?, of ticket: String, for identifier: String) {
        guard byIdentifier[identifier]?.password.ticket == ticket else { return }
        byIdentifier[identifier]?.password = Enclave.Password(key: key)
    }

    mutating func forgetPassword(of identifier: String) {
        byIdentifier[identifier]?.password = Enclave.Password()
    }

    mutating func forgetPasswords(of app: AppIdentifier) {
        for (identifier, context) in byIdentifier where context.app == app { forgetPassword(of: identifier) }
    }
}
