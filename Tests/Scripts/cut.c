// Records what a program does to files: preloaded into it, for a test that lays the files out as a power cut would leave them.
//
// Everything below the directory CUT_ROOT counts. Each change is appended to the file CUT_TRACE, which programs share, in the order
// in which it took place: a head, and what was written or the names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
    uint32_t bytes;
    uint32_t kind;
    uint64_t inode;
    uint64_t at;
};

static int trace = -1;
static dev_t device;
static char root[PATH_MAX];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("CUT_TRACE"), *below = getenv("CUT_ROOT");
    struct stat facts;
    if (!path || !below || stat(below, &facts) != 0 || !realpath(below, root)) abort();
    device = facts.st_dev;
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    // Out of the way of numbers that a program was told.
    trace = fcntl(file, F_DUPFD_CLOEXEC, 700);
    if (trace < 0) abort();
    close(file);
}

static void record(char kind, uint64_t inode, uint64_t at, const void *bytes, size_t count) {
    struct head head = {.bytes = (uint32_t)count, .kind = (uint32_t)kind, .inode = inode, .at = at};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, count}};
    if (NEXT(writev)(trace, parts, 2) != (ssize_t)(sizeof head + count)) abort();
}

// Absolute, and below the root; NULL otherwise.
static const char *ours(const char *path, char *room) {
    if (trace < 0) return NULL;
    if (path[0] != '/') {
        if (!getcwd(room, PATH_MAX - strlen(path) - 2)) return NULL;
        strcat(strcat(room, "/"), path);
    } else {
        if (strlen(path) >= PATH_MAX) return NULL;
        strcpy(room, path);
    }
    size_t length = strlen(root);
    return strncmp(room, root, length) == 0 && room[length] == '/' ? room : NULL;
}

static uint64_t inode_of(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 ? facts.st_ino : 0;
}

// The number of an open file or directory of ours; 0: another's.
static uint64_t inode(int file) {
    struct stat facts;
    if (trace < 0 || file <= 2 || file == trace || fstat(file, &facts) != 0 || facts.st_dev != device) return 0;
    return S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode) ? facts.st_ino : 0;
}

#define IN_ORDER(type, call, then)        \
    pthread_mutex_lock(&order);           \
    type result = call;                   \
    int code = errno;                     \
    if (result >= 0) { then; }            \
    pthread_mutex_unlock(&order);         \
    errno = code;                         \
    return result

ssize_t write(int file, const void *bytes, size_t count) {
    uint64_t number = inode(file);
    if (!number) return NEXT(write)(file, bytes, count);
    IN_ORDER(ssize_t, NEXT(write)(file, bytes, count),
             record('W', number, (uint64_t)(lseek(file, 0, SEEK_CUR) - result), bytes, (size_t)result));
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    uint64_t number = inode(file);
    if (number) abort();
    return NEXT(writev)(file, parts, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    uint64_t number = inode(file);
    if (!number) return NEXT(pwrite)(file, bytes, count, at);
    IN_ORDER(ssize_t, NEXT(pwrite)(file, bytes, count, at), record('W', number, (uint64_t)at, bytes, (size_t)result));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) { return pwrite(file, bytes, count, at); }

int fsync(int file) {
    uint64_t number = inode(file);
    if (!number) return NEXT(fsync)(file);
    IN_ORDER(int, NEXT(fsync)(file), record('S', number, 0, NULL, 0));
}

int fdatasync(int file) {
    uint64_t number = inode(file);
    if (!number) return NEXT(fdatasync)(file);
    IN_ORDER(int, NEXT(fdatasync)(file), record('S', number, 0, NULL, 0));
}

int ftruncate(int file, off_t length) {
    uint64_t number = inode(file);
    if (!number) return NEXT(ftruncate)(file, length);
    IN_ORDER(int, NEXT(ftruncate)(file, length), record('T', number, (uint64_t)length, NULL, 0));
}

int ftruncate64(int file, off64_t length) { return ftruncate(file, length); }

// `at` is 1 where both names change places.
static void record_names(char kind, uint64_t number, uint64_t at, const char *one, const char *other) {
    char names[2 * PATH_MAX];
    int count = snprintf(names, sizeof names, "%s%c%s", one, 0, other);
    record(kind, number, at, names, (size_t)count);
}

static int renaming(int (*body)(const char *, const char *, unsigned), const char *from, const char *to, unsigned flags) {
    char one[PATH_MAX], other[PATH_MAX];
    const char *old = ours(from, one), *new = ours(to, other);
    if (!new) return body(from, to, flags);
    // A file that comes from elsewhere would have contents that nobody recorded.
    if (!old) abort();
    uint64_t number = inode_of(old);
    IN_ORDER(int, body(from, to, flags), record_names('R', number, flags & RENAME_EXCHANGE ? 1 : 0, old, new));
}

static int plain(const char *from, const char *to, unsigned flags) { return (void)flags, NEXT(rename)(from, to); }
static int flagged(const char *from, const char *to, unsigned flags) {
    return NEXT(renameat2)(AT_FDCWD, from, AT_FDCWD, to, flags);
}

int rename(const char *from, const char *to) { return renaming(plain, from, to, 0); }

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    if (from_directory != AT_FDCWD || to_directory != AT_FDCWD) return NEXT(renameat2)(from_directory, from, to_directory, to, flags);
    return renaming(flagged, from, to, flags);
}

int unlink(const char *path) {
    char room[PATH_MAX];
    const char *name = ours(path, room);
    if (!name) return NEXT(unlink)(path);
    IN_ORDER(int, NEXT(unlink)(path), record('U', 0, 0, name, strlen(name)));
}

int rmdir(const char *path) {
    char room[PATH_MAX];
    const char *name = ours(path, room);
    if (!name) return NEXT(rmdir)(path);
    IN_ORDER(int, NEXT(rmdir)(path), record('U', 0, 0, name, strlen(name)));
}

int mkdir(const char *path, mode_t mode) {
    char room[PATH_MAX];
    const char *name = ours(path, room);
    if (!name) return NEXT(mkdir)(path, mode);
    IN_ORDER(int, NEXT(mkdir)(path, mode), record('M', inode_of(name), mode, name, strlen(name)));
}

static int opening(int (*next)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    char room[PATH_MAX];
    const char *name = flags & (O_CREAT | O_TRUNC) ? ours(path, room) : NULL;
    if (!name) return next(path, flags, mode);
    pthread_mutex_lock(&order);
    int was_there = access(name, F_OK) == 0, file = next(path, flags, mode), code = errno;
    if (file >= 0 && !was_there) record('C', inode(file), mode, name, strlen(name));
    if (file >= 0 && was_there && flags & O_TRUNC) record('T', inode(file), 0, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = code;
    return file;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opening(NEXT(open), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opening(NEXT(open64), path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    if (directory == AT_FDCWD) return opening(NEXT(open), path, flags, mode);
    // Below a directory that is open nothing of ours is made.
    if (flags & O_CREAT && inode(directory)) abort();
    return NEXT(openat)(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return openat(directory, path, flags, mode);
}

int mkstemp(char *path) {
    char room[PATH_MAX];
    pthread_mutex_lock(&order);
    int file = NEXT(mkstemp)(path), code = errno;
    const char *name = file >= 0 ? ours(path, room) : NULL;
    if (name) record('C', inode(file), 0600, name, strlen(name));
    pthread_mutex_unlock(&order);
    errno = code;
    return file;
}
