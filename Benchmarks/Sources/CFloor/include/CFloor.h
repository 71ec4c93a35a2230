// The other end of a Unix socket at its barest: a process that sends back what it gets.
#ifndef C_FLOOR_H
#define C_FLOOR_H

#include <stddef.h>

/// Starts the process, which ends with this one. Returns the socket to it, or -1. Call before any thread is started.
int floor_start_echo(void);

/// Sends `count` bytes and waits until they are back. Returns 0, or -1.
int floor_round_trip(int socket, void *bytes, size_t count);

#endif
