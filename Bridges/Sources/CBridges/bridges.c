#define _GNU_SOURCE
#include "CBridges.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int bridge_want_senders(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

int bridge_accept(int socket) {
    int accepted = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
    if (accepted < 0) return -1;
    // Once more: the listening socket may have got it after somebody connected, and then not every kernel passes it on.
    if (bridge_want_senders(accepted) == 0) return accepted;
    close(accepted);
    return -1;
}

int bridge_peer_of(int socket, pid_t *process, uid_t *user, int *pidfd) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return errno;
    *process = credentials.pid;
    *user = credentials.uid;
    length = sizeof *pidfd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, pidfd, &length) != 0) *pidfd = -1;
    return 0;
}

ssize_t bridge_receive_from(int socket, void *bytes, size_t room, pid_t *sender) {
    // The sender comes first, and there is no room for descriptors behind it: the kernel closes them.
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    *sender = 0;
    ssize_t count;
    do count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS &&
        header->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
        *sender = credentials.pid;
    }
    return count;
}

bool bridge_become_undumpable(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0; }
