import Foundation
import LocalAuthentication
import Security

/// A member of LocalAuthentication that this file names, with the type that Apple's table gives it: without it nothing here compiles.
struct ImplementedMember {
    let name: String
    /// The raw value, or what a new object has; nil if there is none.
    let value: String?

    /// A constant, or a case by its raw value.
    static func value(_ name: String, _ value: some CustomStringConvertible) -> ImplementedMember {
        ImplementedMember(name: name, value: value.description)
    }

    /// Anything else; `use` is never run.
    static func member<Use>(_ name: String, _ use: Use) -> ImplementedMember {
        ImplementedMember(name: name, value: nil)
    }

    /// A property of a context as it is when the context is new.
    static func fresh<Value>(_ name: String, _ property: (LAContext) -> Value?) -> ImplementedMember {
        let value = property(LAContext())
        return ImplementedMember(
            name: name, value: value.map { $0 as? String == "" ? "\"\"" : "\($0)" } ?? "nil")
    }
}

private typealias Failing = @Sendable ((any Error)?) -> Void
private typealias Giving<Value> = @Sendable (Value?, (any Error)?) -> Void

/// Every member, held against the copied table of Apple.
let implementedMembers: [ImplementedMember] =
    constants + cases + contextMembers + domainStateMembers + environmentMembers
    + rightMembers + keyMembers

private let constants: [ImplementedMember] = [
    .value("LAErrorDomain", LAErrorDomain),
    .value("kLAErrorDomain", kLAErrorDomain),
    .value(
        "LATouchIDAuthenticationMaximumAllowableReuseDuration", LATouchIDAuthenticationMaximumAllowableReuseDuration),
    .value("kLAPolicyDeviceOwnerAuthenticationWithBiometrics", kLAPolicyDeviceOwnerAuthenticationWithBiometrics),
    .value("kLAPolicyDeviceOwnerAuthentication", kLAPolicyDeviceOwnerAuthentication),
    .value("kLAPolicyDeviceOwnerAuthenticationWithWatch", kLAPolicyDeviceOwnerAuthenticationWithWatch),
    .value("kLAPolicyDeviceOwnerAuthenticationWithCompanion", kLAPolicyDeviceOwnerAuthenticationWithCompanion),
    .value(
        "kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch",
        kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch),
    .value(
        "kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion",
        kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion),
    .value(
        "kLAPolicyDeviceOwnerAuthenticationWithWristDetection", kLAPolicyDeviceOwnerAuthenticationWithWristDetection),
    .value("kLABiometryTypeNone", kLABiometryTypeNone),
    .value("kLABiometryTypeTouchID", kLABiometryTypeTouchID),
    .value("kLABiometryTypeFaceID", kLABiometryTypeFaceID),
    .value("kLABiometryTypeOpticID", kLABiometryTypeOpticID),
    .value("kLACompanionTypeNone", kLACompanionTypeNone),
    .value("kLACompanionTypeWatch", kLACompanionTypeWatch),
    .value("kLACompanionTypeMac", kLACompanionTypeMac),
    .value("kLACompanionTypeVision", kLACompanionTypeVision),
    .value("kLACredentialTypeApplicationPassword", kLACredentialTypeApplicationPassword),
    .value("kLACredentialSmartCardPIN", kLACredentialSmartCardPIN),
    .value("kLAAccessControlOperationCreateItem", kLAAccessControlOperationCreateItem),
    .value("kLAAccessControlOperationUseItem", kLAAccessControlOperationUseItem),
    .value("kLAAccessControlOperationCreateKey", kLAAccessControlOperationCreateKey),
    .value("kLAAccessControlOperationUseKeySign", kLAAccessControlOperationUseKeySign),
    .value("kLAAccessControlOperationUseKeyDecrypt", kLAAccessControlOperationUseKeyDecrypt),
    .value("kLAAccessControlOperationUseKeyKeyExchange", kLAAccessControlOperationUseKeyKeyExchange),
    .value("kLAErrorAuthenticationFailed", kLAErrorAuthenticationFailed),
    .value("kLAErrorUserCancel", kLAErrorUserCancel),
    .value("kLAErrorUserFallback", kLAErrorUserFallback),
    .value("kLAErrorSystemCancel", kLAErrorSystemCancel),
    .value("kLAErrorPasscodeNotSet", kLAErrorPasscodeNotSet),
    .value("kLAErrorTouchIDNotAvailable", kLAErrorTouchIDNotAvailable),
    .value("kLAErrorTouchIDNotEnrolled", kLAErrorTouchIDNotEnrolled),
    .value("kLAErrorTouchIDLockout", kLAErrorTouchIDLockout),
    .value("kLAErrorAppCancel", kLAErrorAppCancel),
    .value("kLAErrorInvalidContext", kLAErrorInvalidContext),
    .value("kLAErrorBiometryNotAvailable", kLAErrorBiometryNotAvailable),
    .value("kLAErrorBiometryNotEnrolled", kLAErrorBiometryNotEnrolled),
    .value("kLAErrorBiometryLockout", kLAErrorBiometryLockout),
    .value("kLAErrorWatchNotAvailable", kLAErrorWatchNotAvailable),
    .value("kLAErrorCompanionNotAvailable", kLAErrorCompanionNotAvailable),
    .value("kLAErrorBiometryNotPaired", kLAErrorBiometryNotPaired),
    .value("kLAErrorBiometryDisconnected", kLAErrorBiometryDisconnected),
    .value("kLAErrorInvalidDimensions", kLAErrorInvalidDimensions),
    .value("kLAErrorNotInteractive", kLAErrorNotInteractive),
]

