import Foundation
import Glibc
import TouchstoneCore

/// What root keeps of one user for pam_touchstone.so (PM-1).
struct PAMEnrolment {
    static let directory = "/etc/touchstone/pam"
    /// Where only root can have put it: by this path the device knows it, and its keys are for it alone.
    static let helper = "/usr/libexec/touchstone/touchstone-pam-helper"

    let userID: UInt32
    let user: String

    private var path: String { "\(Self.directory)/\(userID)" }
    static func samePasscode(_ userID: UInt32) -> String { "\(directory)/\(userID).same-passcode" }

    /// - Throws: `Failure` where this is not root, or nobody has this name.
    init(_ name: String) throws {
        guard geteuid() == 0 else { throw Failure(.refused, "only root can do that; run it with sudo") }
        let number = UInt32(name)
        let entry = unsafe getpwnam(name) ?? number.flatMap { unsafe getpwuid($0) }
        guard let entry = unsafe entry else { throw Failure(.no, "there is no user '\(PlainText.line(name))'") }
        userID = unsafe entry.pointee.pw_uid
        user = unsafe String(cString: entry.pointee.pw_name)
    }

    /// Has the enclave make the keys, and keeps what the helper says of them.
    func make(samePasscode: Bool) throws {
        guard unsafe access(Self.helper, X_OK) == 0 else {
            throw Failure(.internalError, "\(Self.helper) is not installed; the package libpam-touchstone has it")
        }
        let (ending, text) = try Child.output(Self.helper, ["enroll", "\(userID)"])
        guard ending == .exited(0), !text.isEmpty else {
            throw Failure(.refused, "\(user) was not enrolled; the reason is above")
        }
        umask(0o022)
        for directory in ["/etc/touchstone", Self.directory] {
            guard unsafe mkdir(directory, 0o755) == 0 || errno == EEXIST else { throw Failure.system(directory) }
        }
        try Self.write(text, path)
        if samePasscode {
            try Self.write(Data(), Self.samePasscode(userID))
        } else {
            unsafe unlink(Self.samePasscode(userID))
        }
    }

    /// For everybody to read: a locker runs as the user.
    private static func write(_ bytes: Data, _ path: String) throws {
        let file = try NewFile(path, replaces: true)
        try file.write(bytes)
        try file.place()
        guard unsafe chmod(path, 0o644) == 0 else { throw Failure.system(path) }
    }

    /// - Returns: Whether there was something.
    func remove() throws -> Bool {
        unsafe unlink(Self.samePasscode(userID))
        if unsafe unlink(path) == 0 { return true }
        guard errno == ENOENT else { throw Failure.system(path) }
        return false
    }
}
