internal import Crypto
internal import Foundation
internal import Glibc

/// What fprintd keeps of a user's fingers: `DIRECTORY/USER/DRIVER/READER/FINGER`, one file for each finger of each reader.
struct Templates {
    /// fprintd's names of fingers, in the order of the digits, from 1 to a, that it calls the files by.
    static let fingers = [
        "left-thumb", "left-index-finger", "left-middle-finger", "left-ring-finger", "left-little-finger",
        "right-thumb",
        "right-index-finger", "right-middle-finger", "right-ring-finger", "right-little-finger",
    ]
    private static let largestFile = 1 << 22
    private static let mostFiles = 100

    private let path: String

    /// Of the device's owner.
    init(_ path: String) { self.path = path }

    /// A user without a known name has no templates that could be read, and no reader.
    var directory: URL { URL(fileURLWithPath: path).appendingPathComponent(UserName.own ?? "\(UserName.id)") }

    /// A digest of the templates of each finger, by its name; nil if they cannot be read.
    func digests() -> [String: Data]? {
        do {
            var digests: [String: SHA256] = [:]
            var count = 0
            for driver in try names(directory) {
                for reader in try names(directory.appendingPathComponent(driver)) {
                    let folder = directory.appendingPathComponent(driver).appendingPathComponent(reader)
                    for file in try names(folder) {
                        guard let number = Int(file, radix: 16), (1...Self.fingers.count).contains(number) else {
                            continue
                        }
                        count += 1
                        guard count <= Self.mostFiles else { return nil }
                        let template = try read(folder.appendingPathComponent(file))
                        var digest = digests[Self.fingers[number - 1]] ?? SHA256()
                        digest.update(data: Data("\(driver)/\(reader)/\(file) \(template.count)\n".utf8))
                        digest.update(data: template)
                        digests[Self.fingers[number - 1]] = digest
                    }
                }
            }
            return digests.mapValues { Data($0.finalize()) }
        } catch {
            return nil
        }
    }

    private struct Unreadable: Error {}

    /// In order; a directory that is not there is empty, where its parent shows that.
    private func names(_ directory: URL) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        } catch {
            var status = stat()
            guard unsafe lstat(directory.path, &status) != 0, errno == ENOENT else { throw error }
            return []
        }
    }

    private func read(_ file: URL) throws -> Data {
        let descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw Unreadable() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= Self.largestFile
        else { throw Unreadable() }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        return try handle.read(upToCount: Self.largestFile) ?? Data()
    }
}
