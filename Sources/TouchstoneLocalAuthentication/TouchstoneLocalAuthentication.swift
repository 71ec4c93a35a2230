// What `import LocalAuthentication` brings on Apple's platforms beside LocalAuthentication itself.

@_exported public import Foundation
@_exported public import TouchstoneCoreFoundation

@_exported public import class TouchstoneSecurity.SecAccessControl
@_exported public import struct TouchstoneSecurity.SecKeyAlgorithm
