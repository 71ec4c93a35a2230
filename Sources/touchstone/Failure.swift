import Foundation

/// A command that did not do its work: a sentence that says what to do, and the exit status.
struct Failure: Error, Hashable {
    var status: ExitStatus
    /// A sentence without a full stop; printed after `touchstone: `.
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// A system call that failed, by `errno`.
    static func system(_ action: String, code: Int32 = errno) -> Failure {
        Failure(.internalError, "\(action): \(describe(code))")
    }

    static func describe(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

extension StandardError {
    /// Stands before what the command says.
    static let program = "touchstone"
}
