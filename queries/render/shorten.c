/* SPDX-License-Identifier: MIT */
#include "queries/render/shorten.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct shortener {
    const char *name;
    char *out;
    size_t used;
    size_t size;
    size_t depth; /* of "<" that were kept */
    bool has_operator;
};

static void put(struct shortener *s, const char *text, size_t length)
{
    for (size_t i = 0; i < length && s->used + 1 < s->size; i++)
        s->out[s->used++] = text[i];
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The text after the bracket that closes the one at `at`; NULL: unclosed. "->" closes nothing. */
static const char *skip_bracketed(const char *at, char open, char close)
{
    size_t depth = 0;

    for (const char *p = at; *p; p++) {
        if (*p == open)
            depth++;
        else if (*p == close && !(close == '>' && p[-1] == '-') && --depth == 0)
            return p + 1;
    }
    return NULL;
}

/* The length of "operator" and its symbol at `at`; 0: none. */
static size_t operator_length(const char *name, const char *at)
{
    const size_t word = strlen("operator");
    const char *end;

    if (strncmp(at, "operator", word) != 0 || (at > name && is_word(at[-1])) || is_word(at[word]))
        return 0;
    end = at + word;
    if (strncmp(end, "()", 2) == 0)
        return word + 2;
    while (*end && strchr("<>=!+-*/%^&|~,[]", *end))
        end++;
    return (size_t)(end - at);
}

/* Handles a "<": template arguments, unless it opens a qualified name (Rust's <T as Trait>::f). */
static const char *shorten_template(struct shortener *s, const char *at)
{
    const char *end = skip_bracketed(at, '<', '>');

    if (!end || at == s->name || !(is_word(at[-1]) || at[-1] == ':')) {
        put(s, at, 1);
        s->depth++;
        return at + 1;
    }
    put(s, "<..>", 4);
    return end;
}

/* Handles a "(": parameters and the qualifiers after them are removed, other parentheses stay. */
static const char *shorten_parentheses(struct shortener *s, const char *at)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *end = skip_bracketed(at, '(', ')');

    if (strncmp(at, anonymous, strlen(anonymous)) == 0) {
        put(s, anonymous, strlen(anonymous));
        return at + strlen(anonymous);
    }
    if (!end || at == s->name || strchr(" {.", at[-1])) {
        put(s, at, 1);
        return at + 1;
    }
    if (at[-1] == '!')
        put(s, "(..)", 4); /* D's template arguments */
    while (strncmp(end, " const", 6) == 0)
        end += 6;
    return end;
}

/* Names of template instances begin with the return type: "void f<int>(int)". */
static bool is_after_return_type(const struct shortener *s, const char *at)
{
    return *at == ' ' && s->depth == 0 && !s->has_operator && s->name[0] != '[' && at[1] != '['
           && at[1] != '(' && strchr(at, '(');
}

static void put_char(struct shortener *s, const char *at)
{
    if (*at == '>' && s->depth > 0)
        s->depth--;
    if (is_after_return_type(s, at))
        s->used = 0;
    else
        put(s, at, 1);
}

void shorten_function(const char *name, char *ret_text, size_t size)
{
    struct shortener s = {.name = name, .out = ret_text, .size = size};
    const char *at = name;

    while (*at) {
        size_t operator_bytes = operator_length(name, at);

        if (operator_bytes) {
            put(&s, at, operator_bytes);
            s.has_operator = true;
            at += operator_bytes;
        } else if (*at == '<') {
            at = shorten_template(&s, at);
        } else if (*at == '(') {
            at = shorten_parentheses(&s, at);
        } else {
            put_char(&s, at++);
        }
    }
    if (size > 0)
        ret_text[s.used] = '\0';
}

const char *shorten_path(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}
