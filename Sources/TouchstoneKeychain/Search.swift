import Foundation
import TouchstoneCertificates
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// One search through rows that may be many.
///
/// It decides first what all of it needs, and only then hands anything out (AC-23): a few rows at a time, so that what it holds does not grow
/// with what it finds but by eight bytes and two lengths for each.
final class Search<Source: RowSource>: @unchecked Sendable {
    // Unchecked: one thread after the other uses it, never two at once.
    private let service: KeychainService
    private let query: KeychainQuery
    private let app: AppIdentity
    /// The app's context; another where a search goes on that has waited for a proof.
    var context: String?
    private let source: Source
    /// Whether nobody waits for it any more.
    private let isAbandoned: @Sendable () -> Bool
    private let groups: [AccessGroup]
    private let allGroups: [AccessGroup]
    private let filter: RowFilter

    private var located: [(rowID: Int64, secret: Int, attributes: Int)] = []
    /// So many of them were handed out.
    private var delivered = 0
    /// From before the rows were read that are opened now; nil within a transaction, whose rows may never come to be.
    private var moment: OpenedKeys.Moment?
    private var blocked = 0
    private var needed: [WantedProof] = []
    private var gone: [ItemRow] = []
    private var damaged: [ItemRow] = []
    private var unreadable: [ItemRow] = []
    /// The refusal of the first item that another program has altered.
    private var altered: Refusal?

    /// Rows read, and opened in one turn of the enclave, at a time.
    private static var slice: Int { 256 }
    /// The same where a few are wanted.
    private static var sliceOfFew: Int { 16 }
    /// The same where each is read with a secret of unknown length.
    private static var sliceWithSecrets: Int { 16 }
    /// Bytes of secrets from which on a slice is full.
    private static var sliceBytes: Int { 512 << 10 }

    /// - Throws: `.missingEntitlement` for a group that is not the app's (KC-42).
    init(
        _ query: KeychainQuery, of service: KeychainService, for app: AppIdentity, context: String?, in source: Source,
        isAbandoned: @escaping @Sendable () -> Bool = { false }
    ) throws(Status) {
        self.service = service
        self.query = query
        self.app = app
        self.context = context
        self.source = source
        self.isAbandoned = isAbandoned
        // The rows of a search for identities are those of the certificates.
        let searched = query.itemClass == .identity ? query.part(.certificate) : query
        groups = try service.searchedGroups(query, of: app)
        allGroups = service.accessGroups(of: app)
        filter = try service.filter(searched, for: app)
    }

    // MARK: one

    /// Whether one match is wanted, and one look at the rows tells whether it is the only one.
    var canTakeOnly: Bool { query.limit == 1 && canLookOnce }

    /// Whether one look at the rows tells whether there is only one match.
    var canLookOnce: Bool {
        query.itemClass != .identity && query.certificates.issuers == nil
            && !query.certificates.readCertificates && query.hostOrParent == nil && !query.needsMetadata
    }

    enum Only {
        case match(Match?)
        /// Several rows, of which the first in the order of a search for all is wanted, or a large one: the way of many finds it.
        case notAtOnce
    }

    /// The only match, opened at once: the shortest way for what is asked most.
    func only() throws -> Only {
        beginReading()
        var rows: [ItemRow] = []
        try source.scan(filter) { row in
            rows.append(row)
            return rows.count == 1
        }
        guard let row = rows.first else { return .match(nil) }
        if rows.count > 1 || query.opensSecret && row.secret == nil && row.secretBytes > 0 { return .notAtOnce }
        let match = try match(row).flatMap { try opened([$0], withData: query.opensSecret).first }
        try conclude(isFound: match != nil)
        return .match(match)
    }

    // MARK: many

