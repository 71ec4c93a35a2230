#define _GNU_SOURCE
#include "CTouchstoneSystem.h"

#include <spawn.h>

int touchstone_spawn_closes_from(posix_spawn_file_actions_t *actions, int lowest) {
    return posix_spawn_file_actions_addclosefrom_np(actions, lowest);
}

int touchstone_spawn_flag_new_session(void) { return POSIX_SPAWN_SETSID; }
