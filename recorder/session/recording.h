/* SPDX-License-Identifier: MIT */
/*
 * recording: one process image that is being recorded: its live log, its packed file, its samples.
 *
 * Model:   made for the program itself with a pool of ours, or for a child around the log that the
 *          child made. recording_step moves what there is to move; recording_finish completes the
 *          packed file once the process is gone, and deletes the live log.
 * Invariants
 *   RG-1 A live log is deleted only after everything in it is in the packed file; in all other
 *        cases both files stay, and can be imported or packed later.
 *   RG-2 What --force replaces stays until its successor has the room to begin.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_RECORDING_H
#define MTRACE_RECORDER_RECORDING_H

#include "lib/base/error.h"
#include "lib/logfile/live_log.h"
#include "recorder/pack/packed_log.h"
#include "recorder/pack/packing.h"
#include "recorder/session/collector_commands.h"
#include "recorder/session/memory_sampler.h"
#include "recorder/session/report_service.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct recording_settings {
    bool force;                  /* replace an existing target */
    int zstd_level;              /* 0: no compression */
    uint64_t elide_ns;           /* blocks freed within are dropped; 0: none */
    uint64_t sample_ms;          /* 0: no samples */
    struct process_tree *family; /* hears of all logs; NULL: nobody does */
    struct follower_process
        *run_follower;         /* of a bounded run (rotated_log.h); NULL: it is not bounded */
    uint64_t max_packed_bytes; /* on the disk while the process runs; 0: any */
    uint64_t max_live_bytes;   /* what lies behind in a live log is not looked at */
    const struct report_service_programs *programs; /* questions are answered by them */
};

/* What a finished recording amounts to. */
struct recording_totals {
    uint64_t n_events; /* of the program: also of blocks that were elided */
    uint64_t n_dropped;
    uint64_t dropped[LOG_DROP_REASONS]; /* the same by enum log_drop */
    uint64_t n_elided;                  /* blocks */
    uint64_t file_bytes;  /* without generations, which the whole run has, and their state */
    uint32_t flags;       /* LOG_FLAG_* */
    uint32_t n_threads;   /* that were recorded */
    uint32_t n_started;   /* processes that it started */
    uint32_t end_kind;    /* enum log_end */
    bool is_attached;     /* the collector ran at all */
    bool has_allocations; /* at least one was recorded */
    char unseen[PACKING_UNSEEN_BYTES]; /* "jemalloc inside '/the/program' are not recorded (…)" */
};

/* How the process ended, as wait4 says; pass NULL when nobody can know. */
struct recording_end {
    int wait_status;
    uint64_t max_rss_bytes; /* of no child and no image but those of this pid; 0: not known */
};

struct recording {
    struct live_log live;
    struct packed_log packed;
    struct pack *pack;
    struct packing *packing;
    struct rotated_log ring;   /* all zero: none */
    uint64_t samples_due_ns;   /* next to be taken */
    uint64_t samples_flush_ns; /* next to be written */
    struct report_service reporter;
    struct collector_commands commands;
    const struct report_service_programs *programs;
    pid_t pid;             /* 0: it is of another pid namespace, where its own is another number */
    pid_t outer_pid;       /* of one below ours, what it is called here; 0: not known */
    bool has_sought;       /* outer_pid */
    bool has_own_follower; /* one that is not asked by the program keeps up with the log */
    bool is_aggregate;     /* it is of a bounded run: reporter.keeper is the run's */
    bool
        is_adopted; /* the process made the log: as its fork's, or as that of an image after exec */
    struct memory_sampler samples; /* last, as a short program leaves its pages untouched */
};

/* For the program itself: makes `path` and a pool `path`.live. */
int recording_create(const char *path, pid_t pid, const struct recording_settings *settings,
                     struct recording **ret_recording, struct error *err);

/* For a process that made `live_path` itself. */
int recording_adopt(const char *live_path, const char *path,
                    const struct recording_settings *settings, struct recording **ret_recording,
                    struct error *err);

/* Does what is due; *ret_n_packed segments were moved, see packing_step. A failure (disk full) may
 * pass. */
int recording_step(struct recording *recording, uint64_t now_ns, uint32_t *ret_n_packed,
                   struct error *err);

/* Somebody will ask about this instant of CLOCK_MONOTONIC, which is behind all that was packed (PG-6). */
void recording_hold_until(struct recording *recording, uint64_t monotonic_ns);

/* As report_service_is_awaited. */
bool recording_is_awaited(const struct recording *recording);

/* Has an exec put another image in the place of this one, so that it can be finished although the process goes on? */
bool recording_is_replaced(struct recording *recording);

/* Has somebody led the process back, that it goes on unrecorded? */
bool recording_is_left(struct recording *recording);

/* What its process is called here; 0: it is of another pid namespace, and cannot be found, or had its log no more when it was first sought. */
pid_t recording_process(struct recording *recording);

/* Gives the process the orders that there are. */
void recording_step_commands(struct recording *recording);

/* After the process, or its image, is gone. `end` may be NULL. On failure both files stay. */
int recording_finish(struct recording *recording, const struct recording_end *end,
                     struct recording_totals *ret_totals, struct error *err);

/* Gives the live log up to itself: the process goes on without a recorder. Files stay. */
void recording_abandon(struct recording *recording);

/* Deletes both files: nothing was recorded. */
void recording_discard(struct recording *recording);

/* Adds up what the header says was dropped. */
void recording_count_drops(const struct log_file *file, struct recording_totals *totals);

/* Adds what another one amounts to, but for what a sum does not have: flags, threads, the end. */
void recording_add_totals(struct recording_totals *sums, const struct recording_totals *totals);

/* Closes everything; takes NULL. */
void recording_free(struct recording *recording);

#endif
