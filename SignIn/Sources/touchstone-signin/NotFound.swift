import HTTPTypes
import Hummingbird
import TouchstoneSignInServer

/// Answers what no route takes as the routes answer: `{"error": …}`.
struct NotFound: RouterMiddleware {
    func handle(
        _ request: Request, context: ServeContext,
        next: @concurrent (Request, ServeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return SignInServer.notFound
        }
    }
}
