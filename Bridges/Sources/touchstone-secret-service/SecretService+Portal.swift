import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel

/// The backend of the Secret portal: one secret for each sandboxed program, made once and then the same for ever (PO-1…9).
///
/// gnome-keyring keeps such a secret as an item with one attribute, `app_id`. Here it is the same, so that both ways of moving take it along.
extension SecretService {
    enum Portal {
        static let path = "/org/freedesktop/portal/desktop"
        static let interface = "org.freedesktop.impl.portal.Secret"
        static let requestInterface = "org.freedesktop.impl.portal.Request"
        /// The name of the frontend, which alone is answered (PO-3).
        static let frontend = "org.freedesktop.portal.Desktop"
        /// Where distributions install it.
        static let frontendPrograms: Set = ["/usr/libexec/xdg-desktop-portal", "/usr/lib/xdg-desktop-portal"]
        static let attribute = "app_id"
        static let version: UInt32 = 1
        static let secretBytes = 64
        /// Of the path of a request.
        static let longestHandle = 255
        /// Programs that have a secret.
        static let programs = 1024
        /// Milliseconds until the reader of a pipe has made room.
        static let patience: Int32 = 10_000
    }

    /// How a request ended, as the portal says it.
    private enum Response: UInt32 {
        case success = 0
        case cancelled = 1
        case other = 2
    }

    /// Answers what is called at the portal's own objects; nil for all others.
    func portal(_ call: BusCall, _ client: BusClient) async throws(Refusal) -> Answer? {
        if let request = portalRequests[call.path] {
            guard request.owner == client.name else { throw .unknownObject }
            guard call.member == "Close", call.interface.map({ $0 == Portal.requestInterface }) ?? true else {
                throw .unknownMethod
            }
            stopWaiting(client, request.waiting)
            wakeAll()
            return Answer()
        }
        guard call.path == Portal.path else { return nil }
        switch (call.interface, call.member, call.signature) {
        case ("org.freedesktop.DBus.Introspectable", "Introspect", ""):
            return Answer(values: [.string(Introspection.portal)])
        case ("org.freedesktop.DBus.Properties", "Get", "ss"):
            guard call.arguments[0].text == Portal.interface, call.arguments[1].text == "version" else {
                throw .unknownProperty
            }
            return Answer(values: [.variant(.uint32(Portal.version))])
        case ("org.freedesktop.DBus.Properties", "GetAll", "s"):
            let isPortals = call.arguments[0].text == Portal.interface
            return Answer(values: [.variants(isPortals ? [("version", .uint32(Portal.version))] : [])])
        case ("org.freedesktop.DBus.Properties", "Set", "ssv"): throw .readOnly
        case (nil, "RetrieveSecret", "osha{sv}"), (Portal.interface, "RetrieveSecret", "osha{sv}"):
            guard let handle = call.arguments[0].object, let app = call.arguments[1].text,
                let file = call.arguments[2].file
            else { throw .invalidArguments }
            let response = try await retrieveSecret(of: app, handle, file, client)
            return Answer(values: [.uint32(response.rawValue), .variants([])])
        case (nil, "RetrieveSecret", _), (Portal.interface, "RetrieveSecret", _): throw .invalidArguments
        default: throw .unknownMethod
        }
    }

    private func retrieveSecret(
        of app: String, _ handle: String, _ file: BusDescriptor, _ client: BusClient
    ) async throws(Refusal) -> Response {
        // Whoever else asks could name any program (PO-3).
        guard let frontend = portalFrontend, frontend == client.name, let program = client.systemProgram,
            Portal.frontendPrograms.contains(program)
        else { throw .accessDenied }
        guard handle.hasPrefix(Portal.path + "/request/"), handle.utf8.count <= Portal.longestHandle,
            portalRequests[handle] == nil
        else { throw .invalidArguments }
        // A program outside a sandbox has no name that anybody vouches for (PO-4).
        guard !app.isEmpty, app.utf8.count <= ItemDescription.Limits.text else { return .other }
        let client = client.asPortal
        let waiting = startWaiting(client, longest: Times.always)
        portalRequests[handle] = PortalRequest(owner: client.name, waiting: waiting)
        let result = await portalSecret(of: app, program, client, waiting)
        stopWaiting(client, waiting)
        portalRequests[handle] = nil
        switch result {
        case .success(let secret):
            let number = file.number
            let written = await onThread { () throws(BridgeFailure) in
                guard Self.write(secret, to: number) else { throw .clientGone }
            }
            // Closed on this thread, which lives long, and not on that one.
            withExtendedLifetime(file) {}
            if case .success = written { return .success }
            return .other
        case .failure(.cancelled), .failure(.denied): return .cancelled
        case .failure(let failure):
            BridgeProcess.log("touchstone-secret-service: the portal got no secret: \(failure)")
            return .other
        }
    }

