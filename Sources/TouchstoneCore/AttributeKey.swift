/// The key of one entry of a keychain dictionary: the value of its `kSec…` constant.
///
/// Each has the name of its constant. A code is written here and nowhere else; what has no constant on iOS is named as macOS does.
package struct AttributeKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    private init(_ code: String) { rawValue = code }
}

/// In the order of their codes.
extension AttributeKey: Comparable {
    package static func < (one: AttributeKey, other: AttributeKey) -> Bool { one.rawValue < other.rawValue }
}

extension AttributeKey: CustomStringConvertible {
    package var description: String { rawValue }
}

extension AttributeKey: MessageKey {
    package init(memberName: String) { self.init(memberName) }
    package var memberName: String { rawValue }
}

extension AttributeKey {
    // Of every item.
    package static let accessible = AttributeKey("pdmn")
    package static let accessControl = AttributeKey("accc")
    package static let accessGroup = AttributeKey("agrp")
    package static let creationDate = AttributeKey("cdat")
    package static let modificationDate = AttributeKey("mdat")
    package static let label = AttributeKey("labl")
    package static let alias = AttributeKey("alis")
    package static let synchronizable = AttributeKey("sync")
    package static let syncViewHint = AttributeKey("vwht")
    package static let tokenID = AttributeKey("tkid")

    // Of passwords.
    package static let account = AttributeKey("acct")
    package static let service = AttributeKey("svce")
    package static let generic = AttributeKey("gena")
    package static let description = AttributeKey("desc")
    package static let comment = AttributeKey("icmt")
    package static let creator = AttributeKey("crtr")
    package static let type = AttributeKey("type")
    package static let scriptCode = AttributeKey("scrp")
    package static let isInvisible = AttributeKey("invi")
    package static let isNegative = AttributeKey("nega")
    package static let hasCustomIcon = AttributeKey("cusi")
    package static let protectedData = AttributeKey("prot")
    package static let securityDomain = AttributeKey("sdmn")
    package static let server = AttributeKey("srvr")
    package static let `protocol` = AttributeKey("ptcl")
    package static let authenticationType = AttributeKey("atyp")
    package static let port = AttributeKey("port")
    package static let path = AttributeKey("path")

    // Of certificates.
    package static let certificateType = AttributeKey("ctyp")
    package static let certificateEncoding = AttributeKey("cenc")
    package static let subject = AttributeKey("subj")
    package static let issuer = AttributeKey("issr")
    package static let serialNumber = AttributeKey("slnr")
    package static let subjectKeyID = AttributeKey("skid")
    package static let publicKeyHash = AttributeKey("pkhh")

    // Of keys. A key's type has the code of a password's.
    package static let keyClass = AttributeKey("kcls")
    package static let applicationLabel = AttributeKey("klbl")
    package static let applicationTag = AttributeKey("atag")
    package static let keyType = AttributeKey("type")
    package static let keySizeInBits = AttributeKey("bsiz")
    package static let effectiveKeySize = AttributeKey("esiz")
    package static let startDate = AttributeKey("sdat")
    package static let endDate = AttributeKey("edat")
    package static let isPermanent = AttributeKey("perm")
    package static let isPrivate = AttributeKey("priv")
    package static let isModifiable = AttributeKey("modi")
    package static let isSensitive = AttributeKey("sens")
    package static let wasAlwaysSensitive = AttributeKey("asen")
    package static let isExtractable = AttributeKey("extr")
    package static let wasNeverExtractable = AttributeKey("next")
    package static let canEncrypt = AttributeKey("encr")
    package static let canDecrypt = AttributeKey("decr")
    package static let canDerive = AttributeKey("drve")
    package static let canSign = AttributeKey("sign")
    package static let canVerify = AttributeKey("vrfy")
    package static let canSignRecover = AttributeKey("snrc")
    package static let canVerifyRecover = AttributeKey("vyrc")
    package static let canWrap = AttributeKey("wrap")
    package static let canUnwrap = AttributeKey("unwp")

    // What is looked for.
    package static let `class` = AttributeKey("class")
    package static let matchPolicy = AttributeKey("m_Policy")
    package static let matchItemList = AttributeKey("m_ItemList")
    package static let matchSearchList = AttributeKey("m_SearchList")
    package static let matchIssuers = AttributeKey("m_Issuers")
    package static let matchEmailAddressIfPresent = AttributeKey("m_EmailAddressIfPresent")
    package static let matchSubjectContains = AttributeKey("m_SubjectContains")
    package static let matchHostOrSubdomainOfHost = AttributeKey("m_HostOrSubdomainOfHost")
    package static let matchCaseInsensitive = AttributeKey("m_CaseInsensitive")
    package static let matchTrustedOnly = AttributeKey("m_TrustedOnly")
    package static let matchValidOnDate = AttributeKey("m_ValidOnDate")
    package static let matchLimit = AttributeKey("m_Limit")
    package static let matchSubjectStartsWith = AttributeKey("m_SubjectStartsWith")
    package static let matchSubjectEndsWith = AttributeKey("m_SubjectEndsWith")
    package static let matchSubjectWholeString = AttributeKey("m_SubjectWholeString")
    package static let matchDiacriticInsensitive = AttributeKey("m_DiacriticInsensitive")
    package static let matchWidthInsensitive = AttributeKey("m_WidthInsensitive")

    // What is returned, or given.
    package static let returnData = AttributeKey("r_Data")
    package static let returnAttributes = AttributeKey("r_Attributes")
    package static let returnRef = AttributeKey("r_Ref")
    package static let returnPersistentRef = AttributeKey("r_PersistentRef")
    package static let valueData = AttributeKey("v_Data")
    package static let valueRef = AttributeKey("v_Ref")
    package static let valuePersistentRef = AttributeKey("v_PersistentRef")

    // How the owner is asked, and where is looked.
    package static let useOperationPrompt = AttributeKey("u_OpPrompt")
    package static let useNoAuthenticationUI = AttributeKey("u_NoAuthUI")
    package static let useAuthenticationUI = AttributeKey("u_AuthUI")
    package static let useDataProtectionKeychain = AttributeKey("nleg")
    package static let useUserIndependentKeychain = AttributeKey("u_UserIndependentKeychain")
    package static let useAuthenticationContext = AttributeKey("u_AuthCtx")
}

/// Values that mean something to the keychain.
extension AttributeValue {
    /// Of ``AttributeKey/synchronizable``, in a search: both.
    package static let synchronizableAny = AttributeValue.string("syna")
    package static let matchLimitOne = AttributeValue.string("m_LimitOne")
    package static let matchLimitAll = AttributeValue.string("m_LimitAll")
    /// Of ``AttributeKey/tokenID``: the enclave has the key.
    package static let secureEnclave = AttributeValue.string("com.apple.setoken")
}

/// Of ``AttributeKey/useAuthenticationUI``: whether the owner may be asked.
package enum AuthenticationUI: String, Sendable {
    case allow = "u_AuthUIA"
    case fail = "u_AuthUIF"
    case skip = "u_AuthUIS"
}
