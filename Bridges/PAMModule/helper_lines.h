// The lines that touchstone-pam-helper says: "hello", then any of "text TEXT", "error TEXT" and "log TEXT", then "result N" and its
// end. Bytes in, lines out; no I/O, so that a fuzzer reaches all of it.
#ifndef HELPER_LINES_H
#define HELPER_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { longest_helper_line = 512, most_helper_lines = 32 };

enum helper_line { line_text, line_error, line_log };

struct helper_reader {
    char line[longest_helper_line + 1];
    size_t length;
    int lines;
    bool is_greeted;
    int result;
};

typedef void helper_line_taker(void *context, enum helper_line line, const char *text);

static inline void helper_reader_begin(struct helper_reader *reader) {
    *reader = (struct helper_reader){.result = -1};
}

// The result once the helper closed its end; -1 if it said none, or stopped in the middle of a line.
static inline int helper_reader_result(const struct helper_reader *reader) {
    return reader->length == 0 ? reader->result : -1;
}

// What stands behind the word and a space; NULL if the line begins with something else.
static inline const char *helper_line_after(const char *line, const char *word) {
    while (*word != '\0') if (*line++ != *word++) return NULL;
    return *line == ' ' ? line + 1 : NULL;
}

// Takes one line without its end. Returns whether it belongs there.
static inline bool helper_reader_line(struct helper_reader *reader, helper_line_taker *take, void *context) {
    static const struct { const char *word; enum helper_line line; } words[] = {{"text", line_text}, {"error", line_error}, {"log", line_log}};
    const char *line = reader->line;
    if (++reader->lines > most_helper_lines || reader->result >= 0) return false;
    if (!reader->is_greeted) {
        const char hello[] = "hello";
        for (size_t index = 0; index < sizeof hello; index++) if (line[index] != hello[index]) return false;
        reader->is_greeted = true;
        return true;
    }
    for (size_t index = 0; index < sizeof words / sizeof *words; index++) {
        const char *text = helper_line_after(line, words[index].word);
        if (text == NULL) continue;
        if (*text == '\0') return false;
        take(context, words[index].line, text);
        return true;
    }
    const char *number = helper_line_after(line, "result");
    if (number == NULL || *number < '0' || *number > '9') return false;
    int value = *number++ - '0';
    if (*number >= '0' && *number <= '9') value = value * 10 + (*number++ - '0');
    if (*number != '\0') return false;
    reader->result = value;
    return true;
}

// Takes bytes. Returns false once they are not what a helper says: nothing more may be taken then.
static inline bool helper_reader_take(struct helper_reader *reader, const char *bytes, size_t count, helper_line_taker *take, void *context) {
    for (size_t index = 0; index < count; index++) {
        unsigned char byte = (unsigned char)bytes[index];
        if (byte == '\n') {
            reader->line[reader->length] = '\0';
            reader->length = 0;
            if (!helper_reader_line(reader, take, context)) return false;
        } else {
            // A terminal takes some bytes for commands.
            if (byte < 0x20 || byte == 0x7F || reader->length >= longest_helper_line) return false;
            reader->line[reader->length++] = (char)byte;
        }
    }
    return true;
}

#endif
