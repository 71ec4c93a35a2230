import Glibc
import TouchstoneDevice

/// Asks for a secret that is to be kept: at a terminal twice and without echo, else all of standard input.
///
/// Never from the command line, which every program on the machine can read.
enum SecretEntry {
    static func new() throws -> SecretBuffer {
        let secret = try Terminal.isInput ? typed() : input()
        guard secret.count > 0 else { throw Failure(.cancelled, "a secret cannot be empty; nothing changed") }
        guard secret.count <= ItemStore.maximumSecretBytes else {
            throw Failure(.refused, "a secret has at most \(ItemStore.maximumSecretBytes >> 10) KiB; nothing changed")
        }
        return secret
    }

    private static func typed() throws -> SecretBuffer {
        let secret = try ask("Secret: ")
        let again = try ask("Repeat the secret: ")
        guard secret.equals(again) else {
            throw Failure(.cancelled, "the two entries differ; nothing changed")
        }
        guard !secret.isTooLong else {
            throw Failure(.refused, "more than 256 bytes cannot be typed; write the secret to standard input")
        }
        return SecretBuffer(secret)
    }

    private static func ask(_ question: String) throws -> PasscodeBuffer {
        try Terminal.withoutEcho {
            StandardError.write(question)
            defer { StandardError.write("\n") }
            guard let line = PasscodeBuffer(lineFrom: STDIN_FILENO) else {
                throw Failure(.cancelled, "no secret was entered; nothing changed")
            }
            return line
        }
    }

    /// Without the line feed at the end; one byte more than may be, if there is more.
    private static func input() throws -> SecretBuffer {
        var count = 0
        let room = try unsafe SecretBuffer(count: ItemStore.maximumSecretBytes + 2) { bytes in
            while count < bytes.count {
                let got = unsafe read(STDIN_FILENO, bytes.baseAddress! + count, bytes.count - count)  // it is not empty
                if got < 0, errno == EINTR { continue }
                guard got >= 0 else { throw Failure.system("standard input") }
                if got == 0 { break }
                count += got
            }
            if count > 0, unsafe bytes[count - 1] == UInt8(ascii: "\n") { count -= 1 }
        }
        return unsafe room.withUnsafeBytes { unsafe SecretBuffer($0.prefix(count)) }
    }
}
