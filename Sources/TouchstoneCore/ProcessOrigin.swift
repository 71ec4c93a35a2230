/// How an app came to run, as the kernel and the login service tell: what a prompt may say of it as verified.
///
/// What is in here is true of the moment in which the prompt was made. What is not in here proves nothing: a program whose
/// parent has ended hangs from the service manager, so who wants to hide a starter can, and a program of the same user can have
/// another one start what it likes. Names are verified only where there is an executable.
package struct ProcessOrigin: Codable, Hashable, Sendable {
    /// A process above the app.
    package struct Ancestor: Codable, Hashable, Sendable {
        package var processID: Int32
        /// The file that it executes; nil where the kernel lets nobody of this user look, as with programs of root's.
        package var executable: String?
        /// What the process calls itself, at most 15 bytes: a claim of its own.
        package var name: String
        package init(processID: Int32, executable: String?, name: String) {
            self.processID = processID
            self.executable = executable
            self.name = name
        }
    }

    package enum Place: String, CaseIterable, Codable, Sendable {
        /// In a session that the login service calls local, with nothing above it that serves remote ones.
        case local
        /// In a session that the login service calls remote, or under a server of remote sessions.
        case remote
        case unknown
    }

    /// The nearest first, at most 16, without the first process of the system.
    package var ancestors: [Ancestor]
    /// The controlling terminal: `pts/3`, `tty1`; nil where there is none.
    package var terminal: String?
    /// The number of the login session whose control group the app is in; nil where it is in none.
    package var session: String?
    package var place: Place
    /// What tells that it is remote: a server's name, or the host that the login service knows.
    package var remote: String?

    package init(ancestors: [Ancestor], terminal: String?, session: String?, place: Place, remote: String?) {
        self.ancestors = ancestors
        self.terminal = terminal
        self.session = session
        self.place = place
        self.remote = remote
    }
}
