/* SPDX-License-Identifier: MIT */
/*
 * facts_parts: the facts themselves, for whoever writes them into tables.
 *
 * Model, invariants, threads and failure are those of statistics.h.
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

/* The part of a process's life that was found last by a time, and which times lie in it. */
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
    uint64_t last_ns;        /* of its last event, or what the log's header knows */
    uint64_t event_ns;       /* of its last event */
    uint64_t quiet_until_ns; /* before this an instant is at most a new peak or low; 0: look */
    uint64_t reported_epoch; /* of the peak that moment_blocks knows; 0: none, or ask */
    bool has_exec;           /* another image took its place */
    bool has_ended;          /* an event said so */
    bool is_untraced;        /* at times, its definition says */
    bool was_untraced;       /* for a while: it may have blocks from then */
    uint64_t peak_snapshot_id, end_snapshot_id;
    uint64_t own_block_bytes;      /* of live blocks that lie in no heap */
    uint64_t heap_block_bytes;     /* of all others */
    uint64_t lowest_break;         /* that the program moved; 0: it did not */
    struct pairing_process traits; /* as its definition has them */
    struct life_part life_part;    /* while leaked blocks are told */
};

/* How many events ahead a slot of the live table, then a block, and then the totals of its stack are fetched. */
enum {
    FACTS_EXPECT_STACK = 4,
    FACTS_EXPECT_BLOCK = 8,
    FACTS_EXPECT_SLOT = 12,
    FACTS_EXPECTED = 16 /* a power of two, and more than the farthest */
};

/* What was found out of an event before it comes: nothing, where its seat is none of its address. */
struct expected {
    struct live_table_prefetch_slot prefetch_slot;
    struct stack_totals *
        stack; /* whose block it begins or ends, most likely, in the process of the seat; NULL: not known */
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
    struct pairing_chain chain; /* of the row that was told last */
    struct expected
        expected[FACTS_EXPECTED]; /* of event n_expected modulo that, and of those behind */
    uint32_t n_expected;
    uint64_t last_mapping_id;
    uint64_t n_events;
    uint64_t estimated_bytes; /* that all samples so far stand for */
    uint64_t n_unknown_phase_ends;
    uint64_t n_lost_pool_events; /* where the log has no definition of a pool */
};

/* Whom pairing tells what becomes of each block. */
struct pairing_sink facts_blocks_sink(struct statistics *facts);

struct window_numbers statistics_window_numbers(const struct statistics *facts, uint32_t process);

/* A stack that was not taken is no stack of a free. */
static inline uint32_t facts_known_node(uint32_t node)
{
    return node == DEFINITIONS_NO_BACKTRACE ? 0 : node;
}

/* A block that heap_ranges_is_heap_block shows how far its heap reaches, and which blocks lie where. */
int facts_allocated_in_heap(struct statistics *facts, const struct heap_allocation *allocation,
                            struct error *err);

/* The last instant of the process is over: before anything ends behind a new peak. */
void facts_emit_peak(const struct statistics *facts, uint32_t process);

/* A process whose events come next, nearly always. */
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

/* The seat may be of an event of an earlier batch: which was first in this one nobody expected. */
static inline void facts_expect_block(const struct event *event, struct expected *expected)
{
    if ((event->kind == EVENT_FREE || event->kind == EVENT_REALLOC_BEGIN)
        && expected->prefetch_slot.address == event->address && event->address
        && live_table_guess(expected->prefetch_slot.table, &expected->prefetch_slot))
        __builtin_prefetch(expected->prefetch_slot.block, 1);
}

/* What is gone, or was never there, has another address. A seat of an earlier event may be taken for that of a later one, and the stack with it. */
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

/* To be called once for each event, in their order: what is known of those behind the first becomes more, and the next one is expected[n_expected]. */
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

/* What was found out of the event that comes now, in the table of its process: its seat is one of the address. */
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

/* An ALLOC or FREE as nearly all are (pairing_plain_allocation), which need not be told by pairing. False: it is for pairing_event. */
bool facts_blocks_plain(struct statistics *facts, const struct event *event, int *ret_code,
                        struct error *err);

/* Of now; where a phase begins and ends. */
struct phase_numbers statistics_phase_numbers(const struct statistics *facts, uint32_t process);

#endif
