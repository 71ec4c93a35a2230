// What pam_touchstone.so reads of its helper, for the fuzzer.
#ifndef C_HELPER_LINES_H
#define C_HELPER_LINES_H

#include <stddef.h>

/// Takes bytes in pieces of `piece` bytes. Returns the result; -1 where there is none, -2 once they are refused. `shown` is how many bytes
/// of text were passed on.
int helper_lines_result(const char *bytes, size_t count, size_t piece, size_t *shown);

#endif
