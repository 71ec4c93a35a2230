// Values of `kSecAttrProtocol` and `kSecAttrAuthenticationType`.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

public import TouchstoneCoreFoundation

/// Value of `kSecAttrProtocol`: FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTP: CFString = "ftp "

/// Value of `kSecAttrProtocol`: FTP account.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPAccount: CFString = "ftpa"

/// Value of `kSecAttrProtocol`: HTTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTP: CFString = "http"

/// Value of `kSecAttrProtocol`: IRC.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRC: CFString = "irc "

/// Value of `kSecAttrProtocol`: NNTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTP: CFString = "nntp"

/// Value of `kSecAttrProtocol`: POP3.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3: CFString = "pop3"

/// Value of `kSecAttrProtocol`: SMTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMTP: CFString = "smtp"

/// Value of `kSecAttrProtocol`: SOCKS.
@safe nonisolated(unsafe) public let kSecAttrProtocolSOCKS: CFString = "sox "

/// Value of `kSecAttrProtocol`: IMAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAP: CFString = "imap"

/// Value of `kSecAttrProtocol`: LDAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAP: CFString = "ldap"

/// Value of `kSecAttrProtocol`: apple talk.
@safe nonisolated(unsafe) public let kSecAttrProtocolAppleTalk: CFString = "atlk"

/// Value of `kSecAttrProtocol`: AFP.
@safe nonisolated(unsafe) public let kSecAttrProtocolAFP: CFString = "afp "

/// Value of `kSecAttrProtocol`: telnet.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnet: CFString = "teln"

/// Value of `kSecAttrProtocol`: SSH.
@safe nonisolated(unsafe) public let kSecAttrProtocolSSH: CFString = "ssh "

/// Value of `kSecAttrProtocol`: FTPS.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPS: CFString = "ftps"

/// Value of `kSecAttrProtocol`: HTTPS.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPS: CFString = "htps"

/// Value of `kSecAttrProtocol`: HTTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy: CFString = "htpx"

/// Value of `kSecAttrProtocol`: HTTPS proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"

/// Value of `kSecAttrProtocol`: FTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPProxy: CFString = "ftpx"

/// Value of `kSecAttrProtocol`: SMB.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMB: CFString = "smb "

/// Value of `kSecAttrProtocol`: RTSP.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSP: CFString = "rtsp"

/// Value of `kSecAttrProtocol`: RTSP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"

/// Value of `kSecAttrProtocol`: DAAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolDAAP: CFString = "daap"

/// Value of `kSecAttrProtocol`: EPPC.
@safe nonisolated(unsafe) public let kSecAttrProtocolEPPC: CFString = "eppc"

/// Value of `kSecAttrProtocol`: IPP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIPP: CFString = "ipp "

/// Value of `kSecAttrProtocol`: NNTPS.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTPS: CFString = "ntps"

/// Value of `kSecAttrProtocol`: LDAPS.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAPS: CFString = "ldps"

/// Value of `kSecAttrProtocol`: telnet s.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnetS: CFString = "tels"

/// Value of `kSecAttrProtocol`: IMAPS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAPS: CFString = "imps"

/// Value of `kSecAttrProtocol`: IRCS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRCS: CFString = "ircs"

/// Value of `kSecAttrProtocol`: POP3 s.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3S: CFString = "pops"

/// Value of `kSecAttrAuthenticationType`: NTLM.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"

/// Value of `kSecAttrAuthenticationType`: MSN.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN: CFString = "msna"

/// Value of `kSecAttrAuthenticationType`: DPA.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"

/// Value of `kSecAttrAuthenticationType`: RPA.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"

/// Value of `kSecAttrAuthenticationType`: HTTP basic.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"

/// Value of `kSecAttrAuthenticationType`: HTTP digest.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"

/// Value of `kSecAttrAuthenticationType`: HTML form.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"

/// Value of `kSecAttrAuthenticationType`: default.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"

/// Key of a shared web credential: its password (CFString).
@safe nonisolated(unsafe) public let kSecSharedPassword: CFString = "spwd"
