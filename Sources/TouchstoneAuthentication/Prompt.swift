import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

extension AgentInterface.Prompt {
    /// The prompt as it is now, from what the app asked and how far the enclave is.
    init(
        _ identifier: String, app: AppIdentity, subject: AuthenticationService.Subject,
        options: AuthenticationInterface.Options, biometryType: BiometryType, progress: EnclaveInterface.Progress
    ) {
        let defaultFallbackTitle = progress.fallbackIsPasscode ? "Enter Passcode" : "Enter Password"
        // EV-14: nil is the default title, empty hides the button.
        let fallbackTitle: String? =
            switch options.fallbackTitle {
            case nil: defaultFallbackTitle
            case ""?: nil
            case let title?: title.shownToThePerson.nonEmpty ?? defaultFallbackTitle
            }
        // CE-11, EV-11: Face ID looks without a word; in the dialogs after it failed the reason is only beside a title of the app's own.
        let isReasonShown =
            switch progress.phase {
            case .permission, .passcode, .applicationPassword, .unlock: true
            case .biometry: biometryType != .faceID
            case .retry, .fallback: fallbackTitle != nil && fallbackTitle != defaultFallbackTitle
            }
        let claim = progress.phase == .permission ? app.faceIDUsageDescription ?? "" : options.reason
        // EV-13
        let cancelTitle = options.cancelTitle?.shownToThePerson.nonEmpty ?? "Cancel"
        self.init(
            identifier: identifier, app: app, reason: isReasonShown ? claim.shownToThePerson : "",
            operation: subject.operation, keyLabel: subject.keyLabel?.shownToThePerson.nonEmpty,
            items: subject.items.map {
                .init(names: $0.names.compactMap(\.shownToThePerson.nonEmpty), count: $0.count)
            },
            biometryType: biometryType, phase: progress.phase, cancelTitle: cancelTitle,
            fallbackTitle: progress.isFallbackOffered ? fallbackTitle : nil, failures: progress.failures,
            hint: progress.hint, nonce: progress.nonce, retryAfterSeconds: progress.retryAfterSeconds,
            wrongPasscode: progress.wrongPasscode, passcodeKind: progress.passcodeKind)
    }
}

extension ProcessOrigin {
    /// Names of files and processes may be made to look like something else, too.
    var shownToThePerson: ProcessOrigin {
        var shown = self
        shown.ancestors = ancestors.map { ancestor in
            .init(
                processID: ancestor.processID, executable: ancestor.executable?.shownToThePerson,
                name: ancestor.name.shownToThePerson)
        }
        shown.remote = remote?.shownToThePerson
        return shown
    }
}

extension String {
    /// Longest text of an app's that a prompt shows, in characters.
    private static let maximumShown = 256
    /// The same in Unicode scalars: marks piled on one character are no way round.
    private static let maximumScalars = 1024

    /// An app's words without what could make them look like something else.
    ///
    /// Without control characters and direction overrides, that is; line breaks, tabs and spaces of all widths become plain spaces.
    var shownToThePerson: String {
        var text = String.UnicodeScalarView()
        var count = 0
        var isCut = false
        for scalar in unicodeScalars {
            let shown: Unicode.Scalar
            switch scalar.properties.generalCategory {
            case _ where scalar.properties.isWhitespace && scalar != " ":
                if text.last == " " { continue }
                shown = " "
            case .control, .format, .surrogate, .privateUse, .unassigned: continue
            default: shown = scalar
            }
            guard count < Self.maximumScalars else {
                isCut = true
                break
            }
            text.append(shown)
            count += 1
        }
        let shown = String(text)
        return isCut || shown.count > Self.maximumShown ? shown.prefix(Self.maximumShown) + "…" : shown
    }

    /// nil for the empty one, and for one of spaces.
    fileprivate var nonEmpty: String? { allSatisfy(\.isWhitespace) ? nil : self }
}
