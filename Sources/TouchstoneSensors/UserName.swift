internal import Glibc

/// This process's user, by name: who is to be recognised.
enum UserName {
    static var own: String {
        unsafe getpwuid(geteuid()).flatMap { unsafe String(cString: $0.pointee.pw_name) } ?? "\(geteuid())"
    }
}