private let cases: [ImplementedMember] = [
    .member("LAPolicy.init(rawValue:)", LAPolicy.init(rawValue:) as (Int) -> LAPolicy?),
    .value(
        "LAPolicy.deviceOwnerAuthenticationWithBiometrics", LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue),
    .value("LAPolicy.deviceOwnerAuthentication", LAPolicy.deviceOwnerAuthentication.rawValue),
    .value("LAPolicy.deviceOwnerAuthenticationWithCompanion", LAPolicy.deviceOwnerAuthenticationWithCompanion.rawValue),
    .value(
        "LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion",
        LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion.rawValue),
    .value("LAPolicy.deviceOwnerAuthenticationWithWatch", LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue),
    .value(
        "LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch",
        LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue),
    .member("LAError.Code.init(rawValue:)", LAError.Code.init(rawValue:) as (Int) -> LAError.Code?),
    .value("LAError.Code.authenticationFailed", LAError.Code.authenticationFailed.rawValue),
    .value("LAError.Code.userCancel", LAError.Code.userCancel.rawValue),
    .value("LAError.Code.userFallback", LAError.Code.userFallback.rawValue),
    .value("LAError.Code.systemCancel", LAError.Code.systemCancel.rawValue),
    .value("LAError.Code.passcodeNotSet", LAError.Code.passcodeNotSet.rawValue),
    .value("LAError.Code.touchIDNotAvailable", LAError.Code.touchIDNotAvailable.rawValue),
    .value("LAError.Code.touchIDNotEnrolled", LAError.Code.touchIDNotEnrolled.rawValue),
    .value("LAError.Code.touchIDLockout", LAError.Code.touchIDLockout.rawValue),
    .value("LAError.Code.appCancel", LAError.Code.appCancel.rawValue),
    .value("LAError.Code.invalidContext", LAError.Code.invalidContext.rawValue),
    .value("LAError.Code.biometryNotAvailable", LAError.Code.biometryNotAvailable.rawValue),
    .value("LAError.Code.biometryNotEnrolled", LAError.Code.biometryNotEnrolled.rawValue),
    .value("LAError.Code.biometryLockout", LAError.Code.biometryLockout.rawValue),
    .value("LAError.Code.watchNotAvailable", LAError.Code.watchNotAvailable.rawValue),
    .value("LAError.Code.companionNotAvailable", LAError.Code.companionNotAvailable.rawValue),
    .value("LAError.Code.biometryNotPaired", LAError.Code.biometryNotPaired.rawValue),
    .value("LAError.Code.biometryDisconnected", LAError.Code.biometryDisconnected.rawValue),
    .value("LAError.Code.invalidDimensions", LAError.Code.invalidDimensions.rawValue),
    .value("LAError.Code.notInteractive", LAError.Code.notInteractive.rawValue),
    .member("LABiometryType.init(rawValue:)", LABiometryType.init(rawValue:) as (Int) -> LABiometryType?),
    .value("LABiometryType.none", LABiometryType.none.rawValue),
    .value("LABiometryType.touchID", LABiometryType.touchID.rawValue),
    .value("LABiometryType.faceID", LABiometryType.faceID.rawValue),
    .value("LABiometryType.opticID", LABiometryType.opticID.rawValue),
    .value("LABiometryType.LABiometryNone", LABiometryType.LABiometryNone.rawValue),
    .member("LACompanionType.init(rawValue:)", LACompanionType.init(rawValue:) as (Int) -> LACompanionType?),
    .value("LACompanionType.watch", LACompanionType.watch.rawValue),
    .value("LACompanionType.mac", LACompanionType.mac.rawValue),
    .value("LACompanionType.vision", LACompanionType.vision.rawValue),
    .member("LACredentialType.init(rawValue:)", LACredentialType.init(rawValue:) as (Int) -> LACredentialType?),
    .value("LACredentialType.applicationPassword", LACredentialType.applicationPassword.rawValue),
    .value("LACredentialType.smartCardPIN", LACredentialType.smartCardPIN.rawValue),
    .member(
        "LAAccessControlOperation.init(rawValue:)",
        LAAccessControlOperation.init(rawValue:) as (Int) -> LAAccessControlOperation?),
    .value("LAAccessControlOperation.createItem", LAAccessControlOperation.createItem.rawValue),
    .value("LAAccessControlOperation.useItem", LAAccessControlOperation.useItem.rawValue),
    .value("LAAccessControlOperation.createKey", LAAccessControlOperation.createKey.rawValue),
    .value("LAAccessControlOperation.useKeySign", LAAccessControlOperation.useKeySign.rawValue),
    .value("LAAccessControlOperation.useKeyDecrypt", LAAccessControlOperation.useKeyDecrypt.rawValue),
    .value("LAAccessControlOperation.useKeyKeyExchange", LAAccessControlOperation.useKeyKeyExchange.rawValue),
    .member("LARight.State.init(rawValue:)", LARight.State.init(rawValue:) as (Int) -> LARight.State?),
    .value("LARight.State.unknown", LARight.State.unknown.rawValue),
    .value("LARight.State.authorizing", LARight.State.authorizing.rawValue),
    .value("LARight.State.authorized", LARight.State.authorized.rawValue),
    .value("LARight.State.notAuthorized", LARight.State.notAuthorized.rawValue),
    .value("LAError.authenticationFailed", LAError.authenticationFailed.rawValue),
    .value("LAError.userCancel", LAError.userCancel.rawValue),
    .value("LAError.userFallback", LAError.userFallback.rawValue),
    .value("LAError.systemCancel", LAError.systemCancel.rawValue),
    .value("LAError.passcodeNotSet", LAError.passcodeNotSet.rawValue),
    .value("LAError.touchIDNotAvailable", LAError.touchIDNotAvailable.rawValue),
    .value("LAError.touchIDNotEnrolled", LAError.touchIDNotEnrolled.rawValue),
    .value("LAError.touchIDLockout", LAError.touchIDLockout.rawValue),
    .value("LAError.appCancel", LAError.appCancel.rawValue),
    .value("LAError.invalidContext", LAError.invalidContext.rawValue),
    .value("LAError.biometryNotAvailable", LAError.biometryNotAvailable.rawValue),
    .value("LAError.biometryNotEnrolled", LAError.biometryNotEnrolled.rawValue),
    .value("LAError.biometryLockout", LAError.biometryLockout.rawValue),
    .value("LAError.watchNotAvailable", LAError.watchNotAvailable.rawValue),
    .value("LAError.companionNotAvailable", LAError.companionNotAvailable.rawValue),
    .value("LAError.biometryNotPaired", LAError.biometryNotPaired.rawValue),
    .value("LAError.biometryDisconnected", LAError.biometryDisconnected.rawValue),
    .value("LAError.invalidDimensions", LAError.invalidDimensions.rawValue),
    .value("LAError.notInteractive", LAError.notInteractive.rawValue),
    .value("LAError.errorDomain", LAError.errorDomain),
    .member("LAError.init(_:userInfo:)", LAError.init(_:userInfo:) as (LAError.Code, [String: Any]) -> LAError),
    .member("LAError.code", \.code as KeyPath<LAError, LAError.Code>),
    .member("LAError.errorCode", \.errorCode as KeyPath<LAError, Int>),
    .member("LAError.errorUserInfo", \.errorUserInfo as KeyPath<LAError, [String: Any]>),
    .member("LAError.localizedDescription", \.localizedDescription as KeyPath<LAError, String>),
    .member("LAError.Code.~=", { (code: LAError.Code, error: any Error) -> Bool in code ~= error }),
]

