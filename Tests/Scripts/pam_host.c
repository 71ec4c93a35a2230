// A program that uses PAM, for bridge-pam.py: it authenticates as it is told, and says what it was told and what is left behind.
//
//     pam_host DIRECTORY SERVICE USER [WORD ...]
//
// Words: silent, conversation-fails, ignore-children, reap-children, signals-blocked, standard-closed, descriptors-full, processes-full
// (of user 65534), fork, threads=N, runs=N, rhost=NAME, tty=NAME. Prints "info TEXT", "error TEXT", "asked" for a question, which it
// does not answer, then one line "result N milliseconds descriptors children" for the last run.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool conversation_fails, is_silent;
static const char *directory, *service, *user, *rhost, *tty;
static FILE *out;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *unused) {
    (void)unused;
    for (int index = 0; index < count; index++) {
        switch (messages[index]->msg_style) {
        case PAM_TEXT_INFO: fprintf(out, "info %s\n", messages[index]->msg); break;
        case PAM_ERROR_MSG: fprintf(out, "error %s\n", messages[index]->msg); break;
        default: fprintf(out, "asked\n"); return PAM_CONV_ERR;
        }
    }
    fflush(out);
    if (conversation_fails) return PAM_CONV_ERR;
    if (responses != NULL) *responses = NULL;
    return PAM_SUCCESS;
}

static int descriptors(void) {
    int count = 0;
    DIR *open = opendir("/proc/self/fd");
    while (open != NULL && readdir(open) != NULL) count++;
    if (open != NULL) closedir(open);
    return count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int authenticate(double *took) {
    struct pam_conv conversation = {converse, NULL};
    pam_handle_t *handle = NULL;
    int result = pam_start_confdir(service, user, &conversation, directory, &handle);
    if (result != PAM_SUCCESS) return 1000 + result;
    if (rhost != NULL) pam_set_item(handle, PAM_RHOST, rhost);
    if (tty != NULL) pam_set_item(handle, PAM_TTY, tty);
    double started = now();
    result = pam_authenticate(handle, is_silent ? PAM_SILENT : 0);
    *took = now() - started;
    if (result == PAM_SUCCESS) pam_setcred(handle, PAM_ESTABLISH_CRED);
    pam_end(handle, result);
    return result;
}

static void reap(int number) {
    (void)number;
    int saved = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    errno = saved;
}

static void *wait_for_ever(void *unused) {
    (void)unused;
    for (;;) pause();
    return NULL;
}

static void *one_run(void *unused) {
    (void)unused;
    double took;
    return (void *)(long)authenticate(&took);
}

int main(int count, char **words) {
    if (count < 4) return 64;
    directory = words[1], service = words[2], user = words[3];
    int runs = 1, threads = 0;
    bool forks = false, full = false;
    out = stdout;
    for (int index = 4; index < count; index++) {
        const char *word = words[index];
        if (strcmp(word, "silent") == 0) is_silent = true;
        else if (strcmp(word, "conversation-fails") == 0) conversation_fails = true;
        else if (strcmp(word, "ignore-children") == 0) signal(SIGCHLD, SIG_IGN);
        else if (strcmp(word, "reap-children") == 0) signal(SIGCHLD, reap);
        else if (strcmp(word, "signals-blocked") == 0) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_BLOCK, &all, NULL);
            signal(SIGPIPE, SIG_IGN), signal(SIGTERM, SIG_IGN);
        } else if (strcmp(word, "standard-closed") == 0) {
            out = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 20), "w");
            close(0), close(1), close(2);
        } else if (strcmp(word, "descriptors-full") == 0) full = true;
        else if (strcmp(word, "processes-full") == 0) {
            struct rlimit none = {0, 0};
            if (setrlimit(RLIMIT_NPROC, &none) != 0 || setresuid(65534, 65534, 65534) != 0) return 70;
        } else if (strcmp(word, "fork") == 0) forks = true;
        else if (sscanf(word, "threads=%d", &threads) == 1 || sscanf(word, "runs=%d", &runs) == 1) continue;
        else if (strncmp(word, "rhost=", 6) == 0) rhost = word + 6;
        else if (strncmp(word, "tty=", 4) == 0) tty = word + 4;
        else return 64;
    }
    pthread_t thread;
    for (int index = 0; index < threads; index++) if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) return 70;
    double took = 0;
    int result = 0;
    if (full) {
        // libpam has opened what it wants once before.
        bool was_silent = is_silent;
        is_silent = true;
        authenticate(&took);
        is_silent = was_silent;
        struct rlimit few;
        getrlimit(RLIMIT_NOFILE, &few);
        few.rlim_cur = (rlim_t)descriptors() + 3;
        setrlimit(RLIMIT_NOFILE, &few);
        // What is left is enough for the files of PAM, of which one is open at a time, and for no socket pair and pidfd.
        while (dup(2) >= 0) continue;
        close((int)few.rlim_cur - 1);
    }
    // The module stays, and so do what libpam and the C library open once.
    int before = 0;
    for (int run = 0; run < runs; run++) {
        result = authenticate(&took);
        if (run == 0) before = descriptors();
    }
    if (threads > 0) {
        // Two at a time, each in a thread of its own.
        pthread_t pair[2];
        for (int index = 0; index < 2; index++) pthread_create(&pair[index], NULL, one_run, NULL);
        for (int index = 0; index < 2; index++) {
            void *each;
            pthread_join(pair[index], &each);
            if ((int)(long)each != result) result = 2000 + (int)(long)each;
        }
    }
    if (forks) {
        // As sshd does: loaded before, used after.
        pid_t child = fork();
        if (child == 0) _exit(authenticate(&took));
        int status;
        waitpid(child, &status, 0);
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 3000;
    }
    int after = full ? before : descriptors();
    errno = 0;
    bool has_children = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
    fprintf(out, "result %d %.1f %d %d\n", result, took, after - before, has_children);
    fflush(out);
    // Without the ends that other threads would wait for.
    _exit(0);
}
