/// What a function of PKCS#11 returns where it has no result: `CK_RV`, any number.
public struct ReturnValue: RawRepresentable, Error, Hashable, Sendable {
    /// As PKCS#11 numbers it.
    public let rawValue: UInt64

    /// A return value of this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// A success: never an answer by itself, but beside attributes.
    public static let ok = ReturnValue(rawValue: 0)
    /// No slot has this number.
    public static let slotIDInvalid = ReturnValue(rawValue: 0x3)
    /// The owner could not be asked, or did not show who they are.
    public static let functionFailed = ReturnValue(rawValue: 0x6)
    /// There was no event.
    public static let noEvent = ReturnValue(rawValue: 0x8)
    /// An attribute that never leaves the enclave.
    public static let attributeSensitive = ReturnValue(rawValue: 0x11)
    /// An attribute that the object does not have.
    public static let attributeTypeInvalid = ReturnValue(rawValue: 0x12)
    /// A value that the token does not take.
    public static let attributeValueInvalid = ReturnValue(rawValue: 0x13)
    /// Only the owner does this, with a command.
    public static let actionProhibited = ReturnValue(rawValue: 0x1B)
    /// Too much, or nothing, to be signed.
    public static let dataLengthRange = ReturnValue(rawValue: 0x21)
    /// The device does not answer, or the request could not be read.
    public static let deviceError = ReturnValue(rawValue: 0x30)
    /// There are as many keys as there may be.
    public static let deviceMemory = ReturnValue(rawValue: 0x31)
    /// The owner said no.
    public static let functionCanceled = ReturnValue(rawValue: 0x50)
    /// The token does not have this function.
    public static let functionNotSupported = ReturnValue(rawValue: 0x54)
    /// No private key has this handle.
    public static let keyHandleInvalid = ReturnValue(rawValue: 0x60)
    /// The key can never be used again, or not for this.
    public static let keyFunctionNotPermitted = ReturnValue(rawValue: 0x68)
    /// Not a mechanism of this token.
    public static let mechanismInvalid = ReturnValue(rawValue: 0x70)
    /// No object has this handle.
    public static let objectHandleInvalid = ReturnValue(rawValue: 0x82)
    /// The session does something of this kind already.
    public static let operationActive = ReturnValue(rawValue: 0x90)
    /// Nothing of this kind was begun.
    public static let operationNotInitialized = ReturnValue(rawValue: 0x91)
    /// There are as many sessions as there may be.
    public static let sessionCount = ReturnValue(rawValue: 0xB1)
    /// No session has this handle.
    public static let sessionHandleInvalid = ReturnValue(rawValue: 0xB3)
    /// A session that is not serial, which PKCS#11 gave up long ago.
    public static let sessionParallelNotSupported = ReturnValue(rawValue: 0xB4)
    /// A session that only reads.
    public static let sessionReadOnly = ReturnValue(rawValue: 0xB5)
    /// What the new key needs is not said.
    public static let templateIncomplete = ReturnValue(rawValue: 0xD0)
    /// No key is like that.
    public static let templateInconsistent = ReturnValue(rawValue: 0xD1)
    /// The client logged in before.
    public static let userAlreadyLoggedIn = ReturnValue(rawValue: 0x100)
    /// The device is locked, or the client did not log in.
    public static let userNotLoggedIn = ReturnValue(rawValue: 0x101)
    /// The token has no random numbers.
    public static let randomNoRNG = ReturnValue(rawValue: 0x121)
    /// Not a curve of this token.
    public static let curveNotSupported = ReturnValue(rawValue: 0x140)
    /// The caller's room is smaller than the answer.
    public static let bufferTooSmall = ReturnValue(rawValue: 0x150)
    /// C_Initialize comes first.
    public static let cryptokiNotInitialized = ReturnValue(rawValue: 0x190)
    /// C_Initialize came before.
    public static let cryptokiAlreadyInitialized = ReturnValue(rawValue: 0x191)
}
