// pam_touchstone.so: has the owner of Touchstone's device confirm that it is they, in sudo, login, polkit and lockers.
//
// It starts touchstone-pam-helper, passes on what that says, and returns the helper's verdict. Nothing else of ours runs in the host:
// no thread, no signal handler, no library but libc and libpam (PM-2). docs/rules/pam.md has the rules.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "helper_lines.h"

// Tests build the module with a program of their own.
#ifndef TOUCHSTONE_PAM_HELPER
#define TOUCHSTONE_PAM_HELPER "/usr/libexec/touchstone/touchstone-pam-helper"
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

#define EXPORTED __attribute__((visibility("default")))

enum {
    helpers_descriptor = 3,
    shortest_timeout = 5, longest_timeout = 120, default_timeout = 30, // seconds
    longest_value = 256, longest_secret = 256, // bytes
    // A helper that was killed is gone at once, unless the kernel cannot let it go. Nobody waits for that.
    longest_reaping = 1000, // milliseconds
};

enum mode { confirm, unlock, unlock_device };

struct options {
    enum mode mode;
    int timeout;
    const char *lid, *passcode;
};

struct helper {
    pid_t pid;
    int pidfd, socket;
    bool is_reaped; // by the host: then its number may be another's
};

// MARK: options

static bool read_timeout(const char *text, int *timeout) {
    int value = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > longest_timeout) return false;
        value = value * 10 + (*text - '0');
    }
    *timeout = value;
    return value >= shortest_timeout && value <= longest_timeout;
}

// PM-32: what is not known is refused, and never taken for something weaker.
static bool read_options(pam_handle_t *handle, int count, const char **arguments, struct options *options) {
    *options = (struct options){.mode = confirm, .timeout = default_timeout, .lid = "skip", .passcode = "yes"};
    bool has_mode = false;
    for (int index = 0; index < count; index++) {
        const char *argument = arguments[index];
        bool known = true;
        if (strncmp(argument, "timeout=", 8) == 0) known = read_timeout(argument + 8, &options->timeout);
        else if (strcmp(argument, "lid=skip") == 0 || strcmp(argument, "lid=use") == 0) options->lid = argument + 4;
        else if (strcmp(argument, "passcode=yes") == 0 || strcmp(argument, "passcode=no") == 0) options->passcode = argument + 9;
        else if (strcmp(argument, "unlock") == 0 || strcmp(argument, "unlock_device") == 0) {
            known = !has_mode;
            has_mode = true;
            options->mode = strcmp(argument, "unlock") == 0 ? unlock : unlock_device;
        } else known = false;
        if (!known) {
            pam_syslog(handle, LOG_ERR, "the option '%.64s' is not known or malformed; see pam_touchstone(8)", argument);
            return false;
        }
    }
    return true;
}

// MARK: time

// Counted while the machine sleeps, too.
static long long now(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) return LLONG_MAX;
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

