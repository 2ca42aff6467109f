/* SPDX-License-Identifier: MIT */
#include "recorder/recording/question_words.h"

#include <string.h>

static const char g_blanks[] = " \t\n";

/* One part of a word, quoted or one character, to *to; returns what follows, or NULL: not closed. */
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

const char *question_words_split(struct question_words *ret, const char *text)
{
    char *to = ret->text;

    ret->n = 0;
    if (strlen(text) >= sizeof(ret->text))
        return "it is too long";
    for (text += strspn(text, g_blanks); *text; text += strspn(text, g_blanks)) {
        if (ret->n == QUESTION_WORDS_MOST)
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

/* Whatever their options are. Those of rows would answer without, but only in part; the others would say that they need more, and the database
 * they were tried with is made in vain. */
static const struct {
    const char *command;
    enum cut_extent least;
} dear_commands[] = {
    {"sql", CUT_ROWS},         {"by-pool", CUT_ROWS},   {"report", CUT_ROWS},
    {"allocations", CUT_ROWS}, {"summary", CUT_SLIM},   {"processes", CUT_SLIM},
    {"leaks", CUT_SLIM},       {"hot", CUT_SLIM},       {"leaks-by-stack", CUT_SLIM},
    {"by-function", CUT_SLIM}, {"by-module", CUT_SLIM}, {"temporary", CUT_SLIM},
    {"peak", CUT_SLIM},        {"growth", CUT_SLIM},    {"fragmentation", CUT_SLIM},
    {"holes", CUT_SLIM},       {"pinning", CUT_SLIM},   {"heap-map", CUT_SLIM},
};

static enum cut_extent least_of(const char *word)
{
    for (size_t i = 0; i < sizeof(dear_commands) / sizeof(dear_commands[0]); i++)
        if (strcmp(word, dear_commands[i].command) == 0)
            return dear_commands[i].least;
    return CUT_LEAN;
}

enum cut_extent question_words_least(const struct question_words *question)
{
    enum cut_extent least = CUT_LEAN;

    for (size_t i = 0; i < question->n; i++)
        if (least < least_of(question->words[i]))
            least = least_of(question->words[i]);
    return least;
}