private let contextMembers: [ImplementedMember] = [
    .member("LAContext.init()", LAContext.init as () -> LAContext),
    .member(
        "LAContext.canEvaluatePolicy(_:error:)",
        LAContext.canEvaluatePolicy(_:error:) as (LAContext) -> (LAPolicy, NSErrorPointer) -> Bool),
    .member(
        "LAContext.evaluatePolicy(_:localizedReason:reply:)",
        LAContext.evaluatePolicy(_:localizedReason:reply:)
            as (LAContext) -> (LAPolicy, String, @escaping @Sendable (Bool, (any Error)?) -> Void) -> Void),
    .member(
        "LAContext.evaluatePolicy(_:localizedReason:)",
        { (context: LAContext) async throws -> Bool in
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "")
        }),
    .member(
        "LAContext.evaluateAccessControl(_:operation:localizedReason:reply:)",
        LAContext.evaluateAccessControl(_:operation:localizedReason:reply:)
            as (LAContext) -> (
                SecAccessControl, LAAccessControlOperation, String, @escaping @Sendable (Bool, (any Error)?) -> Void
            ) -> Void),
    .member(
        "LAContext.evaluateAccessControl(_:operation:localizedReason:)",
        { (context: LAContext, control: SecAccessControl) async throws -> Bool in
            try await context.evaluateAccessControl(control, operation: .useItem, localizedReason: "")
        }),
    .member("LAContext.invalidate()", LAContext.invalidate as (LAContext) -> () -> Void),
    .member(
        "LAContext.setCredential(_:type:)",
        LAContext.setCredential(_:type:) as (LAContext) -> (Data?, LACredentialType) -> Bool),
    .member("LAContext.isCredentialSet(_:)", LAContext.isCredentialSet as (LAContext) -> (LACredentialType) -> Bool),
    .fresh("LAContext.localizedFallbackTitle") { $0[keyPath: \.localizedFallbackTitle as Stored<LAContext, String?>] },
    .fresh("LAContext.localizedCancelTitle") { $0[keyPath: \.localizedCancelTitle as Stored<LAContext, String?>] },
    .fresh("LAContext.maxBiometryFailures") { $0[keyPath: \.maxBiometryFailures as Stored<LAContext, NSNumber?>] },
    .fresh("LAContext.evaluatedPolicyDomainState") {
        $0[keyPath: \.evaluatedPolicyDomainState as KeyPath<LAContext, Data?>]
    },
    .member("LAContext.domainState", \.domainState as KeyPath<LAContext, LADomainState>),
    .fresh("LAContext.touchIDAuthenticationAllowableReuseDuration") {
        $0[keyPath: \.touchIDAuthenticationAllowableReuseDuration as Stored<LAContext, TimeInterval>]
    },
    .fresh("LAContext.localizedReason") { $0[keyPath: \.localizedReason as Stored<LAContext, String>] },
    .fresh("LAContext.interactionNotAllowed") { $0[keyPath: \.interactionNotAllowed as Stored<LAContext, Bool>] },
    .member("LAContext.biometryType", \.biometryType as KeyPath<LAContext, LABiometryType>),
]

