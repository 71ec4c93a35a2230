// The way to a TPM: a character device, or the Unix socket of swtpm. Unlike tpm2-tss's own, every wait ends.
#ifndef C_TOUCHSTONE_TCTI_H
#define C_TOUCHSTONE_TCTI_H

#include <stdbool.h>

/// Opaque here: a TSS2_TCTI_CONTEXT.
typedef struct touchstone_tcti touchstone_tcti;

/// Opens the device, or connects to the socket, at `path`. `limit_ms` is the longest time for one command and its answer, in
/// milliseconds. Returns NULL and sets errno where that fails: EBUSY where another process has it.
touchstone_tcti *touchstone_tcti_open(const char *path, bool is_socket, int limit_ms);

/// Whether a command was not answered within its time.
bool touchstone_tcti_timed_out(const touchstone_tcti *tcti);

void touchstone_tcti_close(touchstone_tcti *tcti);

#endif
