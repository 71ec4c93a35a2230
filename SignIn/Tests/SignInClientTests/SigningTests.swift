import Foundation
import FoundationNetworking
import Testing
import TouchstoneSignInProtocol
import TouchstoneSignInServer
import TouchstoneTesting

@testable import TouchstoneSignIn

/// What the key is for, before the real server.
@Suite(.timeLimit(.minutes(20))) struct SigningTests {
    /// A device that is registered.
    private func registered(
        clockOffset: TimeInterval = 0,
        _ body: @escaping @Sendable (LiveServer, SignInClient, SimulatedDevice) async throws -> Void
    ) async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await LiveServer.run(clockOffset: clockOffset) { server in
            try await device.run {
                let client = try server.client()
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                try await body(server, client, device)
            }
        }
    }

    @Test("NP-11: what was sent once is refused when it comes again, and the key still works")
    func replay() async throws {
        try await registered { server, client, device in
            device.present(.finger(1))
            try await client.signIn().end()
            let sent = try #require(server.traffic.sent("/v1/sessions").first)
            #expect(sent.status == 200)
            #expect(try await server.replay(sent) == 401)
            let registration = try #require(server.traffic.sent("/v1/registrations").first)
            #expect(registration.status == 201 && registration.authorization != nil)
            #expect(try await server.replay(registration) == 401)
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("AC-53, NP-23: a cancel, wrong fingers and a lockout change nothing but leave a gap in the counter")
    func notSigned() async throws {
        try await registered { server, client, device in
            device.present(.cancel)
            await #expect(throws: SignInError.cancelled) { _ = try await client.signIn() }
            device.present(.nonMatch, .nonMatch, .nonMatch)
            await #expect(throws: SignInError.notRecognised) { _ = try await client.signIn() }
            device.present(.nonMatch, .nonMatch)
            await #expect(throws: SignInError.lockedOut) { _ = try await client.signIn() }
            try device.lock()
            try device.unlock(passcode: "1234")
            device.setAttended(false)
            await #expect(throws: SignInError.self) { _ = try await client.signIn() }
            device.setAttended(true)
            #expect(server.traffic.sent("/v1/sessions").isEmpty)
            device.present(.finger(1))
            try await client.signIn().end()
            let key = try #require(try await server.keys().first)
            // Registered with 1; four that were not sent.
            #expect(key.state == .active && key.counter == 6)
        }
    }

    @Test("NP-23: a key whose counter is gone is lost, and the next registration mends it")
    func lostCounter() async throws {
        try await registered { _, client, device in
            let record = try #require(try await client.registration())
            try await DeviceKeychain().deleteCounter(record.keyTag)
            for _ in 0..<2 {
                await #expect(throws: SignInError.registrationNeeded(.keyMissing)) { _ = try await client.signIn() }
            }
            #expect(try await client.registration()?.registrationNeeded == .keyMissing)
            device.present(.finger(1), .finger(1))
            _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
            try await client.signIn().end()
        }
    }

    @Test("a caller that is cancelled takes its prompt down, and the next call goes on")
    func cancelledCaller() async throws {
        try await registered { _, client, device in
            let shown = device.prompts.count
            let call = Task { try await client.signIn() }
            while device.prompts.count == shown { try await Task.sleep(for: .milliseconds(1)) }
            call.cancel()
            await #expect(throws: SignInError.cancelled) { _ = try await call.value }
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("NP-23: calls at once reach the server in the order of their counters; beyond the maximum they are refused")
    func manyAtOnce() async throws {
        try await registered { server, client, device in
            for _ in 0..<8 { device.present(.finger(1)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await client.signIn().end() } }
                try await group.waitForAll()
            }
            let counters = try server.traffic.sent("/v1/sessions").map { sent in
                let request = try JSONDecoder().decode(SignedRequest.self, from: sent.body)
                return try SignedMessage(bytes: try #require(Data(base64URL: request.message))).counter
            }
            #expect(counters == Array(2...9))
            #expect(try await server.activeKeys == 1)

            await withTaskGroup(of: SignInError?.self) { group in
                // One more than may wait, and nobody touches the sensor.
                for _ in 0...SignInClient.maximumWaitingCalls {
                    group.addTask { await self.failure { _ = try await client.signIn() } }
                }
                #expect(await group.next() == .busy)
                group.cancelAll()
                for await other in group { #expect(other == .cancelled) }
            }
        }
    }

    private func failure(_ body: () async throws -> Void) async -> SignInError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SignInError
        }
    }

    @Test("NP-13: the owner confirms the text that the prompt shows, once")
    func confirm() async throws {
        try await registered { server, client, device in
            device.present(.finger(1))
            let session = try await client.signIn()
            let transaction = try await session.transaction("pay 42,00 EUR to Bob")
            device.present(.finger(1))
            try await client.confirm(transaction)
            #expect(device.prompts.last?.reason == "confirm at signin.test: pay 42,00 EUR to Bob")
            device.present(.finger(1))
            await #expect(throws: SignInError.self) { try await client.confirm(transaction) }
            let sent = try #require(server.traffic.sent("/v1/transactions/confirm").first)
            #expect(try await server.replay(sent) == 401)
            await #expect(throws: SignInError.self) { _ = try await session.transaction("two\nlines") }

            let other = try await session.transaction("pay 1 EUR to Bob")
            device.present(.cancel)
            await #expect(throws: SignInError.cancelled) { try await client.confirm(other) }
            try await session.end()
        }
    }

    @Test("NP-30: a new key takes over with one finger, and the old one is worth nothing")
    func rotate() async throws {
        try await registered { server, client, device in
            let before = try #require(try await client.registration())
            let shown = device.prompts.count
            device.present(.finger(1))
            try await client.rotate()
            #expect(device.prompts.count == shown + 1)
            let after = try #require(try await client.registration())
            #expect(after.keyID != before.keyID)
            #expect(try await server.keys().first { $0.id == before.keyID }?.state != .active)
            device.present(.finger(1), .finger(1))
            try await client.signIn().end()
            try await client.rotate()
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("NP-30: a rotation whose answer is lost took place: the next sign-in is with the new key, and one question")
    func lostRotation() async throws {
        try await registered { server, client, device in
            let before = try #require(try await client.registration()).keyID
            for _ in 0..<2 {
                server.traffic.loseAnswers(to: "/v1/keys/rotate")
                device.present(.finger(1))
                guard case .unreachable? = await failure({ try await client.rotate() }) else {
                    Issue.record("there was an answer")
                    return
                }
                server.traffic.loseNoMore()
            }
            let shown = device.prompts.count
            device.present(.finger(1))
            try await client.signIn().end()
            #expect(device.prompts.count == shown + 1)
            let after = try #require(try await client.registration())
            #expect(after.keyID != before && after.pending == nil)
            #expect(try await server.keys().filter { $0.state == .active }.map(\.id) == [after.keyID])
            #expect(try await DeviceKeychain().tags(LiveServer.audience) == [after.keyTag])
        }
    }

    @Test("NP-30: a rotation that never arrived changes nothing, and the next one leaves no key behind")
    func unheardRotation() async throws {
        try await registered { server, client, device in
            let before = try #require(try await client.registration())
            server.traffic.loseRequests(to: "/v1/keys/rotate")
            device.present(.finger(1), .finger(1), .finger(1), .finger(1))
            #expect(await failure { try await client.rotate() } != nil)
            try await client.signIn().end()
            #expect(try await client.registration()?.keyID == before.keyID)
            server.traffic.loseNoMore()
            try await client.rotate()
            try await client.signIn().end()
            let after = try #require(try await client.registration())
            #expect(try await DeviceKeychain().tags(LiveServer.audience) == [after.keyTag])
            #expect(try await server.activeKeys == 1)
        }
    }

    @Test("NP-30: a rotation that the server refuses leaves the record as it was, and no second key")
    func refusedRotation() async throws {
        try await registered { server, client, device in
            let before = try #require(try await client.registration())
            let shown = device.prompts.count
            let rotation = Task { try await client.rotate() }
            while device.prompts.count == shown { try await Task.sleep(for: .milliseconds(1)) }
            try await SignInAdministration(store: server.store).revokeDevice(before.keyID.base64URL, of: "alice")
            device.present(.finger(1))
            let error = await #expect(throws: SignInError.self) { try await rotation.value }
            // One clock, looked at twice: a second may have begun in between.
            guard case .refused(let difference?)? = error, (-60...0).contains(difference) else {
                Issue.record("not refused: \(String(describing: error))")
                return
            }
            #expect(try await client.registration() == before)
            #expect(try await DeviceKeychain().tags(LiveServer.audience) == [before.keyTag])
        }
    }

    @Test("AC-53: a new key that fails while it is put in place says nothing of the earlier one")
    func failingNewKey() async throws {
        try await registered { server, client, device in
            let before = try #require(try await client.registration())
            let shown = device.prompts.count
            let rotation = Task { try await client.rotate() }
            while device.prompts.count == shown { try await Task.sleep(for: .milliseconds(1)) }
            try await DeviceKeychain().deleteKeys(LiveServer.audience, except: before.keyTag)
            device.present(.finger(1))
            guard case .notAvailable? = await failure({ try await rotation.value }) else {
                Issue.record("the new key signed")
                return
            }
            #expect(try await client.registration() == before)
            #expect(server.traffic.sent("/v1/keys/rotate").isEmpty)
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("NP-30: of two devices one revokes the other, which is refused, keeps its key, and can be registered again")
    func lostDevice() async throws {
        try await registered { server, client, device in
            let lost = try #require(try await client.registration()).keyID.base64URL
            let other = try SimulatedDevice(passcode: "1234", fingers: 1)
            try await other.run {
                let client = try server.client()
                other.present(.finger(1), .finger(1), .finger(1))
                let devices = try await client.register(
                    name: "alice", password: LiveServer.password, deviceName: "phone")
                #expect(devices.filter { $0.state == .active }.map(\.deviceName).sorted() == ["laptop", "phone"])
                try await client.revoke(lost)
                let session = try await client.signIn()
                #expect(try await session.devices().first { $0.keyID == lost }?.state == .revoked)
                try await session.end()
            }
            #expect(other.prompts.map(\.reason)[1] == "revoke the key \(lost.prefix(8))… at signin.test")

            device.present(.finger(1))
            guard case .refused? = await failure({ _ = try await client.signIn() }) else {
                Issue.record("a revoked key signed in")
                return
            }
            #expect(try await client.registration()?.keyID.base64URL == lost)
            device.present(.finger(1))
            _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("NP-30: a device that revokes itself has nothing left, and its session is over")
    func revokeOneself() async throws {
        try await registered { server, client, device in
            device.present(.finger(1))
            let session = try await client.signIn()
            device.present(.finger(1))
            try await client.revoke(try #require(try await client.registration()).keyID.base64URL)
            #expect(try await client.registration() == nil)
            await #expect(throws: SignInError.notRegistered) { _ = try await client.signIn() }
            await #expect(throws: SignInError.self) { _ = try await session.devices() }
            #expect(try await server.activeKeys == 0)
        }
    }

    @Test("NP-40: a token is worth nothing without the session's key, and renewals work once")
    func session() async throws {
        try await registered { server, client, device in
            device.present(.finger(1))
            let session = try await client.signIn()
            var request = URLRequest(url: server.url.appending(path: "/v1/devices"))
            try await session.authorize(&request)
            func status(_ request: URLRequest) async throws -> Int {
                let (_, answer) = try await URLSession.shared.data(for: request)
                return (answer as? HTTPURLResponse)?.statusCode ?? 0
            }
            #expect(try await status(request) == 200)
            // The same proof again, and none.
            #expect(try await status(request) == 401)
            request.setValue(nil, forHTTPHeaderField: "DPoP")
            #expect(try await status(request) == 401)

            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await session.refresh() } }
                try await group.waitForAll()
            }
            #expect(try await session.devices().count == 1)
            #expect(server.traffic.sent("/v1/sessions/refresh").allSatisfy { $0.status == 200 })
            let used = try #require(server.traffic.sent("/v1/sessions/refresh").first)
            #expect(used.proof != nil)
            #expect(try await server.replay(used) == 401)

            var elsewhere = URLRequest(url: try #require(URL(string: "https://example.org/v1/devices")))
            await #expect(throws: SignInError.self) { try await session.authorize(&elsewhere) }
            #expect(elsewhere.value(forHTTPHeaderField: "Authorization") == nil)
        }
    }

    @Test("NP-15: clocks that differ by hours are told of, and are no reason to refuse", arguments: [-7200, 7200])
    func clocks(offset: Int) async throws {
        try await registered(clockOffset: TimeInterval(offset)) { _, client, device in
            device.present(.finger(1))
            let session = try await client.signIn()
            #expect(abs((session.clockDifference ?? 0) - offset) <= 60)
            #expect(try await session.devices().count == 1)
            try await session.refresh()
            try await session.end()
        }
    }

    @Test("NP-14: a client of another audience or app is refused, and so is a server that is not there; the key stays")
    func configuration() async throws {
        try await registered { server, client, device in
            let otherName = try SignInClient(
                server: server.url, audience: "look-alike.test", application: LiveServer.application)
            device.present(.finger(1))
            await #expect(throws: SignInError.self) {
                _ = try await otherName.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
            }
            #expect(try await otherName.registration() == nil)
            let otherApp = try SignInClient(server: server.url, audience: LiveServer.audience, application: "another")
            await #expect(throws: SignInError.self) { _ = try await otherApp.signIn() }
            let elsewhere = try SignInClient(
                server: try #require(URL(string: "http://127.0.0.1:1")), audience: LiveServer.audience,
                application: LiveServer.application)
            await #expect(throws: SignInError.self) { _ = try await elsewhere.signIn() }
            device.present(.finger(1))
            try await client.signIn().end()
        }
    }

    @Test("a sign-in whose answer is lost is over; the next one has a challenge of its own")
    func lostAnswer() async throws {
        try await registered { server, client, device in
            server.traffic.loseAnswers(to: "/v1/sessions")
            device.present(.finger(1))
            guard case .unreachable? = await failure({ _ = try await client.signIn() }) else {
                Issue.record("there was an answer")
                return
            }
            #expect(server.traffic.sent("/v1/sessions").count == 1)
            server.traffic.loseNoMore()
            device.present(.finger(1))
            try await client.signIn().end()
            #expect(try await server.activeKeys == 1)
        }
    }

    @Test("a page's request is approved with its code in the prompt, or denied; another page's is not")
    func pages() async throws {
        try await registered { server, client, device in
            func asked() async throws -> (Body.WebRequest, String) {
                var request = URLRequest(url: server.url.appending(path: "/v1/web/requests"))
                request.httpMethod = "POST"
                request.httpBody = Data("{}".utf8)
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                request.setValue(client.origin, forHTTPHeaderField: "Origin")
                let (body, answer) = try await URLSession.shared.data(for: request)
                let cookie = (answer as? HTTPURLResponse)?.value(forHTTPHeaderField: "Set-Cookie") ?? ""
                return (
                    try JSONDecoder().decode(Body.WebRequest.self, from: body),
                    cookie.split(separator: ";").first.map(String.init) ?? ""
                )
            }
            func state(_ cookie: String) async throws -> Body.WebState.State {
                var request = URLRequest(url: server.url.appending(path: "/v1/web/requests/state"))
                request.httpShouldHandleCookies = false
                request.setValue(cookie, forHTTPHeaderField: "Cookie")
                return try JSONDecoder().decode(
                    Body.WebState.self, from: try await URLSession.shared.data(for: request).0
                ).state
            }
            let (first, firstCookie) = try await asked()
            #expect(try await state(firstCookie) == .pending)
            device.present(.finger(1))
            try await client.approve(request: first.request, code: first.code, origin: client.origin)
            #expect(device.prompts.last?.reason == "sign in to signin.test; the page shows \(first.code)")
            #expect(try await state(firstCookie) == .approved)

            let (second, secondCookie) = try await asked()
            try await client.deny(request: second.request, code: second.code)
            #expect(try await state(secondCookie) == .denied)

            let (third, thirdCookie) = try await asked()
            let shown = device.prompts.count
            await #expect(throws: SignInError.self) {
                try await client.approve(request: third.request, code: third.code, origin: "https://evil.example")
            }
            await #expect(throws: SignInError.self) {
                try await client.approve(request: third.request, code: "4179361", origin: client.origin)
            }
            #expect(device.prompts.count == shown)
            device.present(.finger(1))
            let wrong = third.code == "000 000" ? "000 001" : "000 000"
            await #expect(throws: SignInError.self) {
                try await client.approve(request: third.request, code: wrong, origin: client.origin)
            }
            #expect(try await state(thirdCookie) != .approved)
        }
    }
}

extension DeviceKeychain {
    // On its queue: the calls block.
    fileprivate func deleteCounter(_ tag: String) throws { try Item(.counter, account: tag).delete() }
    fileprivate func tags(_ audience: String) throws -> [String] { try EnclaveKeys.tags(label: audience) }
}
