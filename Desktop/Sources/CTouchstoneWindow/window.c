#include "CTouchstoneWindow.h"

#include <adwaita.h>

#include "entry.h"

enum {
    MARGIN = 24,
    SPACING = 12,
    ICON = 48,
    MINIMUM_WIDTH = 320,
    LINE_CHARACTERS = 36,
    /// What is left of a screen's height for all but the scrolled part.
    AROUND = 260,
    MINIMUM_HEIGHT = 160,
    /// Between two looks at whether a frame was presented.
    LOOK_MILLISECONDS = 4,
    /// After which a window without the keyboard is taken to be refused it.
    FOCUS_MILLISECONDS = 700,
};

static const char style[] =
    ".what { outline: none; }"
    ".who { padding: 10px 12px; }"
    ".claim { font-style: italic; }"
    ".touchstone-entry { min-height: 40px; }"
    ".keypad button { min-width: 64px; min-height: 40px; font-size: 1.2em; }";

struct touchstone_window {
    const struct touchstone_window_events *events;
    void *context;
    GtkWindow *window;
    GtkWidget *scroller, *icon, *who, *entry, *caps, *keypad, *expander, *details, *buttons;
    GtkLabel *texts[TOUCHSTONE_TEXTS];
    GApplication *notifier;
    char *title;
    int length, button_count;
    bool is_live, is_drawn, has_notification;
    /// Keys that went down while the window was not live: they count when they come down anew.
    GHashTable *held;
    gint64 frame;
    guint looking, waiting;
};

// MARK: what the owner does

static void on_button(GtkButton *button, gpointer data) {
    touchstone_window *self = data;
    if (self->is_live) self->events->pressed(self->context, GPOINTER_TO_INT(g_object_get_data(G_OBJECT(button), "index")));
}

static void type(touchstone_window *self, const char *text) {
    if (!self->is_live) return;
    for (const char *next; *text != 0; text = next) {
        next = g_utf8_next_char(text);
        self->events->typed(self->context, (const unsigned char *)text, (size_t)(next - text));
    }
}

static void on_commit(GtkIMContext *method, const char *text, gpointer data) {
    (void)method;
    type(data, text);
}

static void on_digit(GtkButton *button, gpointer data) { type(data, gtk_button_get_label(button)); }

static void on_erase(GtkButton *button, gpointer data) {
    (void)button;
    touchstone_window *self = data;
    if (self->is_live) self->events->erased(self->context, false);
}

static void on_click(GtkGestureClick *gesture, int presses, double x, double y, gpointer data) {
    (void)gesture, (void)presses, (void)x, (void)y;
    gtk_widget_grab_focus(((touchstone_window *)data)->entry);
}

/// In the entry. What is a character comes by on_commit.
static gboolean on_entry_key(
    GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, gpointer data) {
    (void)controller, (void)code;
    touchstone_window *self = data;
    switch (key) {
        case GDK_KEY_BackSpace: self->events->erased(self->context, (state & GDK_CONTROL_MASK) != 0); return TRUE;
        case GDK_KEY_Return:
        case GDK_KEY_KP_Enter:
        case GDK_KEY_ISO_Enter: self->events->entered(self->context); return TRUE;
        case GDK_KEY_u:
            if ((state & GDK_CONTROL_MASK) == 0) return FALSE;
            self->events->erased(self->context, true);
            return TRUE;
        default: return FALSE;
    }
}

/// Before any widget has it.
static gboolean on_key(GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, gpointer data) {
    (void)controller, (void)state;
    touchstone_window *self = data;
    if (!self->is_live) g_hash_table_add(self->held, GUINT_TO_POINTER(code));
    if (g_hash_table_contains(self->held, GUINT_TO_POINTER(code))) return TRUE;
    if (key != GDK_KEY_Escape) return FALSE;
    self->events->cancelled(self->context);
    return TRUE;
}

static void on_key_up(GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, gpointer data) {
    (void)controller, (void)key, (void)state;
    g_hash_table_remove(((touchstone_window *)data)->held, GUINT_TO_POINTER(code));
}

