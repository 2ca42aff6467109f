/* SPDX-License-Identifier: MIT */
/*
 * address_set: items at addresses, found by the nearest address below or above.
 *
 * It is a balanced tree of <search.h>. Items at the same address differ in `of`.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_ADDRESS_SET_H
#define MTRACE_IMPORTER_ADDRESS_SET_H

#include "lib/base/error.h"

#include <stdint.h>

struct address_item {
    uint64_t address;
    uint32_t of;
    uint64_t size_bytes;
    uint64_t id;
};

/* Zero-initialized: empty. */
struct address_set {
    void *root;
};

void address_set_done(struct address_set *set);

/* Adds the item or replaces the one with its address and `of`. */
int address_set_put(struct address_set *set, const struct address_item *item, struct error *err);
void address_set_remove(struct address_set *set, uint64_t address, uint32_t of);

/* The last item at or below the address; the first at or above it. NULL: none. */
const struct address_item *address_set_last_at(const struct address_set *set, uint64_t address);
const struct address_item *address_set_first_at(const struct address_set *set, uint64_t address);

/* The next item in order; NULL: none. */
const struct address_item *address_set_next(const struct address_set *set,
                                            const struct address_item *item);

#endif
