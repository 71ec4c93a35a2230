import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveHost
import TouchstoneMemory

@testable import TouchstoneEnclave

/// What the enclave draws comes from one source (DEC-201).
@Suite(.timeLimit(.minutes(10))) struct RandomSourceTests {
    /// All that a device gives out, and what it keeps, after a life in which it draws everything that it ever draws.
    private static func life(_ random: any RandomSource) throws -> [Data] {
        var enclave = try Enclave.device(.faceID, random: random)
        var seen: [Data] = [try enclave.passcodePublicKey(), enclave.freshNonce()]
        let control = try AccessControl(protection: .whenUnlocked, flags: [])
        let binding = Enclave.ItemBinding(accessGroup: "group", item: Data(count: 64))
        let wrapped = try enclave.wrap(
            .init(accessControl: control, binding: binding, key: Data(count: 32), app: "app", context: nil), now: 0)
        seen.append(wrapped)
        let privateKey = try AccessControl(protection: .whenUnlocked, flags: .privateKeyUsage)
        for kind in KeyKind.allCases {
            let made = try enclave.createKey(
                .init(kind: kind, accessControl: privateKey, accessGroup: "group", app: "app", context: nil))
            seen += [made.key, made.publicKey]
        }
        let (evaluation, context, _) = try enclave.begin(.deviceOwner)
        seen += [evaluation, context].map { Data($0.utf8) }
        seen.append(try #require(enclave.evaluation?.nonce))
        seen.append(Data(enclave.createContext(app: "app", accessGroups: ["app"]).utf8))
        // New class keys, under which what was wrapped is wrapped anew.
        try enclave.changePasscode(from: "1234", to: "5678")
        let opened = enclave.unwrap(.init(wrappedKey: wrapped, binding: binding), app: "app", context: nil)
        seen.append(try #require(opened.rewrappedKey))
        enclave.note(.init(event: .locked))
        seen += enclave.log.lines(now: 0, date: Date(timeIntervalSince1970: 0)).map { Data($0.utf8) }
        enclave.state.passcode?.erasesData = true
        enclave.state.passcodeFailures = PasscodePolicy().maximumFailures
        seen.append(try enclave.stateFile())
        _ = try enclave.eraseIfDue(now: 0)
        return seen + [try enclave.stateFile(), try enclave.restarted().passcodePublicKey()]
    }

    @Test("DEC-201: From the same random bytes comes the same device, byte for byte, and from others another")
    func oneSource() throws {
        let (one, same, other) = (SeededRandomness(1), SeededRandomness(1), SeededRandomness(2))
        let lives = try [one, same, other].map(Self.life)
        for (index, bytes) in lives[0].enumerated() { #expect(lives[1][index] == bytes, "number \(index)") }
        #expect(zip(lives[0], lives[2]).allSatisfy { $0 != $1 })
        #expect(one.count == same.count && one.count > 1000)
    }

    @Test(
        "DEC-201: The kernel's randomness fills all that it is given, with other bytes each time",
        arguments: [0, 1, 255, 256, 257, 5000])
    func kernel(count: Int) {
        let draws = (0..<64).map { _ in KernelRandomness().bytes(count: count) }
        for place in 0..<count { #expect(Set(draws.map { $0[place] }).count > 8, "byte \(place) of \(count)") }
        #expect(count < 16 || Set(draws).count == draws.count)
    }

    @Test("DEC-201: A source that gives no number of the curve gives no key, and the call ends")
    func noNumber() throws {
        struct Zeros: RandomSource {
            func fill(_ bytes: UnsafeMutableRawBufferPointer) {
                unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }
        #expect(throws: Status.internalError) { try PrivateKey(.p256, Zeros()) }
        #expect(throws: Never.self) { try PrivateKey(.p256, SeededRandomness(3)) }
    }

    @Test("DEC-201: A universally unique identifier is of version 4")
    func identifiers() {
        let random = SeededRandomness(4)
        for _ in 0..<64 {
            let text = Array(random.uuid().uuidString)
            #expect(text[14] == "4" && "89AB".contains(text[19]))
        }
        #expect(random.identifier().count == 32)
    }
}
