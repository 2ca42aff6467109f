/* SPDX-License-Identifier: MIT */
/*
 * facts_parts: the structures of statistics.h, for the modules that fill them and write them to
 * tables.
 */
#ifndef MTRACE_IMPORTER_FACTS_PARTS_H
#define MTRACE_IMPORTER_FACTS_PARTS_H

#include "importer/pairing/lifetimes.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/chain_totals.h"
#include "importer/totals/group_totals.h"
#include "importer/totals/heap_pages.h"
#include "importer/totals/heap_ranges.h"
#include "importer/totals/left_blocks.h"
#include "importer/totals/moment_blocks.h"
#include "importer/totals/object_walks.h"
#include "importer/totals/phases.h"
#include "importer/totals/pool_blocks.h"
#include "importer/totals/row_sink.h"
#include "importer/totals/stable_numbers.h"
#include "importer/totals/timeline.h"
#include "importer/totals/totals.h"
#include "importer/totals/windows.h"
#include "lib/abi/attr.h"
#include "lib/logfile/left_out.h"

/* The time bucket that was found last, and the times in it. */
struct life_part {
    uint64_t from_ns, to_ns;
    uint32_t number;
};

struct process_facts {
    struct timeline timeline;
    struct mappings mappings;
    struct phases phases;
    struct windows windows;
    uint64_t allocated_bytes;
    uint64_t n_events;
    uint64_t last_ns;  /* of its last event, or from the log header */
    uint64_t event_ns; /* of its last event */
    uint64_t
        quiet_until_ns; /* before this time an event changes at most the peak or low; 0: unknown */
    uint64_t reported_epoch; /* of the peak that moment_blocks knows; 0: none or unknown */
    bool has_exec;           /* another image took its place */
    bool has_ended;          /* there was an end event */
    bool is_untraced;        /* not always traced, according to its definition */
    bool was_untraced;       /* was not traced for a while: it may have unknown blocks */
    uint64_t peak_snapshot_id, end_snapshot_id;
    uint64_t own_block_bytes;      /* of live blocks that lie in no heap */
    uint64_t heap_block_bytes;     /* of all others */
    uint64_t lowest_break;         /* lowest program break set by the program itself; 0: none */
    struct pairing_process traits; /* copy from its definition */
    struct life_part life_part;    /* while leaked blocks are counted */
};

/* How many events ahead the slot in the live table, the block, and the totals of its stack are
 * prefetched. */
enum {
    FACTS_EXPECT_STACK = 4,
    FACTS_EXPECT_BLOCK = 8,
    FACTS_EXPECT_SLOT = 12,
    FACTS_EXPECTED = 16 /* a power of two, and more than the farthest */
};

/* Prefetched data of an event. Invalid if its prefetch slot is for another address. */
struct expected {
    struct live_table_prefetch_slot prefetch_slot;
    struct stack_totals
        *stack; /* likely stack of the block that the event allocates or frees; NULL: not known */
};

enum facts_moment {
    STATISTICS_AT_PEAK,
    STATISTICS_AT_END,
    STATISTICS_MOMENTS
};

struct statistics {
    const struct definitions *definitions;
    struct pairing *pairing;
    struct totals *totals;
    struct group_totals *groups; /* NULL: there are none */
    struct pool_blocks *pools;   /* NULL: there are none */
    struct object_walks walks;
    struct lifetimes *statuses;
    struct heap_ranges *heaps;
    struct heap_pages pages[STATISTICS_MOMENTS];
    struct hash_map chains; /* chain_totals_entry */
    struct snapshots *snapshots;
    struct row_sink sink;
    struct memory_samples *memory_samples;
    struct process_facts *processes; /* by id */
    uint32_t *page_bytes;            /* by process, as the next */
    uint8_t *word_bytes;
    uint64_t *moments_ns[STATISTICS_MOMENTS]; /* by process; UINT64_MAX: there was no such moment */
    enum left_out left_out;
    bool keeps_memory;            /* of statistics_keep_memory */
    struct moment_blocks *blocks; /* NULL: rows say which were live at the moments */
    struct left_blocks left;      /* statistics_keep_left */
    struct statistics_room room;
    struct statistics_limits limits;
    uint32_t n_processes;       /* begun */
    struct statistics_ids ids;  /* statistics_renumber; all zero: numbers are ids */
    struct pairing_chain chain; /* of the last row */
    struct expected expected
        [FACTS_EXPECTED]; /* ring: entry n_expected modulo its size is that of the next event */
    uint32_t n_expected;
    uint64_t last_mapping_id;
    uint64_t n_events;
    uint64_t estimated_bytes; /* estimated from all samples so far */
    uint64_t n_unknown_phase_ends;
    uint64_t n_lost_pool_events; /* of pools that the log does not define */
};

/* The sink of the pairing: counts what happens to each block. */
struct pairing_sink facts_blocks_sink(struct statistics *facts);

