@_exported public import TouchstoneSecurity
