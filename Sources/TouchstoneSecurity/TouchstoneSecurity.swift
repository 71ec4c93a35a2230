// What `import Security` brings on Apple's platforms beside Security itself.

@_exported public import Foundation
@_exported public import TouchstoneCoreFoundation
