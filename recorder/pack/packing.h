/* SPDX-License-Identifier: MIT */
/*
 * packing: moves the segments of a live log into a packed one.
 *
 * EVENTS and FALLBACK segments are packed whole when sealed, and returned to the program. DEFS and
 * NODES segments stay; before events are packed, the part of them committed since the last time is
 * packed. When the program has exited, packing_finish packs the rest by looking at every segment's
 * state; it does not trust the stacks of a killed process.
 *
 *     sealed --frame appended--> packed --> free (on the free stack)
 *        \--write failed: stays sealed, in `backlog`, tried again
 *
 * Invariants
 *   PG-1 A segment's frame is in the file before its state is packed (LL-3), so an event is always
 *        in the packed file, in a segment, or in both with one sequence.
 *   PG-2 After packing_finish succeeded, everything is in the packed file, the trailer is the last
 *        frame, and the live log may be deleted.
 *   PG-3 The header precedes all frames, and definitions precede the events that use them, so a
 *        truncated file can be read (LF-3).
 *   PG-4 The program may overwrite the live log at any time: payloads are copied before packing,
 *        and our own state is not in it.
 *   PG-5 A frame elides no event stamped before the log_packing.watermark_ticks that a reader saw
 *        before it listed the frames.
 *   PG-6 No elided block crosses a time for which a report is requested.
 *   PG-7 With --cull-temporary a frame is at most 1/64 larger than without, as far as segments are
 *        packed both ways; a bounded log elides all it can.
 *
 * Notes: PG-5: the follower can read segments while they are filled, and continue in the frames
 * made of them (importer/log/log_input.h). PG-6: the totals would be counted after that time.
 * From before a program stamps its marker until its request is received nothing is elided
 * (LOG_REQUEST_TURN); times of our own requests come by packing_hold_until. PG-7: both ways are
 * compared if recent segments of this kind were smaller unelided, and for one of PACKING_LOOK
 * segments; frames of a bounded log do not stay.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_PACKING_H
#define MTRACE_RECORDER_PACKING_H

#include "lib/base/error.h"
#include "lib/logfile/definition_parts.h"
#include "lib/logfile/live_log.h"
#include "lib/logfile/pack.h"
#include "recorder/pack/packed_log.h"
#include "recorder/pack/rotated_log.h"

#include <stdbool.h>
#include <stdint.h>

struct elide;
struct process_tree;
struct last_frees;
struct module_files;

enum {
    PACKING_STEP_MAX = 64, /* segments of one step: a few milliseconds */
    PACKING_UNSEEN_BYTES = 512,
    PACKING_LOOK = 16, /* PG-7 */
};

/* Events older than this are not elided any more (PG-5): most segments are filled and packed within
 * it. The second value applies while segments wait to be packed. */
#define PACKING_WATERMARK_NS     UINT64_C(400000000)
#define PACKING_MAX_WATERMARK_NS UINT64_C(2000000000)

/* A segment that waits to be packed. */
struct packing_item {
    uint64_t sequence;
    uint32_t index;
};

/* The size of a recent segment that was packed unelided (PG-7). */
struct packing_usual {
    uint32_t n_bytes; /* of its payload; 0: none was */
    size_t n_frame;
    unsigned n_since; /* segments since then */
};

struct packing {
    struct live_log *live;
    struct packed_log *packed;
    struct rotated_log *ring; /* gets events and samples instead of `packed`; NULL: none */
    struct pack *pack;
    struct elide *elide;       /* NULL: nothing is elided */
    struct last_frees *others; /* with elide; not NULL */
    bool has_readers;          /* with elide: packing_expect_readers was called */
    uint64_t hold_ns;          /* the latest time of packing_hold_until */
    uint64_t watermark_ticks;  /* if watched: events before it are not elided (PG-5) */
    struct pack_settings settings;
    bool has_packed_events; /* of a thread: settings.time_shift is fixed */
    struct definition_parts definitions;
    struct packing_item *backlog;
    size_t n_backlog;
    size_t n_capacity;
    uint64_t n_events;                 /* of the program, including elided blocks */
    double ticks_per_ns;               /* 0: not known yet */
    bool has_header;                   /* written since the program attached */
    bool is_alone;                     /* with elide: the program has had one thread so far */
    bool knows_frees;                  /* others has everything that CU-3 needs */
    struct process_tree *process_tree; /* learns from definitions; NULL: none */
    struct module_files *module_files; /* the same */
    pid_t pid;                         /* of the program; 0: not known here */
    char *executable;                  /* from its own definition; owned, NULL: not known */
    char unseen[PACKING_UNSEEN_BYTES]; /* set by packing_finish; "": nothing */
    struct packing_usual usual;
    bool has_allocations; /* one was packed */
    /* Not cleared: written before they are read, and a short program touches little of them. */
    uint64_t payload[LOG_SEGMENT_PAYLOAD_BYTES / 8]; /* a copy, see PG-4 */
    uint8_t frame[PACK_SEGMENT_MAX_BYTES];
    uint8_t other_frame[PACK_SEGMENT_MAX_BYTES];
};

/* The caller keeps the logs and the workspace. zstd_level 0: no compression. */
struct packing *packing_new(struct live_log *live, struct packed_log *packed, struct pack *pack,
                            int zstd_level);

/* Elides blocks that live up to max_ns from now on; false without memory. */
bool packing_start_eliding(struct packing *packing, uint64_t max_ns);

/* Call after packing_start_eliding if the program still writes and the log may be read while it
 * grows (PG-5, PG-6). */
void packing_expect_readers(struct packing *packing);
void packing_free(struct packing *packing);

/* The log is not packed any more: everything in it stays. */
void packing_abandon(struct packing *packing);

/* A request will ask about this CLOCK_MONOTONIC time, which must be later than everything packed
 * (PG-6). */
void packing_hold_until(struct packing *packing, uint64_t monotonic_ns);

/* Publishes the watermark in the live log (PG-5). Call often, even if nothing can be packed: the
 * follower reads only events before it. */
void packing_note_watermark(struct packing *packing);

/* Publishes the watermark, then packs sealed segments; *ret_n_packed: how many. If they are
 * PACKING_STEP_MAX there may be more, and the caller can do other work first. The rest stays in the
 * backlog. */
int packing_step(struct packing *packing, uint32_t *ret_n_packed, struct error *err);

/* Packs the rest and writes the trailer: *file, completed by the allocator inside the executable
 * that was not recorded, and the reason. `unseen` then says "jemalloc inside '/the/program' are not
 * recorded (…)". */
int packing_finish(struct packing *packing, struct log_header *file, struct error *err);

/* Writes only the trailer. */
int packing_append_trailer(struct packing *packing, const struct log_header *file,
                           struct error *err);

/* Computes the tick rate from the header's two clock readings, and from it the rounding of times:
 * the largest power of two ticks within 16 ns. No rounding while the readings are too close
 * together. */
void packing_set_clock(struct packing *packing, const struct log_header *file);

/* Puts the frame of an EVENTS segment into packing->frame and returns its size: elided, or unelided
 * if `elided` is the payload itself or PG-7 requires it. *ret_n_events: the program events that it
 * stands for. */
size_t packing_put_elided(struct packing *packing, const struct log_segment *segment,
                          const void *payload, uint32_t n_bytes, const void *elided,
                          uint32_t n_elided_bytes, uint64_t *ret_n_events);

/* Appends samples, at most PACK_SAMPLES_MAX. */
int packing_append_samples(struct packing *packing, const struct log_sample *samples, uint32_t n,
                           struct error *err);

#endif