    /// Finds what matches and whether all of it can be opened.
    ///
    /// - Throws: `.interactionNotAllowed` where a class is locked (KC-20) or the owner would have to be asked and must not be;
    ///   `ProofNeeded` with all that is needed; `Abandoned` where nobody waits for it any more.
    func decide() throws {
        let limit = query.limit ?? .max
        var rest = limit == 0 ? [] : try source.rowIDs(filter)[...]
        while !rest.isEmpty, located.count + blocked < limit {
            try checkWanted()
            let slice = rest.prefix(
                query.certificates.readCertificates
                    ? Self.sliceWithSecrets : limit <= Self.sliceOfFew ? Self.sliceOfFew : Self.slice)
            rest = rest.dropFirst(slice.count)
            var candidates = try source.rows(slice, withSecrets: query.certificates.readCertificates).compactMap(match)[
                ...]
            while !candidates.isEmpty, located.count + blocked < limit {
                let batch = candidates.prefix(limit - located.count - blocked)
                candidates = candidates.dropFirst(batch.count)
                for match in try opened(Array(batch), withData: false) {
                    let row = (match.certificate ?? match.item).row
                    guard let rowID = row.rowID else { continue }
                    let key = match.certificate == nil ? nil : match.item.row
                    located.append(
                        (
                            rowID, row.secretBytes &+ (key?.secretBytes ?? 0),
                            row.metadata.count &+ (key?.metadata.count ?? 0)
                        ))
                }
            }
        }
        try conclude(isFound: !located.isEmpty)
    }

    /// Whether all that was decided has been handed out.
    var isDelivered: Bool { delivered == located.count }

    /// What all that is left takes of memory, in bytes, as items and as the text of a reply.
    var bytesLeft: Int { heldBytes(located[delivered...]) }

    /// The same of what `next` hands out.
    var bytesOfNext: Int { heldBytes(nextSlice) }

    private func heldBytes(_ slice: ArraySlice<(rowID: Int64, secret: Int, attributes: Int)>) -> Int {
        let bytes = slice.reduce(0) { $0 &+ (readsSecrets ? $1.secret : 0) &+ $1.attributes }
        // In base64 three bytes are four.
        return bytes &+ bytes / 3 &* 4
    }

    private var readsSecrets: Bool { query.opensSecret || query.certificates.readCertificates }

    private var nextSlice: ArraySlice<(rowID: Int64, secret: Int, attributes: Int)> {
        var bytes = 0
        return located[delivered...].prefix(Self.slice).prefix { row in
            guard bytes < Self.sliceBytes else { return false }
            bytes += row.secret
            return true
        }
    }

    /// Hands out some more of what was decided; nothing where all of these are gone.
    ///
    /// No row is held meanwhile: what was changed since `decide` is found as it is now, or not at all.
    ///
    /// - Throws: As `decide`, where a device was locked or a context ended in the meantime. Then the next call begins with the same rows.
    func next() throws -> [Match] {
        try checkWanted()
        beginReading()
        let slice = nextSlice
        let rows = try source.rows(slice.map(\.rowID)[...], withSecrets: readsSecrets)
        let matches = try opened(rows.compactMap(match), withData: query.opensSecret)
        // What was altered since it was decided was to be handed out, and is not simply left out.
        try conclude(isFound: false)
        delivered = slice.endIndex
        return matches
    }

    private func beginReading() {
        if source is KeychainStore { moment = service.openedKeys.moment }
    }

    private func checkWanted() throws {
        if isAbandoned() { throw Abandoned() }
    }

    // MARK: matching

    /// The row as a match, with the key where an identity is looked for; nil if it does not match.
    private func match(_ row: ItemRow) throws -> Match? {
        guard let item = try readable(row) else { return nil }
        if query.itemClass == .identity {
            guard service.matches(item, query.part(.certificate), groups), try accepts(item),
                let key = try key(of: item)
            else { return nil }
            return Match(item: key, certificate: item)
        }
        guard service.matches(item, query, groups), try accepts(item) else { return nil }
        return Match(item: item)
    }

    private func readable(_ row: ItemRow) throws -> OpenItem? {
        switch try service.openMetadata(row) {
        case .open(let item): return item
        case .gone:
            unreadable.append(row)
            return nil
        }
    }

