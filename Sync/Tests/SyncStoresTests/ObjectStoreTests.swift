import Foundation
import Testing

@testable import SyncStores

/// What only an object store has: a server's faults and lies, and clocks.
@Suite struct ObjectStoreTests {
    /// Each fault by itself and together, made by the server.
    @Test(arguments: [
        #"{"lose": 3}"#, #"{"busy": 3}"#, #"{"twice": 2}"#, #"{"stale": 2}"#,
        #"{"lose": 5, "busy": 4, "twice": 3, "stale": 3}"#,
    ])
    func sy30_everythingArrivesThroughTheServersFaults(_ faults: String) async throws {
        let bench = try await ObjectStoreBench()
        let (writer, reader) = (try await bench.member(), try await bench.member())
        try await bench.servers.bucket(bench.bucket, faults)
        let count = 24
        for number in 0..<count {
            let name = try recordName("ada", number)
            try await persistently { () async throws(StoreError) in try await writer.put(name, record(number)) }
            let (old, new) = (number == 0 ? nil : Data("\(number - 1)".utf8), Data("\(number)".utf8))
            #expect(try await persistently { () async throws(StoreError) in try await writer.swapHead(old, for: new) })
        }
        let records = try await reader.follow(until: count, limit: 5)
        #expect(records.count == count)
        #expect(records.allSatisfy { $1 == record(Int($0.number)) })
        #expect(try await persistently(reader.head) == Data("\(count - 1)".utf8))
    }

