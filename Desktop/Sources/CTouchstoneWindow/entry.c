#include "entry.h"

enum { MAXIMUM_DOTS = 16, NATURAL_EMS = 16 };

struct _TouchstoneEntry {
    GtkWidget parent;
    int count, length;
};

G_DEFINE_FINAL_TYPE(TouchstoneEntry, touchstone_entry, GTK_TYPE_WIDGET)

/// Height of a line of the widget's font, in pixels.
static int em(GtkWidget *widget) {
    PangoContext *context = gtk_widget_get_pango_context(widget);
    PangoFontMetrics *metrics = pango_context_get_metrics(context, NULL, NULL);
    int height = (pango_font_metrics_get_ascent(metrics) + pango_font_metrics_get_descent(metrics)) / PANGO_SCALE;
    pango_font_metrics_unref(metrics);
    return height;
}

static void measure(
    GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural, int *minimum_baseline,
    int *natural_baseline) {
    (void)for_size;
    *minimum = em(widget) * (orientation == GTK_ORIENTATION_HORIZONTAL ? NATURAL_EMS / 2 : 1);
    *natural = em(widget) * (orientation == GTK_ORIENTATION_HORIZONTAL ? NATURAL_EMS : 1);
    *minimum_baseline = *natural_baseline = -1;
}

static void snapshot(GtkWidget *widget, GtkSnapshot *snapshot) {
    TouchstoneEntry *self = TOUCHSTONE_ENTRY(widget);
    int dots = MIN(MAX(self->count, self->length), MAXIMUM_DOTS);
    if (dots == 0) return;
    GdkRGBA colour;
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), &colour);
    float size = em(widget) * 0.55f, step = size * 1.8f;
    float x = (gtk_widget_get_width(widget) - (dots - 1) * step - size) / 2;
    float y = (gtk_widget_get_height(widget) - size) / 2;
    for (int index = 0; index < dots; index++) {
        GskRoundedRect circle;
        gsk_rounded_rect_init_from_rect(
            &circle, &GRAPHENE_RECT_INIT(x + (float)index * step, y, size, size), size / 2);
        if (index < self->count) {
            gtk_snapshot_push_rounded_clip(snapshot, &circle);
            gtk_snapshot_append_color(snapshot, &colour, &circle.bounds);
            gtk_snapshot_pop(snapshot);
        } else {
            gtk_snapshot_append_border(
                snapshot, &circle, (float[4]){1, 1, 1, 1}, (GdkRGBA[4]){colour, colour, colour, colour});
        }
    }
}

static void touchstone_entry_class_init(TouchstoneEntryClass *class) {
    GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);
    widget->measure = measure;
    widget->snapshot = snapshot;
    gtk_widget_class_set_css_name(widget, "entry");
    gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_TEXT_BOX);
}

static void touchstone_entry_init(TouchstoneEntry *self) { gtk_widget_set_focusable(GTK_WIDGET(self), TRUE); }

GtkWidget *touchstone_entry_new(void) { return g_object_new(TOUCHSTONE_TYPE_ENTRY, NULL); }

void touchstone_entry_set(TouchstoneEntry *entry, int count, int length) {
    entry->count = count;
    entry->length = length;
    gtk_widget_queue_draw(GTK_WIDGET(entry));
}
