/* SPDX-License-Identifier: MIT */
#include "lib/base/shell_quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, size - used, "%s", more);
}

void shell_quote(const char *word, char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./+,:@%=";
    bool is_plain = word[strspn(word, plain)] == '\0';

    append(text, size, is_plain ? "" : "'");
    for (const char *at = word; *at; at++)
        append(text, size, *at == '\'' ? "'\\''" : (char[]){*at, '\0'});
    append(text, size, is_plain ? "" : "'");
}