static gboolean on_close(GtkWindow *window, gpointer data) {
    (void)window;
    touchstone_window *self = data;
    if (self->is_live) self->events->cancelled(self->context);
    return TRUE;
}

/// NULL: the display has no seat.
static GdkDevice *keyboard_of(GdkDisplay *display) {
    GdkSeat *seat = gdk_display_get_default_seat(display);
    return seat == NULL ? NULL : gdk_seat_get_keyboard(seat);
}

static void on_caps_lock(GdkDevice *keyboard, GParamSpec *property, gpointer data) {
    (void)property;
    touchstone_window *self = data;
    gtk_widget_set_visible(
        self->caps, gtk_widget_get_visible(self->entry) && gdk_device_get_caps_lock_state(keyboard));
}

// MARK: whether it can be seen

static gboolean look(gpointer data) {
    touchstone_window *self = data;
    GdkFrameClock *clock = gdk_surface_get_frame_clock(gtk_native_get_surface(GTK_NATIVE(self->window)));
    GdkFrameTimings *timings = gdk_frame_clock_get_timings(clock, self->frame);
    // Of a frame that is forgotten there were many since.
    if (timings != NULL && !gdk_frame_timings_get_complete(timings)) return G_SOURCE_CONTINUE;
    self->looking = 0;
    self->events->presented(self->context);
    return G_SOURCE_REMOVE;
}

static void on_painted(GdkFrameClock *clock, gpointer data) {
    touchstone_window *self = data;
    if (self->is_drawn || !gtk_widget_get_mapped(GTK_WIDGET(self->window))) return;
    self->is_drawn = true;
    self->frame = gdk_frame_clock_get_frame_counter(clock);
    if (self->looking != 0) g_source_remove(self->looking);
    self->looking = 0;
    if (look(self) == G_SOURCE_CONTINUE) self->looking = g_timeout_add(LOOK_MILLISECONDS, look, self);
}

static void withdraw(touchstone_window *self) {
    if (self->waiting != 0) g_source_remove(self->waiting);
    self->waiting = 0;
    if (self->has_notification) g_application_withdraw_notification(self->notifier, "prompt");
    self->has_notification = false;
}

static void on_active(GtkWindow *window, GParamSpec *property, gpointer data) {
    (void)property;
    if (gtk_window_is_active(window)) withdraw(data);
}

/// The compositor gave the keyboard to another window: a notification leads to this one (DA-6).
static gboolean notify(gpointer data) {
    touchstone_window *self = data;
    self->waiting = 0;
    if (gtk_window_is_active(self->window) || !g_application_get_is_registered(self->notifier)) return G_SOURCE_REMOVE;
    GNotification *notification = g_notification_new(self->title);
    g_notification_set_priority(notification, G_NOTIFICATION_PRIORITY_HIGH);
    g_notification_set_default_action(notification, "app.show");
    g_application_send_notification(self->notifier, "prompt", notification);
    g_object_unref(notification);
    self->has_notification = true;
    return G_SOURCE_REMOVE;
}

static void on_notification(GSimpleAction *action, GVariant *parameter, gpointer data) {
    (void)action, (void)parameter;
    touchstone_window *self = data;
    if (gtk_widget_get_visible(GTK_WIDGET(self->window))) gtk_window_present(self->window);
}

// MARK: how it is built

static GtkWidget *add_label(touchstone_window *self, enum touchstone_text part, const char *class, GtkAccessibleRole role) {
    GtkWidget *label = g_object_new(
        GTK_TYPE_LABEL, "accessible-role", role, "wrap", TRUE, "wrap-mode", PANGO_WRAP_WORD_CHAR, "justify",
        GTK_JUSTIFY_CENTER, "max-width-chars", LINE_CHARACTERS, "width-chars", LINE_CHARACTERS / 2, "visible", FALSE, NULL);
    if (class != NULL) gtk_widget_add_css_class(label, class);
    self->texts[part] = GTK_LABEL(label);
    return label;
}

static GtkWidget *check_mark(void) {
    GtkWidget *image = gtk_image_new_from_icon_name("object-select-symbolic");
    gtk_widget_add_css_class(image, "success");
    gtk_widget_set_valign(image, GTK_ALIGN_START);
    gtk_accessible_update_property(GTK_ACCESSIBLE(image), GTK_ACCESSIBLE_PROPERTY_LABEL, "verified", -1);
    return image;
}

