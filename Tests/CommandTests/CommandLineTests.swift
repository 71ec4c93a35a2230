import ArgumentParser
import Testing

@testable import touchstone

/// Command lines, their exit status and what they say, as exact strings: scripts depend on them.
struct CommandLineTests {
    /// Parses as `main` does.
    ///
    /// Returns the exit status and the first line of what is said.
    private func parse(_ line: String) -> (status: Int32, says: String) {
        do {
            _ = try Touchstone.parseAsRoot(line.split(separator: " ").map(String.init))
            return (0, "")
        } catch {
            let text = Touchstone.fullMessage(for: error).split(separator: "\n").first.map(String.init) ?? ""
            return (Touchstone.exitCode(for: error).rawValue, text)
        }
    }

    @Test(arguments: [
        "device create phone --biometry faceid", "device boot --detach", "device boot phone --foreground --wait 0.5",
        "device shutdown", "device list --json", "device status phone --json", "device erase --force",
        "device passcode set --device phone", "device passcode change", "device passcode remove",
        "device enroll left right", "device remove left", "device fingers", "device match nomatch --wait 3 --times 2",
        "device lock", "device unlock --finger left", "device reboot", "device foreground app", "device background app",
        "device sensor disconnect --device phone", "device sensor connect", "device advance-clock 172801",
        "agent --script - --once --no-reconnect", "doctor phone",
        "log", "log --json --since 30m -n 5 --device phone", "log show --follow", "log -f",
        "log --refused -n 5", "log show --refused --follow --json", "log verify --from 3 a.log b.log",
        "doctor --app ./app --json", "doctor --app ./app phone",
        // By its name alone, or behind --device.
        "device lock phone", "device reboot phone --wait 3", "device fingers phone", "device sensor connect phone",
        "keychain quota", "keychain quota /usr/bin/app --items 20000 --size 128MiB",
        "keychain quota app --default --json",
        "device face-id-permission list phone", "agent phone", "keychain check phone", "setup phone", "simulator phone",
        "device boot --device phone --detach", "device status phone --device phone",
        "item add github.com me --label GitHub --json --device phone", "item list --json", "item show github.com",
        "item copy github.com me --seconds 10", "item remove github.com me --yes", "item import passwords.csv",
        "item export passwords.csv", "item export -f passwords.csv --device phone",
        "run --env-file .env -- npm publish --help", "read npm/token --reveal", "inject", "secret set npm/token",
        "session enable window --yes", "session disable device --device phone",
    ])
    func commandIsUnderstood(line: String) {
        #expect(parse(line) == (0, ""))
    }

    @Test(arguments: [
        ("device nonsense", "Error: Unexpected argument 'nonsense'"),
        ("device enroll", "Error: Missing expected argument '<finger> ...'"),
        (
            "device enroll nomatch",
            "Error: 'nomatch' means a finger that is not enrolled; choose another name"
        ),
        ("device match left --times 0", "Error: --times takes a number between 1 and 100"),
        ("device advance-clock -- -1", "Error: SECONDS has to be more than 0 and at most 31622400"),
        ("device advance-clock nan", "Error: SECONDS has to be more than 0 and at most 31622400"),
        ("device boot --wait nan", "Error: --wait takes seconds between 0 and 3600"),
        ("log --number=-1", "Error: -n takes a number of 0 or more"),
        (
            "log --since never",
            "Error: --since takes a date (2026-11-21), a time (2026-11-21T16:00) or how long ago (90s, 30m, 12h, 7d)"
        ),
        ("keychain quota --items 3", "Error: name the app whose limit you want to change"),
        ("keychain quota app --items=-1", "Error: --items takes a number between 0 and 1000000000"),
        ("keychain quota app --default --size 1MiB", "Error: --default cannot be used with --items or --size"),
        ("item add github.com me secret", "Error: Unexpected argument 'secret'"),
        ("item add github.com", "Error: Missing expected argument '<account>'"),
        ("item copy github.com --seconds 0", "Error: --seconds takes a number from 1 to 300"),
        ("log verify --from 0", "Error: --from takes the number of an entry: 1 or more"),
        (
            "device create ../x",
            "Error: '../x' cannot be a device's name: use 1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'"
        ),
        (
            "device lock --device .hidden",
            "Error: '.hidden' cannot be a device's name: use 1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'"
        ),
    ])
    func wrongCommandLineIsAUsageError(line: String, says: String) {
        #expect(parse(line) == (64, says))
    }

    @Test(
        arguments: [
            ("0", 0, "0 bytes"), ("65536", 65536, "64 KiB"), ("128MiB", 128 << 20, "128 MiB"),
            ("1gib", 1 << 30, "1 GiB"),
            ("1536", 1536, "1.5 KiB"), ("1024GiB", 1 << 40, "1024 GiB"),
        ])
    func sizesAreRead(text: String, bytes: Int, shown: String) {
        #expect(ByteCount(argument: text) == ByteCount(bytes))
        #expect(ByteCount(bytes).description == shown)
    }

    @Test(arguments: ["", "MiB", "-1", "1.5MiB", "many", "1TiB", "1025GiB", "9223372036854775807GiB"])
    func whatIsNoSizeIsRefused(text: String) {
        #expect(ByteCount(argument: text) == nil)
    }

    @Test(arguments: ["set", "change", "remove"]) func passcodeInArgumentsIsRefused(_ command: String) {
        #expect(parse("device passcode \(command) 1234") == (64, "Error: Unexpected argument '1234'"))
        #expect(parse("device unlock 1234") == (64, "Error: Unexpected argument '1234'"))
    }

    @Test func everyCommandAboutADeviceTakesTheOption() {
        var names: [String] = []
        func look(at command: any ParsableCommand.Type, path: [String]) {
            let children = command.configuration.subcommands
            for child in children { look(at: child, path: path + [child._commandName]) }
            // About no device, about all of them, about another user's, and of another program.
            let others = [["device", "list"], ["bridge", "disable"], ["bridge", "status"], ["bridge", "grants"]]
            guard children.isEmpty, !others.contains(path), !["system", "pam"].contains(path.first),
                !(command is any RunCommand.Type)
            else { return }
            names.append(path.joined(separator: " "))
            #expect(Touchstone.helpMessage(for: command, columns: 200).contains("--device <name>"), "\(path)")
        }
        look(at: Touchstone.self, path: [])
        #expect(names.count > 35)
    }

    @Test func twoNamesForOneDeviceAreRefused() {
        #expect(parse("device lock one --device other") == (64, "Error: you named two devices: 'one' and 'other'"))
        #expect(parse("simulator one --device other") == (64, "Error: you named two devices: 'one' and 'other'"))
    }

    @Test func helpListsEveryExitStatus() {
        let help = Touchstone.helpMessage(columns: 120)
        for status in ExitStatus.allCases { #expect(help.contains("\(status.rawValue)")) }
        #expect(Set(ExitStatus.allCases.map(\.meaning)).count == ExitStatus.allCases.count)
    }
}
