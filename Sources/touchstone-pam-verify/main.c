// Asks one PAM service whether it recognises one user, for touchstone-enclave: modules are other people's code, and whatever they do
// (exit, crash, hang, print, leave threads behind) they do it here.
//
//     touchstone-pam-verify SERVICE USER [DIRECTORY]
//
// Says on descriptor 3, in lines: "retry" for each error message of a module, then "result N", N being what pam_authenticate
// returned. What ends without a result has none. Nothing that a module asks is answered: a passcode is for the enclave alone.
#include <fcntl.h>
#include <poll.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { protocol = 3, most_retries = 16 };
// TouchstoneVersion has the same.
static const char version[] = "0.1.0";

static void say(const char *line) {
    size_t length = strlen(line);
    if (write(protocol, line, length) != (ssize_t)length) _exit(EXIT_FAILURE);
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *unused) {
    (void)unused;
    static int retries = 0;
    if (count <= 0 || count > PAM_MAX_NUM_MSG || messages == NULL) return PAM_CONV_ERR;
    for (int index = 0; index < count; index++) {
        if (messages[index] == NULL) return PAM_CONV_ERR;
        switch (messages[index]->msg_style) {
        case PAM_TEXT_INFO: break;
        case PAM_ERROR_MSG:
            if (retries++ < most_retries) say("retry\n");
            break;
        default: return PAM_CONV_ERR;
        }
    }
    // There are modules that want no answer, and say so with a null pointer.
    if (responses == NULL) return PAM_SUCCESS;
    *responses = calloc((size_t)count, sizeof **responses);
    return *responses == NULL ? PAM_BUF_ERR : PAM_SUCCESS;
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--version") == 0) return puts(version) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (count < 3 || count > 4) return EXIT_FAILURE;
    struct rlimit none = {0, 0};
    // What a module executes is as open to others of this user as any program: it has no result to give.
    if (fcntl(protocol, F_SETFD, FD_CLOEXEC) != 0) return EXIT_FAILURE;
    // Nobody of the same user looks in, or writes a result for it (but in the moment before this line, which a program that does not
    // begin undumpable cannot close); and it does not outlive the enclave.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return EXIT_FAILURE;
    // If the enclave ended before that line, no signal comes. Then nobody holds the other end.
    struct pollfd enclave = {.fd = protocol};
    if (poll(&enclave, 1, 0) != 0) return EXIT_FAILURE;
    if (setrlimit(RLIMIT_CORE, &none) != 0) return EXIT_FAILURE;

    struct pam_conv conversation = {converse, NULL};
    pam_handle_t *handle = NULL;
    int result = count == 4
        ? pam_start_confdir(arguments[1], arguments[2], &conversation, arguments[3], &handle)
        : pam_start(arguments[1], arguments[2], &conversation, &handle);
    if (result == PAM_SUCCESS) result = pam_authenticate(handle, PAM_DISALLOW_NULL_AUTHTOK);
    char line[32];
    snprintf(line, sizeof line, "result %d\n", result);
    say(line);
    // Nothing that a module left to be done at the end is done.
    _exit(EXIT_SUCCESS);
}
