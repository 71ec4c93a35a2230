import ArgumentParser
import Crypto
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem
import TouchstoneTPMRoot

/// Makes the root key and the first state of a device in an empty private directory.
struct CreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Makes a device in an empty private directory.",
        discussion: """
            With a sensor its fingers are not simulated; a device that is not simulated has such a sensor, or no biometry.
              touchstone-enclave create --state ~/device/enclave --biometry touchid --sensor fprintd --bus /run/dbus/system_bus_socket --templates /var/lib/fprint

            With --tpm the root key is sealed in that TPM 2.0, and the recovery key is written to standard output, this once.
            """)

    @OptionGroup var stateOptions: StateOptions
    @Flag(help: "Its fingers are simulated, and its clock can be moved.")
    var simulated = false
    @Option(help: "Its sensor.")
    var biometry: Biometry
    @OptionGroup var sensorOptions: SensorOptions
    @Option(
        help: ArgumentHelp(
            "The TPM that the root key is sealed in: device:PATH or swtpm:path=SOCKET.", valueName: "address"))
    var tpm: String?
    @Option(help: "Where the P-256 keys of apps are made and used: with the TPM they are lost.")
    var keys: Keys?

    enum Biometry: String, ExpressibleByArgument, CaseIterable {
        case touchid, faceid, none

        var type: BiometryType {
            switch self {
            case .touchid: .touchID
            case .faceid: .faceID
            case .none: .none
            }
        }
    }

    enum Keys: String, ExpressibleByArgument, CaseIterable { case tpm }

    func validate() throws {
        guard tpm != nil || keys == nil else { throw ValidationError("--keys tpm goes with --tpm.") }
        // What is not simulated has no simulated finger.
        guard simulated || sensorOptions.sensor != nil || biometry == .none else {
            throw ValidationError("A device with biometry is --simulated, or has a --sensor.")
        }
        _ = try sensorOptions.source(of: biometry.type)
    }

    func run() throws {
        let state = stateOptions.state
        let sensor = try sensorOptions.source(of: biometry.type)
        let paths = EnclaveFiles(state)
        let lock = try EnclaveProgram.lock(state)
        defer { close(lock) }
        for file in [paths.state, paths.rootKey, paths.rootTPM] where try PrivateFile(file).load() != nil {
            throw InputError(description: "\(file.path) already exists, and a new device does not overwrite it")
        }
        guard let address = tpm else {
            try FileRoot.create(paths.rootKey)
            let root = try FileRoot(paths.rootKey)
            try PrivateFile(paths.state).replace(
                Enclave.create(isSimulated: simulated, biometryType: biometry.type, sensor: sensor, root: root))
            return
        }
        let recoveryKey = RecoveryKey()
        let root = try TPMRoot.create(PrivateFile(paths.rootTPM), address: address, recoveryKey: recoveryKey)
        do {
            try PrivateFile(paths.state).replace(
                Enclave.create(
                    isSimulated: simulated, biometryType: biometry.type, sensor: sensor, root: root,
                    revision: root.read(), recoveryKey: recoveryKey.privateKey.publicKey.rawRepresentation,
                    areKeysHeld: keys != nil))
            // Last, and it must arrive: nobody can ask for it again.
            let text = recoveryKey.text.joined(with: SecretBytes([0x0A]))
            let isShown = unsafe text.withUnsafeBytes {
                unsafe write(STDOUT_FILENO, $0.baseAddress!, $0.count) == $0.count
            }
            guard isShown else {
                throw InputError(description: "the recovery key cannot be written to standard output")
            }
        } catch {
            try? root.forget()
            throw error
        }
    }
}
