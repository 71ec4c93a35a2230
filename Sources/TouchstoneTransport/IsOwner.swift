package import TouchstoneCore
package import TouchstoneInterfaces

/// Proof that the owner's own program is at the other end of a connection, or one of root's.
///
/// Only the check makes one. What only the owner may do takes it as an argument: where the check was forgotten the code does not compile.
package struct IsOwner: Sendable {
    /// Checks who is at the other end.
    ///
    /// An app in a sandbox is not the owner's program, whoever gave it the socket; nor is a program of the owner's of which nobody can
    /// tell what it is. On a device of the system's the program has to be one of those that root listed.
    ///
    /// - Throws: `Refused`: `notOwner`, `notListed`.
    package init(_ connection: VarlinkConnection, of ownerID: UInt32) throws(DeviceInterface.Refused) {
        let peer = connection.peer
        guard peer.userID == ownerID || peer.userID == 0 else { throw .init(.notOwner) }
        guard let app = try? connection.identity() else {
            // Programs of root's do not let a daemon of the owner's look.
            guard peer.userID == 0 else { throw .init(.notOwner) }
            return
        }
        switch app.evidence {
        case .flatpak, .snap: throw .init(.notOwner)
        case .systemdUnit, .executable, .process: break
        }
        guard peer.userID != 0, let programs = peer.ownerPrograms, !programs.contains(app) else { return }
        throw .init(.notListed, program: app.identifier.rawValue, directory: programs.administrators)
    }
}

/// The answer to one method that only the device's owner may call.
///
/// Its body gets the proof. An interface of the owner's takes nothing else, so that none of its methods is open to others.
package struct OwnerHandler: Sendable {
    fileprivate let handler: @Sendable (_ ownerID: UInt32, _ refusal: @escaping Refusal) -> VarlinkHandler

    /// How a refused caller is answered.
    package typealias Refusal = @Sendable (DeviceInterface.Refused) -> any VarlinkError

    /// A method that answers when its body returns.
    ///
    /// What it throws is the answer, if it is a `VarlinkError`.
    package static func method<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, VarlinkConnection, IsOwner) throws -> M.Reply
    ) -> OwnerHandler {
        deferred(method) { parameters, call, owner in
            call.answer(Result { try body(parameters, call.connection, owner) })
        }
    }

    /// A method that answers through its call, when it can.
    ///
    /// The check and the body run on the connection's own thread: nearly all of them wait for the enclave.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - wantsMore: Whether it is a stream, which is refused without `more` before anything else.
    ///   - body: What it does.
    /// - Returns: The handler.
    package static func deferred<M: VarlinkMethod>(
        _ method: M.Type, wantsMore: Bool = false,
        _ body: @escaping @Sendable (M.Parameters, VarlinkCall<M>, IsOwner) -> Void
    ) -> OwnerHandler {
        OwnerHandler { ownerID, refusal in
            .deferred(method) { parameters, call in
                if wantsMore, !call.wantsMore { return call.fail(VarlinkServiceError.ExpectedMore()) }
                // A stream may have no end.
                if wantsMore { call.connection.endTurn() }
                call.connection.perform {
                    do throws(DeviceInterface.Refused) {
                        body(parameters, call, try IsOwner(call.connection, of: ownerID))
                    } catch {
                        call.fail(refusal(error))
                    }
                }
            }
        }
    }
}

extension VarlinkInterface {
    /// An interface of which every method is for the owner alone.
    package init(
        name: String, description: [UInt8], ownerID: UInt32, handlers: [OwnerHandler],
        refusal: @escaping OwnerHandler.Refusal = { $0 }
    ) {
        self.init(name: name, description: description, handlers: handlers.map { $0.handler(ownerID, refusal) })
    }
}

extension VarlinkCall {
    /// Answers with the result, whichever it is; an error that is no answer ends the connection.
    package func answer(_ result: Result<M.Reply, any Error>) {
        switch result {
        case .success(let success): reply(success)
        case .failure(let error as any VarlinkError): fail(error)
        case .failure: drop()
        }
    }
}
