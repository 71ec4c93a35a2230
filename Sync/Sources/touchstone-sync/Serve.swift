import ArgumentParser
import BridgeCore
import CTouchstoneWiping
import Foundation
import SyncEngine
import SyncStores
import Synchronization
import TouchstoneDevice

/// The program that stays.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Synchronize until it is ended.",
        discussion: """
            EXAMPLE
              touchstone-sync serve
            """)

    @Option(
        help: ArgumentHelp(
            "Seconds between two looks at the store, 1 to 3600 (default: 2 for a directory, 30 for an object store).",
            valueName: "seconds"))
    var poll: Int?

    func validate() throws {
        guard poll.map({ (1...3600).contains($0) }) ?? true else {
            throw ValidationError("--poll takes a number between 1 and 3600")
        }
    }

    func run() throws {
        _ = touchstone_wipes_memory()
        _ = BridgeProcess.harden()
        let device = try Device.forThisProgram()
        BridgeProcess.endsWithSignals {}
        let poll = poll.map { Duration.seconds($0) }
        Task {
            let status = await Synchronizing(device: device, poll: poll).run()
            Foundation.exit(status)
        }
        // Not dispatchMain, whose own thread would take the signals.
        while true { pause() }
    }
}

extension Device {
    static func forThisProgram() throws -> Device {
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        return device
    }
}

/// Rounds, each time that the device or the store says something.
private struct Synchronizing: Sendable {
    let device: Device
    let poll: Duration?

    /// What waits for the device is given again as often, and whenever the device says something.
    private static let retryAfter = Duration.seconds(300)
    private static let configurationStatus: Int32 = 78

    /// - Returns: The exit status.
    func run() async -> Int32 {
        do {
            let file = try ProgressFile(device: device.name)
            guard let settings = await settings() else {
                BridgeProcess.log(
                    "\(device.name) has no store: run 'touchstone sync create STORE' or 'touchstone sync join STORE'")
                return Self.configurationStatus
            }
            return try await synchronize(settings, file)
        } catch {
            BridgeProcess.log("\(error)")
            return Self.configurationStatus
        }
    }

    /// Waits until the device answers and was unlocked once; nil before a store was chosen.
    private func settings() async -> StoreSettings? {
        var (backoff, told) = (Backoff(), false)
        while true {
            do throws(BridgeFailure) {
                return try StoreSettings.read(device)
            } catch {
                if !told { BridgeProcess.log("waiting for \(device.name): it is off, or was not unlocked yet") }
                told = true
                try? await Task.sleep(for: backoff.next(chance: .random(in: 0...1)))
            }
        }
    }

    private func synchronize(_ settings: StoreSettings, _ file: ProgressFile) async throws -> Int32 {
        let store = try settings.open()
        let calls = DeviceCalls(device)
        var engine = SyncEngine(calls, store, file.read(store: "\(settings.circle) \(settings.address)")) {
            try file.save($0)
        }
        let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (deviceSpoke, storeSpoke) = (Flag(true), Flag(true))
        watch(deviceSpoke, tell)
        let wait = try poll ?? settings.poll
        var isWatched = false
        var (backoff, lastRetry, isReady) = (Backoff(), ContinuousClock.now, false)
        var (problem, linksProblem): (String?, String?)
        tell.yield()
        for await _ in news {
            let retries = deviceSpoke.take() || ContinuousClock.now - lastRetry > Self.retryAfter
            if retries { lastRetry = .now }
            let lists = storeSpoke.take()
            do {
                if !isReady || problem != nil { try await store.prepare() }
                let moved = try await engine.round(retries: retries, lists: lists)
                if moved.refused > 0 {
                    BridgeProcess.log("\(moved.refused) objects of the store are not genuine, or of no member")
                }
                for object in moved.left {
                    BridgeProcess.log(
                        "the store does not take \(object): your other devices miss something until that item is smaller, or deleted"
                    )
                }
                if let found = moved.linksProblem, found != linksProblem {
                    BridgeProcess.log("\(found): nobody can change the circle there")
                }
                linksProblem = moved.linksProblem
                if !isReady { BridgeProcess.say("ready: device \(device.name), store \(settings.address)") }
                if problem != nil { BridgeProcess.log("it works again") }
                (isReady, problem) = (true, nil)
                backoff.reset()
                if !isWatched { watch(store, wait, storeSpoke, tell) }
                isWatched = true
            } catch DeviceFailure.noCircle {
                BridgeProcess.log("\(device.name) is in no circle any more; 'touchstone sync join STORE' joins one")
                return 0
            } catch {
                if problem != "\(error)" { BridgeProcess.log("\(error)") }
                problem = "\(error)"
                if retries { deviceSpoke.set() }
                // What may have been missed meanwhile.
                storeSpoke.set()
                try? await Task.sleep(for: backoff.next(chance: .random(in: 0...1)))
                tell.yield()
            }
        }
        return 0
    }

    /// Tells when the device has something.
    private func watch(_ spoke: Flag, _ tell: AsyncStream<Void>.Continuation) {
        let device = device
        Thread.detachNewThread {
            while true {
                if let stream = try? device.stream("io.touchstone.Sync.Monitor") {
                    while (try? stream.next()) != nil {
                        spoke.set()
                        tell.yield()
                    }
                }
                // It was booted again, or is in no circle: the next round says which.
                tell.yield()
                Thread.sleep(forTimeInterval: 1)
            }
        }
    }

    /// Tells when the store may have something.
    private func watch(
        _ store: any SyncStore, _ wait: Duration, _ spoke: Flag, _ tell: AsyncStream<Void>.Continuation
    ) {
        Task {
            while true {
                do throws(StoreError) {
                    try await store.waitForNews(atMost: wait)
                } catch {
                    // The next round says why.
                    try? await Task.sleep(for: .seconds(1))
                }
                spoke.set()
                tell.yield()
            }
        }
    }
}

/// Whether something was said since it was asked last.
private final class Flag: Sendable {
    private let value: Atomic<Bool>
    init(_ value: Bool) { self.value = Atomic(value) }
    func set() { value.store(true, ordering: .relaxed) }
    func take() -> Bool { value.exchange(false, ordering: .relaxed) }
}
