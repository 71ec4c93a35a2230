#define _GNU_SOURCE
#include "CTouchstoneSystem.h"

#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

int touchstone_pidfd_of(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int touchstone_peer_of(int socket, struct touchstone_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return errno;
    peer->pid = credentials.pid;
    peer->uid = credentials.uid;
    peer->gid = credentials.gid;
    int pidfd = -1;
    length = sizeof pidfd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) != 0) {
        pidfd = touchstone_pidfd_of(credentials.pid);
    }
    peer->pidfd = pidfd;
    return 0;
}

int touchstone_send_message(int socket, const void *bytes, size_t count, int descriptor) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : (size_t)sent == count ? 0 : EMSGSIZE;
}

ssize_t touchstone_receive_message(int socket, void *bytes, size_t room, int *descriptor) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    *descriptor = -1;
    ssize_t count;
    do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
        errno = EMSGSIZE;
        return -1;
    }
    return count;
}

int touchstone_pass_credentials(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 ? 0 : errno;
}

ssize_t touchstone_receive_from(int socket, void *bytes, size_t room, pid_t *sender) {
    // The sender comes first, and there is no room for descriptors behind it: the kernel closes them.
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    *sender = 0;
    ssize_t count;
    do count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS &&
        header->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
        *sender = credentials.pid;
    }
    return count;
}

bool touchstone_pidfd_alive(int pidfd) {
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    return poll(&entry, 1, 0) == 0;
}

int touchstone_executable_of(int process, struct touchstone_executable *executable) {
    struct statx file;
    if (statx(process, "exe", AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &file) != 0) return errno;
    bool has_birth = (file.stx_mask & STATX_BTIME) != 0;
    executable->device = makedev(file.stx_dev_major, file.stx_dev_minor);
    executable->inode = file.stx_ino;
    executable->birth_seconds = has_birth ? file.stx_btime.tv_sec : 0;
    executable->birth_nanoseconds = has_birth ? file.stx_btime.tv_nsec : 0;
    return 0;
}

bool touchstone_become_undumpable(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0; }

int touchstone_harden_process(void) {
    // Swift's runtime answers a crash by starting a program that writes registers, and the memory that they point to, into the log.
    static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP};
    for (size_t index = 0; index < sizeof crashes / sizeof *crashes; index++) {
        if (signal(crashes[index], SIG_DFL) == SIG_ERR) return errno;
    }
    umask(077);
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    if (!touchstone_become_undumpable()) return errno;
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

void touchstone_return_large_blocks(void) { mallopt(M_MMAP_THRESHOLD, 512 << 10); }

void touchstone_return_free_memory(void) { malloc_trim(0); }

// Calls `change` for each piece of memory that holds code or constants as a file has them.
static int for_each_constant(struct dl_phdr_info *object, size_t size, void *change) {
    (void)size;
    // The kernel's own object has no file.
    if (object->dlpi_name[0] != 0 && object->dlpi_name[0] != '/') return 0;
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[index];
        if (header->p_type != PT_LOAD || (header->p_flags & PF_W) != 0) continue;
        unsigned long start = (unsigned long)object->dlpi_addr + header->p_vaddr;
        unsigned long end = (start + header->p_memsz + page - 1) & ~(page - 1);
        start &= ~(page - 1);
        (*(void (**)(void *, size_t))change)((void *)start, end - start);
    }
    return 0;
}

static void unlock(void *start, size_t length) { munlock(start, length); }

static void let_go(void *start, size_t length) { madvise(start, length, MADV_DONTNEED); }

void touchstone_return_start_code(void) {
    void (*change)(void *, size_t) = let_go;
    dl_iterate_phdr(for_each_constant, &change);
}

bool touchstone_lock_all_memory(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    if (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY) return false;
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return false;
    void (*change)(void *, size_t) = unlock;
    dl_iterate_phdr(for_each_constant, &change);
    return true;
}

void touchstone_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void touchstone_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

int touchstone_random(void *buffer, size_t count) {
    unsigned char *next = buffer;
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

int touchstone_open_without_links(const char *path) {
    // Part by part: RestrictSUIDSGID of our units takes openat2 away, whose mode a filter cannot see.
    char rest[PATH_MAX];
    if (path[0] != '/' || strlen(path) >= sizeof rest) {
        errno = EINVAL;
        return -1;
    }
    strcpy(rest, path);
    int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *more = NULL, *part = strtok_r(rest, "/", &more);
    while (directory >= 0) {
        char *next = strtok_r(NULL, "/", &more);
        if (!part || strcmp(part, "..") == 0) {
            close(directory);
            errno = EINVAL;
            return -1;
        }
        int flags = next ? O_PATH | O_DIRECTORY | O_NOFOLLOW : O_RDONLY | O_NONBLOCK | O_NOFOLLOW;
        int opened = openat(directory, part, flags | O_CLOEXEC);
        int code = errno;
        close(directory);
        errno = code;
        if (!next) return opened;
        directory = opened;
        part = next;
    }
    return -1;
}

int touchstone_rename_new(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int touchstone_allocate(int file, off_t offset, off_t length) {
    int result;
    do result = fallocate(file, FALLOC_FL_KEEP_SIZE, offset, length);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int touchstone_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0 ? 0 : errno;
}

bool touchstone_is_on_fuse(const char *path) {
    struct statfs found;
    return statfs(path, &found) != 0 || found.f_type == FUSE_SUPER_MAGIC;
}
