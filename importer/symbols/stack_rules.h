/* SPDX-License-Identifier: MIT */
/*
 * stack_rules: the table suppressed_stacks in memory: which rule suppresses a stack.
 *
 * Memory: 24 bytes per row.
 * Errors: memory and the database.
 */
#ifndef MTRACE_IMPORTER_STACK_RULES_H
#define MTRACE_IMPORTER_STACK_RULES_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct stack_rule;

struct stack_rules {
    struct stack_rule *list; /* by process and stack */
    size_t n, capacity;
};

/* Reads the table into a zero-initialized struct. Call stack_rules_done also after a failure. */
int stack_rules_read(sqlite3 *db, struct stack_rules *rules, struct error *err);

void stack_rules_done(struct stack_rules *rules);

/* The rule that suppresses the stack; 0: none. */
uint32_t stack_rules_find(const struct stack_rules *rules, uint32_t process, uint32_t stack);

#endif
