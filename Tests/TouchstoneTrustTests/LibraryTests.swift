import Foundation
import Testing
import TouchstoneTrust

/// When libcrypto comes into a process (DEC-340).
@Suite struct LibraryTests {
    @Test("libcrypto is loaded by the first evaluation, and not before") func loading() async {
        await #expect(processExitsWith: .success) {
            func isLoaded() throws -> Bool {
                try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).contains("/libcrypto.so.3")
            }
            let chain = try Chain.named("a host that is named")
            #expect(try !isLoaded())
            #expect(try chain.evaluation.answer().isTrusted)
            #expect(try isLoaded())
        }
    }
}
