#include "CHelperLines.h"

#include <string.h>

#include "../../../Bridges/PAMModule/helper_lines.h"

static void count_text(void *context, enum helper_line line, const char *text) {
    (void)line;
    *(size_t *)context += strlen(text);
}

int helper_lines_result(const char *bytes, size_t count, size_t piece, size_t *shown) {
    struct helper_reader reader;
    helper_reader_begin(&reader);
    *shown = 0;
    for (size_t start = 0; start < count; start += piece) {
        size_t length = count - start < piece ? count - start : piece;
        if (!helper_reader_take(&reader, bytes + start, length, count_text, shown)) return -2;
    }
    return helper_reader_result(&reader);
}
