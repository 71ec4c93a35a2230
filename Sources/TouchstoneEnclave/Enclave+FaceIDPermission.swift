package import TouchstoneCore
import TouchstoneLog

/// Which apps may use Face ID, as the owner answered: once for each app, and kept (CE-09, CE-10).
extension Enclave {
    var hasFaceID: Bool { state.biometryType == .faceID }

    /// The owner's answer for an app; nil where there is none yet.
    func faceIDPermission(of app: AppIdentifier) -> Bool? {
        state.faceIDPermissions?.first { $0.app == app }?.isAllowed
    }

    /// Whether the app may use the sensor, or the owner can still be asked; Touch ID is everybody's (CE-12).
    func mayUseBiometry(_ app: AppIdentifier, isDescribed: Bool) -> Bool {
        !hasFaceID || (isDescribed && Self.canBeAnsweredFor(app) && faceIDPermission(of: app) != false)
    }

    /// Whether an answer for this app would be kept: a control character takes six bytes of the state, and no app's name needs one.
    private static func canBeAnsweredFor(_ app: AppIdentifier) -> Bool {
        (1...Limits.appBytes).contains(app.utf8.count)
            && !app.rawValue.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// Why the app cannot use biometry now: rows 1 to 5 of the decision table.
    func biometryRefusal(of app: AppIdentifier, isFaceIDDescribed: Bool, now: Double) -> RefusalCause? {
        if mayUseBiometry(app, isDescribed: isFaceIDDescribed) { return biometryRefusal(now: now) }
        if !isFaceIDDescribed { return .faceIDNotDescribed }
        return Self.canBeAnsweredFor(app) ? .faceIDDenied : .faceIDNotAnswerable
    }

    /// The same, as the code of an evaluation.
    func biometryObstacle(of app: AppIdentifier, isFaceIDDescribed: Bool, now: Double) -> AuthenticationFailure? {
        biometryRefusal(of: app, isFaceIDDescribed: isFaceIDDescribed, now: now)?.failure
    }

    /// Keeps the owner's answer for an app, or forgets it.
    ///
    /// Denied, what faces proved to the app's contexts is forgotten.
    package mutating func setFaceIDPermission(_ isAllowed: Bool?, of app: AppIdentifier, now: Double)
        throws(Refused) -> [EnclaveEvent]
    {
        guard hasFaceID else { throw .init(.noFaceID) }
        guard Self.canBeAnsweredFor(app) else { throw .init(.invalidName) }
        var permissions = state.faceIDPermissions ?? []
        permissions.removeAll { $0.app == app }
        if let isAllowed { permissions.append(.init(app: app, isAllowed: isAllowed)) }
        // Whose answer is forgotten is asked about again, which is all that is lost.
        state.faceIDPermissions = permissions.suffix(Limits.faceIDPermissions)
        if isAllowed == false {
            contexts.forgetBiometry(of: app)
            if contexts.context(evaluation?.context, of: app) != nil { evaluation?.proven.biometry = nil }
        }
        note(
            LogFact(
                event: .permissionDecided, app: app,
                asked: isAllowed.map { $0 ? "allowed" : "denied" } ?? "to be asked again"))
        return faceIDPermissionChanged(of: app, now: now)
    }
}
