import Foundation
import Synchronization
import Timing

/// Many clients that read items, one after the other, as fast as they are answered.
struct Readers {
    private struct Failed: Error {}

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Reads until there is a line in the standard input, or whoever started it has gone.
    ///
    /// Prints one line when everybody has read, and the timings at the end.
    static func run(count: Int, items: Int, placement: String) throws {
        let durations = Mutex<[Duration]>([])
        let failure = Mutex<(any Error)?>(nil)
        let isEnding = Atomic<Bool>(false)
        let parent = getppid()
        let (ready, ended) = (DispatchGroup(), DispatchGroup())
        for number in 0..<count {
            ready.enter()
            ended.enter()
            Thread.detachNewThread {
                var mine: [Duration] = []
                do {
                    let connection = try VarlinkConnection(device: VarlinkConnection.device)
                    for index in 0... {
                        if isEnding.load(ordering: .relaxed) { break }
                        if getppid() != parent { exit(1) }
                        let start = ContinuousClock.now
                        try connection.read(account: "account-\((number &* 7919 &+ index) % items)")
                        mine.append(ContinuousClock.now - start)
                        if index == 0 { ready.leave() }
                    }
                } catch {
                    failure.withLock { $0 = error }
                    if mine.isEmpty { ready.leave() }
                }
                durations.withLock { $0 += mine }
                ended.leave()
            }
        }
        ready.wait()
        print("ready")
        fflush(nil)
        _ = readLine()
        isEnding.store(true, ordering: .relaxed)
        ended.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
        let key = Timing.Key("touchstone", "read, \(count) at once", items: items, placement)
        print(Timing(key, durations: durations.withLock { $0 }).line)
    }

    /// Starts another process of this program that reads; returns when everybody has read.
    init(count: Int, items: Int, placement: String) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["readers", "\(count)", "\(items)", placement]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard output.fileHandleForReading.availableData == Data("ready\n".utf8) else { throw Failed() }
    }

    /// Ends it, and returns the line that it printed.
    func end() throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data("end\n".utf8))
        let line = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed() }
        return line.trimmingCharacters(in: .newlines)
    }
}
