// Memory that a daemon gives back is zero: `free` and `realloc` of this program, and of every library in it.
//
// Copies of a secret are made where we have no hand: as an array grows, in Foundation, in SwiftNIO, in the standard library's
// strings. All of them come from malloc, so this is the one place where none is missed. Programs link this target, libraries of ours
// never do: the memory of somebody else's program is not ours to manage.
#define _GNU_SOURCE
#include "CTouchstoneWiping.h"

#include <malloc.h>
#include <string.h>

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

// A sanitizer has an allocator of its own, which must see every call.
#if defined(__GLIBC__) && !HAS_FEATURE(address_sanitizer) && !HAS_FEATURE(thread_sanitizer) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// The C library's own, under the names that it has for whoever puts others in their place.
extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

// Blocks from this size on are mappings, which the system clears and can move without a copy.
enum { LARGE = 512 << 10 };

// An arena keeps the most that it ever had, because locked memory is not given back to the system. The C library makes eight for each core.
enum { ARENAS = 2 };

__attribute__((constructor)) static void begin(void) {
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_ARENA_MAX, ARENAS);
}

bool touchstone_wipes_memory(void) { return true; }

void free(void *block) {
    if (!block) return;
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

void *realloc(void *block, size_t size) {
    if (!block) return __libc_malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t before = malloc_usable_size(block);
    if (size <= before) {
        // What is cut off may be given away.
        explicit_bzero((char *)block + size, before - size);
        return __libc_realloc(block, size);
    }
    if (before >= LARGE) return __libc_realloc(block, size);
    void *larger = __libc_malloc(size);
    if (!larger) return NULL;
    memcpy(larger, block, before);
    free(block);
    return larger;
}

void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return realloc(block, bytes);
}

#else

bool touchstone_wipes_memory(void) { return false; }

#endif
