import Foundation
import Testing
import TouchstoneTrust

/// That libcrypto comes into a process (DEC-340).
///
/// Foundation's networking, which this test program links, may have loaded it before. `check-consumers` looks at a program
/// that links neither.
@Suite struct LibraryTests {
    @Test("an evaluation loads libcrypto") func loading() async {
        await #expect(processExitsWith: .success) {
            func isLoaded() throws -> Bool {
                try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).contains("/libcrypto.so.3")
            }
            let chain = try Chain.named("a host that is named")
            #expect(try chain.evaluation.answer().isTrusted)
            #expect(try isLoaded())
        }
    }
}
