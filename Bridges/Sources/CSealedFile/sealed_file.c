#define _GNU_SOURCE
#include "CSealedFile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int sealed_file(const void *bytes, size_t count) {
    int file = memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    size_t written = 0;
    while (written < count) {
        ssize_t more = write(file, (const char *)bytes + written, count - written);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        written += (size_t)more;
    }
    if (written == count && lseek(file, 0, SEEK_SET) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
        return file;
    int code = errno;
    close(file);
    errno = code;
    return -1;
}
