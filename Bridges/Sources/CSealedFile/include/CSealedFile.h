// memfd_create and its seals, which Swift cannot import: they want _GNU_SOURCE, or are variadic.
#ifndef C_SEALED_FILE_H
#define C_SEALED_FILE_H

#include <stddef.h>

/// A file in memory that holds these bytes and that nobody can change, at its beginning and closed on exec.
/// Returns its descriptor, or -1 with errno.
int sealed_file(const void *bytes, size_t count);

#endif