private typealias Stored = ReferenceWritableKeyPath

private let domainStateMembers: [ImplementedMember] = [
    .member("LADomainState.biometry", \.biometry as KeyPath<LADomainState, LADomainStateBiometry>),
    .member("LADomainState.companion", \.companion as KeyPath<LADomainState, LADomainStateCompanion>),
    .member("LADomainState.stateHash", \.stateHash as KeyPath<LADomainState, Data?>),
    .member("LADomainStateBiometry.biometryType", \.biometryType as KeyPath<LADomainStateBiometry, LABiometryType>),
    .member("LADomainStateBiometry.stateHash", \.stateHash as KeyPath<LADomainStateBiometry, Data?>),
    .member(
        "LADomainStateCompanion.availableCompanionTypes",
        \.availableCompanionTypes as KeyPath<LADomainStateCompanion, Set<LACompanionType>>),
    .member("LADomainStateCompanion.stateHash", \.stateHash as KeyPath<LADomainStateCompanion, Data?>),
    .member(
        "LADomainStateCompanion.stateHash(for:)",
        LADomainStateCompanion.stateHash(for:) as (LADomainStateCompanion) -> (LACompanionType) -> Data?),
]

/// Conforms with the method of the protocol, spelled as Apple spells it.
private final class Observer: NSObject, LAEnvironment.Observer {
    func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {}
}

