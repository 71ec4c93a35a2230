/// An allocator, which calls take and disregard: Swift's own allocates everything.
public final class CFAllocator: Sendable {
    init() {}
}

/// The default allocator.
public let kCFAllocatorDefault: CFAllocator! = CFAllocator()
/// The system's allocator.
public let kCFAllocatorSystemDefault: CFAllocator! = CFAllocator()
/// The allocator that allocates nothing.
public let kCFAllocatorNull: CFAllocator! = CFAllocator()
