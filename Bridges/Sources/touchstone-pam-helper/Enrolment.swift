import BridgeCore
import Foundation
import Glibc
import PAMChallenge
import TouchstoneDevice

/// For `touchstone pam`: makes a user's keys, and looks whether they still are the device's.
struct Enrolment {
    private let userID: UInt32

    init(_ userID: UInt32) { self.userID = userID }

    /// Makes two keys and prints the file for them; nobody is asked.
    ///
    /// - Returns: The exit status: 1 if there are no keys, with a line that says why.
    func make() -> Int32 {
        guard let user = Machine.userName(of: userID) else { return fail("/etc/passwd has no user \(userID)") }
        do {
            let device = try OwnersDevice(of: userID)
            let surroundings = try device.surroundings()
            guard !surroundings.isSimulated else { return fail("the device of \(user) is a simulated one") }
            guard surroundings.isPasscodeSet else {
                return fail("the device of \(user) has no passcode; as \(user): touchstone device passcode set")
            }
            guard !surroundings.isLocked else {
                return fail("the device of \(user) is locked; as \(user): touchstone device unlock")
            }
            let keys = EnrolledKeys(
                user: user, presence: try device.makeKey(flags: OwnersDevice.keyUse | OwnersDevice.userPresence),
                unlocked: try device.makeKey(flags: OwnersDevice.keyUse))
            BridgeProcess.say(String(keys.text.dropLast()))
            return 0
        } catch let error as OwnersDevice.Absence {
            switch error {
            case .noDevice:
                return fail("\(user) has no device of the system; make one: touchstone system create \(user)")
            case .notAnswering(let why): return fail(why)
            }
        } catch {
            return fail("the device made no key (\(Self.words(error)))")
        }
    }

    private struct InspectRequest: Encodable { var key: Data }
    private struct Inspected: Decodable {
        struct Control: Decodable { var flags: Int }
        var publicKey: Data
        var accessControl: Control
    }

    /// Whether the enrolled keys are this device's, and ask as they should.
    ///
    /// - Returns: 0 if so.
    func check() -> Int32 {
        do {
            let keys = try EnrolmentFile(of: userID).read()
            let device = try OwnersDevice(of: userID)
            guard try !device.surroundings().isSimulated else { return fail("the device is a simulated one") }
            for (key, flags) in [
                (keys.presence, OwnersDevice.keyUse | OwnersDevice.userPresence), (keys.unlocked, OwnersDevice.keyUse),
            ] {
                let found = try device.connection.call("Key.Inspect", InspectRequest(key: key.blob), Inspected.self)
                guard found.publicKey == key.publicKey, found.accessControl.flags == flags else {
                    return fail("an enrolled key is not the one that the device has")
                }
            }
            return 0
        } catch EnrolmentFile.Refusal.absent {
            return fail("not enrolled")
        } catch EnrolmentFile.Refusal.unsafe(let why) {
            return fail(why)
        } catch OwnersDevice.Absence.noDevice {
            return fail("there is no device of the system")
        } catch OwnersDevice.Absence.notAnswering(let why) {
            return fail(why)
        } catch {
            return fail("the keys are not this device's any more (\(Self.words(error)))")
        }
    }

    private static func words(_ error: any Error) -> String {
        guard case .answered(let name, _)? = error as? DeviceError else { return "it did not answer" }
        return name
    }

    private func fail(_ line: String) -> Int32 {
        BridgeProcess.log(line)
        return 1
    }
}
