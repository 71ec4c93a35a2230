#include "CDumpable.h"

#include <sys/prctl.h>

bool become_dumpable(void) { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }
