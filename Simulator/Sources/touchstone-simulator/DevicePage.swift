import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import TouchstoneDevice

/// One device's page: its files, its events, its calls.
struct DevicePage: Sendable {
    let watch: DeviceWatch
    let calls: DeviceCalls
    /// What stands beside the device.
    let app: ShownApp?
    let key = PageKey()

    init(_ device: Device, app: ShownApp?) {
        watch = DeviceWatch(device, feeds: Feed.all)
        calls = DeviceCalls(device, watch)
        self.app = app
    }

    /// Answers what is asked for below the page's address.
    ///
    /// - Throws: `Refusal`, `DeviceError`.
    func answer(_ request: Request, at path: String) async throws -> Response {
        let (name, query) = (path.prefix { $0 != "?" }, request.uri.queryParameters)
        switch request.method {
        case .get where name == "events": return events(request)
        case .get where name == "key":
            return Response(
                status: .ok, headers: [.contentType: "application/octet-stream"], body: .init(byteBuffer: key.bytes))
        case .get where name == "app":
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(app))))
        case .get:
            return try PageFile.answer(name.isEmpty ? "index.html" : String(name))
        case .post where name.hasPrefix("call/"):
            try Self.check(request, has: "application/json")
            let parameters = try await Self.body(of: request, upTo: Self.maximumCallBytes)
            let reply = try await calls.call(String(name.dropFirst("call/".count)), Data(parameters.readableBytesView))
            return Self.reply(reply)
        case .post where name.hasPrefix("passcode/"):
            try Self.check(request, has: "application/octet-stream")
            var typed = try key.open(
                await Self.body(of: request, upTo: Self.maximumPasscodeBytes + PageKey.overhead), for: path)
            let entries = TypedPasscodes(takingFrom: &typed)
            let use = try PasscodeUse(String(name.dropFirst("passcode/".count)), query)
            return Self.reply(try await calls.enter(entries, for: use))
        default: throw Refusal(.notFound)
        }
    }

    /// A stream of Server-Sent Events, for as long as the tab is there and reads.
    private func events(_ request: Request) -> Response {
        let body = request.body
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: .init { writer in
                let tab = watch.tabs.open()
                defer { watch.tabs.close(tab.number) }
                try? await body.consumeWithCancellationOnInboundClose { _ in
                    for await event in tab.events {
                        try await writer.write(event.frame)
                        watch.tabs.written(event, to: tab.number)
                    }
                }
                // Its end is the connection's: the browser opens another, and is told everything again.
                throw CancellationError()
            })
    }

    private static func check(_ request: Request, has type: String) throws(Refusal) {
        guard request.headers[values: .contentType] == [type] else { throw Refusal(.unsupportedMediaType) }
    }

    private static func body(of request: Request, upTo limit: Int) async throws -> ByteBuffer {
        do {
            return try await request.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw Refusal(.contentTooLarge)
        }
    }

    /// As Varlink has it: `{"parameters": {…}}`, with `"error": NAME` before it where the device did not do it.
    ///
    /// Both with status 200: the device's "no" is not a fault of the page, and browsers show other statuses as faults.
    static func reply(_ parameters: Data, error: String? = nil) -> Response {
        var body = ByteBuffer(string: "{")
        if let error, let name = try? JSONEncoder().encode(error) {
            body.writeString("\"error\":")
            body.writeBytes(name)
            body.writeString(",")
        }
        body.writeString("\"parameters\":")
        body.writeBytes(parameters)
        body.writeString("}")
        return Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: body))
    }

    private static let maximumCallBytes = 16 << 10
    /// Two entries and what parts them; one that is too long is still told so.
    private static let maximumPasscodeBytes = 4 << 10
}
