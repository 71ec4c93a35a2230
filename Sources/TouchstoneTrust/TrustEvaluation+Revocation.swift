internal import COpenSSL
internal import Foundation

/// What the OCSP responses say of a chain, by the places of its certificates.
struct ChainRevocation {
    var revoked: [Int] = []
    /// Those of which no valid response says anything.
    var unknown: [Int] = []
    /// When the first of the good responses ends, in seconds since 1970.
    var end = Int.max

    var answer: TrustAnswer.Revocation {
        revoked.isEmpty && unknown.isEmpty && end != .max
            ? .good(until: Date(timeIntervalSince1970: Double(end))) : .unknown
    }
}

extension TrustEvaluation {
    /// Looks for each certificate that has an issuer in the chain into the responses (TR-8).
    ///
    /// A response that cannot be read, that nobody who may has signed, or that is not of the date says nothing.
    func revocation(of chain: [X509Certificate], _ crypto: LibCrypto) -> ChainRevocation {
        var result = ChainRevocation()
        let responses = ocspResponses.prefix(TrustLimits.maximumResponses).compactMap {
            unsafe OCSPResponse(Array($0), crypto)
        }
        for index in chain.indices.dropLast() {
            var status = OCSPResponse.Status.unknown
            for response in responses where status == .unknown {
                status = response.status(of: chain[index], issuer: chain[index + 1], seconds: seconds)
            }
            switch status {
            case .good(let end): result.end = min(result.end, end)
            case .revoked: result.revoked.append(index)
            case .unknown: result.unknown.append(index)
            }
        }
        return result
    }
}

/// An OCSP response that libcrypto has read.
@safe private final class OCSPResponse {
    enum Status: Equatable {
        /// And until when, in seconds since 1970.
        case good(Int)
        case revoked
        case unknown
    }

    private let basic: OpaquePointer
    private let crypto: LibCrypto

    /// Nil for anything but a response that says that it is successful.
    init?(_ der: [UInt8], _ crypto: LibCrypto) {
        guard der.count <= TrustLimits.maximumResponseBytes else { return nil }
        defer { unsafe crypto.pointee.ERR_clear_error() }
        let response = unsafe der.withUnsafeBufferPointer { buffer in
            var place: UnsafePointer<UInt8>? = buffer.baseAddress
            return unsafe crypto.pointee.d2i_OCSP_RESPONSE(nil, &place, buffer.count)
        }
        guard let response = unsafe response else { return nil }
        defer { unsafe crypto.pointee.OCSP_RESPONSE_free(response) }
        guard unsafe crypto.pointee.OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = unsafe crypto.pointee.OCSP_response_get1_basic(response)
        else { return nil }
        unsafe self.basic = unsafe basic
        unsafe self.crypto = unsafe crypto
    }

    deinit {
        unsafe crypto.pointee.OCSP_BASICRESP_free(basic)
    }

    func status(of certificate: X509Certificate, issuer: X509Certificate, seconds: Int) -> Status {
        defer { unsafe crypto.pointee.ERR_clear_error() }
        guard let single = unsafe single(certificate, issuer), isSigned(for: issuer, seconds) else { return .unknown }
        var from: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var to: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var reason: Int32 = 0
        let status = unsafe crypto.pointee.OCSP_single_get0_status(single, &reason, nil, &from, &to)
        guard let begin = unsafe crypto.seconds(of: from) else { return .unknown }
        // Without an end, something newer may be had at any time.
        let end = unsafe crypto.seconds(of: to) ?? begin + Self.openEnd
        guard begin - Self.skew <= seconds, seconds <= end + Self.skew else { return .unknown }
        return switch status {
        case V_OCSP_CERTSTATUS_GOOD: .good(end)
        case V_OCSP_CERTSTATUS_REVOKED: .revoked
        default: .unknown
        }
    }

    /// Its part about a certificate, whatever hash names the certificate there.
    private func single(_ certificate: X509Certificate, _ issuer: X509Certificate) -> OpaquePointer? {
        for index in 0..<min(unsafe crypto.pointee.OCSP_resp_count(basic), Self.maximumParts) {
            guard let single = unsafe crypto.pointee.OCSP_resp_get0(basic, index),
                let name = unsafe crypto.pointee.OCSP_SINGLERESP_get0_id(single)
            else { continue }
            var algorithm: OpaquePointer?
            _ = unsafe crypto.pointee.OCSP_id_get0_info(nil, &algorithm, nil, nil, name)
            guard let algorithm = unsafe algorithm,
                let hashName = unsafe crypto.pointee.OBJ_nid2sn(crypto.pointee.OBJ_obj2nid(algorithm)),
                let hash = unsafe crypto.pointee.EVP_get_digestbyname(hashName),
                let wanted = unsafe crypto.pointee.OCSP_cert_to_id(hash, certificate.pointer, issuer.pointer)
            else { continue }
            defer { unsafe crypto.pointee.OCSP_CERTID_free(wanted) }
            if unsafe crypto.pointee.OCSP_id_cmp(wanted, name) == 0 { return unsafe single }
        }
        return nil
    }

    /// Whether the issuer signed it, or one whom the issuer certified for that.
    private func isSigned(for issuer: X509Certificate, _ seconds: Int) -> Bool {
        guard let store = unsafe crypto.pointee.X509_STORE_new() else { return false }
        defer { unsafe crypto.pointee.X509_STORE_free(store) }
        guard unsafe crypto.pointee.X509_STORE_add_cert(store, issuer.pointer) == 1,
            let parameters = unsafe crypto.pointee.X509_STORE_get0_param(store),
            let stack = unsafe crypto.stack(of: [issuer])
        else { return false }
        defer { unsafe crypto.pointee.OPENSSL_sk_free(stack) }
        _ = unsafe crypto.pointee.X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        unsafe crypto.pointee.X509_VERIFY_PARAM_set_depth(parameters, 1)
        unsafe crypto.pointee.X509_VERIFY_PARAM_set_time(parameters, seconds)
        return unsafe crypto.pointee.OCSP_basic_verify(basic, stack, store, 0) == 1
    }

    private static let maximumParts: Int32 = 64
    /// How far two clocks may be apart.
    private static let skew = 5 * 60
    private static let openEnd = 24 * 3600
}
