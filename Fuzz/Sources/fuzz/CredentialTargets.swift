import CredentialProtocol
import Foundation

private func git(_ bytes: Data) {
    guard
        let place = unlessRefused(
            [GitCredentialError.self],
            { () -> CredentialPlace? in
                let credential = try GitCredential(bytes)
                // What is answered is read as the same, and has nothing else.
                if let answer = unlessRefused([GitCredentialError.self], { try credential.answer() }),
                    answer.count <= GitCredential.maximumCount
                {
                    let echo = try GitCredential(answer)
                    hold(
                        echo.password == credential.password && echo.username == credential.username,
                        "another credential")
                    hold(echo.host == nil && echo.scheme == nil, "a value became a key")
                }
                return try CredentialPlace(credential)
            })
    else { return }
    if let place {
        hold(place.serves(place), "a place that does not serve itself")
        let other = CredentialPlace(scheme: place.scheme + "s", host: place.host, port: place.port, path: place.path)
        hold(!place.serves(other) && !other.serves(place), "a place of another scheme")
    }
}

private func docker(_ bytes: Data) {
    let bytes = Array(bytes)
    if let credential = unlessRefused([DockerCredentialError.self], { try DockerCredential(bytes) }) {
        hold(!credential.server.isEmpty && !credential.username.isEmpty, "a credential of nobody")
        let answer = unlessRefused([DockerCredentialError.self], { try credential.answer() })
        let echo = answer.flatMap { answer in
            unlessRefused([DockerCredentialError.self], { try DockerCredential(answer) })
        }
        hold(
            answer.map { $0.count > DockerCredential.maximumCount } == true || echo == credential, "another credential")
    }
    _ = unlessRefused([DockerCredentialError.self], { try DockerCredential.server(bytes) })
}

private func run(_ bytes: Data) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let reference = SecretReference(text) {
        hold(SecretReference(reference.description) == reference, "another reference")
        _ = reference.part(of: Array(bytes))
    }
    let field = SecretReference(service: "s", account: "a", field: "f")
    _ = field?.part(of: Array(bytes))
    if let file = unlessRefused([EnvironmentFileError.self], { try EnvironmentFile(bytes) }) {
        hold(file.variables.allSatisfy { EnvironmentFile.isName($0.name) }, "a variable without a name")
    }
    if let template = unlessRefused([SecretTemplateError.self], { try SecretTemplate(Array(bytes)) }),
        template.references.isEmpty
    {
        hold(template.pieces == (bytes.isEmpty ? [] : [.text(Array(bytes))]), "a text without places changes")
    }
    _ = CredentialMessages.Call(message: Array(bytes))
    if let words = unlessRefused([SecurityCommandError.self], { try SecurityLine.words(bytes) }) {
        // With a backslash before each byte it is the same word.
        let line = words.flatMap { word -> [UInt8] in
            (word.isEmpty ? Array("''".utf8) : word.flatMap { [UInt8(ascii: "\\"), $0] }) + [UInt8(ascii: " ")]
        }
        let again = unlessRefused([SecurityCommandError.self], { try SecurityLine.words(line) })
        hold(again == words || line.count > SecurityLine.maximumCount, "other words")
        _ = unlessRefused([SecurityCommandError.self], { try SecurityCommand(words) })
    }
    let (secret, request) = (
        Array(bytes), Array(#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}"#.utf8)
    )
    for answer in [
        unlessRefused(
            [ProcessCredentialError.self], { try ProcessCredential.aws(secret, accessKeyID: "A", now: .distantPast) }),
        unlessRefused(
            [ProcessCredentialError.self],
            { try ProcessCredential.kubernetes(secret, request: request, now: .distantPast) }),
    ] {
        hold(answer?.contains(0x0A) != true, "more than one line")
    }
    _ = unlessRefused([ProcessCredentialError.self], { try ProcessCredential.kubernetesVersion(secret) })
}

private func mask(_ bytes: Data) {
    let (secret, text) = bytes.halves
    var whole = OutputMask([Array(secret)])
    let expected = whole.masking(text) + whole.finish()
    var pieces = OutputMask([Array(secret)])
    let output = text.flatMap { pieces.masking([$0]) } + pieces.finish()
    hold(output == expected, "what goes out depends on how it is cut")
    if secret.count < OutputMask.minimumCount { hold(output == Array(text), "a short secret is replaced") }
}

let credentialTargets = [
    FuzzTarget(
        name: "credentials",
        run: { bytes in
            let (choice, rest) = bytes.choice
            switch choice % 4 {
            case 0: git(rest)
            case 1: docker(rest)
            case 2: run(rest)
            default: mask(rest)
            }
        },
        seeds: {
            func texts(_ choice: UInt8, _ texts: [String]) -> [Data] { texts.map { Data([choice]) + Data($0.utf8) } }
            return texts(
                0,
                [
                    // git 2.39.5, and a later one
                    "protocol=https\nhost=example.org\n\n",
                    "protocol=http\nhost=127.0.0.1:8080\nusername=octocat\npassword=secret\n",
                    "capability[]=authtype\ncapability[]=state\nprotocol=https\nhost=[::1]:8443\npath=a/b.git\n"
                        + "wwwauth[]=Basic realm=\"git\"\npassword_expiry_utc=1700000000\noauth_refresh_token=r\n",
                ])
                + texts(
                    1,
                    [
                        #"{"ServerURL":"https://index.docker.io/v1/","Username":"<token>","Secret":"s\"\u00f6"}"#
                            + "\n",
                        "https://index.docker.io/v1/", #"{"ServerURL":"docker.io","Username":"me","Secret":""}"#,
                    ])
                + texts(
                    2,
                    [
                        "touchstone://db/a%20b/password", #"{"f":"x","n":1,"deep":[[{}]]}"#,
                        "# comment\nexport A=1\nB='x # y'\nC=\"a\\n\\\"b\" # c\nD=touchstone://npm/token\n",
                        "a={{ touchstone://npm/token }} {{ other }}\n",
                        "add-internet-password -a me -s example.org -r htps -P 8443 -T '/usr/bin/git' -U -w secret",
                        #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{}}"#,
                        #"{"method":"io.touchstone.Credentials.Get","parameters":{"item":{"kind":"git","scheme":"https","place":"a"}}}"#,
                    ])
                + [Data([3]) + Data.halves(Data("swordfish".utf8), Data("a swordfish, swordfis".utf8))]
        })
]
