/* SPDX-License-Identifier: MIT */
/*
 * stack_tree: every distinct stack of the process as a node; lock-free interning.
 *
 * Model:   a node is (parent node, frame key) and its id; the frame key is (code address, module,
 *          exact). The node itself is a 16-byte slot of a NODES segment of the log; the hash table
 *          beside it is private memory. Roots are LOG_NODE_COMPLETE, _TRUNCATED, _GUESSED.
 * Invariants
 *   ST-1 A node is committed in the log before its id is returned to anyone.
 *   ST-2 The same key returns the same id in all threads, but for races, where a key may get two
 *        ids; the importer merges them.
 *   ST-3 No lock, no wait: a thread that loses a race uses the winner's work or its own.
 * Threads: any. Signals: safe, also nested in itself.
 * Failure: stack_tree_search returns LOG_NODE_NONE when no segment or memory is left; the caller
 *          uses the nearest ancestor it has.
 */
#ifndef MTRACE_COLLECTOR_STACK_TREE_H
#define MTRACE_COLLECTOR_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The frames of a new stack get ids in a row, so the node behind `parent` is often its child. Says
 * which it is for one more inner frame, or LOG_NODE_NONE. module is a LOG_DEF_MODULE id or 0.
 */
uint32_t stack_tree_next(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact);

/* The node below `parent` that stack_tree_next did not find; made if there is none. */
uint32_t stack_tree_search(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact);

/* The node below `parent` for one more inner frame. */
static inline uint32_t stack_tree_child(uint32_t parent, uintptr_t address, uint32_t module,
                                        bool is_exact)
{
    uint32_t node = stack_tree_next(parent, address, module, is_exact);

    return node != 0 ? node : stack_tree_search(parent, address, module, is_exact);
}

/* In a fork child: the mappings are gone. */
void stack_tree_forget(void);

#endif
