import BridgeProcesses
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// `touchstone-security`: the commands of macOS's `security` that scripts use for passwords (SC-1).
@main enum TouchstoneSecurity {
    private static let usage = """
        usage: touchstone-security add-generic-password -s SERVICE -a ACCOUNT [-w [PASSWORD]] [-X HEX] [-U] [-A] [-T PROGRAM]...
               touchstone-security find-generic-password -s SERVICE [-a ACCOUNT] [-w] [-g]
               touchstone-security delete-generic-password -s SERVICE [-a ACCOUNT]
               touchstone-security {add|delete}-internet-password -s SERVER -a ACCOUNT [-r PROTOCOL] [-P PORT] [-p PATH] ...
               touchstone-security find-internet-password -s SERVER [-a ACCOUNT] [-r PROTOCOL] [-P PORT] [-p PATH] [-w] ...
        Put -w last to be asked for the password.
        -T lets a compiled program read the password without asking you. 'touchstone bridge grants list' shows such programs.
        -i reads such commands from standard input, one in each line, where no other program sees them. -q prints no warnings.
        It sees the passwords that touchstone-credentials keeps for commands and for git, and no other app's items.

        Example: touchstone-security find-generic-password -s npm -a token -w
        """

    /// Whether options before the command say to warn of nothing.
    private static var isQuiet: Bool { ProcessInfo.processInfo.environment["TOUCHSTONE_SECURITY_QUIET"] == "1" }

    static func main() {
        HelperProcess.leaveNoCore()
        var arguments = takenArguments()
        var isInteractive = false
        while let first = arguments.first, let option = String(validating: first, as: UTF8.self), option.hasPrefix("-")
        {
            switch option {
            case "--help":
                print(usage)
                return
            case "--version":
                print(BridgeVersion.current)
                return
            case "-i": isInteractive = true
            case "-q": unsafe setenv("TOUCHSTONE_SECURITY_QUIET", "1", 1)
            default: fail(.unknownCommand(option))
            }
            arguments.removeFirst()
        }
        guard isInteractive else { exit(run(arguments, isTyped: false)) }
        guard arguments.isEmpty else { fail(.unknownCommand("a command after -i")) }
        Interaction.run { run($0, isTyped: true) }
    }

    private static func fail(_ error: SecurityCommandError) -> Never {
        HelperProcess.complain("touchstone-security: \(error)\n\(usage)")
        exit(2)
    }

    /// Runs one command.
    ///
    /// - Parameters:
    ///   - words: The command and its arguments.
    ///   - isTyped: Whether it came over standard input, where other programs do not see it.
    /// - Returns: Its exit status.
    private static func run(_ words: [[UInt8]], isTyped: Bool) -> Int32 {
        let command: SecurityCommand
        do throws(SecurityCommandError) {
            command = try SecurityCommand(words)
        } catch {
            HelperProcess.complain("touchstone-security: \(error)" + (isTyped ? "" : "\n\(usage)"))
            return 2
        }
        if !isQuiet { warn(command, isTyped: isTyped) }
        do throws(CredentialMessages.Failure) {
            switch command.action {
            case .add: try add(command, isTyped: isTyped)
            case .find: try find(command)
            case .delete: try delete(command)
            }
            return 0
        } catch {
            let sentence = error == .gone ? "\(command.place) not found in this tool's items" : error.sentence
            HelperProcess.complain("touchstone-security: \(sentence)")
            return error.securityStatus
        }
    }

