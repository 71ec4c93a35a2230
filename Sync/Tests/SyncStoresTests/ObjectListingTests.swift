import Foundation
import Testing

@testable import SyncStores

/// What an S3 server answers with.
@Suite struct ObjectListingTests {
    private static let list =
        "<ListBucketResult><Contents><Key>a/0000000000000001-b</Key></Contents></ListBucketResult>"

    @Test(arguments: ["", #"<?xml version="1.0" encoding="UTF-8"?>"#])
    func sy30_aListIsReadWithAndWithoutADeclaration(_ declaration: String) {
        #expect(ObjectListing(Data((declaration + Self.list).utf8))?.keys == ["a/0000000000000001-b"])
    }

    /// FoundationXML ended the process at each of the first three.
    @Test(arguments: [
        Data("<?xml0-8\"?>\n<Li ejcodi6ng=0<?xpml0?> xsult>".utf8), Data("<a><?x?></a>".utf8),
        Data("<List".utf8) + [0xFF] + Data("/>".utf8), Data("<?xml".utf8), Data("<!DOCTYPE a>\(list)".utf8),
        Data(list.utf8).dropLast(), Data(),
    ])
    func sy30_whatIsNoListIsRefused(_ bytes: Data) { #expect(ObjectListing(bytes) == nil) }
}
