#include "CTouchstoneWindow.h"

#include <adwaita.h>
#include <glib-unix.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static GMainLoop *loop;

struct call {
    void (*body)(void *context);
    void *context;
};

static gboolean carry_out(gpointer data) {
    struct call *call = data;
    call->body(call->context);
    return G_SOURCE_REMOVE;
}

static gboolean carry_out_again(gpointer data) {
    carry_out(data);
    return G_SOURCE_CONTINUE;
}

static struct call *call_of(void (*body)(void *context), void *context) {
    struct call *call = g_new(struct call, 1);
    *call = (struct call){body, context};
    return call;
}

bool touchstone_main_begin(void) {
    // The window is small and mostly text: without OpenGL it is there sooner, and takes less than half the memory. GDK looks for OpenGL
    // although nothing is drawn with it, and on a machine without a graphics driver that alone loads LLVM.
    g_setenv("GSK_RENDERER", "cairo", FALSE);
    g_setenv("GDK_DEBUG", "gl-disable", FALSE);
    g_set_prgname("touchstone-agent");
    g_set_application_name("Touchstone");
    if (!gtk_init_check()) return false;
    adw_init();
    loop = g_main_loop_new(NULL, FALSE);
    return true;
}

void touchstone_main_run(void) { g_main_loop_run(loop); }

void touchstone_main_end(void) { g_main_loop_quit(loop); }

void touchstone_main_call(void (*body)(void *context), void *context) {
    // Before anything is drawn: a prompt that is over is gone first.
    g_idle_add_full(G_PRIORITY_HIGH, carry_out, call_of(body, context), g_free);
}

void touchstone_main_after(unsigned milliseconds, void (*body)(void *context), void *context) {
    g_timeout_add_full(G_PRIORITY_DEFAULT, milliseconds, carry_out, call_of(body, context), g_free);
}

void touchstone_main_hide_memory(bool is_hidden) { prctl(PR_SET_DUMPABLE, !is_hidden, 0, 0, 0); }

void touchstone_main_forbid_cores(void) { setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); }

void touchstone_main_on_signal(int number, void (*body)(void *context), void *context) {
    g_unix_signal_add_full(G_PRIORITY_HIGH, number, carry_out_again, call_of(body, context), g_free);
}
