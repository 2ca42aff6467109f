/* SPDX-License-Identifier: MIT */
#include "queries/render/wrap.h"

#include <stdbool.h>
#include <string.h>

void wrap_text(const char *text, size_t at, size_t column, size_t width, FILE *out)
{
    for (bool is_first = true; *text; is_first = false) {
        size_t length = strcspn(text, " ");
        size_t blanks = at < column ? column - at : !is_first;

        if (!is_first && at + blanks + length > width) {
            (void)fputc('\n', out);
            at = 0;
            blanks = column;
        }
        (void)fprintf(out, "%*s%.*s", (int)blanks, "", (int)length, text);
        at += blanks + length;
        text += length;
        text += strspn(text, " ");
    }
    (void)fputc('\n', out);
}
