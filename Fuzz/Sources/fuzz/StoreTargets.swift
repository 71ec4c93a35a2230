import Foundation
import SyncEngine
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

/// What a name of a store stands for.
private func storedName(_ bytes: Data) {
    guard let name = RecordName(String(decoding: bytes, as: UTF8.self)), let stored = StoredName(name) else { return }
    hold(unlessRefused([StoreError.self], { try stored.record }) == name, "another name")
}

/// A head or a link, which was padded.
private func padded(_ bytes: Data) {
    if let content = PaddedBytes.content(of: bytes) {
        hold(PaddedBytes.padded(content) == bytes, "two ways to pad")
    }
    // As a part of something larger.
    hold(PaddedBytes.content(of: bytes.dropFirst()) == PaddedBytes.content(of: Data(bytes.dropFirst())), "a slice")
    let made = PaddedBytes.padded(bytes)
    hold(made.count % StoreLimits.padding == 0 && PaddedBytes.content(of: made) == bytes, "another content")
}

/// The board, and the numbers in a file of progress.
private func json(_ bytes: Data) {
    if let board = unlessRefused([StoreError.self], { try Board(head: bytes) }) {
        let written = try? JSONEncoder().encode(board)
        hold(unlessRefused([StoreError.self], { try Board(head: written) }) == board, "another board")
    }
    guard var ranges = try? JSONDecoder().decode(NumberRanges.self, from: bytes) else { return }
    for number in bytes.prefix(64).map({ UInt64($0) }) {
        ranges.insert(number)
        hold(ranges.contains(number), "a number that was put in")
    }
    let written = try? JSONEncoder().encode(ranges)
    hold(written.flatMap { try? JSONDecoder().decode(NumberRanges.self, from: $0) } == ranges, "other numbers")
}

let storeTargets = [
    FuzzTarget(
        name: "stores",
        run: { bytes in
            let (choice, rest) = bytes.choice
            switch choice % 6 {
            case 0: listing(rest)
            case 1: names(rest)
            case 2: file(rest)
            case 3: storedName(rest)
            case 4: padded(rest)
            default: json(rest)
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
                Data("3r\(String(repeating: "a", count: 52))-0000000000000001-record".utf8),
                Data("3chain-0000000000000002-link".utf8), Data("4".utf8) + PaddedBytes.padded(Data("a head".utf8)),
                Data(
                    #"5{"change":"x","joining":{"application":"AAAA","challenge":"AQ==","reveal":"Ag==","link":3}}"#
                        .utf8),
                Data("5[[1,5],[7,7],[9,12]]".utf8),
            ]
        })
]
