/// Calls a closure.
///
/// Linux has no autorelease pools: what the closure no longer uses is released at once, as everywhere.
///
/// - Parameter body: What to call.
/// - Returns: What it returns.
/// - Throws: What it throws.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
