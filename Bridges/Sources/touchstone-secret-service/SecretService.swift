import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel
import TouchstoneDevice

/// The Secret Service on the bus (SS-1…5): who asks, what is there, and whether it is open.
actor SecretService {
    struct Collection: Sendable {
        var label: String
        var created: UInt64
        var modified: UInt64
        /// The path of the program that made it; nil of one that nobody knows.
        var maker: String?
    }

    /// An item that lives in this program's memory only (SS-7).
    struct SessionItem: Sendable {
        var secret: SecretBuffer
        var owner: Grantee
    }

    struct Session: Sendable {
        var owner: String
        var cipher: SessionCipher
    }

    /// Collections that are always there (SS-6).
    static let login = "login"
    static let session = "session"
    static let fixedAliases = ["default": login, "login": login, "session": session]

    let bus: BusOutbox
    private let executor: BusExecutor
    let keychain: SecretKeychain
    let approvals: Approvals

    /// Whether the device is unlocked, and all that it keeps was read since then.
    var isOpen = false
    /// Whether the index was filled once: from then on locked items are found, too (SS-21, SS-24).
    var isLoaded = false
    var state = DeviceState.away
    /// Whether anything was heard of the device yet, also that it is not there.
    var isStateKnown = false

    var collections: [String: Collection]
    /// Those that are always there, and those that clients set.
    var aliases = SecretService.fixedAliases
    /// The paths of the programs that set aliases; nil of one that nobody knows.
    var aliasMakers: [String: String?] = [:]
    var index = ItemIndex()
    /// In clear, only while the device is unlocked; those of the session stay.
    var items: [String: SecretKeychain.Item] = [:]
    var sessionItems: [String: SessionItem] = [:]
    /// Only while the device is unlocked.
    var recent = RecentSecrets()

    var grants = Grants()
    /// Those that have called, by the names of their connections.
    var clients: [String: BusClient] = [:]
    /// Everybody on the bus, as they were when they came.
    private var sightings: [String: Sighting] = [:]
    private let lookers = Lookers()
    var sessions: [String: Session] = [:]
    var prompts: [String: Prompt] = [:]
    /// Items that a connection's own searches have found (SS-33).
    var found: [String: Set<String>] = [:]
    /// Whether the owner lets a program list all items, by the connections of those that asked (SS-36).
    var managers: [String: Bool] = [:]
    /// What waits for the owner, by connection: it ends when the connection does.
    var waits: [String: [ObjectIdentifier: Waiting]] = [:]
    var asking: [Asking: Question<[String: SymmetricKeyBytes]>] = [:]
    var unlocking: [Grantee: Question<Void>] = [:]

    /// The connection of the portals' frontend (PO-3).
    var portalFrontend: String?
    /// What the portal waits for, by the path of its request.
    var portalRequests: [String: PortalRequest] = [:]
    /// How often the device was unlocked.
    private(set) var unlocks = 0

    private var changes: [UInt64: CheckedContinuation<Void, Never>] = [:]
    /// Those of them that the end of a question wakes too.
    private var wantPlaces: Set<UInt64> = []
    private var lastChange: UInt64 = 0
    private(set) var isWriting = false
    /// How often something began to be written.
    private(set) var writes = 0
    private var writers: [CheckedContinuation<Void, Never>] = []
    private var loadNumber = 0

    /// It runs on the thread of the bus, which a call then never leaves, if nothing has to be waited for.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(device: Device, bus: BusOutbox, on executor: BusExecutor) {
        self.bus = bus
        self.executor = executor
        keychain = SecretKeychain(device: device)
        approvals = Approvals(device: device)
        let now = Self.now
        collections = [
            Self.login: Collection(label: "Login", created: now, modified: now),
            Self.session: Collection(label: "Session", created: now, modified: now),
        ]
    }

    /// Of connections whose process's directory in `/proc` stays open (DEC-572).
    private static let mostDirectories = 256

    /// Seconds since 1970.
    static var now: UInt64 { UInt64(max(0, Date().timeIntervalSince1970)) }

    // MARK: What happens

    func take(_ event: BusEvent) {
        switch event {
        case .joined(let name, let peer): sightings[name] = peer.map(Sighting.init)
        case .left(let name): left(name)
        case .named(_, let owner): portalFrontend = owner
        case .call(let call, let peer):
            let sighting = sighting(call.sender, peer)
            Self.$deadline.withValue(.now + Times.call) {
                Task { await answer(call, client(call.sender, sighting)) }
            }
        }
    }

    /// Who asks: as it was when it came to the bus, if it came while this program ran (BR-10).
    ///
    /// - Returns: Nil if the bus does not say it now; it is asked again with the next call.
    private func sighting(_ name: String, _ peer: BusPeer?) -> Sighting? {
        let sighting = sightings[name] ?? peer.map(Sighting.init)
        sightings[name] = sighting
        return sighting
    }

    /// What is known of a program: its file is looked at once, and elsewhere, since that can take long.
    ///
    /// - Returns: Nil where that took too long, the bus does not say who it is, or the connection is gone.
    private func client(_ name: String, _ sighting: Sighting?) async -> BusClient? {
        guard let sighting else { return nil }
        if clients[name] == nil {
            guard let seen = await lookers.look(at: sighting), sightings[name] != nil else { return nil }
            // Another call of the same connection may have been quicker.
            if clients[name] == nil {
                // A program with many connections may not take all descriptors.
                let keepsDirectory = clients.count < Self.mostDirectories
                clients[name] = BusClient(name: name, sighting, seen, keepsDirectory: keepsDirectory)
            }
        }
        // The bus names the process that connected; what it executes can change.
        if let known = clients[name], !known.isThere { clients[name] = known.asStranger }
        return clients[name]
    }

    private func left(_ name: String) {
        clients[name] = nil
        sightings[name] = nil
        found[name] = nil
        managers[name] = nil
        sessions = sessions.filter { $0.value.owner != name }
        prompts = prompts.filter { $0.value.owner != name }
        for waiting in (waits.removeValue(forKey: name) ?? [:]).values { waiting.stop() }
        grants.drop(.connection(name))
        for (item, own) in sessionItems where own.owner == .connection(name) { forgetSessionItem(item) }
        wakeAll()
    }

    func device(is new: DeviceState) {
        let isNews = new != state || !isStateKnown
        isStateKnown = true
        guard isNews else { return }
        if new.isLocked { BridgeProcess.endIfReplaced(SecretKeychain.program) }
        let isOther = new.isPasscodeSet != state.isPasscodeSet
        let isUnlocked = !new.isLocked && (state.isLocked || isOther)
        state = new
        if new == .away { keychain.disconnect() }
        if new.isLocked || isOther {
            loadNumber += 1
            keychain.forgetSealer()
            if isOpen {
                isOpen = false
                items = items.filter { sessionItems[$0.key] != nil }
                recent = RecentSecrets()
                grants.lock()
                announceLock()
            }
        }
        if isUnlocked {
            loadNumber += 1
            let number = loadNumber
            Task { await load(number) }
        }
        wakeAll()
    }

    /// Reads what is kept; tries again until it could.
    private func load(_ number: Int) async {
        while number == loadNumber {
            do throws(BridgeFailure) {
                let contents = try await keychain.contents()
                guard number == loadNumber else { return }
                fill(contents)
                isLoaded = true
                isOpen = true
                unlocks += 1
                announceLock()
                return wakeAll()
            } catch {
                BridgeProcess.log("touchstone-secret-service: what is kept could not be read: \(error)")
                await change(within: 1)
            }
        }
    }

    private func fill(_ contents: SecretKeychain.Contents) {
        // Calls that wait have digested their attributes already.
        var filled = index.emptied
        for item in contents.items.sorted(by: { $0.created < $1.created }) {
            filled.put(item.name, in: item.description.collection, item.description.attributes)
            items[item.name] = item
        }
        for name in sessionItems.keys {
            if let item = items[name] { filled.put(name, in: Self.session, item.description.attributes) }
        }
        index = filled
        grants.kept = contents.grants
        for collection in contents.collections where SecretPath.isElement(collection.name) {
            collections[collection.name] = Collection(
                label: collection.label, created: collection.created, modified: collection.created,
                maker: collection.maker)
        }
        // The label of the first one can be changed, and is then kept like those of others.
        for item in contents.items where collections[item.description.collection] == nil {
            collections[item.description.collection] = Collection(
                label: item.description.collection, created: item.created, modified: item.modified)
        }
        // An alias of a collection that is gone is not there either.
        let kept = contents.aliases.filter { collections[$0.value.collection] != nil }
        aliases = kept.mapValues(\.collection).merging(Self.fixedAliases) { $1 }
        aliasMakers = kept.mapValues(\.maker)
    }

    private func announceLock() {
        for name in collections.keys { announce(changeOf: name, ["Locked": .boolean(!isOpen)]) }
    }

    // MARK: Waiting

    /// Waits until something changes: the device, or who is on the bus.
    func change(within seconds: Double, orPlace: Bool = false) async {
        lastChange += 1
        let number = lastChange
        if orPlace { wantPlaces.insert(number) }
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            wake(number)
        }
        await withCheckedContinuation { changes[number] = $0 }
        timer.cancel()
    }

    private func wake(_ number: UInt64) {
        wantPlaces.remove(number)
        changes.removeValue(forKey: number)?.resume()
    }

    /// Not those that wait after a failure: two of them would wake each other without end.
    func wakeWhoWantsAPlace() { for number in wantPlaces { wake(number) } }

    func wakeAll() {
        let waiting = changes.values
        (changes, wantPlaces) = ([:], [])
        for continuation in waiting { continuation.resume() }
    }

    /// Carries out changes one after the other, so that two calls do not make two items of one.
    func inTurn<Value: Sendable>(_ body: () async throws(Refusal) -> Value) async throws(Refusal) -> Value {
        while isWriting { await withCheckedContinuation { writers.append($0) } }
        isWriting = true
        writes += 1
        defer {
            isWriting = false
            if !writers.isEmpty { writers.removeFirst().resume() }
        }
        return try await body()
    }

    // MARK: Answering

    private func answer(_ call: BusCall, _ client: BusClient?) async {
        do throws(Refusal) {
            // A program that takes this as final would throw away what it has here; the next try finds it.
            guard let client else { throw .isLocked }
            guard !client.isSandboxed else { throw .accessDenied }
            let answer = try await result(of: call, client)
            // The process that asked is the one that is answered (BR-11).
            guard clients[client.name] != nil, client.isThere else { throw .accessDenied }
            bus.reply(call, answer.values, isSecret: answer.isSecret)
        } catch {
            bus.refuse(call, error.name, error.text)
        }
    }
}
