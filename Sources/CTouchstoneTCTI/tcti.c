#include "touchstone_tcti.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <tss2/tss2_tcti.h>
#include <unistd.h>

// Longest command and answer, in bytes: TPM2_MAX_RESPONSE_SIZE.
enum { MAXIMUM = 4096, HEADER = 10 };

struct touchstone_tcti {
    TSS2_TCTI_CONTEXT_COMMON_V1 common;  // first: libtss2 sees this part alone
    int descriptor;
    bool is_socket;
    int limit_ms;
    int64_t deadline;
    bool timed_out;
    size_t received;
    uint8_t answer[MAXIMUM];
};

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool wait_until(touchstone_tcti *tcti, short events) {
    for (;;) {
        int64_t left = tcti->deadline - now_ms();
        if (left < 0) left = 0;
        struct pollfd poller = { .fd = tcti->descriptor, .events = events };
        int count = poll(&poller, 1, (int)left);
        if (count > 0) return true;
        if (count == 0) {
            tcti->timed_out = true;
            return false;
        }
        if (errno != EINTR) return false;
    }
}

static TSS2_RC transmit(TSS2_TCTI_CONTEXT *context, size_t size, const uint8_t *command) {
    touchstone_tcti *tcti = (touchstone_tcti *)context;
    tcti->deadline = now_ms() + tcti->limit_ms;
    tcti->received = 0;
    while (size > 0) {
        if (!wait_until(tcti, POLLOUT)) return TSS2_TCTI_RC_IO_ERROR;
        ssize_t count = tcti->is_socket ? send(tcti->descriptor, command, size, MSG_NOSIGNAL)
                                        : write(tcti->descriptor, command, size);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count <= 0) return TSS2_TCTI_RC_IO_ERROR;
        command += count;
        size -= (size_t)count;
    }
    return TSS2_RC_SUCCESS;
}

// The length that the answer's header says, once that is there.
static size_t wanted_bytes(const touchstone_tcti *tcti) {
    if (tcti->received < HEADER) return HEADER;
    const uint8_t *length = tcti->answer + 2;
    return (size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3];
}

// Reads the whole answer at once: a device gives the rest of one that was read in part to nobody. Asked for the length alone, keeps it.
static TSS2_RC receive(TSS2_TCTI_CONTEXT *context, size_t *size, uint8_t *answer, int32_t timeout) {
    (void)timeout;
    touchstone_tcti *tcti = (touchstone_tcti *)context;
    while (tcti->received < wanted_bytes(tcti)) {
        if (!wait_until(tcti, POLLIN)) return TSS2_TCTI_RC_IO_ERROR;
        ssize_t count = read(tcti->descriptor, tcti->answer + tcti->received, MAXIMUM - tcti->received);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count <= 0) return TSS2_TCTI_RC_NO_CONNECTION;
        tcti->received += (size_t)count;
        if (wanted_bytes(tcti) > MAXIMUM) return TSS2_TCTI_RC_MALFORMED_RESPONSE;
    }
    size_t length = wanted_bytes(tcti);
    if (length != tcti->received) return TSS2_TCTI_RC_MALFORMED_RESPONSE;
    if (answer != NULL) {
        if (*size < length) return TSS2_TCTI_RC_INSUFFICIENT_BUFFER;
        memcpy(answer, tcti->answer, length);
        explicit_bzero(tcti->answer, length);
        tcti->received = 0;
    }
    *size = length;
    return TSS2_RC_SUCCESS;
}

static int connect_socket(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    // Not blocking: a queue that is full is a TPM that is busy, not a reason to wait.
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int code = errno == EAGAIN ? EBUSY : errno;
        close(descriptor);
        errno = code;
        return -1;
    }
    return descriptor;
}

touchstone_tcti *touchstone_tcti_open(const char *path, bool is_socket, int limit_ms) {
    int descriptor = is_socket ? connect_socket(path) : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return NULL;
    touchstone_tcti *tcti = calloc(1, sizeof *tcti);
    if (tcti == NULL) {
        close(descriptor);
        errno = ENOMEM;
        return NULL;
    }
    tcti->common.magic = 0x746f756368747067;
    tcti->common.version = 1;
    tcti->common.transmit = transmit;
    tcti->common.receive = receive;
    tcti->descriptor = descriptor;
    tcti->is_socket = is_socket;
    tcti->limit_ms = limit_ms;
    return tcti;
}

bool touchstone_tcti_timed_out(const touchstone_tcti *tcti) { return tcti->timed_out; }

void touchstone_tcti_close(touchstone_tcti *tcti) {
    close(tcti->descriptor);
    explicit_bzero(tcti, sizeof *tcti);
    free(tcti);
}
