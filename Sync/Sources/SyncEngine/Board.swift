package import Foundation
package import SyncStores

/// What a device that joins and its approver tell each other: the one small head of a store, as JSON.
///
/// Nothing in it is secret, and nothing in it is believed: devices check what they are given.
package struct Board: Codable, Equatable, Sendable {
    /// Another one for each change, because a head never comes again.
    fileprivate var change = ""
    /// The device that joins now; one at a time.
    package var joining: Joining?

    package struct Joining: Codable, Equatable, Sendable {
        package var application: Data
        package var challenge: Data?
        package var reveal: Data?
        /// The number of the link that adds it, once the store has that.
        package var link: Int?

        package init(application: Data) { self.application = application }
    }

    package init() {}

    /// - Parameter head: A store's, or nil if it has none: an empty board.
    /// - Throws: `damaged` for what is not a board.
    package init(head: Data?) throws(StoreError) {
        guard let head else { return }
        guard let board = try? JSONDecoder().decode(Self.self, from: head) else {
            throw .damaged("the store's head is not of this program's making, or of a newer version")
        }
        self = board
    }
}

/// Reads and changes a store's ``Board``.
package struct BoardChanges: Sendable {
    /// How often a change is tried again because another one was faster.
    private static let attempts = 16

    private let store: any SyncStore
    private let random: @Sendable () -> String

    package init(
        _ store: any SyncStore,
        random: @escaping @Sendable () -> String = { String(UInt64.random(in: 0 ... .max), radix: 36) }
    ) {
        (self.store, self.random) = (store, random)
    }

    /// The board as it is; an empty one if the store has no board.
    package func read() async throws -> Board { try Board(head: await store.head()) }

    /// Changes it.
    ///
    /// - Parameter body: Called again if another member was faster.
    /// - Returns: The board after the change.
    /// - Throws: `StoreError`, and what `body` throws.
    @discardableResult
    package func change(_ body: @Sendable (inout Board) throws -> Void) async throws -> Board {
        for _ in 0..<Self.attempts {
            let there = try await store.head()
            let before = try Board(head: there)
            var board = before
            try body(&board)
            if board == before { return board }
            board.change = random()
            if try await store.swapHead(there, for: JSONEncoder().encode(board)) { return board }
        }
        throw StoreError.unavailable("other devices change the circle all the time: try again")
    }
}
