#define _GNU_SOURCE
#include "CTouchstoneSystem.h"

#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
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

static ssize_t receive(int socket, void *bytes, size_t room, int flags, pid_t *sender, bool *has_descriptors) {
    // The sender comes first, and there is no room for descriptors behind it: the kernel says that it has left them out.
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    *sender = 0;
    ssize_t count;
    do count = recvmsg(socket, &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    *has_descriptors = (message.msg_flags & MSG_CTRUNC) != 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS &&
        header->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
        *sender = credentials.pid;
    }
    return count;
}

ssize_t touchstone_receive_from(int socket, void *bytes, size_t room, pid_t *sender) {
    bool has_descriptors = false;
    ssize_t count = receive(socket, bytes, room, MSG_PEEK, sender, &has_descriptors);
    if (count <= 0) return count;
    if (has_descriptors) {
        errno = EBADMSG;
        return -1;
    }
    // No more than what was looked at: more may have come.
    return receive(socket, bytes, (size_t)count, 0, sender, &has_descriptors);
}

// A signal that interrupts what waits in the kernel, and does nothing else.
enum { INTERRUPTION = SIGURG };

static void do_nothing(int signal) { (void)signal; }

// The sockets that are to be closed, the first one first.
struct closing {
    int socket;
    void (*closed)(void *);
    void *context;
    struct closing *next;
};
static struct closing *first_to_close = NULL, **last_to_close = &first_to_close;
static pthread_mutex_t closing_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t closing_added = PTHREAD_COND_INITIALIZER;
static bool is_closing = false;

void touchstone_interrupt_closing(bool is_on) {
    static _Thread_local bool is_made = false;
    static _Thread_local timer_t timer;
    if (!is_made && is_on) {
        struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
        sigset_t interruption;
        sigemptyset(&interruption);
        sigaddset(&interruption, INTERRUPTION);
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = INTERRUPTION};
        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        is_made = sigaction(INTERRUPTION, &action, NULL) == 0 &&
            pthread_sigmask(SIG_UNBLOCK, &interruption, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    }
    if (!is_made) return;
    // An ordinary close waits for nobody, so that it may be interrupted early.
    const long patience = is_on ? 200 * 1000 : 0;
    struct itimerspec time = {{0, patience}, {0, patience}};
    timer_settime(timer, 0, &time, NULL);
}

static void *close_one_after_another(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&closing_lock);
        while (!first_to_close) pthread_cond_wait(&closing_added, &closing_lock);
        struct closing *one = first_to_close;
        first_to_close = one->next;
        if (!first_to_close) last_to_close = &first_to_close;
        pthread_mutex_unlock(&closing_lock);
        touchstone_interrupt_closing(true);
        close(one->socket);
        touchstone_interrupt_closing(false);
        if (one->closed) one->closed(one->context);
        free(one);
    }
    return NULL;
}

static void begin_to_close(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    // Signals to the process are for other threads, which may block them from now on.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_closing = pthread_create(&thread, &attributes, close_one_after_another, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static pthread_once_t closing = PTHREAD_ONCE_INIT;

int touchstone_pass_credentials(int socket) {
    pthread_once(&closing, begin_to_close);
    int on = 1;
    if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return errno;
    // A byte out of band would else be dropped while others are read, and with it the descriptors that came along.
    return setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) == 0 ? 0 : errno;
}

/// Descriptors that connections leave to everything else: to saying who connected, and to files.
enum { kept_descriptors = 64 };

int touchstone_accept(int listener) {
    struct rlimit limit;
    // All numbers below this one are in use.
    int lowest = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    if (lowest < 0) return -1;
    close(lowest);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)lowest + kept_descriptors) {
        errno = EMFILE;
        return -1;
    }
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void touchstone_close_peer(int socket, void (*closed)(void *), void *context) {
    pthread_once(&closing, begin_to_close);
    // From here on nothing more can come.
    shutdown(socket, SHUT_RDWR);
    char byte;
    bool is_empty = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    struct closing *one = is_empty || !is_closing ? NULL : malloc(sizeof *one);
    if (!one) {
        close(socket);
        if (closed) closed(context);
        return;
    }
    *one = (struct closing){.socket = socket, .closed = closed, .context = context};
    pthread_mutex_lock(&closing_lock);
    *last_to_close = one;
    last_to_close = &one->next;
    pthread_cond_signal(&closing_added);
    pthread_mutex_unlock(&closing_lock);
}

int touchstone_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int touchstone_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void touchstone_ring(int bell) { eventfd_write(bell, 1); }

void touchstone_hush(int bell) {
    eventfd_t times;
    eventfd_read(bell, &times);
}

int touchstone_watch(int epoll, int descriptor, uint64_t number, bool reads, bool writes, bool is_new) {
    struct epoll_event event = {.events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0), .data.u64 = number};
    return epoll_ctl(epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0 ? 0 : errno;
}

