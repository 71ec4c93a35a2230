// What functions of `SecCode` return, where they do not return 0.

public import TouchstoneCoreFoundation

/// The code is the executable of no app that the device could name by more than its path.
public var errSecCSUnsigned: OSStatus { -67062 }
/// The executable is another than the one that the app's manifest names.
public var errSecCSSignatureFailed: OSStatus { -67061 }
/// The text is not a requirement.
public var errSecCSReqInvalid: OSStatus { -67052 }
/// The requirement asks for what only a code signature could tell.
public var errSecCSReqUnsupported: OSStatus { -67051 }
/// The code is not what the requirement asks for.
public var errSecCSReqFailed: OSStatus { -67050 }
