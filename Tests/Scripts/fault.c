// A disk that fails: preloaded into a daemon, makes the n-th change to a file fail, and every one after it until told otherwise.
//
// Only files and directories on the file system of FAULT_STATE count, and neither the standard streams. What to do is read from the
// file FAULT_CONTROL, which is shared with the test: how many changes may still succeed, the errno of the others, how many failed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct control {
    _Atomic int32_t left;
    _Atomic int32_t code;
    _Atomic int32_t failed;
};

static struct control *control;
static dev_t device;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULT_CONTROL"), *state = getenv("FAULT_STATE");
    struct stat facts;
    if (!path || !state || stat(state, &facts) != 0) abort();
    device = facts.st_dev;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) abort();
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (control == MAP_FAILED) abort();
    close(file);
}

// Whether this change is to fail: then errno says why.
static int fails(void) {
    if (!control || control->code == 0) return 0;
    if (control->left > 0) {
        control->left--;
        return 0;
    }
    control->failed++;
    errno = control->code;
    return 1;
}

static int is_ours(int file) {
    struct stat facts;
    return file > 2 && fstat(file, &facts) == 0 && facts.st_dev == device
        && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode));
}

static int is_path_ours(const char *path) {
    struct stat facts;
    char directory[4096];
    if (lstat(path, &facts) == 0) return facts.st_dev == device;
    if (strlen(path) >= sizeof directory) return 0;
    strcpy(directory, path);
    char *end = strrchr(directory, '/');
    if (!end) return 0;
    *end = 0;
    return stat(directory, &facts) == 0 && facts.st_dev == device;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count) { return is_ours(file) && fails() ? -1 : NEXT(write)(file, bytes, count); }
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) { return is_ours(file) && fails() ? -1 : NEXT(pwrite)(file, bytes, count, at); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) { return is_ours(file) && fails() ? -1 : NEXT(pwrite64)(file, bytes, count, at); }
int fsync(int file) { return is_ours(file) && fails() ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return is_ours(file) && fails() ? -1 : NEXT(fdatasync)(file); }
int ftruncate(int file, off_t length) { return is_ours(file) && fails() ? -1 : NEXT(ftruncate)(file, length); }
int ftruncate64(int file, off64_t length) { return is_ours(file) && fails() ? -1 : NEXT(ftruncate64)(file, length); }
int rename(const char *from, const char *to) { return is_path_ours(to) && fails() ? -1 : NEXT(rename)(from, to); }
int unlink(const char *path) { return is_path_ours(path) && fails() ? -1 : NEXT(unlink)(path); }

static int opening(const char *path, int flags) { return (flags & O_CREAT) && is_path_ours(path) && fails(); }

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opening(path, flags) ? -1 : NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opening(path, flags) ? -1 : NEXT(open64)(path, flags, mode);
}
