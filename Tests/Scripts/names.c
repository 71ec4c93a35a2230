// Preloaded into the enclave: nobody asks the system's name service there, and /etc/passwd is the file NAMES_PASSWD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define NEVER(name) __attribute__((visibility("default"))) void *name(void) { abort(); }
NEVER(getpwuid)
NEVER(getpwuid_r)
NEVER(getpwnam)
NEVER(getpwnam_r)
NEVER(getpwent)
NEVER(getgrgid)
NEVER(getgrgid_r)
NEVER(getgrnam)
NEVER(getgrnam_r)
NEVER(initgroups)
NEVER(getaddrinfo)

static int pass(const char *function, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, function);
    return real(strcmp(path, "/etc/passwd") == 0 ? getenv("NAMES_PASSWD") : path, flags, mode);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return pass(#name, path, flags, mode);                                                                         \
    }
OPEN(open)
OPEN(open64)
