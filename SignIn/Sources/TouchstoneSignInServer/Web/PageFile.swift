import HTTPTypes
import Hummingbird

/// The page's files, which the program has in itself.
enum PageFile {
    static let routes: [Route] = [
        route("/", "text/html; charset=utf-8", PackageResources.index_html),
        route("/signin.js", "text/javascript; charset=utf-8", PackageResources.signin_js),
        route("/style.css", "text/css; charset=utf-8", PackageResources.style_css),
        route("/icon.svg", "image/svg+xml", PackageResources.icon_svg),
    ]

    /// Where the approver on the owner's machine listens (docs/sign-in.md).
    static let approver = "http://127.0.0.1:47813"

    private static func route(_ path: String, _ type: String, _ bytes: [UInt8]) -> Route {
        Route(.get, path) { server, _ in
            var response = Response(bytes: bytes, type: type)
            for (name, value) in headers(isSecure: server.configuration.isSecure) {
                response.headers[HTTPField.Name(name)!] = value
            }
            return response
        }
    }

    private static func headers(isSecure: Bool) -> [(String, String)] {
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
            "connect-src 'self' \(approver)", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ]
        let headers = [
            ("Content-Security-Policy", policy.joined(separator: "; ")), ("Cross-Origin-Opener-Policy", "same-origin"),
            // Not no-referrer: with it a browser says `Origin: null` to our own routes.
            ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
        ]
        return headers + (isSecure ? [("Strict-Transport-Security", "max-age=31536000")] : [])
    }
}
