// Linux calls that Swift cannot import: variadic prctl, raw system calls, and constants newer than Debian's headers.
#ifndef C_TOUCHSTONE_SYSTEM_H
#define C_TOUCHSTONE_SYSTEM_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// What the kernel says of the process at the other end of a Unix socket.
struct touchstone_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    int pidfd;  // -1 where the kernel has neither SO_PEERPIDFD nor pidfd_open; the caller closes it
};

/// Fills `peer` from SO_PEERCRED and, where the kernel has it, SO_PEERPIDFD. Returns 0 or an errno.
int touchstone_peer_of(int socket, struct touchstone_peer *peer);

/// Sends one message with a copy of `descriptor`, or without one where that is negative. Returns 0 or an errno.
int touchstone_send_message(int socket, const void *bytes, size_t count, int descriptor);

/// Receives one message of at most `room` bytes, and the descriptor that came with it, -1 where none did; the caller closes it.
/// Returns its length, 0 at the end, or -1 with errno; a message that is larger, or has more descriptors, is EMSGSIZE.
ssize_t touchstone_receive_message(int socket, void *bytes, size_t room, int *descriptor);

/// Has the kernel say with everything that comes from now on which process sent it, and bytes out of band come with the others.
/// Returns 0 or an errno.
int touchstone_pass_credentials(int socket);

/// Accepts a connection without waiting. Its socket does not wait, either, and no child inherits it. Returns -1 with errno.
/// That is EMFILE also where fewer than 64 descriptors would be left, because whatever the connection asks for takes some.
int touchstone_accept(int listener);

/// Receives what has come, of one sender, without waiting, at a socket that passes credentials.
///
/// What comes with descriptors is not received (EBADMSG): to receive them is to close them, and the thread that does that waits for as
/// long as their sender likes, such as for a TCP socket that lingers. Such a socket is good for `touchstone_close_peer` alone.
/// Returns its length, 0 at the end, or -1 with errno; `sender` is 0 where the kernel does not say.
ssize_t touchstone_receive_from(int socket, void *bytes, size_t room, pid_t *sender);

/// Ends a connection at once, and closes its socket: where something is left that was not received, it may hold descriptors, and a thread
/// that is there for that closes it. No socket that lingers keeps that thread for longer than a millisecond.
///
/// `closed`, unless it is NULL, is called with `context` after that, on whichever thread.
void touchstone_close_peer(int socket, void (*closed)(void *), void *context);

/// For a thread that closes descriptors of others: while it is on, a timer interrupts the thread five times a millisecond.
///
/// So no TCP socket that lingers holds the thread for longer than a millisecond. A FUSE file still can. Other calls that wait
/// fail with EINTR meanwhile. The timer stays until the process ends, so this is for threads that live long. If no timer
/// can be made, nothing is interrupted, and the next call tries again.
void touchstone_interrupt_closing(bool is_on);

/// A new epoll, which watches descriptors. Returns -1 with errno.
int touchstone_epoll(void);

/// A new eventfd, which can be read from `touchstone_ring` to `touchstone_hush`. Returns -1 with errno.
int touchstone_bell(void);
void touchstone_ring(int bell);
void touchstone_hush(int bell);

/// What happened at a descriptor that is watched under this number.
struct touchstone_event {
    uint64_t number;
    bool reads;   // there is something to read, or its end
    bool writes;  // there is room
    bool ended;   // both directions have ended
};

/// Watches a descriptor, or changes for what; its end is always told. Returns 0 or an errno.
int touchstone_watch(int epoll, int descriptor, uint64_t number, bool reads, bool writes, bool is_new);
void touchstone_unwatch(int epoll, int descriptor);

/// Waits for at most `milliseconds`, or without an end if they are negative. Returns how many events there are, at most 64, or -1.
int touchstone_wait(int epoll, struct touchstone_event *events, int room, int milliseconds);

/// A descriptor of the process that has this number now, -1 with errno where there is none; the caller closes it.
int touchstone_pidfd_of(pid_t process);

/// Whether the process behind `pidfd` still runs.
bool touchstone_pidfd_alive(int pidfd);

/// The file that a process executes: a file that takes its place has another inode, or was made at another time.
struct touchstone_executable {
    unsigned long long device;
    unsigned long long inode;
    long long birth_seconds;  // zero where the file system does not keep it
    unsigned birth_nanoseconds;
};

/// Fills `executable` through `process`, an open directory `/proc/PID`, which no later process of that number can come to mean.
/// Returns 0 or an errno: EACCES where the process lets nobody look, ENOENT or ESRCH where it is gone.
int touchstone_executable_of(int process, struct touchstone_executable *executable);

/// Makes this process undumpable, unable to gain privileges, without core dumps or other reports of a crash, and with umask 077. Returns 0 or an errno.
/// Nobody writes to the program's constants from then on (DEC-362).
int touchstone_harden_process(void);

/// Lets no other program of the user read this process's memory, or attach to it. Returns whether that is so now.
bool touchstone_become_undumpable(void);

/// Gives blocks of 512 KiB and more back to the system when they are freed. By itself malloc keeps ever larger ones, in each thread's
/// arena, once one of them was freed.
void touchstone_return_large_blocks(void);

/// Gives all else that was freed back to the system. Of pages that are locked in memory the kernel takes none back.
void touchstone_return_free_memory(void);

/// Locks all present and future pages in memory where this process may (root or no RLIMIT_MEMLOCK). Returns whether it did.
/// Code and constants of the program and its libraries stay unlocked: they are no secrets, and their files have them.
bool touchstone_lock_all_memory(void);

/// Lets go of the code and constants that are in memory now, and gives back what was freed. What is used again comes back from its file,
/// mostly from the kernel's cache. From then on malloc makes no more than two arenas, and nobody writes to the program's constants.
void touchstone_return_start_code(void);

/// Raises the soft limit of open files to the hard one.
void touchstone_raise_file_limit(void);

/// Asks the kernel to send SIGKILL when the parent dies.
void touchstone_die_with_parent(void);

/// Fills `buffer` from the kernel's random generator. Returns 0 or an errno.
int touchstone_random(void *buffer, size_t count);

/// Opens a file for reading without waiting, by an absolute path of which no part is a symbolic link or "..". Returns a descriptor, or -1
/// with errno: ENOTDIR or ELOOP for a link.
int touchstone_open_without_links(const char *path);

/// Renames without replacing what has the new name. Returns 0 or an errno, EEXIST where there is such a file.
int touchstone_rename_new(const char *from, const char *to);

/// Exchanges two files or directories, in one step. Returns 0 or an errno.
int touchstone_exchange(const char *one, const char *other);

/// Has the file system set room aside for `length` bytes of a file from `offset`; its size stays as it is. Returns 0 or an errno: ENOSPC
/// where there is none, EOPNOTSUPP where the file system cannot.
int touchstone_allocate(int file, off_t offset, off_t length);

/// Has a spawned process close every descriptor from `lowest` up. Returns 0 or an errno.
int touchstone_spawn_closes_from(posix_spawn_file_actions_t *actions, int lowest);

/// The flag of posix_spawnattr_setflags that starts the process in a session of its own.
int touchstone_spawn_flag_new_session(void);

/// Whether a file lies in a file system of FUSE, where a program of somebody's says who owns it and what each reader reads. Also if that
/// cannot be told.
bool touchstone_is_on_fuse(const char *path);

#endif
