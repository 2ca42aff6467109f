/* SPDX-License-Identifier: MIT */
#include "symbolizer/demangle.h"

#include "lib/base/dynamic_array.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* With substitutions, a mangled name of some hundred bytes can expand to gigabytes. */
    LONGEST_NAME = 64 * 1024,
    /* libiberty's D demangler has no limits: it needs some hundred bytes of stack per character. */
    LONGEST_D_NAME = 4 * 1024,
    LONGEST_D_EXPANSION = 16 * 1024
};

struct output {
    char *text;
    size_t size;
    size_t allocated;
    jmp_buf overflow;
};

static void append(const char *text, size_t size, void *opaque)
{
    struct output *out = opaque;
    size_t needed = out->size + size + 1;
    char *grown =
        needed > LONGEST_NAME ? NULL : dynamic_array_reserve(out->text, &out->allocated, needed, 1);

    /* The printer cannot be stopped otherwise; all its state is on the stack. */
    if (!grown)
        longjmp(out->overflow, 1);
    out->text = grown;
    memcpy(grown + out->size, text, size);
    out->size += size;
}

static bool is_cxx(const char *raw_name)
{
    return raw_name[0] == '_' && (raw_name[1] == 'Z' || !strncmp(raw_name, "_GLOBAL_", 8));
}

static bool is_rust(const char *raw_name)
{
    return raw_name[0] == '_' && (raw_name[1] == 'R' || raw_name[1] == 'Z');
}

/* Rust first: its old scheme is valid C++ mangling with a hash at the end. */
static bool print(const char *raw_name, int options, struct output *out)
{
    if (setjmp(out->overflow))
        return false;
    if (is_rust(raw_name) && rust_demangle_callback(raw_name, options, append, out))
        return true;
    out->size = 0;
    return is_cxx(raw_name) && cplus_demangle_v3_callback(raw_name, options, append, out);
}

/* ---- D --------------------------------------------------------------------------------------- */

/* Distance of a back reference in characters: digits of base 26, the last one is lower-case. */
static size_t back_by(const char *digits)
{
    size_t n = 0;

    for (; *digits >= 'A' && *digits <= 'Z' && n < LONGEST_D_NAME; digits++)
        n = n * 26 + (size_t)(*digits - 'A');
    return *digits >= 'a' && *digits <= 'z' ? n * 26 + (size_t)(*digits - 'a') : 0;
}

/* Does the name stay small if each back reference is replaced by everything from its target on? */
static bool is_d_name_small(const char *raw_name)
{
    size_t expanded[LONGEST_D_NAME + 1]; /* of the characters before */
    size_t n = strlen(raw_name);

    if (n > LONGEST_D_NAME)
        return false;
    expanded[0] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t back = raw_name[i] == 'Q' ? back_by(raw_name + i + 1) : 0;
        size_t added = 1;
        if (back > 0 && back <= i)
            added += raw_name[i - back] >= '0' && raw_name[i - back] <= '9'
                         ? strtoul(raw_name + i - back, NULL, 10) % LONGEST_NAME
                         : expanded[i] - expanded[i - back];
        expanded[i + 1] = expanded[i] + added;
        if (expanded[i + 1] > LONGEST_D_EXPANSION)
            return false;
    }
    return true;
}

/* Removes the parameters: the last parentheses, unless they are arguments of a template. */
static void cut_parameters(char *text)
{
    char *at = strrchr(text, ')');
    size_t depth = 0;

    for (; at && at >= text; at--) {
        depth += *at == ')';
        if (*at == '(' && --depth == 0)
            break;
    }
    if (at && at > text && at[-1] != '!')
        *at = '\0';
}

static char *demangle_d(const char *raw_name, int options)
{
    char *text = is_d_name_small(raw_name) ? dlang_demangle(raw_name, options) : NULL;

    if (text && !(options & DMGL_PARAMS))
        cut_parameters(text);
    return text;
}

/* ---- all ------------------------------------------------------------------------------------- */

static char *demangle(const char *raw_name, int options)
{
    struct output *out;
    char *text;

    if (raw_name[0] != '_' || strlen(raw_name) > LONGEST_NAME)
        return NULL;
    if (raw_name[1] == 'D')
        return demangle_d(raw_name, options);
    out = calloc(1, sizeof(*out));
    if (!out)
        return NULL;
    if (print(raw_name, options, out) && out->size) {
        out->text[out->size] = '\0';
    } else {
        free(out->text);
        out->text = NULL;
    }
    text = out->text;
    free(out);
    return text;
}

char *demangle_full(const char *raw_name)
{
    return demangle(raw_name, DMGL_PARAMS | DMGL_ANSI);
}

char *demangle_qualified(const char *raw_name)
{
    return demangle(raw_name, DMGL_ANSI);
}
