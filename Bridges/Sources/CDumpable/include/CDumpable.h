// prctl, which Swift cannot import: it is variadic. Apart from CTouchstoneSystem, which the daemons link: none of those opens itself again.
#ifndef C_DUMPABLE_H
#define C_DUMPABLE_H

#include <stdbool.h>

/// Lets other programs of the user see what this process executes, and with that read its memory. Returns whether that is so now.
bool become_dumpable(void);

#endif
