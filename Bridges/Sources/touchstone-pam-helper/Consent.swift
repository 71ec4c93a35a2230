import Foundation
import Glibc
import PAMChallenge

/// The owner's word that both are the same, taken away for one try (PM-24).
///
/// It lies aside until then, so whatever ends this program in between, a wrong passcode is tried once.
final class Consent {
    private let path: String
    private let aside: String
    /// Locked as long as the try lasts, for this process alone: only root can open the file.
    private let descriptor: Int32
    /// Whether it was not left aside by an earlier try.
    private let isGiven: Bool

    /// Takes it; nil if root has not given it, or another process tries.
    ///
    /// What an earlier try left aside is taken too, if that try cannot have been counted.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - note: What is noted in it.
    init?(_ path: String, noting note: NotedTry) {
        self.path = path
        aside = "\(path).tried"
        isGiven = unsafe access(path, F_OK) == 0
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (isGiven ? O_CREAT : 0)
        descriptor = unsafe open(aside, flags, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStillAside else { return nil }
        guard isGiven || earlier?.allows(note) == true, write(note) else { return nil }
        if isGiven, unsafe unlink(path) != 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether no other process has moved the file since it was opened.
    private var isStillAside: Bool {
        var (opened, named) = (stat(), stat())
        return unsafe fstat(descriptor, &opened) == 0 && lstat(aside, &named) == 0
            && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    private var earlier: NotedTry? {
        var bytes = Data(count: NotedTry.longest)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return NotedTry(bytes.prefix(max(0, count)))
    }

    private func write(_ note: NotedTry) -> Bool {
        let text = note.text
        let count = unsafe text.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        return count == text.count && ftruncate(descriptor, off_t(count)) == 0 && fsync(descriptor) == 0
    }

    /// Puts it back, leaves it aside, or removes it until root gives it again.
    ///
    /// - Parameter ended: How the try ended; nil if the device is unlocked.
    func end(_ ended: PasscodeTry?) {
        switch ended {
        case nil: _ = unsafe rename(aside, path)
        // If an earlier try was cut off, the device may still be at it.
        case .notTried: if isGiven { _ = unsafe rename(aside, path) }
        case .wrong: _ = unsafe unlink(aside)
        case .unknown: break
        }
    }
}
