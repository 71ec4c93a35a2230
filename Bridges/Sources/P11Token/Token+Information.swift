internal import P11RPC

// What slot, token and mechanisms say of themselves (PK-10).

extension Token {
    /// The number of the one slot.
    static let slot: UInt64 = 0
    private static let name = "Touchstone"
    private static let present: UInt64 = 1
    private static let initialized: UInt64 = 0x400
    private static let protectedAuthenticationPath: UInt64 = 0x100
    private static let userPINInitialized: UInt64 = 0x8
    private static let longestPIN: UInt64 = 256
    /// CK_UNAVAILABLE_INFORMATION.
    private static let unknown = UInt64.max

    /// Of p11-kit's side.
    static let information: [AnswerValue] = [
        .version(2, 40), .text(name, 32), .number(0), .text("Touchstone's keys", 32), .version(1, 0),
    ]

    static let slotInformation: [AnswerValue] = [
        .text(name, 64), .text(name, 32), .number(present), .version(1, 0), .version(1, 0),
    ]

    /// Of the token, for a connection with these sessions: of each, whether it may write.
    static func info(_ device: some TokenDevice, _ sessions: [Bool]) throws(ReturnValue) -> [AnswerValue] {
        let serial: String
        do { serial = try device.serialNumber() } catch { throw error.returnValue }
        let flags = initialized | protectedAuthenticationPath | userPINInitialized
        let names: [AnswerValue] = [
            .text(name, 32), .text(name, 32), .text("Enclave", 16), .text(serial, 16), .number(flags),
        ]
        let counts = [
            UInt64(mostSessions), UInt64(sessions.count), UInt64(mostSessions), UInt64(sessions.count { $0 }),
            longestPIN, 0,
        ]
        let memory = Array(repeating: AnswerValue.number(unknown), count: 4)
        let versions: [AnswerValue] = [.version(1, 0), .version(1, 0), .text("", 16)]
        return names + counts.map(AnswerValue.number) + memory + versions
    }

    static func check(_ slot: UInt64) throws(ReturnValue) {
        guard slot == self.slot else { throw .slotIDInvalid }
    }

    /// The list, or how long it is where the client has less room.
    static func list(_ list: [UInt64], _ room: Int) -> AnswerValue {
        room < list.count ? .countOfNumbers(list.count) : .numbers(list)
    }

    private enum MechanismFlags {
        static let hardware: UInt64 = 0x1
        static let sign: UInt64 = 0x800
        static let generateKeyPair: UInt64 = 0x10000
        /// Prime field, named curve, uncompressed.
        static let curves: UInt64 = 0x0010_0000 | 0x0080_0000 | 0x0100_0000
    }

    static func info(of mechanism: Mechanism) throws(ReturnValue) -> [AnswerValue] {
        guard Mechanism.all.contains(mechanism) else { throw .mechanismInvalid }
        let use = mechanism == .ecKeyPairGeneration ? MechanismFlags.generateKeyPair : MechanismFlags.sign
        return [.number(256), .number(256), .number(use | MechanismFlags.curves | MechanismFlags.hardware)]
    }
}
