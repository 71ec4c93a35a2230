// Preloaded by Benchmarks/run: each sync of the disk takes SYNC_MICROSECONDS longer, as on a disk that has no memory of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slowly(const char *name, int file) {
    const char *delay = getenv("SYNC_MICROSECONDS");
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    usleep(delay ? (useconds_t)atoi(delay) : 0);
    return sync(file);
}

int fsync(int file) { return slowly("fsync", file); }

int fdatasync(int file) { return slowly("fdatasync", file); }