void touchstone_unwatch(int epoll, int descriptor) { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL); }

int touchstone_wait(int epoll, struct touchstone_event *events, int room, int milliseconds) {
    struct epoll_event found[64];
    if (room > 64) room = 64;
    int count = epoll_wait(epoll, found, room, milliseconds);
    for (int index = 0; index < count; index++) {
        events[index] = (struct touchstone_event){
            .number = found[index].data.u64,
            .reads = (found[index].events & EPOLLIN) != 0,
            .writes = (found[index].events & EPOLLOUT) != 0,
            .ended = (found[index].events & (EPOLLHUP | EPOLLERR)) != 0,
        };
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

// Where the linker's data begins that programs write to; not there in a library.
extern char __data_start[] __attribute__((weak, visibility("hidden")));

// The program's constants that lie in a piece that can be written to: Swift says of a few of them that they are written to, and the
// linker puts all of them there. They follow the addresses of functions that are filled in late, and come before all other data.
struct constants {
    unsigned long start, end;
};

static int find_constants(struct dl_phdr_info *program, size_t size, void *result) {
    (void)size;
    struct constants *found = result;
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE), base = program->dlpi_addr, start = 0, last = 0;
    for (int index = 0; index < program->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &program->dlpi_phdr[index];
        unsigned long from = base + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_W) != 0) {
            if (from > start) start = from;
            last = from + header->p_filesz;
        } else if (header->p_type == PT_GNU_RELRO) {
            if (from + header->p_memsz > start) start = from + header->p_memsz;
        } else if (header->p_type == PT_DYNAMIC) {
            unsigned long addresses = 0, bytes = 0;
            for (const ElfW(Dyn) *entry = (const void *)from; entry->d_tag != DT_NULL; entry++) {
                if (entry->d_tag == DT_PLTGOT) addresses = entry->d_un.d_ptr;
                if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
            }
            if (addresses != 0 && addresses < base) addresses += base;
            // Three of the loader's own, and one for each function.
            addresses += (3 + bytes / sizeof(ElfW(Rela))) * sizeof(void *);
            if (addresses > start) start = addresses;
        }
    }
    unsigned long data = (unsigned long)__data_start;
    found->start = (start + page - 1) & ~(page - 1);
    found->end = data > last ? 0 : data & ~(page - 1);
    // The first object is the program.
    return 1;
}

// Makes them what they are: nobody writes to them from now on.
static struct constants protected_constants(void) {
    struct constants constants = {0, 0};
    if (__data_start != NULL) dl_iterate_phdr(find_constants, &constants);
    if (constants.start >= constants.end) return (struct constants){0, 0};
    if (mprotect((void *)constants.start, constants.end - constants.start, PROT_READ) != 0) return (struct constants){0, 0};
    return constants;
}

// What /proc tells of this process's pages: opened while it is dumpable, because afterwards only root can.
static int page_map = -1;

int touchstone_harden_process(void) {
    page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    protected_constants();
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

// Lets go of those that are as the file has them. The loader has changed some: these are this process's own, and no file has them.
static void let_go_of_constants(void) {
    struct constants constants = protected_constants();
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    if (page_map < 0) page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    enum { IS_FILES = 61, IS_IN_MEMORY = 63, AT_A_TIME = 512 };
    uint64_t pages[AT_A_TIME];
    for (unsigned long start = constants.start; start < constants.end;) {
        size_t count = (constants.end - start) / page;
        if (count > AT_A_TIME) count = AT_A_TIME;
        ssize_t read = page_map < 0 ? -1 : pread(page_map, pages, count * sizeof *pages, (off_t)(start / page * sizeof *pages));
        if (read != (ssize_t)(count * sizeof *pages)) break;
        for (size_t index = 0; index < count; index++) {
            if ((pages[index] >> IS_FILES & pages[index] >> IS_IN_MEMORY & 1) == 0) continue;
            let_go((void *)(start + index * page), page);
        }
        start += count * page;
    }
    if (page_map >= 0) close(page_map);
    page_map = -1;
}

void touchstone_return_start_code(void) {
    void (*change)(void *, size_t) = let_go;
    dl_iterate_phdr(for_each_constant, &change);
    let_go_of_constants();
    // From now on: by itself malloc makes up to eight arenas for each core, and each keeps the most that it ever had.
    mallopt(M_ARENA_MAX, 2);
    touchstone_return_free_memory();
}

bool touchstone_lock_all_memory(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    if (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY) return false;
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return false;
    void (*change)(void *, size_t) = unlock;
    dl_iterate_phdr(for_each_constant, &change);
    struct constants constants = protected_constants();
    munlock((void *)constants.start, constants.end - constants.start);
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
