/* SPDX-License-Identifier: MIT */
/*
 * recording: one process image that is being recorded: its live log, its packed file, its samples.
 *
 * It is created for the program with a live log of its own, or for a child process around the log
 * that the child created. recording_step moves what is due. recording_finish completes the packed
 * file after the process has exited, and deletes the live log.
 *
 * Invariants
 *   RG-1 A live log is deleted only if all of it is in the packed file; else both files stay, and
 *        can be imported.
 *   RG-2 A file that --force replaces stays until its successor has the disk space to begin.
 *
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
    bool force;                        /* replace an existing target */
    int zstd_level;                    /* 0: no compression */
    uint64_t elide_ns;                 /* blocks freed within this time are elided; 0: none */
    uint64_t sample_ms;                /* 0: no samples */
    struct process_tree *process_tree; /* is informed of all logs; NULL: none */
    struct module_files *module_files; /* the same */
    struct follower_process *follower; /* of the run */
    bool is_aggregate;                 /* the run is bounded (rotated_log.h) */
    uint64_t max_packed_bytes;         /* on the disk while the process runs; 0: any */
    bool rotates;                      /* the log, into files that mtrace-send removes */
    uint64_t max_live_bytes;           /* anything beyond this in a live log is ignored */
    const struct report_service_programs *programs; /* for requests */
    void (*warn)(const char *format, ...) MTRACE_PRINTF(1, 2);
    bool takes_exit_image;    /* an end without an image is worth a warning */
    uint64_t image_rss_bytes; /* an image is taken at this size; 0: none */
};

/* Totals of a finished recording. */
struct recording_totals {
    uint64_t n_events; /* of the program, including elided blocks */
    uint64_t n_dropped;
    uint64_t dropped[LOG_DROP_REASONS]; /* the same by enum log_drop */
    uint64_t n_elided;                  /* blocks */
    uint64_t file_bytes;  /* without rotated logs and the checkpoint, which belong to the run */
    uint32_t flags;       /* LOG_FLAG_* */
    uint32_t n_threads;   /* recorded threads */
    uint32_t n_started;   /* processes that it started */
    uint32_t end_kind;    /* enum log_end */
    bool is_attached;     /* the collector ran */
    bool has_allocations; /* at least one was recorded */
    char unseen[PACKING_UNSEEN_BYTES]; /* "jemalloc inside '/the/program' are not recorded (…)" */
};

/* How the process ended, as wait4 says; pass NULL when it is unknown. */
struct recording_end {
    int wait_status;
    uint64_t max_rss_bytes; /* of this PID's images only; 0: unknown */
};

struct recording {
    struct live_log live;
    struct packed_log packed;
    struct pack *pack;
    struct packing *packing;
    struct rotated_log ring;   /* all zero: none */
    uint64_t samples_due_ns;   /* next to be taken */
    uint64_t samples_flush_ns; /* next to be written */
    struct report_service service;
    struct collector_commands commands;
    const struct report_service_programs *programs;
    pid_t pid;                /* 0: in another PID namespace, where its number means nothing here */
    bool takes_exit_image;    /* as in the settings */
    uint64_t image_rss_bytes; /* the same, until the image is taken */
    bool is_aggregate;        /* of a bounded run, whose follower service uses */
    bool rotates;             /* --no-local */
    bool is_adopted;          /* the process created the log: a fork child or an exec successor */
    struct memory_sampler samples; /* last, so that a short program leaves its pages untouched */
};

/* For the program itself: creates `path` and a live log `path`.live. */
int recording_create(const char *path, pid_t pid, const struct recording_settings *settings,
                     struct recording **ret_recording, struct error *err);

/* For a process that created `live_path` itself. */
int recording_adopt(const char *live_path, const char *path,
                    const struct recording_settings *settings, struct recording **ret_recording,
                    struct error *err);

/* Does what is due; *ret_n_packed: segments moved, see packing_step. A failure (disk full) may be
 * temporary. */
int recording_step(struct recording *recording, uint64_t now_ns, uint32_t *ret_n_packed,
                   struct error *err);

/* A request will ask about this CLOCK_MONOTONIC time, which must be later than everything packed
 * (PG-6). */
void recording_hold_until(struct recording *recording, uint64_t monotonic_ns);

/* Takes a heap image as of now; see image_service.h. */
int recording_take_image(struct recording *recording, enum image_cause cause, const char *name,
                         struct error *err);

/* See report_service_is_awaited. */
bool recording_is_awaited(const struct recording *recording);

/* An exec has replaced this image, so it can be finished although the process still runs. */
bool recording_is_replaced(struct recording *recording);

/* The process was detached and runs on unrecorded. */
bool recording_is_detached(struct recording *recording);

/* Gives waiting control commands to the process. */
void recording_step_commands(struct recording *recording);

/* Call after the process or its image has ended. `end` may be NULL. On failure both files stay. */
int recording_finish(struct recording *recording, const struct recording_end *end,
                     struct recording_totals *ret_totals, struct error *err);

/* Leaves the live log to the process, which continues without a recorder. Files stay. */
void recording_abandon(struct recording *recording);

/* Deletes both files: nothing was recorded. */
void recording_discard(struct recording *recording);

/* Adds the header's counts of dropped events. */
void recording_count_drops(const struct log_header *file, struct recording_totals *totals);

/* Adds the totals of another recording, except flags, threads and the end. */
void recording_add_totals(struct recording_totals *sums, const struct recording_totals *totals);

/* Closes everything; takes NULL. */
void recording_free(struct recording *recording);

#endif
