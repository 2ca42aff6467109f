/* SPDX-License-Identifier: MIT */
/*
 * stack_tree: interns stacks. Each distinct stack of the process is a node of a tree.
 *
 * A node is (parent node, frame key) and has an id. The frame key is (code address, module, exact).
 * The node is a 16-byte slot of a NODES segment of the log; the hash table beside it is private
 * memory. The roots are LOG_NODE_COMPLETE, _TRUNCATED and _GUESSED.
 *
 * Invariants
 *   ST-1 A node is committed in the log before its id is returned.
 *   ST-2 A key has the same id in all threads. A race may give it two ids; the importer merges
 *        them.
 *   ST-3 No lock, no wait: a thread that loses a race uses the winner's work or its own.
 *
 * Threads: any, without locks. Async-signal-safe and reentrant. Without space or memory
 * stack_tree_search returns LOG_NODE_NONE, and the caller uses the nearest ancestor that it has.
 */
#ifndef MTRACE_COLLECTOR_STACK_TREE_H
#define MTRACE_COLLECTOR_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the child of `parent` for one more inner frame if it is node parent + 1, else
 * LOG_NODE_NONE. The frames of a new stack get consecutive ids, so this often succeeds. module: id
 * of a LOG_DEF_MODULE, or 0. */
uint32_t stack_tree_next(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact);

/* The child of `parent` that stack_tree_next did not find; created if there is none. */
uint32_t stack_tree_search(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact);

/* The child of `parent` for one more inner frame. */
static inline uint32_t stack_tree_child(uint32_t parent, uintptr_t address, uint32_t module,
                                        bool is_exact)
{
    uint32_t node = stack_tree_next(parent, address, module, is_exact);

    return node != 0 ? node : stack_tree_search(parent, address, module, is_exact);
}

/* In a fork child: the mappings are gone. */
void stack_tree_forget(void);

#endif
