public import Foundation
internal import TouchstoneTransport

/// Why a device did not answer as it was asked to.
public enum DeviceError: Error, Hashable, Sendable {
    /// No device can have this name.
    case invalidName
    /// Nothing listens on the device's socket, or there is no device of this name.
    case notBooted
    /// The connection ended before the answer.
    case closed
    /// What was to be sent is not a JSON object, or more than a device reads; nothing was sent.
    case malformedRequest
    /// What came back is not a reply, or larger than is read.
    case malformedReply
    /// The device's own answer: the error's name, with its interface, and its parameters, the text of a JSON object.
    case answered(name: String, parameters: Data)
    /// Longer than 256 bytes.
    case passcodeTooLong
    /// The enclave's published key is not there, is not a key, or could have been written by somebody else.
    case passcodeKey(PasscodeKeyFault)

    init(_ error: any Error) {
        switch error {
        case let error as RemoteError:
            self = .answered(name: error.name, parameters: error.parameters ?? Data("{}".utf8))
        case TransportError.closed, TransportError.unreachable: self = .closed
        default: self = .malformedReply
        }
    }
}

/// What is wrong with the enclave's published key.
public enum PasscodeKeyFault: Hashable, Sendable {
    /// It cannot be read: the `errno`.
    case unreadable(Int32)
    /// Somebody else could have put another in its place.
    case writableByOthers
    /// It is not a key.
    case malformed

    init(_ error: PasscodeKeyError) {
        self =
            switch error {
            case .unreadable(let code): .unreadable(code)
            case .writableByOthers: .writableByOthers
            case .malformed: .malformed
            }
    }
}
