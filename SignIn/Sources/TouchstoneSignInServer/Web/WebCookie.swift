import Foundation
import Hummingbird
import TouchstoneSignInProtocol

/// The cookies of the page; neither is readable by a script or sent from another site.
enum WebCookie: String, Sendable {
    /// Which browser asked: 32 random bytes.
    case browser
    /// Which browser asked to be signed in with a passkey: 32 random bytes.
    case passkey
    /// The page's session: 32 random bytes.
    case session

    /// `__Host-` binds a cookie to exactly this host, over https; a browser does not accept it otherwise.
    func name(_ configuration: SignInConfiguration) -> String {
        (configuration.isSecure ? "__Host-" : "") + "touchstone-\(rawValue)"
    }

    /// The cookie, or with no value its end.
    ///
    /// `lifetime` in seconds.
    func header(_ value: Data?, lifetime: TimeInterval, _ configuration: SignInConfiguration) -> Cookie {
        Cookie(
            name: name(configuration), value: value?.base64URL ?? "", maxAge: value == nil ? 0 : Int(lifetime),
            path: "/", secure: configuration.isSecure, httpOnly: true, sameSite: .strict)
    }

    /// As it is kept; never the same as a refresh token's.
    func hash(_ value: Data) -> Data { (Data("cookie \(rawValue)\u{0}".utf8) + value).hashed }
}

extension SignInServer {
    func cookie(_ cookie: WebCookie, of call: Call) -> Data? {
        call.cookie(cookie.name(configuration))
    }

    /// Checks that one of our pages asks: a browser sends its origin by itself, and no page can send another one.
    func checkOrigin(_ call: Call) throws {
        guard let origin = call.request.headers[.origin], configuration.origins.contains(origin) else {
            throw Failure.refused(.origin)
        }
    }
}
