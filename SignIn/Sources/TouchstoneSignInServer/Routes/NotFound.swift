public import Hummingbird

extension SignInServer {
    /// For what no route takes.
    public static var notFound: Response { Response(Failure(answer: .notFound, reason: .route)) }
}
