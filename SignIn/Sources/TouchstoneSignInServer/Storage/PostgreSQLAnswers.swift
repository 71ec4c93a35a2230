/// The answers to a pipeline, in the order of what was sent: what libpq said so far, and what is missing.
struct PostgreSQLAnswers {
    /// What was sent.
    enum Part {
        case preparation(key: String, name: String)
        case rows
        /// The mark that all was done or nothing; or one query without a pipeline.
        case end
    }

    /// What libpq says, one after the other.
    enum Answer {
        case rows([SQLRow])
        case refusal(PostgreSQLError)
        case skipped
        case sync
        /// Nothing more to the part that it is at.
        case nothing
    }

    private var parts: ArraySlice<Part>
    private var found: [[SQLRow]] = []
    private var refusal: PostgreSQLError?
    /// What the server knows from now on, by its key, whatever was refused after it.
    private(set) var prepared: [(key: String, name: String)] = []

    init(_ parts: [Part]) { self.parts = parts[...] }

    var isComplete: Bool { parts.isEmpty }

    /// The rows of each statement, or the first refusal.
    var rows: Result<[[SQLRow]], PostgreSQLError> { refusal.map { .failure($0) } ?? .success(found) }

    mutating func add(_ answer: Answer) {
        guard let part = parts.first else { return }
        switch answer {
        case .nothing, .sync: parts.removeFirst()
        case .skipped: break
        case .refusal(let error): refusal = refusal ?? error
        case .rows(let rows):
            switch part {
            case .preparation(let key, let name): prepared.append((key, name))
            case .rows: found.append(rows)
            case .end: break
            }
        }
    }
}
