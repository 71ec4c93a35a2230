package import Foundation
internal import FoundationXML

/// What an S3 server answers with, which are foreign bytes: a list of objects, or an error.
package struct ObjectListing: Equatable {
    /// Bytes of an answer.
    package static let longest = 2 << 20
    /// Elements within elements.
    private static let deepest = 16

    /// Keys, at most ``StoreLimits/page`` and some more.
    package private(set) var keys: [String] = []
    /// Prefixes that keys have in common, up to the next slash.
    package private(set) var prefixes: [String] = []
    package private(set) var isTruncated = false
    /// Of an error: `NoSuchKey` and its like.
    package private(set) var code: String?

    /// Nil for what is no XML, is too large or too deep, or has a document type.
    package init?(_ bytes: Data) {
        guard bytes.count <= Self.longest else { return nil }
        // No entities of a document's own: none is needed, and they may stand for more than memory has.
        guard bytes.range(of: Data("<!".utf8)) == nil else { return nil }
        // FoundationXML ends the process at a name that is no UTF-8, and at an instruction without content. So the
        // declaration, which may also name another encoding, is left out, and there is no other instruction.
        var bytes = bytes
        if bytes.starts(with: Data("<?xml".utf8)) {
            guard let end = bytes.range(of: Data("?>".utf8)) else { return nil }
            bytes = Data(bytes[end.upperBound...])
        }
        guard bytes.range(of: Data("<?".utf8)) == nil, String(validating: bytes, as: UTF8.self) != nil else {
            return nil
        }
        let reader = Reader()
        let parser = XMLParser(data: bytes)
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        // What parse() says is not enough: it is true for no XML at all.
        guard parser.parse(), parser.parserError == nil, reader.isWhole, !reader.isTooMuch else { return nil }
        self = reader.listing
    }

    private init() {}

    private final class Reader: NSObject, XMLParserDelegate {
        var listing = ObjectListing()
        var isTooMuch = false
        /// Whether the outermost element ended, and nothing was wrong.
        var isWhole = false
        private var path: [String] = []
        private var text = ""

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            path.append(name)
            text = ""
            if path.count > ObjectListing.deepest { stop(parser) }
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            text += string
            // A key has 1024 bytes at most.
            if text.utf8.count > 4096 { stop(parser) }
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            switch path {
            case ["ListBucketResult", "Contents", "Key"]: listing.keys.append(text)
            case ["ListBucketResult", "CommonPrefixes", "Prefix"]: listing.prefixes.append(text)
            case ["ListBucketResult", "IsTruncated"]: listing.isTruncated = text == "true"
            case ["Error", "Code"]: listing.code = text
            default: break
            }
            if ["ListBucketResult", "Error"].contains(path.first), path.count == 1 { isWhole = true }
            if !path.isEmpty { path.removeLast() }
            text = ""
            if listing.keys.count > 2 * StoreLimits.page || listing.prefixes.count > 2 * StoreLimits.page {
                stop(parser)
            }
        }

        func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) { isTooMuch = true }

        private func stop(_ parser: XMLParser) {
            isTooMuch = true
            parser.abortParsing()
        }
    }
}
