import Hummingbird

/// Lets in who knows the URL that was printed, from a page of this server or from none.
///
/// `Host` has to be this server's own address, so that no other name leads here (DNS rebinding); whatever changes
/// something has to say that it comes from this page (`Origin`), so that no other page can send it.
struct LoopbackOnly: RouterMiddleware {
    typealias Context = BasicRequestContext

    let token: String
    let isFramed: Bool
    let port: @Sendable () -> Int

    @concurrent
    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            try check(request)
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = Self.policy + (isFramed ? "http://127.0.0.1:*" : "'none'")
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.cacheControl] = "no-store"
        response.headers[.init("Referrer-Policy")!] = "no-referrer"
        response.headers[.init("Cross-Origin-Resource-Policy")!] = "same-origin"
        response.headers[.init("Cross-Origin-Opener-Policy")!] = "same-origin"
        return response
    }

    private func check(_ request: Request) throws {
        let host = "127.0.0.1:\(port())"
        guard request.head.authority == host else { throw HTTPError(.misdirectedRequest) }
        guard request.uri.path.hasPrefix("/\(token)/") else { throw HTTPError(.notFound) }
        guard request.method != .get else { return }
        guard request.headers[.origin] == "http://\(host)",
            request.headers[.contentType]?.hasPrefix("application/json") == true
        else { throw HTTPError(.forbidden) }
    }

    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors\u{20}
        """
}
