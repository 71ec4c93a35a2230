import BridgeCore
import Foundation
import Glibc
import PAMChallenge
import TouchstoneDevice

/// One authentication: from what the module knows to what it returns.
struct Conversation {
    private let request: ModuleRequest
    private let host: HostChannel
    /// The process that loaded the module (PM-6).
    private let client: ClientProcess?

    init(_ request: ModuleRequest, _ host: HostChannel) {
        self.request = request
        self.host = host
        client = ClientProcess(processID: getppid())
    }

    func run() -> PAMResult {
        do throws(Ending) { return try ask() } catch {
            if let line = error.line { host.log(line) }
            if error.isPause {
                host.explain("Use Password was chosen three times, so no finger is asked for. Try again in 5 minutes.")
            }
            return error.result
        }
    }

    /// An end without a signature, and why.
    private struct Ending: Error {
        var result: PAMResult
        var line: String?
        /// Whether no prompt may come up for some minutes, because the owner ended three (PM-8).
        var isPause = false
    }

    private func ask() throws(Ending) -> PAMResult {
        guard let userID = Machine.userID(of: request.user) else { throw Ending(result: .userUnknown) }
        if Surroundings.isRemote(request.host, own: Machine.name) || request.isRemote || Machine.isOverSSH(getppid()) {
            throw Ending(result: .unavailable, line: "the request comes from another machine")
        }
        if request.mode == .unlockDevice {
            SamePasscode(userID).tryOnce(host)
            return .unavailable
        }
        let keys: EnrolledKeys
        do throws(EnrolmentFile.Refusal) { keys = try EnrolmentFile(of: userID).read() } catch {
            switch error {
            case .absent: throw Ending(result: .userUnknown)
            case .unsafe(let why): throw Ending(result: .systemError, line: why)
            }
        }
        let device: OwnersDevice
        do throws(OwnersDevice.Absence) { device = try OwnersDevice(of: userID) } catch {
            switch error {
            case .noDevice: throw Ending(result: .userUnknown)
            case .notAnswering(let why): throw Ending(result: .unavailable, line: why)
            }
        }
        guard let client else { throw Ending(result: .unavailable, line: "the host is gone") }
        return try ask(device, keys, userID, client)
    }

    private func ask(
        _ device: OwnersDevice, _ keys: EnrolledKeys, _ userID: UInt32, _ client: ClientProcess
    ) throws(Ending) -> PAMResult {
        var surroundings: Surroundings
        let name: String
        do throws(DeviceError) {
            surroundings = try device.surroundings()
            let described = try device.description(of: client)
            name = described.name
            surroundings.isRemote = described.isRemote
        } catch {
            throw ending(error)
        }
        // As if there were none (PM-3).
        if surroundings.isSimulated { throw Ending(result: .userUnknown, line: "the device is a simulated one") }
        surroundings.isLidClosed = Machine.isLidClosed
        let unlocks = request.mode == .unlock
        if let obstacle = surroundings.obstacle(request.options, unlocks: unlocks) {
            throw Ending(result: .unavailable, line: obstacle)
        }
        let challenge = Challenge(
            random: Machine.random(Challenge.randomBytes), userID: userID, service: request.service, user: request.user,
            terminal: request.terminal, bootID: Machine.bootID)
        let key = surroundings.isLocked ? keys.unlocked : keys.presence
        let signature: Data
        do throws(DeviceError) {
            if surroundings.isLocked {
                host.show("Touch the fingerprint reader to unlock.")
                try device.waitForUnlock(client)
                signature = try device.sign(challenge.digest, key)
            } else {
                host.show(
                    surroundings.isEnrolled
                        ? "Touch the fingerprint reader, or choose Use Password in the prompt."
                        : "Enter the device's passcode in the prompt, or choose Use Password there.")
                signature = try device.sign(
                    challenge.digest, key, for: client, reason: reason(name), facts: [Fact(.user, request.user)])
            }
        } catch {
            throw ending(error)
        }
        guard challenge.isSigned(signature, by: key.publicKey) else {
            throw Ending(result: .systemError, line: "the device answered with a signature that is not its enclave's")
        }
        return .success
    }

    /// What the owner reads beside the host's name: a service of another name is the host's claim (PM-5, PM-6).
    private func reason(_ host: String) -> String {
        request.service == host
            ? "confirm that it is you" : "confirm that it is you (for the service '\(Sentence.short(request.service))')"
    }

    private struct Answer: Decodable { var status: Int?; var code: Int?; var reason: String? }

    private func ending(_ error: DeviceError) -> Ending {
        guard case .answered(let name, let parameters) = error else {
            return Ending(result: .unavailable, line: "the device does not answer as it should")
        }
        let word = name.split(separator: ".").last.map(String.init) ?? name
        let answer = try? JSONDecoder().decode(Answer.self, from: parameters)
        let failure = SigningFailure(error: word, code: answer?.code, status: answer?.status)
        let line: String? =
            if failure.result == .userUnknown {
                "the enrolled key cannot be used on this device any more; enrol again: touchstone pam enroll \(request.user)"
            } else if answer?.code == -2 || answer?.code == -3 {
                // The owner's own choice, which is no news.
                nil
            } else {
                "the device did not confirm: \(word) \(answer?.code ?? answer?.status ?? 0) \(answer?.reason ?? "")"
            }
        return Ending(result: failure.result, line: line, isPause: answer?.reason == "cancelledTooOften")
    }
}
