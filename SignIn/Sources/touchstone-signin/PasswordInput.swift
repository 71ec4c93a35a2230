import Foundation
import Glibc

/// Reads a password from the terminal, without showing it and twice, or one line of standard input.
enum PasswordInput {
    static func read(for name: String) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else {
            guard let line = readLine(), !line.isEmpty else {
                throw ProgramFailure("there is no password on standard input.")
            }
            return line
        }
        let first = try ask("Password for \(name): ")
        guard try ask("Repeat the password: ") == first else {
            throw ProgramFailure("the two passwords differ; nothing was changed.")
        }
        return first
    }

    private static func ask(_ prompt: String) throws -> String {
        var before = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &before) == 0 else { throw ProgramFailure("the terminal cannot be read.") }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // Ctrl-C and similar signals wait for the end of the line. Otherwise the terminal would stay silent afterwards.
        var blocked = sigset_t()
        var mask = sigset_t()
        for number in [SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGHUP] { unsafe sigaddset(&blocked, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &blocked, &mask)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        // Only now: what is typed at the prompt neither shows nor is thrown away.
        FileHandle.standardError.write(Data(prompt.utf8))
        let line = readLine()
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &before)
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
        FileHandle.standardError.write(Data("\n".utf8))
        guard let line, !line.isEmpty else { throw ProgramFailure("a password needs at least one character.") }
        return line
    }
}
