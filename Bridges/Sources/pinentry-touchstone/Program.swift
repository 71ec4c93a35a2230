import BridgeProcesses
import CredentialsClient
import Foundation
import Glibc

/// `pinentry-program /usr/bin/pinentry-touchstone`: what gpg-agent starts when it wants a passphrase.
@main enum Program {
    static func main() {
        HelperProcess.leaveNoCore()
        signal(SIGPIPE, SIG_IGN)
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--version") {
            // As every pinentry says it.
            HelperProcess.write(Array("pinentry-touchstone (Touchstone) \(BridgeVersion.current)\n".utf8))
            exit(0)
        }
        if arguments.contains("--help") || arguments.contains("-h") { usage() }
        var fallback: String?
        if let index = arguments.firstIndex(of: "--fallback") {
            guard index + 1 < arguments.count else { usage(2) }
            fallback = arguments[index + 1]
            arguments.removeSubrange(index...index + 1)
        }
        Departure.watch()
        var pinentry = Pinentry(fallback: fallback, arguments: arguments)
        pinentry.serve()
    }

    private static func usage(_ status: Int32 = 0) -> Never {
        HelperProcess.write(
            Array(
                """
                usage: pinentry-touchstone [--fallback PROGRAM] [options of the ordinary pinentry]
                gpg-agent starts it. Write into ~/.gnupg/gpg-agent.conf: pinentry-program /usr/bin/pinentry-touchstone
                Then run: gpgconf --reload gpg-agent

                The first time you type a passphrase, in an ordinary pinentry. Later Touchstone gives it out after your finger.

                """.utf8), to: status == 0 ? 1 : 2)
        exit(status)
    }
}
