import Foundation
import Glibc

// fuzz TARGET [libFuzzer's options] [CORPUS]     libFuzzer over one of the targets
// fuzz --list                                    their names
// fuzz --seeds DIRECTORY                         what their corpora begin with, a directory for each
// fuzz --accepted                                the places where a parser accepts something of the seeds

let all: [FuzzTarget] =
    messageTargets + fileTargets + certificateTargets + keychainTargets + enclaveTargets + processTargets
    + busTargets + tpmTargets + credentialTargets + pinentryTargets + sshTargets + itemTargets + agePluginTargets
    + trustTargets + secretServiceTargets
    + pamTargets
    + pkcs11Targets
    + fidoTargets + passkeyTargets
    + circleTargets + storeTargets

/// libFuzzer's own way in, for programs that have a `main`.
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// libFuzzer's library wants it to be there; it is not what is run.
@_cdecl("LLVMFuzzerTestOneInput")
func unused(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt { 0 }

nonisolated(unsafe) var chosen: FuzzTarget?

func usage() -> Never {
    FileHandle.standardError.write(
        Data("usage: fuzz TARGET [libFuzzer's options] [CORPUS] | --list | --seeds DIRECTORY | --accepted\n".utf8))
    exit(2)
}

switch CommandLine.arguments.dropFirst().first {
case "--list": print(all.map(\.name).joined(separator: "\n"))
case "--seeds":
    guard let directory = CommandLine.arguments.dropFirst(2).first.map({ URL(fileURLWithPath: $0) }) else { usage() }
    for target in all {
        let folder = directory.appendingPathComponent(target.name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (number, seed) in try target.seeds().enumerated() {
            try seed.write(to: folder.appendingPathComponent("seed-\(number)"))
        }
    }
case "--accepted":
    accepted = []
    for target in all { try target.seeds().forEach(target.run) }
    print((accepted ?? []).sorted().joined(separator: "\n"))
case let name?:
    guard let target = all.first(where: { $0.name == name }) else { usage() }
    chosen = target
    // The name is not libFuzzer's.
    var arguments =
        ([CommandLine.arguments[0], "-max_len=\(target.maximumBytes)"] + CommandLine.arguments.dropFirst(2))
        .map { strdup($0) } + [nil]
    var count = CInt(arguments.count - 1)
    let code = arguments.withUnsafeMutableBufferPointer { arguments in
        var start = arguments.baseAddress
        return withUnsafeMutablePointer(to: &start) { start in
            runDriver(&count, start) { bytes, count in
                chosen?.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            }
        }
    }
    exit(code)
case nil: usage()
}
