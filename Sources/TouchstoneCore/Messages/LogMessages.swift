/// The log: written by the enclave, kept by touchstoned, read by the owner.
extension EnclaveInterface {
    /// Begins the log of this boot after the last line that is the enclave's own, and writes that the device started.
    ///
    /// To be called once, before anything is asked that would be logged.
    package enum ResumeLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ResumeLog"
        package struct Parameters: Codable, Sendable {
            /// The newest, oldest first; none where the log is empty.
            package var newestLines: [String]
            package init(newestLines: [String]) { self.newestLines = newestLines }
        }
        package typealias Reply = Empty
        /// Lines that are looked at.
        package static let maximumLines = 32
    }

    /// Where the log ends now: repeated uses that were only counted so far are written first, a limited number of entries in a second.
    package enum GetLogHead: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetLogHead"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var head: LogHead
            package init(head: LogHead) { self.head = head }
        }
    }

    /// Which of these lines this enclave wrote: at most 1,000.
    package enum CheckLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CheckLog"
        package struct Parameters: Codable, Sendable {
            package var lines: [String]
            package init(lines: [String]) { self.lines = lines }
        }
        package struct Reply: Codable, Sendable {
            package var genuine: [Bool]
            package init(genuine: [Bool]) { self.genuine = genuine }
        }
    }

    /// Writes down what touchstoned saw, as its word.
    package enum NoteObservation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.NoteObservation"
        package enum Observation: String, Codable, Sendable {
            case agentConnected, agentLost, logInterrupted, callRefused
        }
        /// What an app was refused, and why.
        package struct RefusedCall: Codable, Hashable, Sendable {
            package var app: String
            /// A word of `RefusalCause`; another is not written down.
            package var reason: String
            /// What the owner would have had to prove.
            package var requirement: Requirement?
            package init(app: String, cause: RefusalCause, requirement: Requirement?) {
                self.app = app
                reason = cause.rawValue
                self.requirement = requirement
            }
        }
        package struct Parameters: Codable, Sendable {
            package var observation: Observation
            package var count: Int?
            /// Of `callRefused`; absent where it stands for several.
            package var refused: RefusedCall?
            package init(_ observation: Observation, count: Int? = nil, refused: RefusedCall? = nil) {
                self.observation = observation
                self.count = count
                self.refused = refused
            }
        }
        package typealias Reply = Empty
    }

    /// Writes that the device stops, and keeps where the log ends.
    ///
    /// Nothing is logged afterwards.
    package enum CloseLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CloseLog"
        package typealias Parameters = Empty
        package typealias Reply = GetLogHead.Reply
    }
}

extension DeviceInterface {
    /// Called with `more`: the lines of the log as they are kept, oldest first, some at a time.
    package enum ReadLog: VarlinkMethod {
        package static let name = "io.touchstone.Device.ReadLog"
        package struct Parameters: Codable, Sendable {
            /// Only so many, the newest; absent: all.
            package var newest: Int?
            /// Goes on with each new line; at most the newest 10,000 come before them.
            package var follow: Bool
            package init(newest: Int? = nil, follow: Bool = false) {
                self.newest = newest
                self.follow = follow
            }
        }
        package struct Reply: Codable, Sendable {
            package var lines: [String]
            package init(lines: [String]) { self.lines = lines }
        }
    }

    /// Which of these lines the enclave wrote: at most 1,000.
    package enum CheckLog: VarlinkMethod {
        package static let name = "io.touchstone.Device.CheckLog"
        package typealias Parameters = EnclaveInterface.CheckLog.Parameters
        package typealias Reply = EnclaveInterface.CheckLog.Reply
    }

    /// Where the log ends as the enclave knows it; what it wrote until then is kept, or could not be.
    package enum GetLogHead: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetLogHead"
        package typealias Parameters = Empty
        package typealias Reply = EnclaveInterface.GetLogHead.Reply
    }

    /// Lines that one message carries.
    package static let logLinesPerMessage = 1000
}

/// Lines as messages carry them: some at a time, and no more bytes than fit a request however they are escaped.
package struct LogBatches<Lines: Sequence<String>>: Sequence, IteratorProtocol {
    /// A line that is longer goes alone.
    package static var maximumBytes: Int { 128 << 10 }

    private var lines: Lines.Iterator
    /// The one that the next batch begins with.
    private var first: String?

    package init(_ lines: Lines) {
        self.lines = lines.makeIterator()
        first = self.lines.next()
    }

    package mutating func next() -> [String]? {
        guard var line = first else { return nil }
        var batch: [String] = []
        var bytes = 0
        while true {
            batch.append(line)
            bytes += line.utf8.count
            first = lines.next()
            guard let following = first, batch.count < DeviceInterface.logLinesPerMessage,
                bytes + following.utf8.count <= Self.maximumBytes
            else { return batch }
            line = following
        }
    }
}