private func sendable<Value: NSObject & Sendable & NSCopying>(_ type: Value.Type) {}

private let environmentMembers: [ImplementedMember] = [
    .member("LAEnvironment.currentUser", { () -> LAEnvironment in LAEnvironment.currentUser }),
    .member("LAEnvironment.state", \.state as KeyPath<LAEnvironment, LAEnvironment.State>),
    .member(
        "LAEnvironment.addObserver(_:)",
        LAEnvironment.addObserver as (LAEnvironment) -> (any LAEnvironment.Observer) -> Void),
    .member(
        "LAEnvironment.removeObserver(_:)",
        LAEnvironment.removeObserver as (LAEnvironment) -> (any LAEnvironment.Observer) -> Void),
    .member(
        "LAEnvironment.Observer.environment(_:stateDidChangeFromOldState:)",
        Observer.environment(_:stateDidChangeFromOldState:)
            as (Observer) -> (LAEnvironment, LAEnvironment.State) -> Void),
    .member("LAEnvironment.State: Sendable", { sendable(LAEnvironment.State.self) }),
    .member(
        "LAEnvironment.State.biometry", \.biometry as KeyPath<LAEnvironment.State, LAEnvironment.MechanismBiometry?>),
    .member(
        "LAEnvironment.State.userPassword",
        \.userPassword as KeyPath<LAEnvironment.State, LAEnvironment.MechanismUserPassword?>),
    .member(
        "LAEnvironment.State.companions",
        \.companions as KeyPath<LAEnvironment.State, [LAEnvironment.MechanismCompanion]>),
    .member(
        "LAEnvironment.State.allMechanisms", \.allMechanisms as KeyPath<LAEnvironment.State, [LAEnvironment.Mechanism]>),
    .member("LAEnvironment.Mechanism.isUsable", \.isUsable as KeyPath<LAEnvironment.Mechanism, Bool>),
    .member("LAEnvironment.Mechanism.localizedName", \.localizedName as KeyPath<LAEnvironment.Mechanism, String>),
    .member("LAEnvironment.Mechanism.iconSystemName", \.iconSystemName as KeyPath<LAEnvironment.Mechanism, String>),
    .member(
        "LAEnvironment.MechanismBiometry.biometryType",
        \.biometryType as KeyPath<LAEnvironment.MechanismBiometry, LABiometryType>),
    .member(
        "LAEnvironment.MechanismBiometry.isEnrolled", \.isEnrolled as KeyPath<LAEnvironment.MechanismBiometry, Bool>),
    .member(
        "LAEnvironment.MechanismBiometry.isLockedOut", \.isLockedOut as KeyPath<LAEnvironment.MechanismBiometry, Bool>),
    .member("LAEnvironment.MechanismBiometry.stateHash", \.stateHash as KeyPath<LAEnvironment.MechanismBiometry, Data>),
    .member(
        "LAEnvironment.MechanismBiometry.builtInSensorInaccessible",
        \.builtInSensorInaccessible as KeyPath<LAEnvironment.MechanismBiometry, Bool>),
    .member(
        "LAEnvironment.MechanismCompanion.type", \.type as KeyPath<LAEnvironment.MechanismCompanion, LACompanionType>),
    .member(
        "LAEnvironment.MechanismCompanion.stateHash", \.stateHash as KeyPath<LAEnvironment.MechanismCompanion, Data?>),
    .member("LAEnvironment.MechanismUserPassword.isSet", \.isSet as KeyPath<LAEnvironment.MechanismUserPassword, Bool>),
]