struct window_numbers statistics_window_numbers(const struct statistics *facts, uint32_t process);

/* Maps DEFINITIONS_NO_BACKTRACE (stack not captured) to 0. */
static inline uint32_t facts_known_node(uint32_t node)
{
    return node == DEFINITIONS_NO_BACKTRACE ? 0 : node;
}

/* Reports an allocation for which heap_ranges_is_heap_block holds to heap_ranges and
 * memory_samples. */
int facts_allocated_in_heap(struct statistics *facts, const struct heap_allocation *allocation,
                            struct error *err);

/* Reports a new peak to moment_blocks. Call when time advances, before a later free is counted. */
void facts_emit_peak(const struct statistics *facts, uint32_t process);

/* Cached lookups for the process of most of the next events. */
struct expecting {
    struct statistics *facts;
    uint32_t process;
    struct live_table *live;
    const struct process_totals *totals;
};

static inline void facts_expect_slot(const struct expecting *own, const struct event *event,
                                     struct expected *ret)
{
    const struct live_table *live = mtrace_likely(event->process == own->process)
                                        ? own->live
                                        : pairing_live(own->facts->pairing, event->process);

    live_table_expect(live, event->address, &ret->prefetch_slot);
    ret->stack = NULL;
}

/* The slot may hold an event of an earlier batch, since the first events of a batch were not
 * prefetched. */
static inline void facts_expect_block(const struct event *event, struct expected *expected)
{
    if ((event->kind == EVENT_FREE || event->kind == EVENT_REALLOC_BEGIN)
        && expected->prefetch_slot.address == event->address && event->address
        && live_table_guess(expected->prefetch_slot.table, &expected->prefetch_slot))
        __builtin_prefetch(expected->prefetch_slot.block, 1);
}

/* A stale prefetch slot has a different address and is ignored. One of an earlier event at the same
 * address may be used, with its stack: both are only hints. */
static inline void facts_expect_stack(const struct expecting *own, const struct event *event,
                                      struct expected *expected)
{
    const bool is_own = mtrace_likely(event->process == own->process);
    const struct live_table *live =
        is_own ? own->live : pairing_live(own->facts->pairing, event->process);
    const struct process_totals *totals =
        is_own ? own->totals : &own->facts->totals->processes[event->process];
    const struct live_block *block = expected->prefetch_slot.block;

    if (!live_table_is_prefetch_slot(live, event->address, &expected->prefetch_slot))
        return;
    if (event->kind == EVENT_ALLOC || event->kind == EVENT_REALLOC_END)
        expected->stack = totals_stack_find(totals, event->node);
    else if (block && event->address && block->address == event->address)
        expected->stack = totals_stack_find(totals, block->node);
    if (expected->stack)
        totals_stack_fetch(expected->stack);
}

/* Call once for each event, in order: advances the prefetching of the events after the first.
 * expected[n_expected] is then the next event. */
static inline void facts_expect_behind(const struct expecting *own, const struct event *events,
                                       size_t n_events)
{
    struct statistics *facts = own->facts;
    uint32_t now = facts->n_expected++;

    if (mtrace_likely(n_events > FACTS_EXPECT_SLOT))
        facts_expect_slot(own, &events[FACTS_EXPECT_SLOT],
                          &facts->expected[(now + FACTS_EXPECT_SLOT) % FACTS_EXPECTED]);
    if (mtrace_likely(n_events > FACTS_EXPECT_BLOCK))
        facts_expect_block(&events[FACTS_EXPECT_BLOCK],
                           &facts->expected[(now + FACTS_EXPECT_BLOCK) % FACTS_EXPECTED]);
    if (mtrace_likely(n_events > FACTS_EXPECT_STACK))
        facts_expect_stack(own, &events[FACTS_EXPECT_STACK],
                           &facts->expected[(now + FACTS_EXPECT_STACK) % FACTS_EXPECTED]);
}

/* The prefetched data of the current event. Its prefetch slot is valid for the address. */
static inline struct expected *facts_expected(struct statistics *facts,
                                              const struct live_table *live,
                                              const struct event *event)
{
    struct expected *expected = &facts->expected[facts->n_expected % FACTS_EXPECTED];

    if (mtrace_unlikely(
            !live_table_is_prefetch_slot(live, event->address, &expected->prefetch_slot))) {
        live_table_expect(live, event->address, &expected->prefetch_slot);
        expected->stack = NULL;
    }
    return expected;
}

/* Handles the common ALLOC or FREE (pairing_plain_allocation) without pairing_event. False: not
 * handled, pass it to pairing_event. */
bool facts_blocks_plain(struct statistics *facts, const struct event *event, int *ret_code,
                        struct error *err);

/* The current sums of the process, for the begin and end of a phase. */
struct phase_numbers statistics_phase_numbers(const struct statistics *facts, uint32_t process);

#endif
