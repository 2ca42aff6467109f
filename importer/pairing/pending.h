/* SPDX-License-Identifier: MIT */
/*
 * pending: ends that found no block, and blocks that ended unseen, kept for a moment because their
 * partner may still come.
 *
 * Model:   a short list, oldest first.
 * Threads: none.
 */
#ifndef MTRACE_IMPORTER_PENDING_H
#define MTRACE_IMPORTER_PENDING_H

#include "importer/model/event.h"
#include "importer/pairing/live_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PENDING_MAX = 64
};

struct pending {
    uint64_t time_ns;
    uint64_t address;
    uint32_t process; /* 0: unused */
    uint32_t thread;  /* the end's; of an unseen end, the one of the new block */
    uint32_t node;
    bool is_realloc;      /* the end was one */
    uint32_t group;       /* the end's, a number of definitions */
    uint32_t block_group; /* unseen ends only, as the next */
    struct live_block block;
};

struct pending_list {
    struct pending items[PENDING_MAX];
    size_t n;
};

/* The oldest item at the event's address and no more than inversion_ns before it, of another
 * thread; NULL: none. The one nearest in time before a birth is thus not stolen by a later one. */
struct pending *pending_find(struct pending_list *list, const struct event *event,
                             uint64_t inversion_ns);

/* A new last item for the event; the list must have room. */
struct pending *pending_push(struct pending_list *list, const struct event *event);

void pending_remove(struct pending_list *list, struct pending *item);

#endif
