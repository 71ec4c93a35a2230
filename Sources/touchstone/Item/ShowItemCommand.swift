import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice

/// `touchstone item show`.
struct ShowItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a secret, after you were asked.",
        discussion: """
            At a terminal it ends with a line feed, anywhere else it comes as it is. Whoever looks at your screen \
            sees it: 'touchstone item copy' puts it on the clipboard instead.
            """)

    @OptionGroup var item: ItemArguments

    func run() throws {
        let store = try ItemStore(item.option.paths)
        let secret = try store.secret(store.entry(item.service, item.account), to: "show")
        guard Terminal.isOutput else { return try write(secret) }
        let isText = unsafe secret.withUnsafeBytes { bytes in
            guard let text = unsafe String(validating: bytes, as: UTF8.self) else { return false }
            return text.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || PlainText.isHarmless($0) }
        }
        guard isText else {
            throw Failure(
                .refused, "the secret has characters that a terminal would act on; write it to a file or a pipe")
        }
        try write(secret)
        StandardOutput.say("")
    }

    private func write(_ secret: SecretBuffer) throws {
        try unsafe secret.withUnsafeBytes { bytes in
            try unsafe Descriptor.write(bytes, to: STDOUT_FILENO, "standard output")
        }
    }
}

/// Bytes that are written where they are, without a copy.
enum Descriptor {
    /// - Throws: `Failure` that names what could not be written.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ name: String) throws {
        var sent = 0
        while sent < bytes.count {
            // It is not empty, so it has an address.
            let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + sent, bytes.count - sent)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure.system(name) }
            sent += count
        }
    }
}
