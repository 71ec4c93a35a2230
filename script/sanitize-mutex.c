// The order that a contended Mutex makes, for ThreadSanitizer: preloaded by script/sanitize.
//
// A Mutex that is free is locked and unlocked where it is used, in code that ThreadSanitizer watches. One that is contended is handed
// over in libswiftSynchronization, which it does not watch. Without this, it takes every such handover for a race.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef void (*Order)(void *);

// As libswiftSynchronization declares them, by the same symbols.
SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);
typedef SWIFT void (*Lock)(uint32_t, SELF void *);
typedef SWIFT void (*Unlock)(SELF void *);

// Programs that a test starts have no ThreadSanitizer.
static void tell(const char *name, void *mutex) {
    Order order = (Order)dlsym(RTLD_DEFAULT, name);
    if (order)
        order(mutex);
}

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
    ((Lock)dlsym(RTLD_NEXT, LOCK))(thread, mutex);
    tell("__tsan_acquire", mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
    tell("__tsan_release", mutex);
    ((Unlock)dlsym(RTLD_NEXT, UNLOCK))(mutex);
}
