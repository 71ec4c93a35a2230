package import Foundation
package import TouchstoneCircle
package import TouchstoneCore
import TouchstoneMemory

/// Records and heads of a circle: sealed, signed and opened here, so that nobody else has an epoch's key (SY-13).
extension Enclave {
    /// One version of an item that is to be sealed; without an item it is a tombstone.
    package struct RecordRequest: Sendable {
        package var name: RecordName
        package var counter: UInt64
        package var clock: ClockTime
        package var item: RecordItem?

        package init(name: RecordName, counter: UInt64, clock: ClockTime, item: RecordItem?) {
            self.name = name
            self.counter = counter
            self.clock = clock
            self.item = item
        }
    }

    package struct RecordItem: Sendable {
        package var wrapped: WrappedItem
        package var attributes: Data
        /// Under the item's key; empty for none.
        package var secret: Data

        package init(wrapped: WrappedItem, attributes: Data, secret: Data) {
            self.wrapped = wrapped
            self.attributes = attributes
            self.secret = secret
        }
    }

    package enum SealedVerdict: Sendable {
        case sealed(Data)
        /// Its class, or the circle, is not open now.
        case locked
        /// Such an item never leaves its device (SY-1).
        case excluded
        case gone
    }

    package enum OpenedVerdict: Sendable {
        case item(OpenedRecord)
        case tombstone
        /// Its class, or the circle, is not open now.
        case locked
        /// Its epoch, or its writer, is not known yet.
        case waiting
        case forged
        case notMember
    }

    package struct OpenedRecord: Sendable {
        package var protection: Accessibility
        package var attributes: Data
        package var wrapped: WrappedItem
    }

    /// Classes that travel: not those of one device only, and of those that want a proof none comes here (SY-1).
    private static let travelling: [Accessibility] = [.whenUnlocked, .afterFirstUnlock, .always]

    /// Seals records of this member's, each on its own.
    package func sealRecords(_ requests: [RecordRequest]) -> [SealedVerdict] {
        guard let access = try? circleAccess(), let epochs = access.epochs else { return requests.map { _ in .locked } }
        return requests.map { request in
            let header = RecordHeader(
                name: request.name, epoch: epochs.current.number, member: access.me, counter: request.counter,
                clock: request.clock)
            var content = RecordContent.tombstone
            if let item = request.item {
                switch itemContent(item) {
                case .success(let made): content = made
                case .failure(let verdict): return verdict.verdict
                }
            }
            let record = try? SealedRecord(
                header, content, secret: request.item?.secret ?? Data(), under: epochs.current,
                random: random.bytes(count:), sign: access.keys.sign)
            return record.map { .sealed($0.bytes) } ?? .gone
        }
    }

    private struct NotSealed: Error {
        var verdict: SealedVerdict
    }

    private func itemContent(_ item: RecordItem) -> Result<RecordContent, NotSealed> {
        guard let protection = Accessibility(wrappedKey: item.wrapped.wrappedKey),
            Self.travelling.contains(protection)
        else { return .failure(.init(verdict: .excluded)) }
        let opened = unwrap(item.wrapped, app: "", context: nil)
        switch (opened.state, opened.key) {
        case (.open, let key?):
            return .success(
                .item(
                    protection: protection.number, accessGroup: Data(item.wrapped.binding.accessGroup.utf8),
                    attributes: item.attributes, binding: item.wrapped.binding.item, key: key))
        case (.locked, _): return .failure(.init(verdict: .locked))
        case (.authenticationNeeded, _), (.altered, _): return .failure(.init(verdict: .excluded))
        default: return .failure(.init(verdict: .gone))
        }
    }

    /// Opens records of any member, and wraps their items' keys for this device.
    package func openRecords(_ records: [Data], now: Double) -> [OpenedVerdict] {
        guard let access = try? circleAccess(), let epochs = access.epochs else { return records.map { _ in .locked } }
        return records.map { open($0, access.chain, epochs, now: now) }
    }

    private func open(_ bytes: Data, _ chain: CircleChain, _ epochs: EpochKeys, now: Double) -> OpenedVerdict {
        guard let record = try? SealedRecord(bytes) else { return .forged }
        let header = record.header
        guard let writer = chain.identity(of: header.member) else { return .waiting }
        guard record.isSigned(by: writer) else { return .forged }
        guard header.epoch <= chain.epoch else { return .waiting }
        switch record.opened(with: epochs) {
        case nil: return .forged
        case .tombstone: return .tombstone
        case .item(let number, let group, let attributes, let binding, let key):
            guard let protection = Accessibility(number: number), Self.travelling.contains(protection),
                let group = String(bytes: group, encoding: .utf8),
                let control = try? AccessControl(protection: protection, flags: [])
            else { return .forged }
            guard keys[protection] != nil else { return .locked }
            let place = ItemBinding(accessGroup: AccessGroup(group), item: binding)
            guard
                let wrapped = try? wrap(
                    .init(accessControl: control, binding: place, key: key, app: "", context: nil), now: now)
            else { return .forged }
            return .item(
                .init(
                    protection: protection, attributes: attributes,
                    wrapped: .init(wrappedKey: wrapped, binding: place)))
        }
    }

    /// Signs what this member says of its records.
    ///
    /// - Returns: The head with its signature; nil for what is no head of this member's in this chain.
    package func signHead(_ bytes: Data) -> Data? {
        guard let access = try? circleAccess(), let head = try? MemberHead(unsigned: bytes), head.member == access.me,
            head.epoch == access.chain.epoch, access.chain.hash(of: head.link) == head.linkHash
        else { return nil }
        return try? head.bytes(sign: access.keys.sign)
    }
}
