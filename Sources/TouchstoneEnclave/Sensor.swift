package import Foundation
import TouchstoneCore

/// Which sensor a device has: kept in its state, so that nothing but the owner's passcode gives it one later, and nothing another.
package enum SensorSource: Codable, Hashable, Sendable {
    /// A reader of fprintd's on the D-Bus whose socket is at `bus`.
    ///
    /// `templates` is the directory in which fprintd keeps what is enrolled, which it may not let us read.
    case fprintd(bus: String, templates: String)
    /// A PAM service, whose file is in `directory`, absent for the system's directories.
    ///
    /// It is weak: nobody knows how well it recognises whom. `opensBiometryAny` is the owner's leave to take it for biometry.
    case pam(service: String, directory: String?, opensBiometryAny: Bool)

    /// Whether what it recognised is what this asks for.
    ///
    /// A weak sensor is as good as a passcode where either will do, for biometry where the owner said so, and never for the set of
    /// enrolled fingers or faces, which it does not tell.
    func meets(_ proof: Proof) -> Bool {
        switch self {
        case .fprintd: proof.isMetByBiometry
        case .pam(_, _, let opensBiometryAny): proof == .presence || (proof == .biometryAny && opensBiometryAny)
        }
    }

    package var kind: SensorKind {
        switch self {
        case .fprintd: .fprintd
        case .pam: .pam
        }
    }
}

/// What the sensor is.
package enum SensorKind: String, CaseIterable, Sendable {
    case simulated, fprintd, pam
}

/// Why the sensor does not work now.
package enum SensorProblem: String, CaseIterable, Sendable {
    case starting, noBus, noService, noReader
    /// Who is enrolled is so with another reader (DEC-062).
    case otherReader
    case unknownOwner, notAllowed, notAnswering, templatesUnreadable
}

/// What the sensor says about the last touch, or about itself.
package enum SensorHint: String, CaseIterable, Sendable {
    case scanAgain, swipeTooShort, swipeTooFast, fingerNotCentered, removeAndRetry, readerBusy, readerFailed
}

/// How the sensor is.
package struct SensorStatus: Hashable, Sendable {
    package var kind: SensorKind
    package var name: String?
    /// nil: it works.
    package var problem: SensorProblem?
    /// Nobody knows how well it recognises whom.
    package var isWeak: Bool
    package var areTemplatesRead: Bool

    /// Of a sensor that was not heard of yet.
    static func starting(_ source: SensorSource) -> SensorStatus {
        .init(kind: source.kind, name: nil, problem: .starting, isWeak: source.kind == .pam, areTemplatesRead: false)
    }
}

/// A sensor that this process itself speaks to, so that nobody else can say what it saw.
package protocol Sensor: Sendable {
    /// Begins to work, on a thread of its own, for as long as the process lives.
    func start(for owner: any SensorOwner)
    /// What its owner waits for may be something else now.
    func wake()
    /// Looks who is enrolled; returns once that was reported, or so many seconds are over, or where it is known to answer late.
    func refresh(within seconds: Double)
}

/// Whom a sensor works for: it is asked what to wait for, and judges what was seen.
package protocol SensorOwner: AnyObject, Sendable {
    /// Names what waits for a touch; nil: nothing does, and the sensor is to be left to others.
    var awaitedTouch: String? { get }
    /// Whether that is the lock screen, which is there for as long as the owner is away.
    func isLockScreen(_ awaited: String) -> Bool
    /// The reader that the enrolled fingers are of; nil where none is enrolled, or that is not known: then any reader will do.
    var knownReader: SensorReader? { get }
    /// Returns whether it was kept: otherwise it has no effect, and who is enrolled is to be told again.
    @discardableResult
    func hear(_ report: SensorReport) -> Bool
}

/// What a sensor tells.
package enum SensorReport: Hashable, Sendable {
    /// It works, and this is who is enrolled.
    case enrolled(SensorEnrolment)
    case unavailable(SensorProblem)
    /// A touch, for what was awaited when the sensor began to look: it counts for nothing else.
    case touched(isMatch: Bool, for: String)
    /// nil: what was said last is over.
    case hint(SensorHint?, for: String)
}

/// Which reader a sensor is, as far as its service tells: two of the same model are the same.
package struct SensorReader: Codable, Hashable, Sendable {
    /// What it calls itself.
    package var name: String
    /// How a finger is laid on it: fprintd's `press` or `swipe`; empty where that is not told.
    package var scanType: String

    package init(name: String, scanType: String = "") {
        self.name = name
        self.scanType = scanType
    }
}

/// Who is enrolled with a sensor.
package struct SensorEnrolment: Hashable, Sendable {
    package struct Finger: Hashable, Sendable {
        package var name: String
        /// Other bytes for another template under the same name, where the templates can be read.
        package var identity: Data
        package init(name: String, identity: Data) {
            self.name = name
            self.identity = identity
        }
    }

    package var reader: SensorReader
    package var fingers: [Finger]
    package var areTemplatesRead: Bool
    /// Something was enrolled that `fingers` may not show.
    package var isRenewed: Bool

    package init(reader: SensorReader, fingers: [Finger], areTemplatesRead: Bool, isRenewed: Bool = false) {
        self.reader = reader
        self.fingers = fingers
        self.areTemplatesRead = areTemplatesRead
        self.isRenewed = isRenewed
    }
}
