import CTAP
import CTAPHID
import Foundation
import TouchstoneCBOR

/// Approves everything, and signs nothing: what is tried is what comes from outside.
private struct NobodysDevice: CredentialDevice {
    func credentials() throws(CTAPStatus) -> [Credential] { [] }
    func ask(_ wish: Wish) throws(CTAPStatus) {}
    func makeKey(
        _ wish: Wish, _ message: @escaping @Sendable (Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey {
        let point = Data([4] + [UInt8](repeating: 1, count: 64))
        return NewKey(
            key: Data(), publicKey: point, message: try message(point), signature: [UInt8](repeating: 0xFF, count: 64))
    }
    func sign(
        _ wish: Wish, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])] { [] }
    func keep(_ credential: Credential, secret: [UInt8]?) throws(CTAPStatus) {
        hold(credential.site.utf8.count <= 253 && credential.userID.count <= 64, "a credential that is too long")
    }
    func remove(_ credential: Credential) throws(CTAPStatus) {}
}

/// Packets of 64 bytes, one after the other, each followed by what the request in it is answered.
private func packets(_ bytes: [UInt8]) {
    var transport = HIDTransport(version: (1, 0, 0))
    var authenticator = Authenticator(device: NobodysDevice())
    var now = 0.0
    for start in stride(from: 0, to: bytes.count, by: 64) {
        now += Double(bytes[start]) / 512
        var outputs = transport.receive(Array(bytes[start..<min(start + 64, bytes.count)]), now: now)
        outputs += transport.tick(now: now, isAsking: false)
        var index = 0
        while index < outputs.count {
            switch outputs[index] {
            case .send(let packets):
                hold(packets.count <= 129 && packets.allSatisfy { $0.count == 64 }, "a packet of another length")
            case .begin(let channel, let request):
                hold(transport.isBusy, "a request that nobody carries out")
                outputs += transport.finish(
                    authenticator.answer(request, channel: channel, now: now, date: Date(timeIntervalSince1970: 0)))
            case .cancel: break
            }
            index += 1
        }
    }
}

let fidoTargets = [
    FuzzTarget(
        name: "fido",
        run: { bytes in
            let bytes = Array(bytes)
            packets(bytes)
            _ = UHIDEvent(bytes).map(\.refusal)
            if let value = try? CBOR(bytes) { hold(value.encoded == bytes, "another form is read") }
            var authenticator = Authenticator(device: NobodysDevice())
            let answer = authenticator.answer(bytes, channel: 1, now: 0, date: Date(timeIntervalSince1970: 0))
            hold(!answer.isEmpty && answer.count <= 7609, "no answer")
            if answer[0] == 0, answer.count > 1 { hold((try? CBOR(Array(answer.dropFirst()))) != nil, "no CBOR") }
        },
        // The kept corpus has what libfido2 1.12 and python-fido2 2.2 send.
        seeds: {
            let start: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x86, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]
            let info: [UInt8] = [0, 0, 0, 1, 0x90, 0, 1, 4]
            func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: 64 - bytes.count) }
            return [
                Data(padded(start) + padded(info)), Data([4]), Data([6, 0xA2, 1, 2, 2, 2]), Data([0xA2, 1, 2, 3, 4]),
            ]
        })
]
