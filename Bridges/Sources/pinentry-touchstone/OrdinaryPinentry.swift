import BridgeProcesses
import Foundation
import Glibc
import PinentryProtocol

/// An ordinary pinentry, which asks the person to type: one process for one question.
final class OrdinaryPinentry {
    struct Failure: Error { var error: PinentryError }

    private let descriptor: Int32
    private let program: StartedProgram
    private let line = SecretLine()

    /// Starts it.
    ///
    /// - Parameters:
    ///   - path: Of the program.
    ///   - arguments: Those that gpg-agent gave to this program.
    ///   - settings: Lines that it gets first. One that it does not know is not needed.
    /// - Throws: `Failure`: it cannot be started, or ends at once.
    init(_ path: String, _ arguments: [String], _ settings: [[UInt8]]) throws(Failure) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure(error: .general) }
        descriptor = ends[0]
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let started = try? StartedProgram(
            path, [path] + arguments, environment: environment, descriptors: [(ends[1], 0), (ends[1], 1)],
            signals: .fresh)
        // The program's own copy is the last one, so that its end is seen.
        close(ends[1])
        guard let started else {
            close(ends[0])
            throw Failure(error: .noPinentry)
        }
        program = started
        Departure.takesAlong(program.processID)
        guard try next() == .success else { throw Failure(error: .general) }
        for setting in settings {
            guard try send(setting) != .malformed else { throw Failure(error: .general) }
        }
    }

    deinit {
        close(descriptor)
        kill(program.processID, SIGTERM)
        Departure.takesAlong(0)
        program.wait()
    }

    /// Asks, and gives each line to gpg-agent, up to the one that ends the answer.
    ///
    /// - Parameters:
    ///   - command: The question.
    ///   - typed: Gets what the person typed; nil where it is not wanted.
    /// - Returns: How it ended.
    /// - Throws: `Failure`: gpg-agent has no answer yet.
    func ask(_ command: [UInt8], typed: SecretLine?) throws(Failure) -> PinentryReply {
        try put(command)
        while true {
            let reply = try next()
            switch reply {
            case .malformed: throw Failure(error: .general)
            case .data:
                if let typed, !AssuanText.unescape(line.dropFirst(PinentryReply.dataStart), { typed.append($0) }) {
                    throw Failure(error: .general)
                }
            case .success, .failure, .inquiry, .remark: break
            }
            if reply == .success || reply == .failure { Departure.ends() }
            guard line.write(1) else { throw Failure(error: .general) }
            switch reply {
            case .success, .failure: return reply
            case .inquiry: try answer()
            case .data, .remark, .malformed: break
            }
        }
    }

    /// gpg-agent's answer to what the pinentry wants to know, such as how good a passphrase is.
    private func answer() throws(Failure) {
        while line.read(0), !line.isTooLong {
            guard line.write(descriptor) else { throw Failure(error: .general) }
            if line.elementsEqual("END".utf8) || line.elementsEqual("CAN".utf8) { return }
        }
        throw Failure(error: .general)
    }

    private func send(_ command: [UInt8]) throws(Failure) -> PinentryReply {
        try put(command)
        while true {
            let reply = try next()
            if reply != .remark { return reply }
        }
    }

    private func put(_ command: [UInt8]) throws(Failure) {
        line.wipe()
        line.append(command)
        guard line.write(descriptor) else { throw Failure(error: .general) }
    }

    private func next() throws(Failure) -> PinentryReply {
        guard line.read(descriptor) else { throw Failure(error: .general) }
        return PinentryReply(line)
    }

    // MARK: Which one

    private static let names = [
        "pinentry", "pinentry-gnome3", "pinentry-qt", "pinentry-gtk-2", "pinentry-curses", "pinentry-tty",
    ]

    /// The one of this name or path; without a name the one that the system prefers, else one that is installed.
    static func path(_ wanted: String?) -> String? {
        if let wanted, wanted.contains("/") { return wanted }
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(
            separator: ":")
        for name in wanted.map({ [$0] }) ?? names {
            for place in places where place.hasPrefix("/") {
                let path = "\(place)/\(name)"
                // The system may prefer this very program.
                if unsafe access(path, X_OK) == 0, (path as NSString).resolvingSymlinksInPath != own { return path }
            }
        }
        return nil
    }
}