    /// Waits for a device that is locked or away, as long as the portal does (PO-5).
    private func portalSecret(
        of app: String, _ program: String, _ client: BusClient, _ waiting: Waiting
    ) async -> Result<Data, BridgeFailure> {
        while waiting.isOn {
            var failure = await opened(for: client, waiting)
            if failure == nil {
                do throws(BridgeFailure) {
                    return .success(try await secret(of: app, program, client, waiting))
                } catch {
                    failure = error
                }
            }
            guard let why = failure, [.unavailable, .locked, .displaced, .busy].contains(why) else {
                return .failure(failure ?? .unavailable)
            }
            await change(within: Times.again)
        }
        return .failure(.clientGone)
    }

    /// The secret of a program, which is made where there is none.
    ///
    /// - Throws: `BridgeFailure`; one that is there and cannot be opened is never replaced (PO-9).
    private func secret(
        of app: String, _ program: String, _ client: BusClient, _ waiting: Waiting
    ) async throws(BridgeFailure) -> Data {
        if let name = portalItem(of: app) { return try await secret(in: name, client, waiting) }
        let made: (name: String, secret: Data?)
        do throws(Refusal) {
            made = try await inTurn { () async throws(Refusal) in
                guard isOpen else { throw .isLocked }
                // Another request of the same program may have been quicker.
                if let name = portalItem(of: app) { return (name, nil) }
                let others = items.values.count { $0.description.maker == program && isPortals($0) }
                guard others < Portal.programs, index.count < ItemDescription.Limits.items else {
                    throw .limitsExceeded
                }
                let item = SecretKeychain.Item(
                    name: SecretPath.newName(), label: "Secret of \(app)",
                    description: ItemDescription(
                        collection: Self.login, attributes: [Portal.attribute: app],
                        contentType: "application/octet-stream", maker: program, grantee: client.grantee.program),
                    created: Self.now, modified: Self.now)
                let secret = SymmetricKeyBytes().bytes + SymmetricKeyBytes().bytes
                try await add(item, index.digested(item.description.attributes), secret, client)
                return (item.name, secret)
            }
        } catch {
            throw error == .isLocked ? .locked : .invalid
        }
        if let secret = made.secret { return secret }
        return try await secret(in: made.name, client, waiting)
    }

    private func secret(
        in name: String, _ client: BusClient, _ waiting: Waiting
    ) async throws(BridgeFailure) -> Data {
        // What came in from gnome-keyring was granted to nobody: the owner is asked once.
        let keys = try await keys(of: [name], client, .read, waiting, longest: Times.always)
        let sealed = try await keychain.sealedSecret(of: name)
        guard let key = keys[name], let secret = sealed.open(key, item: name), !secret.isEmpty else {
            throw .invalid
        }
        return secret
    }

    /// The item of a program, if the portal made it, or it came in from gnome-keyring.
    ///
    /// What other programs stored does not count.
    private func portalItem(of app: String) -> String? {
        index.search([Portal.attribute: app], in: Self.login).first { items[$0].map(isPortals) ?? false }
    }

    private func isPortals(_ item: SecretKeychain.Item) -> Bool {
        let attributes = ItemIdentity(label: item.label, item.description.attributes).attributes
        guard attributes.count == 1, attributes[Portal.attribute] != nil, let maker = item.description.maker else {
            return false
        }
        return Portal.frontendPrograms.contains(maker) || NameOwner.givesWay(maker)
    }

    /// Writes a whole secret into a pipe or a socket.
    ///
    /// - Returns: Whether all of it was written within 10 seconds.
    private nonisolated static func write(_ secret: Data, to file: Int32) -> Bool {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else {
            return false
        }
        // A pipe with room takes so few bytes at once, or none of them.
        var entry = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&entry, 1, Portal.patience) == 1, entry.revents & Int16(POLLERR | POLLHUP) == 0 else {
            return false
        }
        return unsafe secret.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            == secret.count
    }
}

/// A request of the portal's that was not answered yet.
struct PortalRequest: Sendable {
    /// The name of the frontend's connection.
    var owner: String
    var waiting: Waiting
}
