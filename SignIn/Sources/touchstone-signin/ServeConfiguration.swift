import ArgumentParser
import Foundation
import Logging
import TouchstoneSignInServer

extension Serve {
    func validate() throws {
        guard behindTLSProxy || Self.isThisMachine(address) else {
            throw ValidationError(
                "passwords and tokens would go over the network unencrypted. Put a proxy that ends TLS in front, and say "
                    + "so with --behind-tls-proxy.")
        }
        guard (1...255).contains(audience.utf8.count), !audience.contains("/") else {
            throw ValidationError("an audience is a host name, with :port if it is not 443: signin.example.org")
        }
        guard (1...300).contains(challengeSeconds), (1...600).contains(webRequestSeconds), tokenKeySeconds >= 4 else {
            throw ValidationError(
                "--challenge-seconds has to be 1 to 300, --web-request-seconds 1 to 600, --token-key-seconds at least 4."
            )
        }
        for origin in origin {
            guard let url = URL(string: origin), ["http", "https"].contains(url.scheme), let host = url.host(),
                url.path().isEmpty, url.query() == nil
            else {
                throw ValidationError(
                    "\(origin) is not an origin. An origin looks like https://signin.example.org, without a slash at its end"
                )
            }
            guard url.scheme == "https" || Self.isThisMachine(host) else {
                throw ValidationError(
                    "\(origin): over http, anybody on the way can read the page's cookie and change the page. http is only for 127.0.0.1, "
                        + "[::1] and localhost. Use https://\(host)")
            }
        }
    }

    func server() async throws -> SignInServer {
        let store = try await database.open()
        let logger = logger
        let secret = try SecretFile.read(try secretPath, mayCreate: !database.isShared)
        var configuration = SignInConfiguration(
            audience: audience, origins: origin.isEmpty ? [defaultOrigin] : origin, applications: Set(application),
            secret: secret)
        configuration.trustedProxies = Set(trustedProxy)
        configuration.lifetimes.challenge = TimeInterval(challengeSeconds)
        configuration.lifetimes.webRequest = TimeInterval(webRequestSeconds)
        configuration.lifetimes.tokenKey = TimeInterval(tokenKeySeconds)
        configuration.lifetimes.tokenKeyOverlap = min(Lifetimes().tokenKeyOverlap, TimeInterval(tokenKeySeconds) / 4)
        configuration.limits.address.count = limitPerAddress
        configuration.limits.key.count = limitPerKey
        configuration.limits.account.count = limitPerAccount
        if trustedProxy.isEmpty, behindTLSProxy || !Self.isThisMachine(audienceHost) {
            logger.warning(
                """
                everybody who comes through the proxy that ends TLS shares one limit, and anybody can use it up: name the \
                proxy's address, --trusted-proxy 127.0.0.1 if it runs on this machine
                """)
        }
        do {
            return try await SignInServer(configuration: configuration, store: store, logger: logger)
        } catch TokenKeyError.otherSecret {
            throw ProgramFailure(
                "\(try secretPath) does not have the secret with which the database's keys were sealed. Use the file of the other "
                    + "servers, or the file that you used before.")
        } catch StoreError.unavailable(let reason) {
            throw ProgramFailure("the database does not answer: \(reason)")
        }
    }

    var logger: Logger {
        let format = logFormat
        var logger = Logger(label: "touchstone-signin") { label in
            switch format {
            case .json: JSONLog(label: label)
            case .text: StreamLogHandler.standardError(label: label)
            }
        }
        logger.logLevel = logLevel
        return logger
    }

    private var secretPath: String {
        get throws {
            if let secretFile { return secretFile }
            guard !database.isShared else {
                throw ProgramFailure(
                    "servers that share a database have to share a secret. Name its file with --secret-file.")
            }
            return database.database + ".secret"
        }
    }

    private var defaultOrigin: String { (Self.isThisMachine(audienceHost) ? "http://" : "https://") + audience }

    /// Without the port; the audience may be an IPv6 address in brackets.
    private var audienceHost: String {
        URL(string: "https://\(audience)")?.host() ?? audience
    }

    private static func isThisMachine(_ host: String) -> Bool {
        ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
    }
}