static GtkWidget *make_who(touchstone_window *self) {
    GtkWidget *lines = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    GtkWidget *name = add_label(self, TOUCHSTONE_NAME, "heading", GTK_ACCESSIBLE_ROLE_LABEL);
    GtkWidget *path = add_label(self, TOUCHSTONE_PATH, "caption", GTK_ACCESSIBLE_ROLE_LABEL);
    for (int index = TOUCHSTONE_NAME; index <= TOUCHSTONE_PATH; index++) {
        gtk_label_set_xalign(self->texts[index], 0);
        gtk_label_set_justify(self->texts[index], GTK_JUSTIFY_LEFT);
    }
    // Both ends of a path tell something. The details have all of it.
    gtk_label_set_wrap(GTK_LABEL(path), FALSE);
    gtk_label_set_ellipsize(GTK_LABEL(path), PANGO_ELLIPSIZE_MIDDLE);
    gtk_widget_set_hexpand(lines, TRUE);
    gtk_box_append(GTK_BOX(lines), name);
    gtk_box_append(GTK_BOX(lines), path);
    GtkWidget *who = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, SPACING);
    gtk_widget_add_css_class(who, "card");
    gtk_widget_add_css_class(who, "who");
    gtk_box_append(GTK_BOX(who), check_mark());
    gtk_box_append(GTK_BOX(who), lines);
    return who;
}

static GtkWidget *make_entry(touchstone_window *self) {
    self->entry = touchstone_entry_new();
    gtk_widget_add_css_class(self->entry, "touchstone-entry");
    gtk_widget_set_visible(self->entry, FALSE);
    // Dead keys and Compose, inside this process: no input method outside hears of what is typed.
    GtkIMContext *method = gtk_im_context_simple_new();
    g_signal_connect(method, "commit", G_CALLBACK(on_commit), self);
    GtkEventController *keys = gtk_event_controller_key_new();
    gtk_im_context_set_client_widget(method, self->entry);
    gtk_event_controller_key_set_im_context(GTK_EVENT_CONTROLLER_KEY(keys), method);
    g_object_unref(method);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_entry_key), self);
    gtk_widget_add_controller(self->entry, keys);
    GtkGesture *click = gtk_gesture_click_new();
    g_signal_connect(click, "pressed", G_CALLBACK(on_click), self);
    gtk_widget_add_controller(self->entry, GTK_EVENT_CONTROLLER(click));
    return self->entry;
}

static GtkWidget *make_keypad(touchstone_window *self) {
    static const char *const keys[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", NULL, "0", "⌫"};
    self->keypad = gtk_grid_new();
    gtk_grid_set_row_spacing(GTK_GRID(self->keypad), SPACING / 2);
    gtk_grid_set_column_spacing(GTK_GRID(self->keypad), SPACING / 2);
    gtk_widget_set_halign(self->keypad, GTK_ALIGN_CENTER);
    gtk_widget_add_css_class(self->keypad, "keypad");
    // As telephones have it, also where text runs from the right.
    gtk_widget_set_direction(self->keypad, GTK_TEXT_DIR_LTR);
    gtk_widget_set_visible(self->keypad, FALSE);
    for (int index = 0; index < (int)G_N_ELEMENTS(keys); index++) {
        if (keys[index] == NULL) continue;
        bool is_digit = index < (int)G_N_ELEMENTS(keys) - 1;
        GtkWidget *button = gtk_button_new_with_label(keys[index]);
        // The keyboard stays in the entry.
        gtk_widget_set_focusable(button, FALSE);
        if (!is_digit)
            gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, "Delete", -1);
        g_signal_connect(button, "clicked", is_digit ? G_CALLBACK(on_digit) : G_CALLBACK(on_erase), self);
        gtk_grid_attach(GTK_GRID(self->keypad), button, index % 3, index / 3, 1, 1);
    }
    return self->keypad;
}

