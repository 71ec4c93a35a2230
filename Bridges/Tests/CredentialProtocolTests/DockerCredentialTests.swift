import CredentialProtocol
import Testing

@Suite struct DockerCredentialTests {
    private func read(_ text: String) throws -> DockerCredential { try DockerCredential(Array(text.utf8)) }

    @Test("GC-20: what store gets")
    func store() throws {
        let credential = try read(
            #"{"ServerURL":" https://index.docker.io/v1/\n","Username":"<token>","Secret":"s\"1"}"#)
        #expect(credential.server == "https://index.docker.io/v1/")
        #expect(credential.username == "<token>")
        #expect(credential.secret == Array("s\"1".utf8))
    }

    @Test(
        "GC-20: the texts that docker compares",
        arguments: [
            (#"{"Username":"a","Secret":"b"}"#, "no credentials server URL"),
            (#"{"ServerURL":" ","Username":"a"}"#, "no credentials server URL"),
            (#"{"ServerURL":"a","Secret":"b"}"#, "no credentials username"),
            ("[]", "the request is malformed"), ("{", "the request is malformed"),
        ])
    func refused(text: String, expected: String) {
        let error = #expect(throws: DockerCredentialError.self) { try read(text) }
        #expect(error?.description == expected)
        #expect(DockerCredentialError.notFound.description == "credentials not found in native keychain")
    }

    @Test("GC-20: neither long nor deep")
    func bounds() {
        let deep = String(repeating: "[", count: 9) + String(repeating: "]", count: 9)
        #expect(throws: DockerCredentialError.malformed) {
            try read(#"{"ServerURL":"a","Username":"b","x":"# + deep + "}")
        }
        #expect(throws: Never.self) { try read(#"{"ServerURL":"a","Username":"b","x":"[[[[[[[[[[["}"#) }
        let long = String(repeating: " ", count: DockerCredential.maximumCount)
        #expect(throws: DockerCredentialError.malformed) { try read(#"{"ServerURL":"a","Username":"b"}"# + long) }
    }

    @Test("GC-21: an address is kept as it was given, without white space around it")
    func server() throws {
        #expect(try DockerCredential.server(Array("docker.io\n".utf8)) == "docker.io")
        #expect(throws: DockerCredentialError.noServer) { try DockerCredential.server(Array(" \n".utf8)) }
        #expect(throws: DockerCredentialError.malformed) { try DockerCredential.server([0x61, 0, 0x62]) }
        #expect(throws: DockerCredentialError.malformed) { try DockerCredential.server([0xFF]) }
    }

    @Test("GC-20: what get and list answer")
    func answers() throws {
        let credential = DockerCredential(server: "https://a/", username: "b", secret: Array("c".utf8))
        #expect(
            try credential.answer() == Array(#"{"Secret":"c","ServerURL":"https://a/","Username":"b"}"#.utf8) + [0x0A])
        #expect(DockerCredential.list([:]) == Array("{}\n".utf8))
        #expect(DockerCredential.list(["https://a/": "b"]) == Array(#"{"https://a/":"b"}"#.utf8) + [0x0A])
        #expect(throws: DockerCredentialError.malformed) {
            try DockerCredential(server: "a", username: "b", secret: [0xFF]).answer()
        }
    }
}
