import CTAP
import CTAPHID
import Dispatch
import Foundation
import Glibc
import Synchronization

/// Carries packets between whoever has the authenticator open and the authenticator, which works on a thread of its own.
///
/// One thread reads, writes and keeps the time, and never waits for a person.
final class PacketLoop: Sendable {
    private let owner: Owner
    /// A pipe on which other threads wake this one.
    private let wake: (reading: Int32, writing: Int32)
    private let told = Mutex(Told())
    private let requests = Mutex<[Request]>([])
    private let isRequested = DispatchSemaphore(value: 0)

    private struct Told {
        var answer: [UInt8]?
        var isThere = false
    }

    private struct Request: Sendable {
        var channel: UInt32
        var bytes: [UInt8]
    }

    init(owner: Owner) {
        self.owner = owner
        var ends: [Int32] = [-1, -1]
        _ = unsafe pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wake = (ends[0], ends[1])
    }

    /// Tells whether the device can verify its owner: only then the authenticator is there (FD-11).
    func appear(_ isThere: Bool) {
        told.withLock { $0.isThere = isThere }
        notify()
    }

    private func notify() { _ = unsafe Glibc.write(wake.writing, [0], 1) }

    private static var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Works until the program ends.
    func run(_ first: some Wire) -> Never {
        var wire = first
        var transport = HIDTransport(version: (1, 0, 0))
        startWorker()
        while true {
            var entries = ([wake.reading] + wire.descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let patience = transport.wakes.map { max(0, ($0 - Self.now) * 1000).rounded(.up) } ?? -1
            _ = unsafe poll(&entries, nfds_t(entries.count), Int32(patience))
            var outputs: [HIDTransport.Output] = []
            if entries[0].revents != 0 {
                _ = unsafe [UInt8](unsafeUninitializedCapacity: 64) { room, count in
                    count = unsafe max(0, Glibc.read(wake.reading, room.baseAddress, room.count))
                }
                let told = told.withLock { told in
                    defer { told.answer = nil }
                    return told
                }
                if let answer = told.answer { outputs += transport.finish(answer) }
                wire.appear(told.isThere)
            }
            for entry in entries.dropFirst() where entry.revents != 0 {
                for event in wire.read(entry.fd) {
                    switch event {
                    case .packet(let packet): outputs += transport.receive(packet, now: Self.now)
                    case .closed: outputs += transport.close()
                    }
                }
            }
            outputs += transport.tick(now: Self.now, isAsking: owner.isAsking)
            for output in outputs {
                switch output {
                case .send(let packets): for packet in packets { wire.send(packet) }
                case .begin(let channel, let bytes):
                    owner.begin()
                    requests.withLock { $0.append(Request(channel: channel, bytes: bytes)) }
                    isRequested.signal()
                case .cancel: owner.cancel()
                }
            }
        }
    }

    private func startWorker() {
        let thread = Thread { [self] in
            var authenticator = Authenticator(device: owner)
            while true {
                isRequested.wait()
                guard let request = requests.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
                let answer = authenticator.answer(request.bytes, channel: request.channel, date: Date()) { Self.now }
                told.withLock { $0.answer = answer }
                notify()
            }
        }
        thread.stackSize = 512 << 10
        thread.start()
    }
}
