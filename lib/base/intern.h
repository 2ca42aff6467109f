/* SPDX-License-Identifier: MIT */
/*
 * intern: stores each distinct string once and numbers it.
 *
 * A hash table of numbers over strings that are copied into large blocks. The first string has
 * number 0, the next new one 1, and so on.
 *
 *   IN-1 Equal strings have equal numbers, different strings different ones.
 *   IN-2 A pointer from intern_get stays valid until intern_done.
 *
 * Not thread-safe. Fails only without memory; then nothing was added.
 */
#ifndef MTRACE_LIB_INTERN_H
#define MTRACE_LIB_INTERN_H

#include "lib/base/hash_map.h"

#include <stddef.h>
#include <stdint.h>

struct intern_block;

struct intern {
    const char **strings; /* by number, NUL-terminated */
    uint32_t n_strings;
    size_t n_allocated;
    struct id_table table; /* number + 1 */
    struct intern_block *blocks;
};

enum {
    INTERN_NOMEM = -1,
    INTERN_ABSENT = -2,
};

void intern_init(struct intern *intern);
void intern_done(struct intern *intern);

/* Number of the `size` bytes at `text` (without NUL); adds them if they are new. INTERN_NOMEM
 * without memory. */
int64_t intern_add(struct intern *intern, const char *text, size_t size);

/* The number of the string, or INTERN_ABSENT. */
int64_t intern_find(const struct intern *intern, const char *text, size_t size);

static inline const char *intern_get(const struct intern *intern, uint32_t number)
{
    return intern->strings[number];
}

#endif