    /// A put that is late is within what is listed again.
    @Test func sy30_aPutThatComesLateIsNotMissed() async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        for number in 0..<40 where number != 25 { try await store.put(recordName("ada", number), record(number)) }
        var cursor = StoreCursor.start
        #expect(try await Set(store.everything(since: &cursor, limit: 5)).count == 39)
        try await store.put(recordName("ada", 25), record(25))
        #expect(try await store.everything(since: &cursor, limit: 5).contains(recordName("ada", 25)))
        // Idle: what may be repeated, and no more.
        #expect(try await store.everything(since: &cursor, limit: 5).count == StoreLimits.putsUnderWay)
    }

    @Test(arguments: [-9.0, -1, 1, 9]) func sy30_clocksThatDifferByHoursAreCorrected(_ hours: Double) async throws {
        let bench = try await ObjectStoreBench()
        let store = try bench.store(ahead: hours * 3600)
        try await store.prepare()
        try await store.put(recordName("ada", 1), record(1))
        #expect(try await store.get(recordName("ada", 1)) == record(1))
        // The server's jumps.
        try await bench.servers.bucket(bench.bucket, #"{"clock": \#(-hours)}"#)
        try await store.put(recordName("ada", 2), record(2))
        #expect(try await store.everything().count == 2)
    }

    @Test func sy30_aServerWithoutConditionsIsRefused() async throws {
        let bench = try await ObjectStoreBench(#"{"unconditional": true}"#)
        await #expect(throws: StoreError.self) { try await bench.member() }
    }

    @Test func sy31_aWrongKeyIsRefusedAndNotShown() async throws {
        let bench = try await ObjectStoreBench()
        let store = try bench.store(ahead: 0, secret: "another-secret")
        do {
            try await store.put(recordName("ada", 1), record(1))
            Issue.record("a wrong key is right")
        } catch StoreError.refused(let text) {
            #expect(text.contains("SignatureDoesNotMatch") && !text.contains("another-secret"))
        }
    }

    @Test(arguments: [
        "", "x", "<a>", "<ListBucketResult><Contents><Key>x</Key></Contents>",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult/>",
        "<Error><Code>Oh</Code></Error>", #"{"keys": []}"#,
    ])
    func sy30_foreignListsAreRefused(_ text: String) async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        let answer = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        try await bench.servers.bucket(bench.bucket, #"{"answer": [200, \#(answer)]}"#)
        await #expect(throws: StoreError.self) { try await store.list(since: .start, limit: 10) }
    }

    @Test func sy30_foreignKeysAreLeftOut() async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        let root = "keychains/family/records/"
        let keys = [
            "\(root)ada/0000000000000001-item", "\(root)ada/x", "\(root)../etc/passwd", "elsewhere",
            "\(root)ben/0000000000000001-a",
        ]
        let list =
            "<ListBucketResult><IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>\(root)ada/</Prefix></CommonPrefixes>"
            + "<CommonPrefixes><Prefix>other/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>\(root)../</Prefix></CommonPrefixes>"
            + keys.map { "<Contents><Key>\($0)</Key></Contents>" }.joined() + "</ListBucketResult>"
        try await bench.servers.bucket(bench.bucket, #"{"answer": [200, "\#(list)"]}"#)
        #expect(try await store.list(since: .start, limit: 10).names == [recordName("ada", 1)])
    }

    @Test func sy30_answersThatAreTooLongAndRedirectsAreRefused() async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        try await bench.servers.bucket(
            bench.bucket, #"{"answer": [200, "\#(String(repeating: "x", count: 100_000))"]}"#)
        await #expect(throws: StoreError.self) { try await store.head() }
        let elsewhere = try await ObjectStoreBench()
        try await bench.servers.bucket(
            bench.bucket, #"{"redirect": "http://127.0.0.1:\#(bench.servers.addresses.port)/\#(elsewhere.bucket)/x"}"#)
        do {
            _ = try await store.head()
            Issue.record("a redirect was followed")
        } catch StoreError.configuration {}
        #expect(try await elsewhere.servers.counts(elsewhere.bucket).isEmpty)
    }

    /// A server, or a proxy before it, with a lower limit than ours; another refusal is no reason to leave a record out.
    @Test func sy30_aRecordThatTheServerFindsTooLargeIsInvalid() async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        func put(_ answer: String) async throws -> StoreError? {
            try await bench.servers.bucket(bench.bucket, #"{"answer": \#(answer)}"#)
            return await #expect(throws: StoreError.self) { try await store.put(recordName("ada", 1), record(1)) }
        }
        let invalid = StoreError.invalid("the object store takes no object of \(record(1).count) bytes")
        #expect(try await put(#"[413, ""]"#) == invalid)
        #expect(try await put(#"[400, "<Error><Code>EntityTooLarge</Code></Error>"]"#) == invalid)
        for answer in [#"[400, "<Error><Code>Other</Code></Error>"]"#, #"[507, ""]"#] {
            let error = try await put(answer)
            if case .invalid = error { Issue.record("\(answer)") }
        }
    }

    @Test func sy30_aMissingBucketAndAServerThatIsAwaySaySo() async throws {
        let servers = try Servers.shared.get()
        func store(_ address: String) throws -> ObjectStore {
            try ObjectStore(
                address: address, keyID: servers.addresses.key, secret: StoreSecret(servers.addresses.secret.utf8),
                circle: "family")
        }
        do {
            try await store("http://127.0.0.1:\(servers.addresses.port)/missing?region=eu-test-1").prepare()
            Issue.record("there is such a bucket")
        } catch StoreError.configuration {}
        do {
            try await store("http://127.0.0.1:1/missing?region=eu-test-1").prepare()
            Issue.record("there is such a server")
        } catch StoreError.unavailable {}
    }

    /// A certificate of nobody's.
    @Test func sy31_aServerThatNobodyVouchesForIsRefused() async throws {
        let servers = try Servers.shared.get()
        let store = try ObjectStore(
            address: "https://localhost:\(servers.addresses.tls)/bucket?region=eu-test-1", keyID: servers.addresses.key,
            secret: StoreSecret(servers.addresses.secret.utf8), circle: "family")
        let error = await #expect(throws: StoreError.self) { _ = try await store.head() }
        #expect(error?.description.contains("certificate") == true, "\(error?.description ?? "")")
    }

    @Test func sy31_addressesHaveNoCredentialsAndRequireTLS() throws {
        for text in [
            "http://s3.example/bucket?region=r", "https://key:secret@s3.example/bucket?region=r",
            "https://s3.example/bucket",
            "https://s3.example/?region=r", "https://s3.example/b/../c?region=r", "https://s3.example/b%2f?region=r",
            "https://s3.example/b?region=r&secret=x", "https://s3.example/b?region=", "ftp://s3.example/b?region=r", "",
            "https:///b?region=r", "https://s3.example/b?region=a/b", "http://127.0.0.1.example/b?region=r",
            "https://s3.example/b?region=r#secret",
        ] {
            let error = #expect(throws: StoreError.self, "\(text)") { try ObjectStoreAddress(text) }
            #expect(error?.description.contains("secret") == false)
        }
        let address = try ObjectStoreAddress("https://s3.example:8443/bucket/a/b?region=eu-central-1")
        #expect(address.host == "s3.example:8443" && address.bucket == "bucket" && address.prefix == "a/b/")
        #expect(try ObjectStoreAddress("http://localhost:9000/bucket?region=x").prefix == "")
    }

    @Test func sy31_secretsAreNotDescribed() throws {
        let secret = try StoreSecret("hunter2".utf8)
        #expect(!"\(secret) \(String(reflecting: secret))".contains("hunter2"))
        #expect(throws: StoreError.self) { try StoreSecret([]) }
        #expect(throws: StoreError.self) { try StoreSecret([UInt8](repeating: 1, count: StoreSecret.longest + 1)) }
    }
}

/// The examples of "Authenticating Requests: Using the Authorization Header" in Amazon's S3 API reference.
@Suite struct RequestSignatureTests {
    private func signature(
        _ method: String, _ path: String, _ query: [(String, String)] = [], _ headers: [String: String] = [:],
        body: String = ""
    ) throws -> String? {
        let signed = RequestSignature(
            method: method, path: path, query: query,
            headers: headers.merging(["host": "examplebucket.s3.amazonaws.com"]) { $1 }, region: "us-east-1",
            date: Date(timeIntervalSince1970: 1_369_353_600)
        ).signed(
            body: Data(body.utf8), keyID: "AKIAIOSFODNN7EXAMPLE",
            secret: try StoreSecret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8))
        return signed["authorization"]?.components(separatedBy: "Signature=").last
    }

    @Test func sy30_signaturesAreThoseOfAmazonsExamples() throws {
        #expect(
            try signature("GET", "/test.txt", [], ["range": "bytes=0-9"])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        #expect(
            try signature(
                "PUT", "/test$file.text", [],
                ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
                body: "Welcome to Amazon S3.")
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        #expect(
            try signature("GET", "/", [("lifecycle", "")])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            try signature("GET", "/", [("prefix", "J"), ("max-keys", "2")])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }
}
