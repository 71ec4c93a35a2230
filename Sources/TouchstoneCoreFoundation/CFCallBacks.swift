// What collections are told to do with what they hold. Here they hold objects and retain them, so it is disregarded.

/// What an array does with its objects: disregarded.
public struct CFArrayCallBacks: Sendable {
    /// Call-backs that say nothing.
    public init() {}
}

/// What a dictionary does with its keys: disregarded.
public struct CFDictionaryKeyCallBacks: Sendable {
    /// Call-backs that say nothing.
    public init() {}
}

/// What a dictionary does with its values: disregarded.
public struct CFDictionaryValueCallBacks: Sendable {
    /// Call-backs that say nothing.
    public init() {}
}

/// Of an array of objects.
public let kCFTypeArrayCallBacks = CFArrayCallBacks()
/// Of a dictionary whose keys are objects.
public let kCFTypeDictionaryKeyCallBacks = CFDictionaryKeyCallBacks()
/// Of a dictionary whose keys are texts, which are copied.
public let kCFCopyStringDictionaryKeyCallBacks = CFDictionaryKeyCallBacks()
/// Of a dictionary whose values are objects.
public let kCFTypeDictionaryValueCallBacks = CFDictionaryValueCallBacks()
