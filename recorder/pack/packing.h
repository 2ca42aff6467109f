/* SPDX-License-Identifier: MIT */
/*
 * packing: moves the segments of a live log into a packed one.
 *
 * Model:   EVENTS and SIDE segments are packed whole when sealed and given back to the program.
 *          DEFS and NODES segments stay; before events are packed, what was committed since the last
 *          time is packed as a part. When the program is gone, packing_finish packs what is left by looking at every
 *          segment's state; it does not trust the stacks of a process that was killed.
 *
 *              sealed --frame appended--> packed --> free (on the free stack)
 *                 \--write failed: stays sealed, in `backlog`, tried again
 *
 * Invariants
 *   PG-1 A segment's frame is in the file before its state is packed (LL-3), so at any instant each
 *        event is in the packed file or in a segment, or in both under one sequence.
 *   PG-2 packing_finish succeeded: everything is in the packed file and its trailer is the last
 *        frame; the live log may be deleted.
 *   PG-3 The definitions that events name are in frames before theirs, so that a packed file that is
 *        cut anywhere has the stacks of the events it kept (LF-3); and the header is before all frames, without which they are nobody's.
 *   PG-4 The program may write anything anywhere in the live log, also while we look: a payload is
 *        copied before it is packed, and what we remember is not in the live log.
 *   PG-5 Somebody may take segments in while they are filled, and go on in what they became (importer/log/log_grown.h): he takes in what was stamped
 *        before log_packing.watermark_ticks as that was before he looked which frames there are, and of that nothing is elided in any later frame.
 *   PG-6 Nothing is elided from before to behind an instant that somebody asks about: what a block of both sides of it amounts to stands behind it. A thread
 *        has its turn to ask before it stamps the instant (log_question.asker), until when nothing is elided; our own are told by packing_hold_until.
 *   PG-7 With --cull-temporary a frame is hardly larger than it would be if nothing was elided, by a 64th at most of those that are packed both ways: each
 *        of which segments as they were lately took less, and one of PACKING_LOOK. In a bounded log, whose frames do not stay, all is elided that may be.
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

enum {
    PACKING_STEP_MAX = 64, /* segments of one step: some milliseconds */
    PACKING_UNSEEN_BYTES = 512,
    PACKING_LOOK = 16, /* PG-7 */
};

/* So old is what is not elided any more (PG-5): most segments are filled and packed within that; and, when we are behind, what waits to be packed. */
#define PACKING_WATERMARK_NS      UINT64_C(400000000)
#define PACKING_MOST_WATERMARK_NS UINT64_C(2000000000)

/* A segment that waits to be packed. */
struct packing_item {
    uint64_t sequence;
    uint32_t index;
};

/* What segments take that are packed as they were (PG-7): the one of which it was seen last. */
struct packing_usual {
    uint32_t n_bytes; /* of its payload; 0: none was */
    size_t n_frame;
    unsigned n_since; /* segments of which it was not */
};

struct packing {
    struct live_log *live;
    struct packed_log *packed;
    struct rotated_log
        *ring; /* events and samples go there, and not to `packed`; NULL: there is none */
    struct pack *pack;
    struct elide *elide;                    /* NULL: nothing is elided */
    struct last_frees *others;              /* with elide; not NULL */
    bool is_watched;                        /* with elide: as packing_be_watched says */
    uint32_t requester, n_asked, n_tickets; /* of the question, when it was last looked at (PG-6) */
    uint64_t turn_ns;                       /* since when */
    bool is_turn_left;                      /* for so long that nobody has it */
    uint64_t hold_ns;                       /* the last instant of packing_hold_until */
    uint64_t watermark_ticks; /* if it is watched: what was stamped before stays (PG-5) */
    struct pack_settings settings;
    bool has_packed_events; /* of a thread: settings.time_shift stays what it is */
    struct definition_parts definitions;
    struct packing_item *backlog;
    size_t n_backlog;
    size_t n_capacity;
    uint64_t n_events;                 /* of the program: also of blocks that were elided */
    double ticks_per_ns;               /* 0: not known yet */
    bool has_header;                   /* written since the program attached */
    bool is_alone;                     /* with elide: the program had one thread so far */
    bool knows_frees;                  /* others: what CU-3 asks for is known */
    struct process_tree *family;       /* learns from definitions; NULL: nobody does */
    char *executable;                  /* by its own definition; owned, NULL: not known */
    char unseen[PACKING_UNSEEN_BYTES]; /* by packing_finish, see there; "": nothing */
    struct packing_usual usual;
    bool has_allocations; /* one was packed */
    /* Written before they are read; a short program's log fills little of them. */
    uint64_t payload[LOG_SEGMENT_PAYLOAD_BYTES / 8]; /* a copy, see PG-4 */
    uint8_t frame[PACK_SEGMENT_MAX_BYTES];
    uint8_t other_frame[PACK_SEGMENT_MAX_BYTES];
};

/* The logs and the workspace stay the caller's; zstd_level 0 stores. */
struct packing *packing_new(struct live_log *live, struct packed_log *packed, struct pack *pack,
                            int zstd_level);

/* From now on leaves out blocks that live up to max_ns; false without memory. */
bool packing_start_culling(struct packing *packing, uint64_t max_ns);

/* Behind that: the program still writes, and somebody may read the log meanwhile (PG-5, PG-6). */
void packing_be_watched(struct packing *packing);
void packing_free(struct packing *packing);

/* Nobody packs the log any more: all that is in it stays. */
void packing_abandon(struct packing *packing);

/* Somebody will ask about this instant of CLOCK_MONOTONIC, which is later than all that was packed (PG-6). */
void packing_hold_until(struct packing *packing, uint64_t monotonic_ns);

/* PG-5: says in the live log what is not elided any more. Often, though nothing can be packed: who keeps up takes in, and so removes, no more than that. */
void packing_note_watermark(struct packing *packing);

/* Behind that, packs sealed segments; *ret_n_packed says how many. When they are PACKING_STEP_MAX there may be
 * more, and the caller can look at other things before. What is left stays in the backlog. */
int packing_step(struct packing *packing, uint32_t *ret_n_packed, struct error *err);

/* Everything that is left, then the trailer: *file as it shall be read, to which is added which
 * allocator inside the executable was not seen, and why. `unseen` then says "jemalloc inside
 * '/the/program' are not recorded (…)". */
int packing_finish(struct packing *packing, struct log_file *file, struct error *err);

/* The trailer alone. */
int packing_append_trailer(struct packing *packing, const struct log_file *file, struct error *err);

/* Learns the rate of ticks from two readings of both clocks, and with it how far times are rounded:
 * to the largest power of two ticks within 16 ns. Not at all while the readings are too near. */
void packing_set_clock(struct packing *packing, const struct log_file *file);

/* Puts the frame of a segment of events into packing->frame and returns its bytes: elided, unless `elided` is the payload itself; or as it was,
 * where that is smaller by more than PG-7 says. *ret_n_events is how many events of the program it stands for. */
size_t packing_put_elided(struct packing *packing, const struct log_segment *segment,
                          const void *payload, uint32_t n_bytes, const void *elided,
                          uint32_t n_elided_bytes, uint64_t *ret_n_events);

/* Appends samples, at most PACK_SAMPLES_MAX. */
int packing_append_samples(struct packing *packing, const struct log_sample *samples, uint32_t n,
                           struct error *err);

#endif
