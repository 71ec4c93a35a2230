import HTTPTypes
import Hummingbird

extension SignInServer {
    /// Answers 405 with `Allow` where a path of ours is asked with a method that it has not.
    func addRefusals<Router: RouterMethods>(of routes: [Route], to router: Router) {
        let query = HTTPRequest.Method("QUERY")!
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace, query]
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            let allowed = routes.map(\.method)
            // HEAD is the router's to make of GET, where it is asked to.
            for method in methods where !allowed.contains(method) && !(method == .head && allowed.contains(.get)) {
                router.on(RouterPath(path), method: method) { _, _ in
                    var response = Response(Failure(answer: .methodNotAllowed, reason: .method))
                    response.headers[.allow] = allowed.map(\.rawValue).sorted().joined(separator: ", ")
                    return response
                }
            }
        }
    }
}
