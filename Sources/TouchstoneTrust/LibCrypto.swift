internal import COpenSSL
internal import Glibc

/// The functions of libcrypto, which stay where they are once they are loaded.
typealias LibCrypto = UnsafePointer<copenssl_functions>

/// libcrypto, loaded when it is first needed; nil if this machine does not have it.
nonisolated(unsafe) let libCrypto: LibCrypto? = unsafe copenssl_load()

/// A certificate as libcrypto reads it.
///
/// Sendable because libcrypto's functions that read a certificate lock what they keep in it.
@safe final class X509Certificate: @unchecked Sendable {
    let pointer: OpaquePointer
    let der: [UInt8]
    private let crypto: LibCrypto

    /// - Parameters:
    ///   - der: The bytes of one certificate, with nothing after it.
    ///   - crypto: libcrypto.
    init?(_ der: [UInt8], _ crypto: LibCrypto) {
        guard der.count <= TrustLimits.maximumCertificateBytes else { return nil }
        var end = 0
        let pointer = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let start = buffer.baseAddress else { return nil }
            var place: UnsafePointer<UInt8>? = unsafe start
            let pointer = unsafe crypto.pointee.d2i_X509(nil, &place, buffer.count)
            end = unsafe place.map { unsafe $0 - start } ?? 0
            return unsafe pointer
        }
        unsafe crypto.pointee.ERR_clear_error()
        guard let pointer = unsafe pointer else { return nil }
        guard end == der.count else {
            unsafe crypto.pointee.X509_free(pointer)
            return nil
        }
        unsafe self.pointer = unsafe pointer
        unsafe self.crypto = unsafe crypto
        self.der = der
    }

    deinit {
        unsafe crypto.pointee.X509_free(pointer)
    }

    /// The kind of the key, and its bits; nil for a kind that libcrypto does not know.
    var key: (kind: Int32, bits: Int)? {
        guard let key = unsafe crypto.pointee.X509_get0_pubkey(pointer) else {
            unsafe crypto.pointee.ERR_clear_error()
            return nil
        }
        return unsafe (crypto.pointee.EVP_PKEY_get_base_id(key), Int(crypto.pointee.EVP_PKEY_get_bits(key)))
    }

    /// The hash of the signature as one of OpenSSL's numbers; nil if it has none, or is not known.
    var signatureHash: Int32? {
        var hash: Int32 = 0
        let isKnown = unsafe crypto.pointee.X509_get_signature_info(pointer, &hash, nil, nil, nil) == 1
        return isKnown && hash != NID_undef ? hash : nil
    }

    /// The bits `XKU_…`; nil if it has no extended key usage.
    var extendedKeyUsage: UInt32? {
        let usage = unsafe crypto.pointee.X509_get_extended_key_usage(pointer)
        return usage == .max ? nil : usage
    }

    var isMalformed: Bool {
        unsafe crypto.pointee.X509_get_extension_flags(pointer) & UInt32(EXFLAG_INVALID) != 0
    }

    var hasSubject: Bool {
        unsafe crypto.pointee.X509_NAME_entry_count(crypto.pointee.X509_get_subject_name(pointer)) > 0
    }

    var hasAlternativeNames: Bool {
        unsafe crypto.pointee.X509_get_ext_by_NID(pointer, NID_subject_alt_name, -1) >= 0
    }

    /// Seconds since 1970; nil if they cannot be read.
    var notBefore: Int? { unsafe crypto.seconds(of: crypto.pointee.X509_get0_notBefore(pointer)) }
    var notAfter: Int? { unsafe crypto.seconds(of: crypto.pointee.X509_get0_notAfter(pointer)) }

    /// Whether it is for a host, by its alternative names alone.
    func isFor(host: String) -> Bool {
        // A dot at the end means that the name is complete. It is not in certificates.
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        // If a name begins with a dot, libcrypto takes it for every host below.
        guard !host.isEmpty, host.utf8.first != UInt8(ascii: "."), host.utf8.count <= TrustLimits.maximumNameBytes,
            !host.utf8.contains(0)
        else { return false }
        // -2 is for what is not an address, and an address is no name of a host (RFC 9525).
        let isAddressed = unsafe crypto.pointee.X509_check_ip_asc(pointer, host, 0)
        guard isAddressed == -2 else { return isAddressed == 1 }
        let flags = UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        return unsafe crypto.pointee.X509_check_host(pointer, host, host.utf8.count, flags, nil) == 1
    }

    func isFor(emailAddress: String) -> Bool {
        guard !emailAddress.isEmpty, emailAddress.utf8.count <= TrustLimits.maximumNameBytes,
            !emailAddress.utf8.contains(0)
        else { return false }
        return unsafe crypto.pointee.X509_check_email(pointer, emailAddress, emailAddress.utf8.count, 0) == 1
    }
}

extension LibCrypto {
    /// The seconds since 1970 of a time of ASN.1; nil if there is none, or it is not one.
    func seconds(of time: UnsafePointer<ASN1_TIME>?) -> Int? {
        guard let time = unsafe time else { return nil }
        var fields = unsafe tm()
        guard unsafe pointee.ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return unsafe timegm(&fields)
    }

    /// A new stack of certificates, which does not own them.
    func stack(of certificates: [X509Certificate]) -> OpaquePointer? {
        guard let stack = unsafe pointee.OPENSSL_sk_new_null() else { return nil }
        for certificate in certificates {
            guard unsafe pointee.OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.pointer)) > 0 else {
                unsafe pointee.OPENSSL_sk_free(stack)
                return nil
            }
        }
        return unsafe stack
    }
}
