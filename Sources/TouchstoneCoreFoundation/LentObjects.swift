internal import Foundation

/// The objects to which a pointer was given out, each kept for as long as the collection that it is of.
///
/// Foundation on Linux makes a new object each time that a text, bytes or a collection are taken out of an array or a dictionary: nobody
/// else would keep it. What was lent goes at one of the next looks at this after its collection has gone.
final class LentObjects {
    private weak var collection: NSObject?
    private var objects: [AnyHashable: AnyObject] = [:]

    private init(_ collection: NSObject) {
        self.collection = collection
    }

    /// A pointer to a value of a collection: the same for as long as the value at that place stays equal.
    static func pointer(to value: Any, of collection: NSObject, at place: AnyHashable) -> UnsafeRawPointer {
        let value = value as AnyObject
        return unsafe lock.withLock {
            if unsafe all.count >= nextSweep {
                unsafe all = all.filter { $1.collection != nil }
                unsafe nextSweep = 2 * all.count + minimumSweep
            }
            let key = ObjectIdentifier(collection)
            // Another that was at the same address and has gone: what it lent is of no use to anybody.
            let known = unsafe all[key].flatMap { $0.collection === collection ? $0 : nil }
            let lent = known ?? LentObjects(collection)
            unsafe all[key] = lent
            let isKnown = lent.objects[place].map { type(of: $0) == type(of: value) && CFEqual($0, value) } ?? false
            let object = isKnown ? lent.objects[place] ?? value : value
            lent.objects[place] = object
            return unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        }
    }

    private static let lock = NSLock()
    private static let minimumSweep = 64
    // Both are only touched under the lock.
    nonisolated(unsafe) private static var all: [ObjectIdentifier: LentObjects] = [:]
    nonisolated(unsafe) private static var nextSweep = minimumSweep
}
