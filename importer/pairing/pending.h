/* SPDX-License-Identifier: MIT */
/*
 * pending: unmatched ends and blocks that ended unseen, kept briefly because the matching event may
 * still come.
 *
 * It is a short list, oldest first.
 *
 * Threads: one at a time.
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
    uint32_t thread;  /* thread of the end; for an unseen end, of the new block */
    uint32_t backtrace;
    bool is_realloc;      /* the end is a realloc */
    uint32_t group;       /* group of the end, a number of definitions */
    uint32_t block_group; /* for unseen ends only, like `block` */
    struct live_block block;
};

struct pending_list {
    struct pending items[PENDING_MAX];
    size_t n;
};

/* The oldest item at the event's address, of another thread and at most inversion_ns before the
 * event; NULL: none. Oldest first keeps a later allocation from taking the item of an earlier
 * one. */
struct pending *pending_find(struct pending_list *list, const struct event *event,
                             uint64_t inversion_ns);

/* Appends an item for the event; the list must have room. */
struct pending *pending_push(struct pending_list *list, const struct event *event);

void pending_remove(struct pending_list *list, struct pending *item);

#endif