// Waits until there is something to read, or the deadline. Returns whether there is.
static bool wait_until(int descriptor, short events, long long deadline) {
    for (;;) {
        long long left = deadline - now();
        if (left <= 0) return false;
        // In pieces, because poll's own clock stands still while the machine sleeps.
        struct pollfd entry = {.fd = descriptor, .events = events};
        int ready = poll(&entry, 1, left < 1000 ? (int)left : 1000);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

// MARK: the helper

// PM-30: all is prepared before, so that nothing is allocated between fork and exec.
static int spawn(char *const arguments[], int socket, pid_t *pid) {
    // PM-3: nothing of the host's environment but the language.
    char language[64] = "LANG=C.UTF-8";
    const char *given = getenv("LANG");
    if (given != NULL && strlen(given) < sizeof language - 5 && strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-") == strlen(given))
        snprintf(language, sizeof language, "LANG=%s", given);
    char *environment[] = {language, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int code = posix_spawnattr_init(&attributes);
    if (code != 0) return code;
    code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        posix_spawnattr_destroy(&attributes);
        return code;
    }
    if (code == 0) code = posix_spawnattr_setsigdefault(&attributes, &all);
    if (code == 0) code = posix_spawnattr_setsigmask(&attributes, &none);
    if (code == 0) code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, socket, helpers_descriptor);
    for (int standard = 0; standard < helpers_descriptor && code == 0; standard++)
        code = posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(&actions, helpers_descriptor + 1);
    if (code == 0) code = posix_spawn(pid, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

// Whether the helper still holds its end of the socket, so that its number is its own.
static bool is_there(const struct helper *helper) {
    struct pollfd entry = {.fd = helper->socket};
    return poll(&entry, 1, 0) == 0;
}

// Starts the helper. Returns 0 or an errno; the caller ends what was started.
static int start(char *const arguments[], struct helper *helper) {
    int ends[2];
    *helper = (struct helper){.pid = -1, .pidfd = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    helper->socket = ends[0];
    int code = spawn(arguments, ends[1], &helper->pid);
    close(ends[1]);
    if (code != 0) return code;
    helper->pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
    helper->is_reaped = helper->pidfd < 0 && errno == ESRCH;
    if (helper->pidfd < 0) return helper->is_reaped ? 0 : errno;
    if (is_there(helper)) return 0;
    // It has ended. If the host reaped it, the number may be somebody else's, and what it said is read all the same.
    siginfo_t how = {0};
    int waited;
    do waited = waitid(P_PIDFD, (id_t)helper->pidfd, &how, WEXITED | WNOHANG | WNOWAIT);
    while (waited != 0 && errno == EINTR);
    helper->is_reaped = waited != 0;
    return 0;
}

// Reaps the helper. Returns whether it ended by itself and well, or somebody else reaped it: then the result line alone counts.
static bool reap(idtype_t type, id_t name, pid_t pid) {
    siginfo_t how = {0};
    long long deadline = now() + longest_reaping;
    for (;;) {
        int waited = waitid(type, name, &how, WEXITED | WNOHANG);
        if (waited != 0 && errno == EINTR) continue;
        if (waited != 0) return errno == ECHILD;
        if (how.si_pid == pid) return how.si_code == CLD_EXITED && how.si_status == 0;
        if (now() >= deadline) return false;
        poll(NULL, 0, 1);
    }
}

// Ends and reaps the helper, whatever it is doing. Returns whether it had ended by itself and well.
static bool end(struct helper *helper, bool is_over) {
    bool is_well = false;
    if (helper->is_reaped) {
        is_well = true;
    } else if (helper->pidfd >= 0) {
        // One that has said its result gets a moment to end.
        if (!is_over || !wait_until(helper->pidfd, POLLIN, now() + longest_reaping))
            syscall(SYS_pidfd_send_signal, helper->pidfd, SIGKILL, NULL, 0);
        is_well = reap(P_PIDFD, (id_t)helper->pidfd, helper->pid);
    } else if (helper->pid > 0) {
        // There was no descriptor left for it.
        if (is_there(helper)) kill(helper->pid, SIGKILL);
        reap(P_PID, (id_t)helper->pid, helper->pid);
    }
    if (helper->pidfd >= 0) close(helper->pidfd);
    if (helper->socket >= 0) close(helper->socket);
    return is_well;
}

static bool send_all(int socket, const void *bytes, size_t count, long long deadline) {
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN && wait_until(socket, POLLOUT, deadline)) continue;
        if (sent <= 0) return false;
        bytes = (const char *)bytes + sent;
        count -= (size_t)sent;
    }
    return true;
}

// PM-25: straight out of libpam's own memory. No copy of it is made here.
static bool send_secret(pam_handle_t *handle, int socket, long long deadline) {
    const void *secret = NULL;
    if (pam_get_item(handle, PAM_AUTHTOK, &secret) != PAM_SUCCESS || secret == NULL) return false;
    size_t count = strlen(secret);
    if (count == 0 || count > longest_secret) return false;
    unsigned char length[2] = {(unsigned char)(count >> 8), (unsigned char)count};
    return send_all(socket, length, sizeof length, deadline) && send_all(socket, secret, count, deadline);
}

// MARK: what it says

struct conversation {
    pam_handle_t *handle;
    bool is_silent;
};

// PM-7: one message at a time, in the caller's thread. Nothing is asked for. sudo always says PAM_SILENT: an error is shown all the same.
static void take_line(void *context, enum helper_line line, const char *text) {
    struct conversation *conversation = context;
    if (line == line_log) pam_syslog(conversation->handle, LOG_NOTICE, "%s", text);
    else if (line == line_error || !conversation->is_silent) pam_prompt(conversation->handle, line == line_error ? PAM_ERROR_MSG : PAM_TEXT_INFO, NULL, "%s", text);
}

// Reads until the helper's result and its end. Returns the result, or -1.
static int listen_to(struct helper *helper, struct conversation *conversation, long long deadline) {
    struct helper_reader reader;
    helper_reader_begin(&reader);
    while (wait_until(helper->socket, POLLIN, deadline)) {
        char bytes[512];
        ssize_t count = recv(helper->socket, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        // Only a helper that is done closes its end.
        if (count == 0) return helper_reader_result(&reader);
        if (count < 0 || !helper_reader_take(&reader, bytes, (size_t)count, take_line, conversation)) return -1;
    }
    return -1;
}

// MARK: the module

static const char *item(pam_handle_t *handle, int type) {
    const void *value = NULL;
    return pam_get_item(handle, type, &value) == PAM_SUCCESS && value != NULL ? value : "";
}

static int verdict(pam_handle_t *handle, const struct options *options, int result) {
    switch (result) {
    case PAM_SYSTEM_ERR:
        pam_syslog(handle, LOG_ALERT, "the device's answer or the enrolled key cannot be trusted; nobody was let in");
        return result;
    case PAM_SUCCESS:
        // To unlock the device says nothing of who somebody is to this machine.
        return options->mode == unlock_device ? PAM_AUTHINFO_UNAVAIL : PAM_SUCCESS;
    case PAM_AUTH_ERR:
    case PAM_USER_UNKNOWN: return options->mode == unlock_device ? PAM_AUTHINFO_UNAVAIL : result;
    default: return PAM_AUTHINFO_UNAVAIL;
    }
}

static int ask(pam_handle_t *handle, int flags, const struct options *options) {
    long long deadline = now() + options->timeout * 1000LL;
    const char *user = item(handle, PAM_USER), *service = item(handle, PAM_SERVICE);
    const char *terminal = item(handle, PAM_TTY), *host = item(handle, PAM_RHOST);
    // Who is meant is asked for by the module behind this one.
    if (*user == '\0' || *service == '\0') return PAM_AUTHINFO_UNAVAIL;
    const char *values[] = {user, service, terminal, host};
    for (size_t index = 0; index < sizeof values / sizeof *values; index++)
        if (strlen(values[index]) > longest_value) return PAM_AUTHINFO_UNAVAIL;
    static const char *const modes[] = {[confirm] = "confirm", [unlock] = "unlock", [unlock_device] = "unlock-device"};
    bool is_remote = getenv("SSH_CONNECTION") != NULL || pam_getenv(handle, "SSH_CONNECTION") != NULL;
    // posix_spawn takes pointers to what it does not change.
    char *arguments[] = {
        TOUCHSTONE_PAM_HELPER, (char *)modes[options->mode], (char *)user, (char *)service, (char *)terminal, (char *)host,
        is_remote ? "remote" : "local", (char *)options->lid, (char *)options->passcode, NULL,
    };
    struct helper helper;
    int code = start(arguments, &helper);
    if (code != 0) {
        pam_syslog(handle, LOG_ERR, "%s was not started: %s", TOUCHSTONE_PAM_HELPER, strerror(code));
        end(&helper, false);
        return PAM_AUTHINFO_UNAVAIL;
    }
    struct conversation conversation = {.handle = handle, .is_silent = (flags & PAM_SILENT) != 0};
    int result = -1;
    if (options->mode != unlock_device || send_secret(handle, helper.socket, deadline))
        result = listen_to(&helper, &conversation, deadline);
    bool is_well = end(&helper, result >= 0);
    if (result < 0 || !is_well) {
        pam_syslog(handle, LOG_NOTICE, "the helper gave no answer in time, or ended before it");
        return PAM_AUTHINFO_UNAVAIL;
    }
    return verdict(handle, options, result);
}

EXPORTED int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **arguments) {
    struct options options;
    if (!read_options(handle, count, arguments, &options)) return PAM_AUTHINFO_UNAVAIL;
    return ask(handle, flags, &options);
}

// PM-20
EXPORTED int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **arguments) {
    (void)handle, (void)flags, (void)count, (void)arguments;
    return PAM_SUCCESS;
}
