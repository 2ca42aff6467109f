/* SPDX-License-Identifier: MIT */
#include "symbolizer/demangle.h"

#include "support/growing.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Substitutions let a mangled name of some hundred bytes stand for gigabytes of text. */
    LONGEST_NAME = 64 * 1024
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
        needed > LONGEST_NAME ? NULL : growing_reserve(out->text, &out->allocated, needed, 1);

    /* The printer has no way to be told to stop; it keeps all its state on the stack. */
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

static char *demangle(const char *raw_name, int options)
{
    struct output *out;
    char *text;

    if (raw_name[0] != '_' || strlen(raw_name) > LONGEST_NAME)
        return NULL;
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