    /// Hands matching rows to `body` until it returns false, a few at a time, so that point queries do not wait for what it does.
    private func scan(_ filter: RowFilter, withSecrets: Bool, _ body: (ItemRow) throws -> Bool) throws {
        var rest = try source.rowIDs(filter)[...]
        while !rest.isEmpty {
            try checkWanted()
            for row in try source.rows(rest.prefix(Self.sliceWithSecrets), withSecrets: withSecrets) {
                guard try body(row) else { return }
            }
            rest = rest.dropFirst(Self.sliceWithSecrets)
        }
    }

    /// The private key whose label is the certificate's public-key hash.
    private func key(of certificate: OpenItem) throws -> OpenItem? {
        guard let keys = query.part(.key).keys(of: certificate) else { return nil }
        var found: OpenItem?
        try scan(service.filter(keys, for: app), withSecrets: query.opensSecret) { row in
            if let item = try readable(row), service.matches(item, keys, allGroups) { found = item }
            return found == nil
        }
        return found
    }

    /// Holds the match keys of a search against an item; those for certificates do not concern any other.
    private func accepts(_ item: OpenItem) throws -> Bool {
        if let host = query.hostOrParent {
            // Text, or data of the same bytes.
            guard let attribute = item.row.itemClass.attribute(.server), let server = item.attributes[.server] else {
                return false
            }
            let name = String(decoding: attribute.comparable(server), as: UTF8.self).lowercased()
            guard name == host || name.hasSuffix("." + host) else { return false }
        }
        if item.row.itemClass == .key { return acceptsDate(of: item) }
        guard item.row.itemClass == .certificate else { return true }
        if let issuers = query.certificates.issuers, try !comes(item, from: issuers) { return false }
        guard query.certificates.readCertificates else { return true }
        switch try service.open([item], withData: true, for: app, context: context, since: nil).first {
        case .open(let data?):
            let now = service.now().timeIntervalSinceReferenceDate
            return Certificate(der: data).map { query.certificates.accept($0, now: now) } ?? false
        case .open(nil), nil: return false
        // Whether it is one is known once it can be opened.
        case .gone, .locked, .authenticationNeeded, .altered: return true
        }
    }

    /// A key has dates of its own; none is one that does not end.
    private func acceptsDate(of key: OpenItem) -> Bool {
        let date: Double
        switch query.certificates.validity {
        case .now: date = service.now().timeIntervalSinceReferenceDate
        case .on(let asked): date = asked
        case nil: return true
        }
        if case .date(let start)? = key.attributes[.startDate], start != 0, date < start { return false }
        if case .date(let end)? = key.attributes[.endDate], end != 0, date > end { return false }
        return true
    }

    /// Whether the certificate, or one of those above it that the app can find, was issued by one of these names.
    private func comes(_ certificate: OpenItem, from issuers: Set<Data>) throws -> Bool {
        var climbed: Set<Data> = []
        var next: [Data] = certificate.issuer.map { [$0] } ?? []
        while let issuer = next.popLast(), climbed.count < Self.longestChain {
            if issuers.contains(issuer) { return true }
            guard climbed.insert(issuer).inserted else { continue }
            let above = try KeychainQuery([
                .class: .string(ItemClass.certificate.rawValue), .subject: .data(issuer),
                .synchronizable: .synchronizableAny,
            ])
            try scan(service.filter(above, for: app), withSecrets: false) { row in
                if let item = try readable(row), service.matches(item, above, allGroups), let issuer = item.issuer {
                    next.append(issuer)
                }
                return true
            }
        }
        return false
    }

    private static var longestChain: Int { 16 }

    // MARK: opening

    /// To read rows that are changed all the time.
    private static var mostAttempts: Int { 8 }

