import Foundation
import LocalAuthentication

/// The app: who is signed in, and what every open page shows.
actor Chores {
    /// What a page shows.
    struct State: Codable {
        enum Phase: String, Codable { case unreadable, new, signedOut, asking, signedIn }

        var phase: Phase
        var chores: [Chore] = []
        /// What the sensor is called; nil if there is nothing to touch or to look at for this app.
        var sensor: String?
        var notice: Notice?
    }

    private enum Session {
        case signedOut
        case asking(LAContext)
        case signedIn(Owner)
    }

    private var session = Session.signedOut
    private var notice: Notice?
    private var pages: [UUID: AsyncStream<State>.Continuation] = [:]
    private var observer: EnrolmentObserver?

    private let registration = KeychainItem<Registration>(name: "owner")
    private let list = KeychainItem<ChoreList>(name: "list")

    // MARK: - Signing in

    /// The first run: the first person to come chooses the password.
    func register(password: String) {
        perform {
            guard try registration.read() == nil else { return }
            let registration = try Registration(password: password)
            try self.registration.write(registration)
            try signIn(password, registration, chores: [])
        }
    }

    func signIn(password: String) {
        perform {
            guard case .signedOut = session, let registration = try registration.read() else { return }
            try signIn(password, registration, chores: chores(registration))
        }
    }

    private func signIn(_ password: String, _ registration: Registration, chores: [Chore]) throws {
        let owner: Owner
        do {
            owner = try .password(password, registration.passwordKey)
        } catch {
            notice = Notice(password: error)
            return
        }
        // Signed with the password's key before the other one, whose signature it may bear, is replaced.
        try list.write(ChoreList(chores, signedBy: owner))
        var registration = registration
        if registration.isEnrolledSetChanged || registration.biometricKey == nil {
            try registration.takeUpEnrolledSet()
        }
        try self.registration.write(registration)
        session = .signedIn(owner)
    }

    /// Waits for a finger or face, for as long as it takes.
    func signInWithBiometrics() async {
        guard case .signedOut = session, let registration = try? registration.read(),
            !registration.isEnrolledSetChanged, let key = registration.biometricKey
        else { return publish() }
        let context = LAContext()
        session = .asking(context)
        notice = nil
        publish()
        do {
            session = .signedIn(try await .biometrics(key, context))
        } catch {
            session = .signedOut
            notice = Notice(evaluation: error)
        }
        publish()
    }

    func cancel() {
        if case .asking(let context) = session { context.invalidate() }
    }

    func signOut() {
        endSession()
        notice = nil
        publish()
    }

    private func endSession() {
        switch session {
        case .signedOut: break
        case .asking(let context): context.invalidate()
        case .signedIn(let owner):
            owner.signOut()
            session = .signedOut
        }
    }

    // MARK: - Chores

    func add(title: String) {
        change { chores in
            let title = title.trimmingCharacters(in: .whitespacesAndNewlines)
            guard !title.isEmpty, title.count <= ChoreList.maximumTitleLength, chores.count < ChoreList.maximumChores
            else { return }
            chores.append(Chore(id: UUID(), title: title))
        }
    }

    func setDone(_ id: UUID, _ isDone: Bool) {
        change { chores in
            for index in chores.indices where chores[index].id == id { chores[index].isDone = isDone }
        }
    }

    func remove(_ id: UUID) {
        change { $0.removeAll { $0.id == id } }
    }

    /// What the owner alone can do: without a signature there is nothing to write.
    private func change(_ body: (inout [Chore]) -> Void) {
        perform {
            guard let registration = try registration.read(), !signOutIfSetChanged(registration) else { return }
            guard case .signedIn(let owner) = session else {
                notice = Notice("Only the owner can change the chores. Sign in first.")
                return
            }
            var chores = try chores(registration)
            body(&chores)
            let signed: ChoreList
            do {
                signed = try ChoreList(chores, signedBy: owner)
            } catch {
                endSession()
                notice = Notice(signing: error)
                return
            }
            do {
                try list.write(signed)
            } catch {
                notice = Notice("The device could not save the change. Its disk may be full. Nothing was changed.")
            }
        }
    }

    private func chores(_ registration: Registration) throws -> [Chore] {
        try list.read()?.chores(signedWith: registration.keys) ?? []
    }

    // MARK: - Pages

    /// The states from now on, the present one first; nil if there are too many pages.
    func states() -> AsyncStream<State>? {
        guard pages.count < Self.maximumPages else { return nil }
        if observer == nil { observer = EnrolmentObserver { [weak self] in await self?.enrolmentChanged() } }
        let id = UUID()
        // A slow page misses what is over.
        let (states, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        continuation.onTermination = { [weak self] _ in Task { await self?.close(id) } }
        continuation.yield(state())
        pages[id] = continuation
        return states
    }

    private func close(_ page: UUID) {
        pages[page] = nil
    }

    private func enrolmentChanged() {
        if let registration = try? registration.read() { _ = signOutIfSetChanged(registration) }
        publish()
    }

    /// Whoever is signed in was proven under another set of fingers.
    private func signOutIfSetChanged(_ registration: Registration) -> Bool {
        guard registration.isEnrolledSetChanged else { return false }
        endSession()
        notice = .otherEnrolledSet
        return true
    }

    /// Does something, and shows every page what came of it.
    private func perform(_ body: () throws -> Void) {
        notice = nil
        do {
            try body()
        } catch {
            notice = .unreadable(error)
        }
        publish()
    }

    private func publish() {
        let state = state()
        for page in pages.values { page.yield(state) }
    }

    private func state() -> State {
        do {
            guard let registration = try registration.read() else { return State(phase: .new, notice: notice) }
            let isChanged = registration.isEnrolledSetChanged
            var state = State(phase: .signedOut, chores: try chores(registration), notice: notice)
            if isChanged {
                state.notice = notice ?? .otherEnrolledSet
            } else if registration.biometricKey != nil {
                state.sensor = LAEnvironment.currentUser.state.biometry?.localizedName
            }
            switch session {
            case .signedOut: break
            case .asking: state.phase = .asking
            case .signedIn: state.phase = .signedIn
            }
            return state
        } catch {
            return State(phase: .unreadable, notice: .unreadable(error))
        }
    }

    static let maximumPages = 16
}

/// Tells of every change in what the owner can be asked for: fingers enrolled and removed, lockouts, restarts.
private final class EnrolmentObserver: NSObject, LAEnvironment.Observer, Sendable {
    private let changed: @Sendable () async -> Void
    private let environment = LAEnvironment.currentUser

    init(_ changed: @escaping @Sendable () async -> Void) {
        self.changed = changed
        super.init()
        environment.addObserver(self)
    }

    func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
        Task { [changed] in await changed() }
    }
}