private let rightMembers: [ImplementedMember] = [
    .member("LARight.init()", LARight.init as () -> LARight),
    .member("LARight.init(requirement:)", LARight.init(requirement:) as (LAAuthenticationRequirement) -> LARight),
    .member("LARight.state", \.state as KeyPath<LARight, LARight.State>),
    .value("LARight.tag", LARight()[keyPath: \.tag as Stored<LARight, Int>]),
    .member(
        "LARight.authorize(localizedReason:completion:)",
        LARight.authorize(localizedReason:completion:) as (LARight) -> (String, @escaping Failing) -> Void),
    .member(
        "LARight.authorize(localizedReason:)",
        { (right: LARight) async throws in try await right.authorize(localizedReason: "") }),
    .member(
        "LARight.checkCanAuthorize(completion:)",
        LARight.checkCanAuthorize(completion:) as (LARight) -> (@escaping Failing) -> Void),
    .member(
        "LARight.checkCanAuthorize()",
        { (right: LARight) async throws in try await right.checkCanAuthorize() }),
    .member(
        "LARight.deauthorize(completion:)",
        LARight.deauthorize(completion:) as (LARight) -> (@escaping @Sendable () -> Void) -> Void),
    .member(
        "LARight.deauthorize()",
        { (right: LARight) async in await right.deauthorize() }),
    .member("LAPersistedRight.key", \.key as KeyPath<LAPersistedRight, LAPrivateKey>),
    .member("LAPersistedRight.secret", \.secret as KeyPath<LAPersistedRight, LASecret>),
    .member("LARightStore.shared", { () -> LARightStore in LARightStore.shared }),
    .member(
        "LARightStore.right(forIdentifier:completion:)",
        LARightStore.right(forIdentifier:completion:)
            as (LARightStore) -> (String, @escaping Giving<LAPersistedRight>) -> Void),
    .member(
        "LARightStore.right(forIdentifier:)",
        { () async throws in try await LARightStore.shared.right(forIdentifier: "") as LAPersistedRight }),
    .member(
        "LARightStore.saveRight(_:identifier:completion:)",
        LARightStore.saveRight(_:identifier:completion:)
            as (LARightStore) -> (LARight, String, @escaping Giving<LAPersistedRight>) -> Void),
    .member(
        "LARightStore.saveRight(_:identifier:)",
        { (right: LARight) async throws in
            try await LARightStore.shared.saveRight(right, identifier: "") as LAPersistedRight
        }),
    .member(
        "LARightStore.saveRight(_:identifier:secret:completion:)",
        LARightStore.saveRight(_:identifier:secret:completion:)
            as (LARightStore) -> (LARight, String, Data, @escaping Giving<LAPersistedRight>) -> Void),
    .member(
        "LARightStore.saveRight(_:identifier:secret:)",
        { (right: LARight) async throws in
            try await LARightStore.shared.saveRight(right, identifier: "", secret: Data()) as LAPersistedRight
        }),
    .member(
        "LARightStore.removeRight(_:completion:)",
        LARightStore.removeRight(_:completion:) as (LARightStore) -> (LAPersistedRight, @escaping Failing) -> Void),
    .member(
        "LARightStore.removeRight(_:)",
        { (right: LAPersistedRight) async throws in try await LARightStore.shared.removeRight(right) }),
    .member(
        "LARightStore.removeRight(forIdentifier:completion:)",
        LARightStore.removeRight(forIdentifier:completion:) as (LARightStore) -> (String, @escaping Failing) -> Void),
    .member(
        "LARightStore.removeRight(forIdentifier:)",
        { () async throws in try await LARightStore.shared.removeRight(forIdentifier: "") }),
    .member(
        "LARightStore.removeAllRights(completion:)",
        LARightStore.removeAllRights(completion:) as (LARightStore) -> (@escaping Failing) -> Void),
    .member(
        "LARightStore.removeAllRights()",
        { () async throws in try await LARightStore.shared.removeAllRights() }),
    .member(
        "LAAuthenticationRequirement.default",
        { () -> LAAuthenticationRequirement in .default }),
    .member(
        "LAAuthenticationRequirement.biometry",
        { () -> LAAuthenticationRequirement in .biometry }),
    .member(
        "LAAuthenticationRequirement.biometryCurrentSet",
        { () -> LAAuthenticationRequirement in .biometryCurrentSet }),
    .member(
        "LAAuthenticationRequirement.biometry(fallback:)",
        LAAuthenticationRequirement.biometry(fallback:)
            as (LABiometryFallbackRequirement) -> LAAuthenticationRequirement),
    .member(
        "LABiometryFallbackRequirement.default",
        { () -> LABiometryFallbackRequirement in .default }),
    .member(
        "LABiometryFallbackRequirement.devicePasscode",
        { () -> LABiometryFallbackRequirement in .devicePasscode }),
]