static GtkWidget *make_content(touchstone_window *self) {
    GtkWidget *content = gtk_box_new(GTK_ORIENTATION_VERTICAL, SPACING);
    gtk_widget_set_margin_start(content, MARGIN);
    gtk_widget_set_margin_end(content, MARGIN);
    gtk_widget_set_margin_bottom(content, SPACING);
    gtk_widget_set_size_request(content, MINIMUM_WIDTH, -1);
    self->icon = g_object_new(GTK_TYPE_IMAGE, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
    gtk_image_set_pixel_size(GTK_IMAGE(self->icon), ICON);
    gtk_widget_add_css_class(self->icon, "accent");
    gtk_box_append(GTK_BOX(content), self->icon);
    GtkWidget *what = add_label(self, TOUCHSTONE_WHAT, "title-2", GTK_ACCESSIBLE_ROLE_HEADING);
    gtk_widget_add_css_class(what, "what");
    gtk_label_set_max_width_chars(GTK_LABEL(what), LINE_CHARACTERS * 2 / 3);
    gtk_label_set_width_chars(GTK_LABEL(what), LINE_CHARACTERS / 3);
    // It has the keyboard where nothing is typed, so that Return does nothing and a screen reader begins here.
    gtk_widget_set_focusable(what, TRUE);
    gtk_box_append(GTK_BOX(content), what);
    gtk_box_append(GTK_BOX(content), add_label(self, TOUCHSTONE_OBJECT, NULL, GTK_ACCESSIBLE_ROLE_LABEL));
    self->who = make_who(self);
    gtk_box_append(GTK_BOX(content), self->who);
    gtk_box_append(GTK_BOX(content), add_label(self, TOUCHSTONE_WARNING, "warning", GTK_ACCESSIBLE_ROLE_ALERT));
    gtk_box_append(GTK_BOX(content), add_label(self, TOUCHSTONE_FAILURE, "error", GTK_ACCESSIBLE_ROLE_ALERT));
    gtk_box_append(GTK_BOX(content), add_label(self, TOUCHSTONE_INSTRUCTION, NULL, GTK_ACCESSIBLE_ROLE_STATUS));
    gtk_box_append(GTK_BOX(content), make_entry(self));
    self->caps = gtk_label_new("Caps Lock is on.");
    gtk_widget_add_css_class(self->caps, "warning");
    gtk_widget_set_visible(self->caps, FALSE);
    gtk_box_append(GTK_BOX(content), self->caps);
    gtk_box_append(GTK_BOX(content), make_keypad(self));
    self->details = gtk_box_new(GTK_ORIENTATION_VERTICAL, SPACING / 2);
    gtk_widget_set_margin_top(self->details, SPACING / 2);
    self->expander = gtk_expander_new("Details");
    gtk_expander_set_child(GTK_EXPANDER(self->expander), self->details);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->expander), GTK_ACCESSIBLE_PROPERTY_LABEL, "Details", -1);
    gtk_box_append(GTK_BOX(content), self->expander);
    return content;
}

