import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite struct ClientAddressTests {
    /// The test's connections are from 192.0.2.1.
    static func statuses(_ forwarded: [String], trusted: Set<String>) async throws -> [Int] {
        // Of one task at a time: `with` runs its body once, and returns after it.
        nonisolated(unsafe) var statuses: [Int] = []
        try await TestServer.with(change: {
            $0.trustedProxies = trusted
            $0.limits.address = .init(1, per: 60)
        }) { server async throws in
            for header in forwarded {
                unsafe statuses.append(try await server.get("/v1/devices", headers: ["X-Forwarded-For": header]).status)
            }
        }
        return unsafe statuses
    }

    @Test func clientsOfATrustedProxyAreToldApart() async throws {
        let trusted: Set = ["192.0.2.1", "192.0.2.2"]
        #expect(try await Self.statuses(["198.51.100.1", "198.51.100.2"], trusted: trusted) == [401, 401])
        // Through two of ours; and what the client itself wrote before it counts for nothing.
        let forged = ["10.0.0.1, 198.51.100.1, 192.0.2.2", "10.0.0.2, 198.51.100.1, 192.0.2.2"]
        #expect(try await Self.statuses(forged, trusted: trusted) == [401, 429])
    }

    @Test func addressesAreTheSameHoweverTheyAreWritten() async throws {
        for trusted in ["::ffff:192.0.2.1", "::FFFF:c000:201"] {
            #expect(try await Self.statuses(["198.51.100.1", "198.51.100.2"], trusted: [trusted]) == [401, 401])
        }
        let trusted: Set = ["192.0.2.1", "2001:DB8:0::1"]
        let same = ["198.51.100.1, 2001:db8::1", "::ffff:198.51.100.1, ::ffff:192.0.2.1"]
        #expect(try await Self.statuses(same, trusted: trusted) == [401, 429])
    }

    @Test func whatNobodyTrustsSaysIsNotBelieved() async throws {
        #expect(try await Self.statuses(["198.51.100.1", "198.51.100.2"], trusted: []) == [401, 429])
        #expect(try await Self.statuses(["198.51.100.1", "198.51.100.2"], trusted: ["192.0.2.9"]) == [401, 429])
    }

    @Test func addressesOfOneNetworkCountTogether() {
        let network = SignInServer.network(of: IPAddress("2001:db8:1:2::1"))
        #expect(SignInServer.network(of: IPAddress("2001:db8:1:2:ffff::9")) == network)
        #expect(SignInServer.network(of: IPAddress("2001:db8:1:3::1")) != network)
        #expect(
            SignInServer.network(of: IPAddress("::ffff:192.0.2.1"))
                != SignInServer.network(of: IPAddress("::ffff:192.0.2.2")))
        #expect(
            SignInServer.network(of: IPAddress("::FFFF:192.0.2.1")) == SignInServer.network(of: IPAddress("192.0.2.1")))
        #expect(SignInServer.network(of: IPAddress("192.0.2.1")) != SignInServer.network(of: IPAddress("192.0.2.2")))
        #expect(SignInServer.network(of: IPAddress("not an address")) == "unknown")
    }
}
