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
#include <tss2/tss2_tpm2_types.h>
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
    uint32_t command;
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

static uint32_t number(const uint8_t *bytes, size_t count) {
    uint32_t number = 0;
    for (size_t index = 0; index < count; index++) number = number << 8 | bytes[index];
    return number;
}

static TSS2_RC transmit(TSS2_TCTI_CONTEXT *context, size_t size, const uint8_t *command) {
    touchstone_tcti *tcti = (touchstone_tcti *)context;
    tcti->deadline = now_ms() + tcti->limit_ms;
    tcti->received = 0;
    tcti->command = size < HEADER ? 0 : number(command + 6, 4);
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
    return tcti->received < HEADER ? HEADER : number(tcti->answer + 2, 4);
}

// Whether the first parameter of an answer in a session lies within it. ESYS (3.2.1) decrypts that without a look at its length, and
// would read up to 64 KiB behind its buffer.
static bool is_whole(const touchstone_tcti *tcti, size_t length) {
    bool has_handle = tcti->command == TPM2_CC_CreatePrimary || tcti->command == TPM2_CC_Load;
    switch (tcti->command) {
    case TPM2_CC_Create:
    case TPM2_CC_CreatePrimary:
    case TPM2_CC_ECDH_ZGen:
    case TPM2_CC_Load:
    case TPM2_CC_NV_Read:
    case TPM2_CC_Unseal:
        break;
    default:
        return true;
    }
    if (length < HEADER || number(tcti->answer, 2) != TPM2_ST_SESSIONS || number(tcti->answer + 6, 4) != TPM2_RC_SUCCESS) return true;
    size_t start = HEADER + (has_handle ? 4 : 0) + 4;
    if (length < start + 2) return false;
    size_t parameters = number(tcti->answer + start - 4, 4), first = number(tcti->answer + start, 2);
    return parameters <= length - start && first + 2 <= parameters;
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
    if (length != tcti->received || !is_whole(tcti, length)) return TSS2_TCTI_RC_MALFORMED_RESPONSE;
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
