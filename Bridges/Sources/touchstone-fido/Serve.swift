import ArgumentParser
import BridgeCore
import Foundation
import Glibc
import TouchstoneDevice

/// A FIDO2 authenticator whose keys are the enclave's.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Be the security key that programs see.",
        discussion: """
            The system's service touchstone-fido@UID does this, after 'touchstone bridge enable fido'. Its standard input is \
            /dev/uhid, which root opened: programs then see a security key. It opens nothing itself.

            With --packets a socket takes the place of the kernel's device, for tests. No browser sees that.

            EXAMPLE
              touchstone-fido serve --packets "$XDG_RUNTIME_DIR/fido-packets.sock" --socket "$XDG_RUNTIME_DIR/fido.sock"

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device to use (default: "system" where you have it, else "default")
            """)

    @Option(help: ArgumentHelp("A socket of packets (SOCK_SEQPACKET, 64 bytes each) to make.", valueName: "path"))
    var packets: String?

    @Option(help: ArgumentHelp("The socket to make for 'touchstone fido'.", valueName: "path"))
    var socket: String?

    @Flag(help: "Have only the passcode verify the owner, never a finger or face.") var strictUv = false

    func run() throws {
        let protection = BridgeProcess.harden()
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        let listener: ClientListener?
        do {
            listener = try socket.map { path throws(ListenError) in try ClientListener(path: path) } ?? .activated()
        } catch {
            throw ValidationError("\(socket ?? "the socket"): \(error)")
        }
        let owner = Owner(device: device, isStrict: strictUv)
        let loop = PacketLoop(owner: owner)
        if let packets {
            let wire: SocketWire
            do { wire = try SocketWire(path: packets) } catch { throw ValidationError("\(error)") }
            start(device, loop, listener, owner) { loop.run(wire) }
        } else {
            guard let wire = KernelWire(STDIN_FILENO) else {
                throw ValidationError(
                    "standard input is not /dev/uhid; run 'touchstone bridge enable fido', which says how root hands it over"
                )
            }
            guard protection == .systemService || !Self.isSimulated(device) else {
                throw ValidationError(
                    "a simulated device proves nothing to websites; use a device that is not simulated")
            }
            start(device, loop, listener, owner) { loop.run(wire) }
        }
    }

    private func start(
        _ device: Device, _ loop: PacketLoop, _ listener: ClientListener?, _ owner: Owner,
        _ run: @escaping @Sendable () -> Never
    ) -> Never {
        let packets = packets
        BridgeProcess.endsWithSignals {
            listener?.remove()
            if let packets { unsafe unlink(packets) }
        }
        PasscodeWatch.start(device) { loop.appear($0) }
        // Not on standard output, which may be the kernel's device.
        BridgeProcess.log("ready: device \(device.name)")
        BridgeProcess.rests()
        guard let listener else { run() }
        Thread.detachNewThread { run() }
        let passkeys = Passkeys(owner: owner)
        listener.run { passkeys.serve($0) }
    }

    private struct StatusReply: Decodable {
        struct Status: Decodable { var isSimulated: Bool }
        var status: Status
    }

    /// A device that does not answer now is asked again when it is used; only its driver could make it a simulated one.
    private static func isSimulated(_ device: Device) -> Bool {
        guard let answer = try? device.call("io.touchstone.Device.GetStatus"),
            let reply = try? JSONDecoder().decode(StatusReply.self, from: answer)
        else { return false }
        return reply.status.isSimulated
    }
}
