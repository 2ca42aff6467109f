/* SPDX-License-Identifier: MIT */
#include "recorder/session/request_words.h"

#include <string.h>

static const char g_blanks[] = " \t\n";

/* Copies one part of a word, quoted or a single character, to *to. Returns the rest, or NULL if a
 * quote is not closed. */
static const char *copy_part(const char *from, char **to)
{
    const char quote = *from;

    if (quote != '\'' && quote != '"') {
        from += quote == '\\';
        if (*from == '\0')
            return NULL;
        *(*to)++ = *from;
        return from + 1;
    }
    for (from++; *from && *from != quote; from++) {
        if (quote == '"' && *from == '\\' && from[1] && strchr("\\\"$`", from[1]))
            from++;
        *(*to)++ = *from;
    }
    return *from ? from + 1 : NULL;
}

static const char *unclosed(char quote)
{
    return quote == '\\'   ? "nothing comes behind the \\ at its end"
           : quote == '\'' ? "the quote ' is not closed"
                           : "the quote \" is not closed";
}

const char *request_words_split(struct request_words *ret, const char *text)
{
    char *to = ret->text;

    ret->n = 0;
    if (strlen(text) >= sizeof(ret->text))
        return "it is too long";
    for (text += strspn(text, g_blanks); *text; text += strspn(text, g_blanks)) {
        if (ret->n == REQUEST_WORDS_MAX)
            return "it has too many words";
        ret->words[ret->n++] = to;
        while (*text && !strchr(g_blanks, *text)) {
            char first = *text;

            text = copy_part(text, &to);
            if (!text)
                return unclosed(first);
        }
        *to++ = '\0';
    }
    return NULL;
}
