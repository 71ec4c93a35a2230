import Crypto
import Foundation
import P11RPC
import P11Token

/// A device with one key, whose owner always says yes.
private final class AgreeingDevice: TokenDevice {
    var all = [
        TokenKey(number: 1, label: "work", identifier: [1, 2], point: [4] + Array(repeating: 7, count: 64))
    ]

    func serialNumber() throws(TokenFailure) -> String { "0123456789abcdef" }
    func keys() throws(TokenFailure) -> [TokenKey] { all }

    func sign(_ digest: [UInt8], with key: TokenKey) throws(TokenFailure) -> [UInt8] {
        hold(digest.count == 32, "a digest of another length")
        return digest + digest
    }

    func makeKey(label: String?, identifier: [UInt8]?) throws(TokenFailure) -> TokenKey {
        guard all.count < 8 else { throw .full }
        let key = TokenKey(
            number: UInt64(all.count + 1), label: label ?? "key", identifier: identifier ?? [3],
            point: [4] + Array(repeating: UInt8(all.count), count: 64))
        all.append(key)
        return key
    }
}

/// All that a client sends on one connection, behind the byte of its version.
private func connection(_ bytes: Data) {
    var rest = Array(bytes.dropFirst())
    var token = Token()
    let device = AgreeingDevice()
    while let length = Frame.length(rest), length > 0, length <= rest.count {
        let bytes = Array(rest.prefix(length))
        guard let frame = Frame(bytes) else { broken("a frame was not read at its own length") }
        hold(Frame(Array(bytes.dropLast())) == nil, "a cut frame is one")
        rest.removeFirst(length)
        let read = unlessRefused([ReturnValue.self], { try Request.read(frame.body) })
        let answer = read.map { token.answer($0.request, device) } ?? .failed(.deviceError)
        let body = answer.body(of: read?.call)
        let again = Frame(code: frame.code, body: body).bytes
        hold(Frame.length(again) == again.count && Frame(again)?.body == body, "an answer is no frame")
        // Either the call and its values, or an error.
        let number = body.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        if case .done = answer { hold(number == read?.call.rawValue, "an answer of another signature") }
        if case .failed = answer {
            hold(number == 0 && body.suffix(8) != [0, 0, 0, 0, 0, 0, 0, 0], "an error without a code")
        }
    }
}

/// A certificate's file, and what the owner's command reads from the bridge.
private func certificate(_ bytes: Data) {
    if let read = TokenCertificate(der: Array(bytes)) {
        hold(TokenCertificate(der: read.der) == read, "another certificate")
        hold(read.point.map { $0.count > 0 } ?? true, "a point of nothing")
    }
    if let contents = ManagementFrame.contents(Array(bytes)) {
        hold(ManagementFrame.length(Array(bytes)) == bytes.count, "an answer of another length")
        let request = Array(ManagementFrame.request(contents).dropFirst())
        guard let frame = Frame(request), let read = unlessRefused([ReturnValue.self], { try Request.read(frame.body) })
        else { broken("what the command asks cannot be read") }
        hold(read.request == .manage(contents), "another request")
    }
}

let pkcs11Targets = [
    FuzzTarget(
        name: "pkcs11",
        run: { bytes in
            connection(bytes)
            certificate(bytes)
        },
        // The kept corpus has what programs send through p11-kit 0.24.1.
        seeds: { [Data(ManagementFrame.request(Array("{\"list\":{}}".utf8)))] })
]
