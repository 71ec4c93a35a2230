/// The log: written by the enclave, kept by touchstoned, read by the owner.
extension EnclaveInterface {
    /// Begins the log of this boot after its last line, and writes that the device started.
    ///
    /// To be called once, before anything is asked that would be logged.
    package enum ResumeLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ResumeLog"
        package struct Parameters: Codable, Sendable {
            /// Absent where the log is empty.
            package var lastLine: String?
            package init(lastLine: String?) { self.lastLine = lastLine }
        }
        package typealias Reply = Empty
    }

    /// Where the log ends now: repeated uses that were only counted so far are written first.
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
            case agentConnected, agentLost, logInterrupted
        }
        package struct Parameters: Codable, Sendable {
            package var observation: Observation
            package var count: Int?
            package init(_ observation: Observation, count: Int? = nil) {
                self.observation = observation
                self.count = count
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