    /// Those that open; notes what is in the way of the others.
    private func opened(_ matches: [Match], withData: Bool, attempt: Int = 1) throws -> [Match] {
        let items = matches.flatMap(\.items)
        let states = try service.open(items, withData: withData, for: app, context: context, since: moment)
        if let item = zip(items, states).first(where: { $0.1.isAltered })?.0 {
            // Whoever changes a row while it is read is no attacker: only what lies there still was altered.
            let rows = try source.rows(
                matches.compactMap { ($0.certificate ?? $0.item).row.rowID }[...], withSecrets: readsSecrets)
            let current = try rows.compactMap(match)
            let isChanged = current.flatMap(\.items).map(\.row.version) != items.map(\.row.version)
            if attempt == 1 || isChanged, attempt < Self.mostAttempts {
                return try opened(current, withData: withData, attempt: attempt + 1)
            }
            let refusal = Refusal(.decode, .keychainAltered, item.control)
            // A change that left it out would not reach it, and the owner may accept it as it is.
            if source is KeychainStore.KeychainWriter { throw refusal }
            altered = altered ?? refusal
        }
        var rest = states[...]
        return try matches.compactMap { match in
            var match = match
            var isOpen = true
            var isBlocked = false
            for (item, state) in zip(match.items, rest.prefix(match.items.count)) {
                switch state {
                case .open(let data):
                    if item.row.itemClass == .certificate, match.certificate != nil {
                        match.certificate?.data = data
                    } else {
                        match.item.data = data
                    }
                case .gone:
                    // What other fingers made unreadable (AC-51) goes; anything else is damage, and is kept for its owner to look at.
                    let isExpired = item.control.requirement.endsWithTheEnrolment
                    if isExpired { gone.append(item.row) } else { damaged.append(item.row) }
                    isOpen = false
                case .altered: isOpen = false
                case .locked:
                    // The enclave has logged it.
                    throw KeychainInterface.Failed(
                        .interactionNotAllowed, RefusalCause(locked: item.row.accessibility))
                case .authenticationNeeded(let control):
                    isOpen = false
                    // AC-41: Skip leaves it out.
                    if query.authenticationUI == .skip { continue }
                    isBlocked = true
                    let proof = WantedProof(
                        accessControl: control, operation: .useItem, items: .init(item.attributes))
                    if let place = needed.firstIndex(where: { $0.isSame(as: proof) }) {
                        needed[place].items?.add(.init(item.attributes))
                    } else {
                        needed.append(proof)
                    }
                }
            }
            rest = rest.dropFirst(match.items.count)
            if isBlocked { blocked += 1 }
            return isOpen ? match : nil
        }
    }

    /// Cleans up, and says what is in the way.
    ///
    /// As one that is damaged, an altered item is in no other's way (KC-16). Where nothing else is found it is refused: it is there.
    private func conclude(isFound: Bool) throws {
        // What cannot be cleaned up now stays, and stays absent.
        try? service.remove(
            gone: gone, damaged: damaged, unreadable: unreadable, in: source as? KeychainStore.KeychainWriter)
        (gone, damaged, unreadable) = ([], [], [])
        guard !needed.isEmpty else {
            guard let refusal = altered else { return }
            altered = nil
            guard isFound else { throw refusal }
            return service.note(refusal, of: app, context)
        }
        defer { needed = [] }
        // AC-41, AC-42: nobody may be asked.
        if query.authenticationUI == .fail {
            throw Refusal(.interactionNotAllowed, .interactionForbidden, needed.first?.accessControl)
        }
        throw ProofNeeded(proofs: needed)
    }
}

/// Nobody waits for the answer any more.
struct Abandoned: Error {}

extension OpenItem {
    fileprivate var issuer: Data? {
        if case .data(let name)? = attributes[.issuer] { name } else { nil }
    }
}

extension KeychainQuery {
    /// Of a search for keys: only the private key of this certificate; nil where it has no public-key hash.
    func keys(of certificate: OpenItem) -> KeychainQuery? {
        guard case .data(let hash)? = certificate.attributes[.publicKeyHash], !hash.isEmpty else { return nil }
        var keys = self
        if let label = keys.attributes[.applicationLabel], label != .data(hash) { return nil }
        if let kind = keys.attributes[.keyClass], kind != .number(Self.privateKey) { return nil }
        keys.attributes[.applicationLabel] = .data(hash)
        keys.attributes[.keyClass] = .number(Self.privateKey)
        return keys
    }

    /// The value of `kSecAttrKeyClassPrivate`.
    private static var privateKey: Int64 { 1 }
}
