import ArgumentParser
import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneFileRoot
import TouchstoneSensors
import TouchstoneSystem
import TouchstoneTransport

/// The two connections of the one process that the enclave answers.
struct Client {
    let calls: Int32
    let events: Int32
    let peer: Peer
}

/// What the enclave of a system device has instead of a parent with two socket pairs.
struct SystemService {
    let published: URL
    fileprivate let listening: ListeningSocket
    fileprivate let clientID: UInt32

    /// Waits for touchstoned: the process of its user that connects, for calls, and then again, for events.
    ///
    /// One that connects in between takes the place of one that came only once, and may be gone. Nobody connects after that: a touchstoned that begins again gets an enclave that begins again.
    func accept() throws -> Client {
        defer { listening.close() }
        var first: (descriptor: Int32, processID: Int32)?
        while let (descriptor, peer) = listening.accept() {
            guard peer.uid == clientID else {
                close(descriptor)
                continue
            }
            if let first, first.processID == peer.pid {
                let peer = Peer(processID: peer.pid, userID: peer.uid, identify: { nil })
                return Client(calls: first.descriptor, events: descriptor, peer: peer)
            }
            if let first { close(first.descriptor) }
            first = (descriptor, peer.pid)
        }
        throw ValidationError("Nobody connected to the socket that was passed.")
    }
}

extension RunCommand {
    /// nil if it was not started for another user.
    ///
    /// - Throws: `ValidationError` where there is no such user, or no socket was passed.
    var systemService: SystemService? {
        get throws {
            guard owner != nil, let client, let published else { return nil }
            guard let user = PasswordFile.system.id(of: client) else {
                throw ValidationError("There is no user \(client).")
            }
            guard let socket = ServiceManager.takeSockets().first else {
                throw ValidationError("With --owner systemd has to pass the socket that touchstoned connects to.")
            }
            return SystemService(published: published, listening: ListeningSocket(descriptor: socket), clientID: user)
        }
    }
}

/// A small file that everybody may read and only this user can have written, in a directory of which the same is so.
struct PublicFile {
    private let file: URL

    init(_ file: URL) { self.file = file }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Writes it: whole, or, on a disk that is full, in the place of as many bytes.
    ///
    /// It does not wait for the disk (DEC-360).
    func write(_ bytes: Data) throws {
        let directory = file.deletingLastPathComponent()
        var facts = stat()
        guard unsafe lstat(directory.path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_uid == geteuid(),
            facts.st_mode & 0o022 == 0
        else { throw Failure(description: "\(directory.path) is not a directory that only this user can write to") }
        do {
            try replace(bytes, in: directory)
        } catch {
            guard PrivateFile.overwrite(file.path, bytes) else { throw error }
        }
    }

    private func replace(_ bytes: Data, in directory: URL) throws {
        let temporary = directory.appendingPathComponent(".\(file.lastPathComponent).new").path
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "\(file.path) cannot be written (errno \(errno))") }
        defer { close(descriptor) }
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress!, $0.count) }
        guard count == bytes.count, fchmod(descriptor, 0o644) == 0,
            unsafe rename(temporary, file.path) == 0
        else {
            let failure = Failure(description: "\(file.path) cannot be written (errno \(errno))")
            unsafe unlink(temporary)
            throw failure
        }
    }
}
