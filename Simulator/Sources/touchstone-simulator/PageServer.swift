import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import TouchstoneDevice

/// Lets requests in, and has a device's page answer them.
struct PageServer: HTTPResponder {
    typealias Context = PageContext
    let door: Door
    let visitors: Visitors
    /// The devices that are shown: one, or two side by side.
    let pages: [DevicePage]

    func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        do {
            let path = try door.admit(request.head)
            visitors.forget(context.connection)
            response = try await answer(request, at: path)
        } catch let refusal as Refusal {
            response = Response(status: refusal.status)
        } catch let error as DeviceError {
            response = Self.response(to: error)
        }
        for (name, value) in Self.headers { response.headers[name] = value }
        response.headers[.contentSecurityPolicy] = policy
        return response
    }

    /// Two devices are two pages in the frames of a third one.
    private func answer(_ request: Request, at path: String) async throws -> Response {
        if pages.count == 1 { return try await pages[0].answer(request, at: path) }
        for (place, page) in zip(Self.places, pages) where path.hasPrefix(place) {
            return try await page.answer(request, at: String(path.dropFirst(place.count)))
        }
        guard request.method == .get else { throw Refusal(.notFound) }
        return try PageFile.answer(path.isEmpty ? "beside.html" : path)
    }

    /// As the frames of `beside.html` name them.
    private static let places = ["left/", "right/"]

    private static func response(to error: DeviceError) -> Response {
        switch error {
        case .answered(let name, let parameters): DevicePage.reply(parameters, error: name)
        case .passcodeTooLong:
            DevicePage.reply(Data(#"{"reason":"passcodeTooLong"}"#.utf8), error: "io.touchstone.Device.Refused")
        case .malformedRequest: Response(status: .badRequest)
        case .notBooted, .closed, .malformedReply, .passcodeKey, .invalidName: Response(status: .serviceUnavailable)
        }
    }

    private var policy: String {
        let isFramed = pages.count > 1
        let framed = [isFramed ? "'self'" : nil, pages.lazy.compactMap(\.app?.origin).first].compactMap(\.self)
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "frame-ancestors \(isFramed ? "'self'" : "'none'"); form-action 'none'; base-uri 'none'; "
            + "frame-src \(framed.isEmpty ? "'none'" : framed.joined(separator: " "))"
    }

    /// On every answer.
    private static let headers: [(HTTPField.Name, String)] = [
        (.cacheControl, "no-store"),
        (.xContentTypeOptions, "nosniff"),
        (.referrerPolicy, "no-referrer"),
        (.crossOriginResourcePolicy, "same-origin"),
        (.crossOriginOpenerPolicy, "same-origin"),
    ]
}
