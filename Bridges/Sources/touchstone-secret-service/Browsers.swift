/// Browsers that throw their cookies away if they are told that the owner refused their key (SS-38).
///
/// The lists are data: an entry, and where it was seen.
enum Browsers {
    /// What the item of such a key has as its schema.
    static let keySchemas: Set = [
        // Chromium and all that is built from it: components/os_crypt.
        "chrome_libsecret_os_crypt_password_v2"
    ]

    /// The last parts of their programs' paths.
    ///
    /// A file that others than root can change does not count.
    private static let programs: Set = [
        "chromium",  // Debian: /usr/lib/chromium
        "chrome",  // Google: /opt/google/chrome
        "brave",  // Brave: /opt/brave.com/brave
        "msedge",  // Microsoft: /opt/microsoft/msedge
        "vivaldi-bin",  // Vivaldi: /opt/vivaldi
        "opera",  // Opera: /usr/lib/x86_64-linux-gnu/opera
    ]

    /// Looks at the last part of a path.
    static func contain(_ path: String) -> Bool {
        programs.contains(path.split(separator: "/").last.map(String.init) ?? "")
    }
}
