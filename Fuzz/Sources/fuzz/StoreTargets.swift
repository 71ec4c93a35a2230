import Foundation
import SyncStores

/// What an S3 server lists, or why it refuses.
private func listing(_ bytes: Data) {
    guard let listing = ObjectListing(bytes) else { return }
    hold(listing.keys.count <= 2 * StoreLimits.page + 1, "more keys than a list has")
    hold(listing.keys.allSatisfy { $0.utf8.count <= 8192 }, "a key without an end")
    hold(ObjectListing(bytes) == listing, "another list of the same bytes")
    for name in listing.keys.compactMap({ RecordName($0) }) { hold(RecordName("\(name)") == name, "another name") }
}

/// Names in a directory and a database, and a cursor.
private func names(_ bytes: Data) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let name = RecordName(text) {
        hold(name.description == text, "another name")
        hold(!text.contains { "/.".contains($0) }, "a name with a path in it")
    }
    if let numbers = unlessRefused([StoreError.self], { try WriterNumbers(StoreCursor(text: text)) }) {
        let cursor = numbers.cursor
        hold(unlessRefused([StoreError.self], { try WriterNumbers(cursor) })?.cursor == cursor, "another cursor")
    }
}

/// A file that a copier brought.
private func file(_ bytes: Data) {
    if let content = RecordFile.content(of: bytes) {
        hold(RecordFile.file(of: content) == bytes, "another file")
    }
    if !bytes.isEmpty { hold(RecordFile.content(of: RecordFile.file(of: bytes)) == bytes, "another content") }
}

let storeTargets = [
    FuzzTarget(
        name: "stores",
        run: { bytes in
            let (choice, rest) = bytes.choice
            switch choice % 3 {
            case 0: listing(rest)
            case 1: names(rest)
            default: file(rest)
            }
        },
        // The kept corpus has answers of moto.
        seeds: {
            let list =
                "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a/0000000000000001-b</Key></Contents>"
            return [
                Data("0\(list)</ListBucketResult>".utf8), Data("0<Error><Code>NoSuchKey</Code></Error>".utf8),
                Data("1ada-00000000000000ff-record".utf8), Data("1ada 0000000000000001\nben 00000000000000ff".utf8),
                Data("2".utf8) + RecordFile.file(of: Data(repeating: 7, count: 256)),
            ]
        })
]
