/* SPDX-License-Identifier: MIT */
/*
 * stack_rules: which rule suppresses a stack: the table suppressed_stacks in memory, for what is counted by stack.
 *
 * Memory:  24 bytes for each of its rows.
 * Failure: memory and the database.
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

/* Into one that is all zero. stack_rules_done also after a failure. */
int stack_rules_read(sqlite3 *db, struct stack_rules *rules, struct error *err);

void stack_rules_done(struct stack_rules *rules);

/* 0: none. */
uint32_t stack_rules_find(const struct stack_rules *rules, uint32_t process, uint32_t stack);

#endif
