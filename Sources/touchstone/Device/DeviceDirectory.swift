import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The directory a device is kept in.
enum DeviceDirectory {
    static func check(_ paths: DevicePaths) throws {
        guard paths.exists else { throw Failure(.unavailable, paths.advice) }
    }

    /// Makes the directory under another name and renames it when it is complete, so that nobody ever sees an incomplete device.
    ///
    /// `fill` writes the enclave's part into the directory it is given.
    static func create(_ paths: DevicePaths, biometry: Biometry, fill: (URL) throws -> Void) throws {
        guard !paths.exists else { throw taken(paths) }
        let devices = DevicePaths.devices()
        let made = devices.appendingPathComponent(".create-\(paths.name)-\(getpid())")
        do {
            try FileManager.default.createDirectory(
                at: devices, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(.internalError, "\(devices.path) cannot be made: \(error.localizedDescription)")
        }
        do {
            let enclave = made.appendingPathComponent("enclave")
            for directory in [made, enclave, made.appendingPathComponent("keychain")] {
                guard unsafe mkdir(directory.path, 0o700) == 0 else { throw Failure.system(directory.path) }
            }
            try fill(enclave)
            // For lists while the device is off; the enclave's own state is what counts.
            let label = made.appendingPathComponent(biometryFile).path
            guard
                FileManager.default.createFile(
                    atPath: label, contents: Data("\(biometry.rawValue)\n".utf8), attributes: [.posixPermissions: 0o600]
                )
            else { throw Failure.system(label) }
            // Fails if another command made the device meanwhile, because its directory is not empty.
            guard unsafe rename(made.path, paths.state.path) == 0 else {
                throw [EEXIST, ENOTEMPTY].contains(errno) ? taken(paths) : Failure.system(paths.state.path)
            }
        } catch {
            discard(made)
            throw error
        }
    }

    /// Renames the directory first, so that an interrupted removal does not leave half a device.
    static func remove(_ paths: DevicePaths) throws {
        let doomed = DevicePaths.devices().appendingPathComponent(".erase-\(paths.name)-\(getpid())")
        guard unsafe rename(paths.state.path, doomed.path) == 0 else { throw Failure.system(paths.state.path) }
        do {
            try FileManager.default.removeItem(at: doomed)
        } catch {
            throw Failure(.internalError, "\(doomed.path) is left over: \(error.localizedDescription)")
        }
        try? FileManager.default.removeItem(at: paths.runtime)
    }

    /// Whether its root of trust is a TPM.
    static func hasTPM(_ paths: DevicePaths) -> Bool { hasTPM(paths.enclave) }

    private static func hasTPM(_ enclave: URL) -> Bool {
        FileManager.default.fileExists(atPath: EnclaveFiles(enclave).rootTPM.path)
    }

    /// Removes from a TPM what interrupted creations and removals left there; what cannot be reached waits for the next time.
    static func sweep() {
        let devices = DevicePaths.devices()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: devices.path)) ?? [] {
            let directory = devices.appendingPathComponent(name)
            guard [".create-", ".erase-"].contains(where: name.hasPrefix),
                let process = name.split(separator: "-").last.flatMap({ pid_t($0) }), kill(process, 0) != 0,
                errno == ESRCH,
                hasTPM(directory.appendingPathComponent("enclave"))
            else { continue }
            discard(directory)
        }
    }

    /// Removes a directory that is not a device; keeps it for the next time if a TPM still has a part of it.
    private static func discard(_ directory: URL) {
        let enclave = directory.appendingPathComponent("enclave")
        if hasTPM(enclave), (try? Program.enclave.forget(enclave)) != true { return }
        try? FileManager.default.removeItem(at: directory)
    }

    /// The sensor the device was created with, as far as is known while it is off.
    static func biometry(_ paths: DevicePaths) -> Biometry? {
        guard let text = try? String(contentsOf: paths.state.appendingPathComponent(biometryFile), encoding: .utf8)
        else {
            return nil
        }
        return Biometry(rawValue: text.trimmingCharacters(in: .newlines))
    }

    private static func taken(_ paths: DevicePaths) -> Failure {
        Failure(
            .no,
            "there already is a device '\(paths.name)'; choose another name, or erase it with 'touchstone device erase'"
        )
    }

    private static let biometryFile = "biometry"
}
