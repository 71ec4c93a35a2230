#pragma once

#include <gtk/gtk.h>

/// Dots for what is typed elsewhere: it knows how many characters there are, and not which (DA-4).
#define TOUCHSTONE_TYPE_ENTRY (touchstone_entry_get_type())
G_DECLARE_FINAL_TYPE(TouchstoneEntry, touchstone_entry, TOUCHSTONE, ENTRY, GtkWidget)

GtkWidget *touchstone_entry_new(void);
/// `length`: how many there are in the end, where that is fixed, else 0.
void touchstone_entry_set(TouchstoneEntry *entry, int count, int length);