touchstone_window *touchstone_window_make(const struct touchstone_window_events *events, void *context) {
    touchstone_window *self = g_new0(touchstone_window, 1);
    self->events = events;
    self->context = context;
    self->held = g_hash_table_new(NULL, NULL);
    GtkCssProvider *provider = gtk_css_provider_new();
    gtk_css_provider_load_from_data(provider, style, -1);
    GdkDisplay *display = gdk_display_get_default();
    gtk_style_context_add_provider_for_display(
        display, GTK_STYLE_PROVIDER(provider), GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    g_object_unref(provider);

    self->window = GTK_WINDOW(adw_window_new());
    gtk_window_set_resizable(self->window, FALSE);
    GtkWidget *bar = adw_header_bar_new();
    gtk_widget_add_css_class(bar, "flat");
    add_label(self, TOUCHSTONE_KIND, "dim-label", GTK_ACCESSIBLE_ROLE_LABEL);
    gtk_label_set_wrap(self->texts[TOUCHSTONE_KIND], FALSE);
    adw_header_bar_set_decoration_layout(ADW_HEADER_BAR(bar), ":close");
    adw_header_bar_set_title_widget(ADW_HEADER_BAR(bar), GTK_WIDGET(self->texts[TOUCHSTONE_KIND]));
    self->scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(self->scroller), TRUE);
    gtk_scrolled_window_set_propagate_natural_width(GTK_SCROLLED_WINDOW(self->scroller), TRUE);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroller), make_content(self));
    self->buttons = gtk_box_new(GTK_ORIENTATION_VERTICAL, SPACING / 2);
    gtk_widget_set_margin_start(self->buttons, MARGIN);
    gtk_widget_set_margin_end(self->buttons, MARGIN);
    gtk_widget_set_margin_top(self->buttons, SPACING);
    gtk_widget_set_margin_bottom(self->buttons, MARGIN);
    GtkWidget *all = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_box_append(GTK_BOX(all), bar);
    gtk_box_append(GTK_BOX(all), self->scroller);
    gtk_box_append(GTK_BOX(all), self->buttons);
    adw_window_set_content(ADW_WINDOW(self->window), all);

    GtkEventController *keys = gtk_event_controller_key_new();
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_key), self);
    g_signal_connect(keys, "key-released", G_CALLBACK(on_key_up), self);
    gtk_widget_add_controller(GTK_WIDGET(self->window), keys);
    g_signal_connect(self->window, "close-request", G_CALLBACK(on_close), self);
    g_signal_connect(self->window, "notify::is-active", G_CALLBACK(on_active), self);
    GdkDevice *keyboard = keyboard_of(display);
    if (keyboard != NULL) g_signal_connect(keyboard, "notify::caps-lock-state", G_CALLBACK(on_caps_lock), self);

    // Only for notifications: windows of two devices do not become one program.
    self->notifier = g_application_new("io.touchstone.Agent", G_APPLICATION_NON_UNIQUE);
    GSimpleAction *action = g_simple_action_new("show", NULL);
    g_signal_connect(action, "activate", G_CALLBACK(on_notification), self);
    g_action_map_add_action(G_ACTION_MAP(self->notifier), G_ACTION(action));
    g_object_unref(action);
    g_application_register(self->notifier, NULL, NULL);

    // Now, and not when the first prompt is to be seen.
    gtk_widget_realize(GTK_WIDGET(self->window));
    GdkFrameClock *clock = gdk_surface_get_frame_clock(gtk_native_get_surface(GTK_NATIVE(self->window)));
    g_signal_connect(clock, "after-paint", G_CALLBACK(on_painted), self);
    return self;
}

// MARK: how it is filled

void touchstone_window_set_text(touchstone_window *self, enum touchstone_text part, const char *text) {
    bool is_there = text != NULL && *text != 0;
    gtk_label_set_text(self->texts[part], is_there ? text : "");
    gtk_widget_set_visible(GTK_WIDGET(self->texts[part]), is_there);
}

void touchstone_window_set_act(touchstone_window *self, enum touchstone_act act) {
    static const char *const names[] = {
        [TOUCHSTONE_KEY] = "dialog-password-symbolic",
        [TOUCHSTONE_FILE] = "text-x-generic-symbolic",
        [TOUCHSTONE_DOOR] = "system-lock-screen-symbolic",
    };
    gtk_image_set_from_icon_name(GTK_IMAGE(self->icon), names[act]);
}

static void clear(GtkWidget *box) {
    for (GtkWidget *child; (child = gtk_widget_get_first_child(box)) != NULL;) gtk_box_remove(GTK_BOX(box), child);
}

void touchstone_window_clear_details(touchstone_window *self) { clear(self->details); }

void touchstone_window_add_detail(touchstone_window *self, enum touchstone_source source, const char *text) {
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_max_width_chars(GTK_LABEL(label), LINE_CHARACTERS);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_widget_set_hexpand(label, TRUE);
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, SPACING / 2);
    if (source == TOUCHSTONE_VERIFIED) gtk_box_append(GTK_BOX(row), check_mark());
    if (source == TOUCHSTONE_CLAIM) gtk_widget_add_css_class(label, "claim");
    if (source != TOUCHSTONE_VERIFIED) gtk_widget_add_css_class(label, "dim-label");
    gtk_box_append(GTK_BOX(row), label);
    gtk_box_append(GTK_BOX(self->details), row);
}

