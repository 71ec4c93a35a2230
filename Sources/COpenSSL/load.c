#include "COpenSSL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static struct copenssl_functions functions;
static bool is_loaded;

static void load(void) {
    // Never closed: OpenSSL's own threads and exit handlers may run until the end.
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    static const struct {
        const char *name;
        void **place;
    } symbols[] = {
#define COPENSSL_SYMBOL(name) {#name, (void **)&functions.name},
        COPENSSL_FUNCTIONS(COPENSSL_SYMBOL)
#undef COPENSSL_SYMBOL
    };
    for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
        *symbols[index].place = dlsym(library, symbols[index].name);
        if (*symbols[index].place == NULL) return;
    }
    is_loaded = true;
}

const struct copenssl_functions *copenssl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
