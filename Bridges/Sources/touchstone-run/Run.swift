import ArgumentParser
import CSealedFile
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a command with secrets in the place of references.",
        discussion: """
            Each variable whose whole value is a reference, touchstone://SERVICE/ACCOUNT[/FIELD], has the secret instead. The owner is asked \
            once, for all of them. The command takes this program's place.

            Your other programs can read the variables and the open files of a command. --fd, or --secret NAME=@REFERENCE, only keeps the \
            secret out of its variables, and so out of those of the programs that it starts.

            Example: touchstone run --env-file .env -- npm publish
            """)

    @Option(help: ArgumentHelp("Variables, one NAME=VALUE in each line.", valueName: "file"))
    var envFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "A variable. With @ before the reference it is the path of a file that has the secret.",
            valueName: "name=reference"))
    var secret: [String] = []

    @Option(
        help: ArgumentHelp(
            "A descriptor, from 3 on, from which the command reads the secret.", valueName: "n=reference"))
    var fd: [String] = []

    @Flag(help: "Replace secrets of 8 bytes and more in what the command writes.")
    var mask = false

    @Option(
        help: ArgumentHelp("For how long the approval is good for the same secrets, 0 to 300.", valueName: "seconds"))
    var reuse = 0.0

    @Argument(parsing: .postTerminator, help: "The command, and what it takes.")
    var command: [String] = []

    /// Where a secret goes.
    private enum Place {
        case variable(String)
        case file(String)
        case descriptor(Int32)

        var name: String {
            switch self {
            case .variable(let name), .file(let name): name
            case .descriptor(let number): "descriptor \(number)"
            }
        }
    }

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Say which command, after --.") }
        guard (0...300).contains(reuse) else { throw ValidationError("--reuse is a number of seconds from 0 to 300.") }
    }

    func run() throws {
        var environment = ProcessInfo.processInfo.environment
        for path in envFile {
            for variable in try variables(path) { environment[variable.name] = variable.value }
        }
        var places: [(Place, SecretReference)] = []
        for text in secret {
            let (name, value) = try pair(text, "--secret NAME=REFERENCE")
            guard EnvironmentFile.isName(name) else { throw CommandFailure("\(name) cannot be the name of a variable") }
            let isFile = value.hasPrefix("@")
            places.append(
                (
                    isFile ? .file(name) : .variable(name),
                    try reference(isFile ? String(value.dropFirst()) : value, name)
                ))
            environment[name] = nil
        }
        for text in fd {
            let (number, value) = try pair(text, "--fd N=REFERENCE")
            guard let descriptor = Int32(number), (3...1023).contains(descriptor) else {
                throw CommandFailure("--fd takes a number from 3 to 1023")
            }
            places.append((.descriptor(descriptor), try reference(value, text)))
        }
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where value.hasPrefix(SecretReference.prefix) {
            places.append((.variable(name), try reference(value, name)))
        }
        let path = try resolved(command[0], environment["PATH"])
        let secrets = try OpenedSecrets(
            places.map(\.1), names: places.map(\.0.name),
            command: places.isEmpty ? nil : ([path] + command.dropFirst()).joined(separator: " "), reuse: reuse)
        var values: [[UInt8]] = []
        var taken: Set<Int32> = []
        for case (.descriptor(let number), _) in places { taken.insert(number) }
        for (place, reference) in places {
            let value = try secrets.value(reference)
            values.append(value)
            switch place {
            case .variable(let name):
                guard !value.contains(0), let text = String(validating: value, as: UTF8.self) else {
                    throw CommandFailure(
                        "\(name): a variable cannot hold this secret. Use --fd, or --secret \(name)=@…")
                }
                environment[name] = text
            case .file(let name):
                environment[name] = "/proc/self/fd/\(try descriptor(with: value, at: nil, &taken))"
            case .descriptor(let number): _ = try descriptor(with: value, at: number, &taken)
            }
        }
        let words = environment.map { "\($0.key)=\($0.value)" }
        if mask {
            try MaskedCommand(path, command, words, OutputMask(values)).run()
        } else {
            execute(path, words)
        }
    }

    private func execute(_ path: String, _ words: [String]) -> Never {
        let arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        let variables = unsafe words.map { unsafe strdup($0) } + [nil]
        unsafe execve(path, arguments, variables)
        let code = errno
        HelperProcess.complain("touchstone-run: \(path): \(unsafe String(cString: strerror(code)))")
        Glibc.exit(126)
    }

    private func variables(_ path: String) throws -> [EnvironmentFile.Variable] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0, let bytes = try? HelperProcess.bytes(of: descriptor, EnvironmentFile.maximumCount) else {
            throw CommandFailure("\(path) cannot be read")
        }
        close(descriptor)
        do throws(EnvironmentFileError) {
            return try EnvironmentFile(bytes).variables
        } catch {
            throw CommandFailure("\(path): \(error)")
        }
    }

    private func pair(_ text: String, _ form: String) throws -> (String, String) {
        guard let equals = text.firstIndex(of: "=") else { throw CommandFailure("this is of the form \(form)") }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    private func reference(_ text: String, _ name: String) throws -> SecretReference {
        guard let reference = SecretReference(text) else {
            throw CommandFailure("\(name): a reference is written touchstone://SERVICE/ACCOUNT[/FIELD]")
        }
        return reference
    }

    private func resolved(_ name: String, _ path: String?) throws -> String {
        let candidates =
            name.contains("/")
            ? [name] : (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map { "\($0)/\(name)" }
        for candidate in candidates where unsafe access(candidate, X_OK) == 0 {
            var isDirectory: ObjCBool = false
            if unsafe FileManager.default.fileExists(atPath: candidate, isDirectory: &isDirectory),
                !isDirectory.boolValue
            {
                return candidate
            }
        }
        throw CommandFailure("\(name): no such command", status: 127)
    }

    /// A file in memory that nobody can change (EX-4), open in the command.
    private func descriptor(with value: [UInt8], at number: Int32?, _ taken: inout Set<Int32>) throws -> Int32 {
        let made = unsafe value.withUnsafeBytes { unsafe sealed_file($0.baseAddress, $0.count) }
        guard made >= 0 else { throw CommandFailure("no memory for a secret", status: 1) }
        if let number {
            guard made != number else {
                _ = fcntl(made, F_SETFD, 0)
                return number
            }
            guard dup2(made, number) == number else {
                throw CommandFailure("descriptor \(number) cannot be had", status: 1)
            }
            close(made)
            return number
        }
        var free: Int32 = 3
        while taken.contains(free) || fcntl(free, F_GETFD) >= 0 { free += 1 }
        guard dup2(made, free) == free else { throw CommandFailure("no descriptor is left", status: 1) }
        close(made)
        taken.insert(free)
        return free
    }
}
