// A PAM module that does what a file says, for the test pam-sensor.
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **arguments) {
    (void)handle, (void)flags, (void)count, (void)arguments;
    return PAM_SUCCESS;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **arguments) {
    (void)flags;
    char told[32] = "", runs[4096];
    FILE *file = NULL;
    if (count == 1) {
        // A byte for each time that it is asked.
        snprintf(runs, sizeof runs, "%s.runs", arguments[0]);
        FILE *asked = fopen(runs, "a");
        if (asked != NULL) fputc('.', asked), fclose(asked);
        // The test tells it late on a busy machine.
        for (int look = 0; look < 1000 && (file = fopen(arguments[0], "r")) == NULL; look++) usleep(10000);
    }
    if (file == NULL || fgets(told, sizeof told, file) == NULL) return PAM_SYSTEM_ERR;
    fclose(file);
    told[strcspn(told, "\n")] = 0;
    if (strcmp(told, "match") == 0) return PAM_SUCCESS;
    if (strcmp(told, "no match") == 0) return PAM_AUTH_ERR;
    if (strcmp(told, "no match once") == 0) {
        unlink(arguments[0]);
        return PAM_AUTH_ERR;
    }
    if (strcmp(told, "unavailable") == 0) return PAM_AUTHINFO_UNAVAIL;
    if (strcmp(told, "exit") == 0) exit(0);
    if (strcmp(told, "crash") == 0) abort();
    if (strcmp(told, "message") == 0) {
        pam_error(handle, "Look at the camera, please");
        // Until it is told something else.
        while (access(arguments[0], F_OK) == 0) usleep(10000);
        return PAM_AUTH_ERR;
    }
    if (strcmp(told, "print") == 0) {
        for (int number = 0; number < 100000; number++) puts("result 0"), fputs("result 0\n", stderr);
        fflush(NULL);
        return PAM_AUTHINFO_UNAVAIL;
    }
    if (strcmp(told, "hang") == 0) {
        // With a child that holds whatever was inherited, and says whose it is.
        if (fork() == 0) execl("/bin/sleep", arguments[0], "987", NULL);
        for (;;) pause();
    }
    if (strcmp(told, "ask") == 0) {
        char *answer = NULL;
        int result = pam_prompt(handle, PAM_PROMPT_ECHO_OFF, &answer, "Passcode: ");
        return result == PAM_SUCCESS ? PAM_SUCCESS : PAM_AUTHINFO_UNAVAIL;
    }
    return PAM_SYSTEM_ERR;
}