    /// The arguments, which other programs cannot read any more (SC-6).
    private static func takenArguments() -> [[UInt8]] {
        var found: [[UInt8]] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            // The kernel placed each of them, with a zero byte at its end.
            guard let word = unsafe CommandLine.unsafeArgv[index] else { break }
            let count = unsafe strlen(word)
            found.append(unsafe Array(UnsafeRawBufferPointer(start: word, count: count)))
            // The first is the command.
            if index > 1 { unsafe explicit_bzero(word, count) }
        }
        return found
    }

    private static func warn(_ command: SecurityCommand, isTyped: Bool) {
        if case .argument = command.password, command.action == .add, !isTyped {
            HelperProcess.complain(
                "touchstone-security: other programs could read the password among the arguments; leave it out, and it is asked for"
            )
        }
        for word in command.ignored {
            HelperProcess.complain("touchstone-security: \(word) changes nothing here")
        }
    }

    private static func item(_ command: SecurityCommand) -> CredentialMessages.Item {
        guard command.isInternet else {
            return CredentialMessages.Item(kind: .secret, place: command.place, account: command.account)
        }
        let place = CredentialPlace(
            scheme: command.scheme, host: command.place, port: command.port, path: command.path)
        return CredentialMessages.Item(place, account: command.account)
    }

    private static func add(_ command: SecurityCommand, isTyped: Bool) throws(CredentialMessages.Failure) {
        var parameters = CredentialMessages.Parameters()
        parameters.item = item(command)
        parameters.isNew = !command.updates
        parameters.isOpen = command.isOpen
        switch command.password {
        case .argument(let password): parameters.secret = Data(password)
        case .asked:
            guard let password = asked(isTyped: isTyped) else { throw .invalid }
            parameters.secret = Data(password)
        }
        parameters.programs = command.programs.isEmpty ? nil : command.programs
        let results = try CredentialsClient.call("Store", parameters)
        for program in results.refusedPrograms ?? [] where !isQuiet {
            HelperProcess.complain(
                "touchstone-security: the password is stored, but \(program) still has to ask; -T takes only a compiled program that can be read, and no shell"
            )
        }
    }

    /// From standard input if that does not have the commands, or typed twice without being shown.
    private static func asked(isTyped: Bool) -> [UInt8]? {
        guard isTyped || isatty(0) != 0 else {
            var password = HelperProcess.input(CredentialMessages.maximumSecretCount + 1)
            if password.last == 0x0A { password.removeLast() }
            return password
        }
        func typed(_ words: String) -> [UInt8]? {
            // One buffer of the C library's: copied, and zeroed.
            guard let word = unsafe getpass(words) else { return nil }
            let count = unsafe strlen(word)
            defer { unsafe explicit_bzero(word, count) }
            return unsafe Array(UnsafeRawBufferPointer(start: word, count: count))
        }
        guard let first = typed("password data for new item: "), first == typed("retype password for new item: ") else {
            HelperProcess.complain("touchstone-security: the two are not the same")
            return nil
        }
        return first
    }

    private static func find(_ command: SecurityCommand) throws(CredentialMessages.Failure) {
        var parameters = CredentialMessages.Parameters()
        let item = item(command)
        guard command.printsPassword || command.showsPassword else {
            // Nobody is asked for what is no secret.
            parameters.item = item
            let all = try CredentialsClient.call("List", parameters).items ?? []
            let found = all.first { kept in
                kept.place == item.place && (item.account.map { $0 == kept.account } ?? true)
                    && (item.credentialPlace.map { kept.credentialPlace?.serves($0) == true } ?? true)
            }
            guard let found else { throw .gone }
            HelperProcess.write(SecurityOutput.attributes(of: command, account: found.account ?? ""))
            return
        }
        let results: CredentialMessages.Results
        if command.isInternet {
            parameters.item = item
            results = try CredentialsClient.call("Get", parameters)
        } else {
            parameters.items = [item]
            results = try CredentialsClient.call("Open", parameters)
        }
        guard let secret = results.secrets?.first.map({ Array($0) }) else { throw .gone }
        if command.printsPassword {
            HelperProcess.write(SecurityOutput.password(secret))
        } else {
            HelperProcess.write(
                SecurityOutput.attributes(of: command, account: results.account ?? command.account ?? ""))
            HelperProcess.write(SecurityOutput.shown(secret), to: 2)
        }
    }

    private static func delete(_ command: SecurityCommand) throws(CredentialMessages.Failure) {
        var parameters = CredentialMessages.Parameters()
        parameters.item = item(command)
        _ = try CredentialsClient.call("Erase", parameters)
        HelperProcess.complain("password has been deleted.")
    }
}
