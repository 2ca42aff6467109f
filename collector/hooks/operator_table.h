/* SPDX-License-Identifier: MIT */
/*
 * operator_table: the operators new and delete behind ours (interpose_new.c).
 *
 * Model:   what is there at the start is never unloaded: it is found once. What comes later with a library is looked for when it is needed, and
 *          remembered for as long as no library is unloaded. Meanwhile what is remembered holds if its module is the same one still.
 * Invariants
 *   ON-1 ld.so's list of modules is followed only before there is a second thread, or with the list locked, and of it only modules that ld.so has
 *        finished are looked into.
 *   ON-2 Nobody waits for that lock: who cannot have it gets what is remembered, or nothing.
 * Threads: any. Signals: safe. Failure: nothing is found.
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
    operator_function call; /* NULL: nobody is known to have it */
    bool is_allocators;     /* calls no malloc by name */
};

/* Read by operator_table_get only; [0] is the single object, [1] the array. */
extern MTRACE_HIDDEN struct operator g_operator_table[2][N_OPERATOR_SLOTS];

/* What is there at the start: once, before the first one is called; in a program that ran already with ld.so's list locked. */
void operator_table_find(void);

struct operator operator_table_get_slow(int kind, enum operator_slot slot);

static inline struct operator operator_table_get(int kind, enum operator_slot slot)
{
    return mtrace_likely(g_operator_table[kind][slot].call != NULL)
               ? g_operator_table[kind][slot]
               : operator_table_get_slow(kind, slot);
}

#endif
