/* SPDX-License-Identifier: MIT */
/*
 * operator_table: the operators new and delete that follow ours in lookup order (interpose_new.c).
 *
 * Operators of libraries loaded at the start are found once: these are never unloaded. Operators of
 * later libraries are looked up when needed and remembered until a library is unloaded. After that,
 * a remembered one holds if its module is still the same.
 *
 * Invariants
 *   ON-1 ld.so's list of modules is read only while there is one thread, or with the list locked.
 *        Only modules that ld.so has finished loading are searched.
 *   ON-2 No thread waits for that lock. Without it, a lookup returns what is remembered, or
 *        nothing.
 *
 * Any thread. Async-signal-safe. On failure nothing is found.
 */
#ifndef MTRACE_COLLECTOR_OPERATOR_TABLE_H
#define MTRACE_COLLECTOR_OPERATOR_TABLE_H

#include "collector/os/operator_names.h"
#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stddef.h>

typedef void (*operator_function)(void); /* of any type */

struct operator
{
    operator_function call; /* NULL: not found */
    bool is_allocators;     /* calls no malloc by name */
};

/* Read by operator_table_get only; [0] is the single object, [1] the array. */
extern MTRACE_HIDDEN struct operator g_operator_table[2][N_OPERATOR_SLOTS];

/* Finds the operators that exist at the start: once, before the first call of one; in an attached
 * process with ld.so's list locked. */
void operator_table_find(void);

struct operator operator_table_get_slow(int kind, enum operator_slot slot);

static inline struct operator operator_table_get(int kind, enum operator_slot slot)
{
    return mtrace_likely(g_operator_table[kind][slot].call != NULL)
               ? g_operator_table[kind][slot]
               : operator_table_get_slow(kind, slot);
}

#endif
