import LocalAuthentication

/// Another one, which does not know of the first.
public func gate() -> LAContext {
    let context = LAContext()
    context.localizedFallbackTitle = "Password"
    return context
}
