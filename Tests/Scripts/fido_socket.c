// The socket of touchstone-fido in the place of the kernel's device: preloaded into a program that uses libfido2, such as fido2-token.
//
// Whatever device the program opens is the socket of FIDO_PACKETS, by libfido2's own functions for input and output. It finds one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fido.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PACKET = 64 };

static void *opened(const char *name) {
    const char *path = getenv("FIDO_PACKETS");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path) abort();
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) return NULL;
    (void)name;
    return (void *)(intptr_t)descriptor;
}

static void closed(void *handle) { close((int)(intptr_t)handle); }

static int received(void *handle, unsigned char *bytes, size_t count, int milliseconds) {
    struct pollfd entry = {.fd = (int)(intptr_t)handle, .events = POLLIN};
    if (count != PACKET || poll(&entry, 1, milliseconds) != 1) return -1;
    return recv(entry.fd, bytes, count, 0) == PACKET ? PACKET : -1;
}

static int sent(void *handle, const unsigned char *bytes, size_t count) {
    // The number of the report stands in front.
    return send((int)(intptr_t)handle, bytes + 1, count - 1, MSG_NOSIGNAL) == PACKET ? (int)count : -1;
}

static const fido_dev_io_t io = {opened, closed, received, sent};

int fido_dev_open(fido_dev_t *device, const char *path) {
    static int (*real)(fido_dev_t *, const char *);
    if (!real) real = (int (*)(fido_dev_t *, const char *))dlsym(RTLD_NEXT, "fido_dev_open");
    int code = fido_dev_set_io_functions(device, &io);
    return code == FIDO_OK ? real(device, path) : code;
}

int fido_dev_info_manifest(fido_dev_info_t *list, size_t room, size_t *found) {
    *found = 0;
    if (room == 0) return FIDO_OK;
    int code = fido_dev_info_set(list, 0, "/dev/hidraw-of-the-test", "touchstone", "Touchstone passkeys", &io, NULL);
    if (code == FIDO_OK) *found = 1;
    return code;
}
