package import Foundation
import FoundationNetworking
import Synchronization

/// A store in a bucket of an S3-compatible object store (SY-30).
///
/// A record is the object `CIRCLE/records/WRITER/NUMBER-LABEL`, the head is `CIRCLE/head`. A put is made with `If-None-Match`,
/// a change of the head with `If-Match`. ``prepare()`` looks whether the server keeps these conditions.
///
/// **The cursor misses nothing,** because a writer has at most ``StoreLimits/putsUnderWay`` puts under way. What was not
/// there when the writer's number n was listed is larger than n − `putsUnderWay`. So a list begins there again. It costs one
/// request for the writers and one for each of them. A server whose lists lag behind its puts can still withhold something:
/// listing from the start finds it, and a member's head says that it is missing.
///
/// If the server says that this machine's clock is wrong, its own is used from then on.
package final class ObjectStore: SyncStore {
    /// How often a request is made again at once: after a wrong clock, and after two puts at the same time.
    private static let attempts = 4

    private let address: ObjectStoreAddress
    private let root: String
    private let keyID: String
    private let secret: StoreSecret
    private let now: @Sendable () -> Date
    private let requests = ObjectRequests()
    /// Seconds that the server's clock is ahead.
    private let ahead = Mutex<TimeInterval>(0)

    /// Sends nothing yet.
    ///
    /// - Parameters:
    ///   - address: `https://HOST[:PORT]/BUCKET[/PREFIX]?region=REGION`. The bucket is in the path.
    ///   - keyID: The name of the access key, which is no secret.
    ///   - secret: The secret access key.
    ///   - circle: 1…64 of the characters a–z and 0–9.
    ///   - now: This machine's clock.
    /// - Throws: `configuration` for an address or a key's name of another form, `invalid` for another circle.
    package init(
        address: String, keyID: String, secret: StoreSecret, circle: String,
        now: @escaping @Sendable () -> Date = Date.init
    ) throws(StoreError) {
        try StoreLimits.check(circle: circle)
        guard 1...128 ~= keyID.utf8.count, keyID.utf8.allSatisfy({ RequestSignature.unreserved.contains($0) }) else {
            throw .configuration("the name of an access key has 1…128 letters and digits")
        }
        self.address = try ObjectStoreAddress(address)
        (self.keyID, self.secret, self.now) = (keyID, secret, now)
        root = "\(self.address.prefix)\(circle)/"
    }

    package func prepare() async throws(StoreError) {
        let (object, body) = ("\(root)conditions", Data("touchstone".utf8))
        for expected in [nil, 412] {
            let answer = try await send("PUT", object, headers: ["if-none-match": "*"], body: body)
            if answer.status == 412 { continue }
            try require(answer, 200)
            if expected == 412 {
                throw .configuration(
                    "this object store ignores If-None-Match, so that members would overwrite each other")
            }
        }
        let wrong = try await send("PUT", object, headers: ["if-match": "\"0\""], body: body)
        guard wrong.status == 412 else {
            try require(wrong, 200)
            throw .configuration("this object store ignores If-Match, so that members would overwrite each other")
        }
    }

    package func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        try StoreLimits.check(record: bytes)
        let answer = try await send("PUT", object(name), headers: ["if-none-match": "*"], body: bytes)
        // The server, or a proxy before it, has a lower limit than ours.
        if answer.status == 413 || answer.status == 400 && code(answer) == "EntityTooLarge" {
            throw .invalid("the object store takes no object of \(bytes.count) bytes")
        }
        guard answer.status == 412 else { return try require(answer, 200) }
        guard let there = try await get(name) else {
            throw .unavailable("the object store: the record was just deleted")
        }
        guard there == bytes else { throw .taken(name) }
    }

    package func get(_ name: RecordName) async throws(StoreError) -> Data? {
        try await content(object(name), longest: StoreLimits.record)?.bytes
    }

    package func delete(_ name: RecordName) async throws(StoreError) {
        let answer = try await send("DELETE", object(name))
        if answer.status == 404, code(answer) == "NoSuchKey" { return }
        try require(answer, 200, 204)
    }

    package func head() async throws(StoreError) -> Data? {
        try await content("\(root)head", longest: StoreLimits.head)?.bytes
    }

    package func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try StoreLimits.check(head: new)
        let there = try await content("\(root)head", longest: StoreLimits.head)
        if there?.bytes == new { return true }
        guard there?.bytes == expected else { return false }
        let condition: [String: String]
        if let there {
            guard let etag = there.etag else { throw .damaged("the object store gives no ETag") }
            condition = ["if-match": etag]
        } else {
            condition = ["if-none-match": "*"]
        }
        let answer = try await send("PUT", "\(root)head", headers: condition, body: new)
        // It may be this call, done twice on its way.
        if answer.status == 412 || answer.status == 404 && code(answer) == "NoSuchKey" {
            return try await head() == new
        }
        try require(answer, 200)
        return true
    }

    package func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        try StoreLimits.check(page: limit)
        var reached = try WriterNumbers(cursor)
        var page = StorePage(names: [], cursor: cursor, hasMore: false)
        let records = "\(root)records/"
        let writers = try await listing(prefix: records, delimiter: "/", most: StoreLimits.writers + 1)
        guard writers.prefixes.count <= StoreLimits.writers, !writers.isTruncated else {
            throw .damaged("the object store has more than \(StoreLimits.writers) writers, and no circle has so many")
        }
        // What may be repeated does not count, so that each page comes further.
        var new = 0
        for prefix in writers.prefixes {
            let writer = prefix.dropFirst(records.count).dropLast()
            guard prefix.hasPrefix(records), RecordName.isPart(writer) else { continue }
            if new >= limit {
                // Whether it has something new is not known.
                page.hasMore = true
                break
            }
            let known = reached[String(writer)]
            let from = known.map {
                $0 > UInt64(StoreLimits.putsUnderWay) ? $0 - UInt64(StoreLimits.putsUnderWay) + 1 : 0
            }
            let found = try await listing(
                prefix: prefix, after: from.map { "\(prefix)\(RecordName.digits($0))" },
                most: min(StoreLimits.page, limit - new + StoreLimits.putsUnderWay + 1))
            let names = found.keys.compactMap { key in
                key.hasPrefix(prefix) ? RecordName(writer: writer, rest: key.dropFirst(prefix.count)) : nil
            }
            page.names += names
            new += names.count { name in known.map { name.number > $0 } ?? true }
            let last = names.last?.number
            if let last { reached[String(writer)] = max(last, known ?? 0) }
            if found.isTruncated {
                guard let last, known.map({ last > $0 }) ?? true else {
                    throw .damaged("the object store has too many objects of \(writer) under one number")
                }
                page.hasMore = true
                break
            }
        }
        page.cursor = reached.cursor
        return page
    }

    // MARK: Requests

    private func object(_ name: RecordName) -> String { "\(root)records/\(name.writer)/\(name.rest)" }

    private func content(_ object: String, longest: Int) async throws(StoreError) -> (bytes: Data, etag: String?)? {
        let answer = try await send("GET", object, longest: longest)
        if answer.status == 404, code(answer) == "NoSuchKey" { return nil }
        try require(answer, 200)
        return (answer.body, answer.etag)
    }

    private func listing(
        prefix: String, after: String? = nil, delimiter: String? = nil, most: Int
    ) async throws(StoreError) -> ObjectListing {
        var query = [("list-type", "2"), ("prefix", prefix), ("max-keys", "\(most)")]
        if let after { query.append(("start-after", after)) }
        if let delimiter { query.append(("delimiter", delimiter)) }
        let answer = try await send("GET", "", query: query, longest: ObjectListing.longest)
        try require(answer, 200)
        guard let listing = ObjectListing(answer.body), listing.code == nil else {
            throw .damaged("the object store's list is not what S3 gives")
        }
        return listing
    }

    private func send(
        _ method: String, _ object: String, query: [(name: String, value: String)] = [],
        headers: [String: String] = [:],
        body: Data = Data(), longest: Int = 64 << 10
    ) async throws(StoreError) -> ObjectRequests.Answer {
        var attempt = 1
        while true {
            let signature = RequestSignature(
                method: method, path: object.isEmpty ? "/\(address.bucket)" : "/\(address.bucket)/\(object)",
                query: query,
                headers: headers.merging(["host": address.host]) { $1 }, region: address.region,
                date: now() + ahead.withLock { $0 })
            let query = signature.encodedQuery
            let path = RequestSignature.encoded(signature.path, slash: true)
            guard let url = URL(string: "\(address.scheme)://\(address.host)\(path)\(query.isEmpty ? "" : "?\(query)")")
            else {
                throw .configuration("the object store's address is no URL")
            }
            var request = URLRequest(url: url)
            request.httpMethod = method
            for (name, value) in signature.signed(body: body, keyID: keyID, secret: secret) where name != "host" {
                request.setValue(value, forHTTPHeaderField: name)
            }
            if method == "PUT" {
                request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
                request.httpBody = body
            }
            // An error may be longer than a record.
            let answer = try await requests.send(request, longest: max(longest, 64 << 10))
            guard attempt < Self.attempts else { return answer }
            attempt += 1
            if answer.status == 409 { continue }
            if answer.status == 403, code(answer) == "RequestTimeTooSkewed", let date = answer.date {
                let here = now()
                ahead.withLock { $0 = date.timeIntervalSince(here) }
                continue
            }
            guard answer.body.count <= longest || answer.status != 200 else {
                throw .damaged("the object store's answer is longer than it may be")
            }
            return answer
        }
    }

    private func code(_ answer: ObjectRequests.Answer) -> String? { ObjectListing(answer.body)?.code }

    private func require(_ answer: ObjectRequests.Answer, _ statuses: Int...) throws(StoreError) {
        if statuses.contains(answer.status) { return }
        // A word of the server's: shown only where it is one.
        let code = code(answer).flatMap { $0.utf8.count <= 64 && $0.allSatisfy(\.isLetter) ? $0 : nil } ?? "no code"
        let text = "the object store answers \(answer.status) (\(code))"
        switch answer.status {
        case 401, 403: throw .refused("\(text): check the access key and what it may do in this bucket")
        case 404: throw .configuration("\(text): is there such a bucket?")
        case 300...399: throw .configuration("\(text): give the address to which it redirects, and the right region")
        case 400, 405, 411, 501: throw .configuration(text)
        default: throw .unavailable(text)
        }
    }
}
