#pragma once

#include <stdbool.h>
#include <stddef.h>

/// The window of a prompt: built once, filled for each state of a prompt, shown and hidden. It decides nothing.
///
/// All functions are for the main thread, but for touchstone_main_call. Texts are UTF-8 and are never read as markup.

/// What the owner did. `context` is what touchstone_window_make was given. Nothing of it comes while the window is not live.
struct touchstone_window_events {
    /// A button, by its place among those that were added.
    void (*pressed)(void *context, int button);
    /// One character for the entry.
    void (*typed)(void *context, const unsigned char *bytes, size_t count);
    /// The last character is to go, or all of them.
    void (*erased)(void *context, bool all);
    /// Return, in the entry.
    void (*entered)(void *context);
    /// Escape, or the window was closed.
    void (*cancelled)(void *context);
    /// What was filled in last is on the screen.
    void (*presented)(void *context);
};

typedef struct touchstone_window touchstone_window;

enum touchstone_text {
    TOUCHSTONE_KIND,
    TOUCHSTONE_WHAT,
    TOUCHSTONE_OBJECT,
    TOUCHSTONE_NAME,
    TOUCHSTONE_PATH,
    TOUCHSTONE_WARNING,
    TOUCHSTONE_FAILURE,
    TOUCHSTONE_INSTRUCTION,
    TOUCHSTONE_TEXTS
};

enum touchstone_act { TOUCHSTONE_KEY, TOUCHSTONE_FILE, TOUCHSTONE_DOOR };

enum touchstone_source { TOUCHSTONE_VERIFIED, TOUCHSTONE_BRIDGE, TOUCHSTONE_CLAIM };

/// Connects to the display. False: no display answers.
bool touchstone_main_begin(void);
/// Handles what comes, until touchstone_main_end.
void touchstone_main_run(void);
void touchstone_main_end(void);
/// Has the main thread call `body`. For any thread.
void touchstone_main_call(void (*body)(void *context), void *context);
/// Calls `body` once, in so many milliseconds.
void touchstone_main_after(unsigned milliseconds, void (*body)(void *context), void *context);
/// Calls `body` when the signal comes.
void touchstone_main_on_signal(int number, void (*body)(void *context), void *context);

/// Whether no program of the same user may look into this process. While it is so, touchstoned cannot see which program it is, and
/// refuses its calls.
void touchstone_main_hide_memory(bool is_hidden);
/// No core dumps, whatever the limits say.
void touchstone_main_forbid_cores(void);

/// `events` has to live as long as the window, which lives as long as the process.
touchstone_window *touchstone_window_make(const struct touchstone_window_events *events, void *context);

/// NULL or empty: the line is not there.
void touchstone_window_set_text(touchstone_window *window, enum touchstone_text part, const char *text);
void touchstone_window_set_act(touchstone_window *window, enum touchstone_act act);
void touchstone_window_clear_details(touchstone_window *window);
void touchstone_window_add_detail(touchstone_window *window, enum touchstone_source source, const char *text);
void touchstone_window_clear_buttons(touchstone_window *window);
void touchstone_window_add_button(touchstone_window *window, const char *title, bool is_suggested);
/// `label` NULL: nothing is to be typed. `length`: of a passcode of fixed length, else 0. Its dots are 0.
void touchstone_window_set_entry(touchstone_window *window, const char *label, bool is_digits, int length);
void touchstone_window_set_dots(touchstone_window *window, int count);
/// Puts the keyboard where it belongs: into the entry, else where Return does nothing.
void touchstone_window_focus(touchstone_window *window);

/// Whether keys and buttons count. A key that went down before they did counts when it goes down anew.
void touchstone_window_set_live(touchstone_window *window, bool is_live);
/// Shows what was filled in; `presented` says when it is to be seen. If the window gets no keyboard, a notification with this title leads to it.
void touchstone_window_show(touchstone_window *window, const char *title);
void touchstone_window_hide(touchstone_window *window);
