// Linux calls that Swift cannot import: variadic prctl, and control messages, which are macros.
#ifndef C_BRIDGES_H
#define C_BRIDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// Has the kernel say of all that comes which process sent it: for a listening socket, of what comes on its connections, also before
/// they are accepted. Returns 0, or -1 with errno.
int bridge_want_senders(int socket);

/// Accepts a connection, and has the kernel say with all that comes on it which process sent it.
/// Returns a descriptor, or -1 with errno.
int bridge_accept(int socket);

/// Says which process connected, and whose it is. `pidfd` is a descriptor of that process, which the caller closes, and -1 where the
/// kernel has none. Returns 0 or an errno.
int bridge_peer_of(int socket, pid_t *process, uid_t *user, int *pidfd);

/// Receives what has come, of one sender, without waiting. Descriptors that came with it are closed.
/// Returns its length, 0 at the end, or -1 with errno; `sender` is 0 where the kernel does not say.
ssize_t bridge_receive_from(int socket, void *bytes, size_t room, pid_t *sender);

/// Lets no other program of the user read this process's memory, or attach to it. Returns whether that is so now.
bool bridge_become_undumpable(void);

#endif
