// Clocks that are moved: preloaded into a daemon, adds to CLOCK_REALTIME and to CLOCK_BOOTTIME what the test says.
//
// How much, in seconds, is read from the file CLOCKS_CONTROL, which is shared with the test.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic int64_t wall;
    _Atomic int64_t boot;
};

static struct control *control;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("CLOCKS_CONTROL");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) abort();
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (control == MAP_FAILED) abort();
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
    if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += control->wall;
    if (result == 0 && control && clock == CLOCK_BOOTTIME) time->tv_sec += control->boot;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = ((int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday"))(now, zone);
    if (result == 0 && control) now->tv_sec += control->wall;
    return result;
}

time_t time(time_t *when) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (when) *when = now.tv_sec;
    return now.tv_sec;
}