private let keyMembers: [ImplementedMember] = [
    .member(
        "LASecret.loadData(completion:)",
        LASecret.loadData(completion:) as (LASecret) -> (@escaping Giving<Data>) -> Void),
    .member(
        "LASecret.rawData",
        { (secret: LASecret) async throws -> Data in try await secret.rawData }),
    .member(
        "LAPublicKey.exportBytes(completion:)",
        LAPublicKey.exportBytes(completion:) as (LAPublicKey) -> (@escaping Giving<Data>) -> Void),
    .member(
        "LAPublicKey.bytes",
        { (key: LAPublicKey) async throws -> Data in try await key.bytes }),
    .member(
        "LAPublicKey.encrypt(_:algorithm:completion:)",
        LAPublicKey.encrypt(_:algorithm:completion:)
            as (LAPublicKey) -> (Data, SecKeyAlgorithm, @escaping Giving<Data>) -> Void),
    .member(
        "LAPublicKey.encrypt(_:algorithm:)",
        { (key: LAPublicKey, algorithm: SecKeyAlgorithm) async throws -> Data in
            try await key.encrypt(Data(), algorithm: algorithm)
        }),
    .member(
        "LAPublicKey.verify(_:signature:algorithm:completion:)",
        LAPublicKey.verify(_:signature:algorithm:completion:)
            as (LAPublicKey) -> (Data, Data, SecKeyAlgorithm, @escaping Failing) -> Void),
    .member(
        "LAPublicKey.verify(_:signature:algorithm:)",
        { (key: LAPublicKey, algorithm: SecKeyAlgorithm) async throws in
            try await key.verify(Data(), signature: Data(), algorithm: algorithm)
        }),
    .member(
        "LAPublicKey.canEncrypt(using:)",
        LAPublicKey.canEncrypt(using:) as (LAPublicKey) -> (SecKeyAlgorithm) -> Bool),
    .member(
        "LAPublicKey.canVerify(using:)",
        LAPublicKey.canVerify(using:) as (LAPublicKey) -> (SecKeyAlgorithm) -> Bool),
    .member("LAPrivateKey.publicKey", \.publicKey as KeyPath<LAPrivateKey, LAPublicKey>),
    .member(
        "LAPrivateKey.sign(_:algorithm:completion:)",
        LAPrivateKey.sign(_:algorithm:completion:)
            as (LAPrivateKey) -> (Data, SecKeyAlgorithm, @escaping Giving<Data>) -> Void),
    .member(
        "LAPrivateKey.sign(_:algorithm:)",
        { (key: LAPrivateKey, algorithm: SecKeyAlgorithm) async throws -> Data in
            try await key.sign(Data(), algorithm: algorithm)
        }),
    .member(
        "LAPrivateKey.decrypt(_:algorithm:completion:)",
        LAPrivateKey.decrypt(_:algorithm:completion:)
            as (LAPrivateKey) -> (Data, SecKeyAlgorithm, @escaping Giving<Data>) -> Void),
    .member(
        "LAPrivateKey.decrypt(_:algorithm:)",
        { (key: LAPrivateKey, algorithm: SecKeyAlgorithm) async throws -> Data in
            try await key.decrypt(Data(), algorithm: algorithm)
        }),
    .member(
        "LAPrivateKey.exchangeKeys(publicKey:algorithm:parameters:completion:)",
        LAPrivateKey.exchangeKeys(publicKey:algorithm:parameters:completion:)
            as (LAPrivateKey) -> (
                Data, SecKeyAlgorithm, [AnyHashable: Any], @escaping Giving<Data>
            ) -> Void),
    .member(
        "LAPrivateKey.exchangeKeys(publicKey:algorithm:parameters:)",
        { (key: LAPrivateKey, algorithm: SecKeyAlgorithm) async throws -> Data in
            try await key.exchangeKeys(publicKey: Data(), algorithm: algorithm, parameters: [:])
        }),
    .member(
        "LAPrivateKey.canSign(using:)",
        LAPrivateKey.canSign(using:) as (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool),
    .member(
        "LAPrivateKey.canDecrypt(using:)",
        LAPrivateKey.canDecrypt(using:) as (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool),
    .member(
        "LAPrivateKey.canExchangeKeys(using:)",
        LAPrivateKey.canExchangeKeys(using:) as (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool),
]
