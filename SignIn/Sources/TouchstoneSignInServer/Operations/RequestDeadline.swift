public import SignInConnections

/// Closes a connection that does not send a complete request in time, counted from its opening or the answer before.
public typealias RequestDeadline = SignInConnections.RequestDeadline