void touchstone_window_clear_buttons(touchstone_window *self) {
    clear(self->buttons);
    self->button_count = 0;
}

void touchstone_window_add_button(touchstone_window *self, const char *title, bool is_suggested) {
    GtkWidget *button = gtk_button_new();
    GtkWidget *label = gtk_label_new(title);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_max_width_chars(GTK_LABEL(label), LINE_CHARACTERS * 2 / 3);
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_button_set_child(GTK_BUTTON(button), label);
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
    if (is_suggested) gtk_widget_add_css_class(button, "suggested-action");
    g_object_set_data(G_OBJECT(button), "index", GINT_TO_POINTER(self->button_count++));
    g_signal_connect(button, "clicked", G_CALLBACK(on_button), self);
    gtk_widget_set_sensitive(button, self->is_live);
    gtk_box_append(GTK_BOX(self->buttons), button);
}

void touchstone_window_set_entry(touchstone_window *self, const char *label, bool is_digits, int length) {
    gtk_widget_set_visible(self->entry, label != NULL);
    gtk_widget_set_visible(self->keypad, label != NULL && is_digits);
    self->length = length;
    touchstone_window_set_dots(self, 0);
    if (label != NULL)
        gtk_accessible_update_property(GTK_ACCESSIBLE(self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
    GdkDevice *keyboard = keyboard_of(gdk_display_get_default());
    if (keyboard != NULL) on_caps_lock(keyboard, NULL, self);
}

void touchstone_window_set_dots(touchstone_window *self, int count) {
    touchstone_entry_set(TOUCHSTONE_ENTRY(self->entry), count, self->length);
}

void touchstone_window_focus(touchstone_window *self) {
    bool is_typed = gtk_widget_get_visible(self->entry);
    gtk_window_set_focus(self->window, is_typed ? self->entry : GTK_WIDGET(self->texts[TOUCHSTONE_WHAT]));
}

/// Each by itself: of a box that is not sensitive GTK tells AT-SPI nothing about the buttons in it.
static void set_sensitive(GtkWidget *box, bool is_sensitive) {
    for (GtkWidget *child = gtk_widget_get_first_child(box); child != NULL; child = gtk_widget_get_next_sibling(child))
        gtk_widget_set_sensitive(child, is_sensitive);
}

void touchstone_window_set_live(touchstone_window *self, bool is_live) {
    self->is_live = is_live;
    set_sensitive(self->buttons, is_live);
    set_sensitive(self->keypad, is_live);
}

void touchstone_window_show(touchstone_window *self, const char *title) {
    g_free(self->title);
    self->title = g_strdup(title);
    gtk_window_set_title(self->window, title);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->window), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(self->window));
    GdkMonitor *monitor = gdk_display_get_monitor_at_surface(gdk_display_get_default(), surface);
    if (monitor != NULL) {
        GdkRectangle place;
        gdk_monitor_get_geometry(monitor, &place);
        gtk_scrolled_window_set_max_content_height(
            GTK_SCROLLED_WINDOW(self->scroller), MAX(place.height - AROUND, MINIMUM_HEIGHT));
    }
    self->is_drawn = false;
    bool is_new = !gtk_widget_get_visible(GTK_WIDGET(self->window));
    gtk_widget_queue_draw(GTK_WIDGET(self->window));
    if (!is_new) return;
    gtk_expander_set_expanded(GTK_EXPANDER(self->expander), FALSE);
    gtk_window_present(self->window);
    // GTK gave it to the first widget that takes keys.
    touchstone_window_focus(self);
    withdraw(self);
    self->waiting = g_timeout_add(FOCUS_MILLISECONDS, notify, self);
}

void touchstone_window_hide(touchstone_window *self) {
    withdraw(self);
    if (self->looking != 0) g_source_remove(self->looking);
    self->looking = 0;
    self->is_drawn = true;
    gtk_widget_set_visible(GTK_WIDGET(self->window), FALSE);
    // On its way now, and not when the loop comes round.
    gdk_display_flush(gdk_display_get_default());
}
