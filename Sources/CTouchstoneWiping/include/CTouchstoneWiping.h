#ifndef C_TOUCHSTONE_WIPING_H
#define C_TOUCHSTONE_WIPING_H

#include <stdbool.h>

/// Whether memory that this program gives back is zeroed: not under a sanitizer, and not with another C library than glibc.
///
/// Whoever links this target and asks has it so from the first instruction on.
bool touchstone_wipes_memory(void);

#endif
