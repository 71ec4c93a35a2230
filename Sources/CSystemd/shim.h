#include <systemd/sd-bus.h>

// By hand, because <systemd/sd-daemon.h> would bring <sys/socket.h> into this module, and Glibc's would then lack it.
int sd_notify(int unset_environment, const char *state);
