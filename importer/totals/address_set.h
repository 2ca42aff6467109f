/* SPDX-License-Identifier: MIT */
/*
 * address_set: things that begin at addresses, found by what lies at or before one.
 *
 * Model:   a balanced tree of <search.h>. Two things at one address are told apart by `of`.
 * Threads: none. Failure: memory.
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

/* All zero: empty. */
struct address_set {
    void *root;
};

void address_set_done(struct address_set *set);

/* In the place of the item with its address and `of`, if there is one. */
int address_set_put(struct address_set *set, const struct address_item *item, struct error *err);
void address_set_remove(struct address_set *set, uint64_t address, uint32_t of);

/* The last item at the address or before it, the first at it or behind it; NULL: none. */
const struct address_item *address_set_last_at(const struct address_set *set, uint64_t address);
const struct address_item *address_set_first_at(const struct address_set *set, uint64_t address);

/* The one behind it; NULL: none. */
const struct address_item *address_set_next(const struct address_set *set,
                                            const struct address_item *item);

#endif
