/// Where a TPM is: `device:PATH` of a character device, or `swtpm:path=SOCKET`, as tpm2-tss spells them.
struct TPMAddress: Hashable, Sendable {
    let text: String
    let path: String
    /// swtpm's Unix socket: swtpm is a program, so anybody who runs it has its keys.
    let isSocket: Bool

    /// Whether the kernel shares it (/dev/tpmrm0) and takes back what a program leaves in it; else it is one program's at a time.
    var isShared: Bool { !isSocket && (path.split(separator: "/").last ?? "").hasPrefix("tpmrm") }

    init(_ text: String) throws(TPMError) {
        self.text = text
        let prefixes = ["device:": false, "swtpm:path=": true]
        guard let (prefix, isSocket) = prefixes.first(where: { text.hasPrefix($0.key) }),
            case let path = String(text.dropFirst(prefix.count)), path.hasPrefix("/"),
            path.utf8.count <= Self.maximumPathBytes,
            !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw TPMError(code: .badAddress, address: text) }
        self.path = path
        self.isSocket = isSocket
    }

    /// Of a Unix socket.
    private static let maximumPathBytes = 107
}
