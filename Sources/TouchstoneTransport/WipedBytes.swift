package import Foundation
internal import Glibc

/// Bytes that grow: what they outgrew is zeroed, and so are they in the end.
///
/// An array would leave its old contents behind each time it grows, and all of them when it goes. Messages carry secrets.
@safe final class WipedBytes {
    private var start: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    init(capacity: Int = 0) {
        if capacity > 0 { reserve(capacity) }
    }

    deinit { wipe() }

    var last: UInt8? {
        guard let start = unsafe start, count > 0 else { return nil }
        return unsafe start.load(fromByteOffset: count - 1, as: UInt8.self)
    }

    func append(_ byte: UInt8) {
        if count == capacity { reserve(count + 1) }
        unsafe start?.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    func append(contentsOf bytes: some Sequence<UInt8>) {
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { bytes in
            unsafe append(UnsafeRawBufferPointer(bytes))
        }
        if isDone == nil { for byte in bytes { append(byte) } }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(count + bytes.count)
        if let start = unsafe start { unsafe memcpy(start + count, source, bytes.count) }
        count += bytes.count
    }

    /// Makes room for so many bytes in all.
    func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        let larger = max(wanted, 2 * capacity, 64)
        guard let new = unsafe malloc(larger) else { fatalError("no memory left") }
        let kept = count
        if let start = unsafe start { unsafe memcpy(new, start, kept) }
        wipe()
        unsafe (start, capacity, count) = (new, larger, kept)
    }

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Where the first zero is, from `offset` on; nil: nowhere.
    func firstZero(from offset: Int) -> Int? {
        unsafe withUnsafeBytes { unsafe $0.firstZero(from: offset) }
    }

    /// Gives all bytes away, without a copy: then there are none here.
    func take() -> Data {
        take(count)
    }

    /// Gives the first bytes away, without a copy, and forgets the others.
    func take(_ length: Int) -> Data {
        guard let start = unsafe start, length > 0 else {
            wipe()
            return Data()
        }
        let data = unsafe Data(wiping: start, count: length, of: capacity)
        unsafe (self.start, capacity, count) = (nil, 0, 0)
        return data
    }

    /// Takes bytes off the beginning.
    func removeFirst(_ length: Int) {
        guard let start = unsafe start else { return }
        unsafe memmove(start, start + length, count - length)
        unsafe explicit_bzero(start + count - length, length)
        count -= length
    }

    private func wipe() {
        if let start = unsafe start {
            unsafe explicit_bzero(start, capacity)
            unsafe free(start)
        }
        unsafe (start, capacity, count) = (nil, 0, 0)
    }
}

extension Data {
    /// So many bytes, which `fill` writes, and which are zeroed once nobody has them any more.
    ///
    /// Slices and copies are the same bytes for as long as nobody changes them.
    init?(wiping count: Int, fill: (UnsafeMutableRawBufferPointer) -> Bool) {
        guard count > 0, let start = unsafe malloc(count) else {
            self.init()
            return
        }
        unsafe self.init(wiping: start, count: count, of: count)
        guard unsafe fill(UnsafeMutableRawBufferPointer(start: start, count: count)) else { return nil }
    }

    /// A copy that is zeroed once nobody has it any more.
    package init(wiping bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, unsafe !bytes.isEmpty, let start = unsafe malloc(bytes.count) else {
            self.init()
            return
        }
        unsafe memcpy(start, source, bytes.count)
        unsafe self.init(wiping: start, count: bytes.count, of: bytes.count)
    }

    /// Takes ownership of `capacity` bytes that malloc gave, of which the first `count` are its own.
    fileprivate init(wiping start: UnsafeMutableRawPointer, count: Int, of capacity: Int) {
        unsafe self.init(
            bytesNoCopy: start, count: count,
            deallocator: .custom { start, _ in
                unsafe explicit_bzero(start, capacity)
                unsafe free(start)
            })
    }
}
