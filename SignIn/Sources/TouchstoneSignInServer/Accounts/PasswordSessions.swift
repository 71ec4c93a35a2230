import Crypto
import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/password-sessions`: the only route that takes a password (NP-01, NP-20).
    func addPasswordSession(_ call: Call) async throws -> Response {
        let body = try call.decode(Body.Password.self)
        do {
            return try await addPasswordSession(call, body)
        } catch var failure as Failure {
            failure.name = logName(AccountName.normalized(body.name) ?? body.name)
            failure.address = call.address
            throw failure
        }
    }

    /// What the log has for an account's name: the same for each attempt at it, and no name to who has not the
    /// server's secret.
    ///
    /// What was typed there may have been a password.
    func logName(_ name: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("name in the log\u{0}\(name)".utf8), using: configuration.secret)
        return Data(code.prefix(6)).base64URL
    }

    private func addPasswordSession(_ call: Call, _ body: Body.Password) async throws -> Response {
        let limits = configuration.limits
        try await limit(limits.addressPasswords, "password address", Data(call.address.utf8), .limitAddress)
        let name = AccountName.normalized(body.name)
        // If it is not a valid name, its own text: a name that cannot exist costs and counts like one that does not exist.
        let subject = Data((name ?? body.name).utf8)
        try await limit(uses(limits.accountPasswords, "password", subject, .limitAccount, from: call))
        var account: StoredAccount?
        if let name { account = try await store.account(named: name) }
        guard try await matches(body.password, account) else {
            throw Failure.refused(account == nil ? .accountUnknown : .password)
        }
        guard let account else { throw Failure.refused(.accountUnknown) }
        if let secondFactor {
            let accepted = try await secondFactor.accepts(
                body.secondFactor, account: account.name, userHandle: account.userHandle)
            guard accepted else { throw Failure.refused(.secondFactor) }
        }
        let token = configuration.random(32)
        let lifetime = configuration.lifetimes.passwordSession
        do {
            try await store.addPasswordSession(
                hash: token.hashed, userHandle: account.userHandle, passwordHash: account.passwordHash,
                expiresAt: configuration.now + lifetime)
        } catch StoreError.notActive {
            // Removed, or with another password, while this one was looked at.
            throw Failure.refused(.password)
        }
        return try .json(
            Body.PasswordSession(
                token: token.base64URL, userHandle: account.userHandle.base64URL, expiresIn: Int(lifetime)))
    }

    private func matches(_ password: String, _ account: StoredAccount?) async throws -> Bool {
        do {
            return try await passwords.verify(password, against: account?.passwordHash)
        } catch PasswordError.busy {
            throw Failure(answer: .unavailable, reason: .busy, retryAfter: 1)
        }
    }

    /// The account and the session's hash by `Authorization: Bearer`.
    func passwordSession(_ call: Call) async throws -> (userHandle: Data, hash: Data) {
        guard let text = call.credentials("Bearer"), let token = Data(base64URL: text), token.count == 32 else {
            throw Failure.refused(.noToken)
        }
        let hash = token.hashed
        guard let userHandle = try await store.passwordSession(hash: hash, at: configuration.now) else {
            throw Failure.refused(.passwordSession)
        }
        return (userHandle, hash)
    }
}

extension Data {
    /// As secrets are kept.
    var hashed: Data { Data(SHA256.hash(data: self)) }
}
