import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneSystem
@testable import TouchstoneTransport

/// What a client does whose entry was sealed to a key that is no more (DEC-005).
@Suite struct PasscodeSealTests {
    private static func key() -> Data { Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation }

    private static func refused(_ reason: DeviceInterface.RefusalReason) -> RemoteError {
        RemoteError(
            name: DeviceInterface.Refused.name, parameters: try? JSONOutput.encode(DeviceInterface.Refused(reason)))
    }

    /// Enters with these keys in the file, one after the other, at a device that answers so.
    private func entered(
        _ keys: [Data], _ answers: [DeviceInterface.RefusalReason?]
    ) throws -> [Data?] {
        var keys = keys
        var answers = answers
        var sealedTo: [Data?] = []
        do {
            try PasscodeSeal.entering(key: { keys.count > 1 ? keys.removeFirst() : keys[0] }) { seal in
                sealedTo.append(try seal.seal([Array("1234".utf8)], for: .unlock, nonce: Data(count: 16)).key)
                if let reason = answers.removeFirst() { throw Self.refused(reason) }
            }
        } catch let error as RemoteError {
            #expect(error.as(DeviceInterface.Refused.self) != nil)
        }
        return sealedTo
    }

    @Test("An entry says which key it is sealed to") func named() throws {
        let key = Self.key()
        #expect(try entered([key], [nil]) == [key])
    }

    @Test("A stale key is read again, and the entry sent once more") func stale() throws {
        let (old, new) = (Self.key(), Self.key())
        #expect(try entered([old, new], [.staleKey, nil]) == [old, new])
    }

    @Test("DEC-005: a touchstoned that calls the right key stale gets one entry, not two") func lied() throws {
        let key = Self.key()
        #expect(try entered([key, key], [.staleKey, nil]) == [key])
    }

    @Test("Not more often than twice, and for no other reason") func bounded() throws {
        let keys = [Self.key(), Self.key(), Self.key()]
        #expect(try entered(keys, [.staleKey, .staleKey, nil]) == Array(keys.prefix(2)))
        for reason in [DeviceInterface.RefusalReason.staleNonce, .unreadablePasscode, .busy] {
            #expect(try entered(keys, [reason, nil]) == [keys[0]])
        }
    }
}
