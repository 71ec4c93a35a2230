/// A function of PKCS#11, by the number that p11-kit gives it on the wire (PK-4).
public enum Call: UInt32, CaseIterable, Sendable {
    case initialize = 1
    case finalize, getInfo, getSlotList, getSlotInfo, getTokenInfo, getMechanismList, getMechanismInfo, initToken
    case openSession, closeSession, closeAllSessions, getSessionInfo, initPIN, setPIN
    case getOperationState, setOperationState, login, logout
    case createObject, copyObject, destroyObject, getObjectSize, getAttributeValue, setAttributeValue
    case findObjectsInit, findObjects, findObjectsFinal
    case encryptInit, encrypt, encryptUpdate, encryptFinal, decryptInit, decrypt, decryptUpdate, decryptFinal
    case digestInit, digest, digestUpdate, digestKey, digestFinal
    case signInit, sign, signUpdate, signFinal, signRecoverInit, signRecover
    case verifyInit, verify, verifyUpdate, verifyFinal, verifyRecoverInit, verifyRecover
    case digestEncryptUpdate, decryptDigestUpdate, signEncryptUpdate, decryptVerifyUpdate
    case generateKey, generateKeyPair, wrapKey, unwrapKey, deriveKey, seedRandom, generateRandom, waitForSlotEvent
    // PKCS#11 3.0
    case loginUser, sessionCancel
    /// Touchstone's own, for the command beside the bridge: a number that p11-kit gives to no function.
    case manage = 0x5453_0001

    /// What a request and an answer consist of, in p11-kit's letters; nil for a function that is refused whatever it is given.
    ///
    /// `u` a number, `y` a byte, `s` a text of fixed length, `v` a version, `A` an attribute, `M` a mechanism; `a` before one of
    /// them makes it a list, and `f` the room that the caller has for it.
    var signature: (request: String, answer: String)? {
        switch self {
        case .initialize: ("ayyay", "")
        case .finalize: ("", "")
        case .getInfo: ("", "vsusv")
        case .getSlotList: ("yfu", "au")
        case .getSlotInfo: ("u", "ssuvv")
        case .getTokenInfo: ("u", "ssssuuuuuuuuuuuvvs")
        case .getMechanismList: ("ufu", "au")
        case .getMechanismInfo: ("uu", "uuu")
        case .openSession: ("uu", "u")
        case .closeSession, .closeAllSessions, .logout, .findObjectsFinal: ("u", "")
        case .getSessionInfo: ("u", "uuuu")
        case .login: ("uuay", "")
        case .loginUser: ("uuayay", "")
        case .getAttributeValue: ("uufA", "aAu")
        case .findObjectsInit: ("uaA", "")
        case .findObjects: ("ufu", "au")
        case .signInit: ("uMu", "")
        case .sign: ("uayfy", "ay")
        case .signUpdate: ("uay", "")
        case .signFinal: ("ufy", "ay")
        case .generateKeyPair: ("uMaAaA", "uu")
        case .waitForSlotEvent: ("u", "u")
        case .sessionCancel: ("uu", "")
        case .manage: ("ay", "ay")
        default: nil
        }
    }

    /// What a function answers that this token does not have (PK-13…15).
    var refusal: ReturnValue {
        switch self {
        // The owner alone makes, changes and removes what the token holds, with a command of their own.
        case .createObject, .copyObject, .destroyObject, .setAttributeValue: .actionProhibited
        case .seedRandom, .generateRandom: .randomNoRNG
        default: .functionNotSupported
        }
    }
}
