package import Foundation
import TouchstoneCore

/// What happened that somebody outside waits for.
package enum EnclaveEvent: Hashable, Sendable {
    /// What apps may know of the device is another: enrolment, lockout, whether there is a passcode (CE-19).
    case environmentChanged
    /// An evaluation goes on.
    case evaluationProgressed(String, Enclave.Progress)
    /// An evaluation is over.
    case evaluationEnded(String, Enclave.EvaluationEnd)
    /// What came of a call that was given this ticket.
    case answered(ticket: String, Answer)
    /// New lines of the log.
    case logged([String])
    /// Wrong passcodes erased the device (PC-02).
    case erased
    /// The owner's login session was locked, or the machine goes to sleep.
    case locked
    /// A finger on the device's own sensor opened the lock screen.
    case unlocked

    /// What came of a call that could not be answered at once.
    package enum Answer: Hashable, Sendable {
        case done
        /// The passcode is wrong; seconds until the next one is looked at, nil: now.
        case rejected(retryAfterSeconds: Double?)
        case refused(Enclave.RefusalReason)
        /// There was no memory for it.
        case failed
        /// The hardware has made or used a key.
        case keyUsed(KeyProduct)
        case keyRefused(KeyRefusal)
    }
}

/// What comes of a private key.
package enum KeyProduct: Hashable, Sendable {
    case made(MadeKey)
    case signature(Data)
    case sharedSecret(Data)
}
