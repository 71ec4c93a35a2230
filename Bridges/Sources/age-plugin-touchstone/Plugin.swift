import AgePlugin
import BridgeCore
import Foundation

/// The two halves of the protocol (AG-2); each returns the status of the program.
enum Plugin {
    /// `recipient-v1`: encrypts the keys of files; no device is needed.
    static func wrap() -> Int32 {
        let age = Conversation()
        do throws(StanzaError) {
            var request = WrapRequest()
            while try request.take(try age.next()) {}
            for answer in request.answers() { _ = try age.ask(answer) }
            try age.say(Stanza(["done"]))
            return 0
        } catch {
            BridgeProcess.log("age-plugin-touchstone: \(error)")
            return 1
        }
    }

    /// `identity-v1`: has the owner asked, and decrypts the keys of files.
    static func unwrap() -> Int32 {
        let age = Conversation()
        do throws(StanzaError) {
            var request = UnwrapRequest()
            while try request.take(try age.next()) {}
            let (problems, files) = request.plan()
            for problem in problems { _ = try age.ask(problem.stanza) }
            if !files.isEmpty { try open(files, age) }
            try age.say(Stanza(["done"]))
            return 0
        } catch {
            BridgeProcess.log("age-plugin-touchstone: \(error)")
            return 1
        }
    }

    /// Opens each file with the first of its identities that can: one prompt for each identity.
    private static func open(_ files: [UnwrapRequest.File], _ age: Conversation) throws(StanzaError) {
        let client = starter()
        let isWaitedOn: @Sendable () -> Bool = {
            !Conversation.isOver && (client.process?.isThere ?? true)
        }
        var opened: Set<Int> = []
        var numbers: [Int] = []
        for match in files.flatMap(\.matches) where !numbers.contains(match.number) { numbers.append(match.number) }
        for number in numbers {
            let wanted = files.filter { !opened.contains($0.number) }.flatMap { file in
                file.matches.filter { $0.number == number }.map { (file: file.number, match: $0) }
            }
            guard let identity = wanted.first?.match.identity else { continue }
            let agreed: [Data]
            do throws(BridgeFailure) {
                let enclave = try Enclave.selected()
                if try enclave.asks(identity) {
                    // It may be that nobody is there to read it: then the prompt alone says it.
                    _ = try? age.ask(Stanza(["msg"], body: Array("Touchstone asks for your finger or passcode".utf8)))
                }
                agreed = try enclave.agree(
                    identity, wanted.map(\.match.stanza.share), files: Set(wanted.map(\.file)).count, for: client,
                    while: isWaitedOn)
            } catch {
                switch error {
                // Another identity may do it.
                case .gone, .invalid: _ = try age.ask(.error(["identity", "\(number)"], error.sentence))
                case .clientGone: return
                // The owner said no: age stops, and tries nothing else (AG-7).
                default:
                    _ = try age.ask(.error(["internal"], error.sentence))
                    return
                }
                continue
            }
            for ((file, match), secret) in zip(wanted, agreed) where !opened.contains(file) {
                guard let key = match.stanza.open(agreed: secret, identity.recipient) else {
                    _ = try age.ask(PluginProblem.stanza(file: file, index: match.index).stanza)
                    continue
                }
                opened.insert(file)
                _ = try age.ask(Stanza(["file-key", "\(file)"], body: key))
            }
        }
    }

    /// The program that started this one: age, or another one that speaks its protocol (AG-6).
    private static func starter() -> Client {
        guard let parent = ClientProcess(processID: getppid()), let executable = parent.executable else {
            return .unknown
        }
        return .known(parent, executable: executable)
    }
}
