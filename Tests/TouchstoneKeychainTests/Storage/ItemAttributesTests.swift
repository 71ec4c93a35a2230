import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneKeychain

/// Attributes as bytes.
struct ItemAttributesTests {
    @Test(
        "Invalid numbers and dates are refused; any other comes back",
        arguments: [
            Double.infinity, -.infinity, .nan, 0, -1.5, .greatestFiniteMagnitude,
        ])
    func finite(number: Double) {
        for attributes: [AttributeKey: AttributeValue] in [[.creationDate: .date(number)], [.port: .real(number)]] {
            #expect((ItemAttributes.decode(ItemAttributes.encode(attributes)) != nil) == number.isFinite)
        }
    }
}
