/// Why a store did not do what it was asked.
///
/// The texts name no credential and no record's content.
package enum StoreError: Error, Equatable, CustomStringConvertible {
    /// The name has other bytes.
    case taken(RecordName)
    /// The caller asks for what this store never takes, such as a record that is too large; nothing was kept.
    case invalid(String)
    /// What the store gave is nothing that this program puts there.
    case damaged(String)
    /// It does not answer, or is busy: try again later. What was sent may have happened.
    case unavailable(String)
    /// It refuses these credentials, or they lack a right. Trying again changes nothing.
    case refused(String)
    /// Its address or its setup has to change before this can work.
    case configuration(String)

    package var description: String {
        switch self {
        case .taken(let name): "the store has other bytes under the name \(name)"
        case .invalid(let text), .damaged(let text), .unavailable(let text), .refused(let text),
            .configuration(let text):
            text
        }
    }
}
