import Foundation
import SSHAgentProtocol

/// All that a client sends on one connection.
private func connection(_ bytes: Data) {
    var rest = Array(bytes)
    var bindings = SessionBindings()
    while let length = AgentRequest.frameLength(rest), length > 0, length <= rest.count {
        let request = AgentRequest(frame: Array(rest.prefix(length)))
        rest.removeFirst(length)
        switch request {
        case .extension(SessionBindings.name, let contents): bind(contents, &bindings)
        case .sign(let key, let data, _): sign(data, key, bindings)
        case .extension(let name, let contents):
            hold(
                AgentRequest(frame: AgentExtension.request(name, contents)) == request,
                "an extension is another as written"
            )
        case .identities, .lock, .unlock, .other, .malformed: break
        }
    }
}

private func bind(_ contents: [UInt8], _ bindings: inout SessionBindings) {
    let before = bindings
    let isRight = bindings.bind(contents)
    hold(isRight != bindings.isTainted, "a binding that failed, and no taint, or the other way round")
    hold(!before.isTainted || !isRight, "a taint is gone")
    hold(!before.isForwarded || bindings.isForwarded, "a forwarded connection became a local one")
    hold(bindings.all.starts(with: before.all) && bindings.all.count <= 16, "bindings are taken away, or too many")
    hold(bindings.all.dropLast().allSatisfy(\.isForwarding), "something follows a login")
    hold(
        !bindings.isTainted || (bindings.destination == nil && bindings.origins.isEmpty),
        "a tainted connection has hosts"
    )
    hold(bindings.origins.isEmpty || bindings.isForwarded, "a host that asks on a local connection")
}

private func sign(_ data: [UInt8], _ key: [UInt8], _ bindings: SessionBindings) {
    let purpose = SignaturePurpose(data: data, key: key)
    guard purpose.isFor(bindings) == true else { return }
    guard case .login(let id, _, let hostKey) = purpose, let destination = bindings.destination else {
        broken("a login to nowhere")
    }
    hold(destination.sessionID == id, "a login in another session")
    hold(hostKey ?? destination.hostKey == destination.hostKey, "a login to another host")
    hold(hostKey != nil || bindings.all.count == 1, "a login behind another host that does not name its own")
}

private func host(_ bytes: Data) {
    let (blob, rest) = bytes.halves
    guard let key = HostKey(blob: Array(blob)) else { return }
    hold(HostKey(blob: key.blob) == key, "a host key is another the second time")
    let (signature, data) = rest.halves
    guard key.isValid(signature: Array(signature), for: Array(data)) else { return }
    hold(!key.isValid(signature: Array(signature), for: Array(data) + [0]), "a signature is good for other data")
}

/// A host whose lines are in the corpus.
private let knownHost = HostKey(
    blob: Array(Data([0, 0, 0, 11]) + Data("ssh-ed25519".utf8) + Data([0, 0, 0, 32]) + Data(repeating: 7, count: 32)))

private func hosts(_ bytes: Data) {
    let (first, second) = bytes.halves
    let name = String(decoding: first, as: UTF8.self)
    let text = String(decoding: second, as: UTF8.self)
    guard let knownHost else { broken("the host key cannot be read") }
    let line = Data(knownHost.blob).base64EncodedString()
    let verdict = KnownHosts(text).verdict(of: name, knownHost)
    let more = KnownHosts(text + "\n@revoked * ssh-ed25519 \(line)").verdict(of: name, knownHost)
    hold(more == .revoked, "a key that is revoked is \(more)")
    let known = KnownHosts(text + "\n* ssh-ed25519 \(line)").verdict(of: name, knownHost)
    hold(known == (verdict == .revoked ? .revoked : .known), "a line more, and the key is \(known)")
}

let sshTargets = [
    FuzzTarget(
        name: "ssh",
        run: { bytes in
            let (choice, rest) = bytes.choice
            if let certificate = UserCertificate(blob: Array(rest)) {
                hold(
                    UserCertificate(
                        file: Array("\(UserCertificate.algorithm) \(Data(rest).base64EncodedString())".utf8))
                        == certificate,
                    "a certificate changes in a file")
            }
            _ = UserCertificate(file: Array(rest))
            switch choice % 4 {
            case 0: connection(rest)
            case 1:
                let (key, data) = rest.halves
                sign(Array(data), Array(key), SessionBindings())
            case 2: host(rest)
            default: hosts(rest)
            }
        },
        // The kept corpus has what OpenSSH's clients and git send, and what they verify.
        seeds: {
            guard let line = knownHost.map({ Data($0.blob).base64EncodedString() }) else { return [] }
            let names = Data("[example.org]:22".utf8)
            return [
                "[example.org]:22,!b*,c?d ssh-ed25519 \(line) comment\n",
                "@cert-authority *.example.org ssh-ed25519 \(line)",
                "# comment\n|1|AAAAAAAAAAAAAAAAAAAAAAAAAAA=|AAAAAAAAAAAAAAAAAAAAAAAAAAA= ssh-ed25519 \(line)\r\n",
            ].map { Data([3]) + Data.halves(names, Data($0.utf8)) } + [Data([0, 0, 0, 0, 1, 11, 0, 0, 0, 1, 200])]
        })
]
