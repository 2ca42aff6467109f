/* SPDX-License-Identifier: MIT */
/*
 * plain_modules: nodes as the test sees them.
 */
#ifndef MTRACE_TESTS_UNWIND_PLAIN_MODULES_H
#define MTRACE_TESTS_UNWIND_PLAIN_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct plain_node {
    uint32_t parent;
    uint32_t module;
    uintptr_t address;
    bool is_exact;
    uint32_t next;
};

/* A node that stack_tree_child returned, until its next call. */
const struct plain_node *plain_node(uint32_t node);

#endif
