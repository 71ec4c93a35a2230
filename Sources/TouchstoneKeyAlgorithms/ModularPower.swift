internal import CGMP
internal import Foundation

/// A power modulo an odd number, which swift-crypto has for the private half of an RSA key only.
///
/// How long it takes does not depend on the base, which may be a padded secret.
///
/// - Parameters:
///   - base: Big-endian, less than the modulus.
///   - exponent: Not 0.
///   - modulus: Big-endian, odd, at least 3.
/// - Returns: The power in as many bytes as the base has; nil for numbers that are not as above.
func modularPower(_ base: Data, _ exponent: UInt64, modulus: Data) -> Data? {
    var result = Data(count: base.count)
    let isDone = unsafe result.withUnsafeMutableBytes { result in
        unsafe base.withUnsafeBytes { base in
            unsafe modulus.withUnsafeBytes { modulus -> Bool in
                guard let to = result.baseAddress, let from = base.baseAddress, let by = modulus.baseAddress else {
                    return false
                }
                return unsafe touchstone_power(to, from, base.count, exponent, by, modulus.count)
            }
        }
    }
    return isDone ? result : nil
}
