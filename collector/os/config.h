/* SPDX-License-Identifier: MIT */
/*
 * config: what the environment asks of the collector.
 *
 * Model: the variables MTRACE_* of the program's environment. Under mtrace-record the private
 *        variable MTRACE_RECORDER holds NAME=value assignments (lib/abi/settings.h) that win over
 *        them, so that the user's own variables reach the program as they were.
 * Invariants: CO-1 nothing points into the environment afterwards; CO-2 a value that makes no
 *        sense leaves the default and sets bad_variable.
 * Threads: read once at start, constant afterwards. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_CONFIG_H
#define MTRACE_COLLECTOR_CONFIG_H

#include "collector/os/fmt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONFIG_PATH_BYTES = 4096,
    CONFIG_ANCESTOR_LEFT = '2' /* in MTRACE_PARENT, in place of whether a window is open */
};

enum config_unwinder {
    CONFIG_UNWINDER_FAST,
    CONFIG_UNWINDER_LIBUNWIND,
    CONFIG_UNWINDER_FRAME_POINTER,
    CONFIG_UNWINDER_NONE,
    CONFIG_UNWINDER_CHECK,
};

/* Messages of this level and below are shown. */
enum config_level {
    CONFIG_LEVEL_SILENT,
    CONFIG_LEVEL_ERROR,
    CONFIG_LEVEL_WARN,
    CONFIG_LEVEL_INFO,
    CONFIG_LEVEL_DEBUG,
    CONFIG_LEVEL_TRACE,
};

struct config {
    char output[CONFIG_PATH_BYTES];   /* pattern */
    char log_file[CONFIG_PATH_BYTES]; /* pattern of the diagnostics file; "" = stderr */
    char pool[CONFIG_PATH_BYTES];     /* live pool made by mtrace-record; "" = none */
    char ancestor[CONFIG_PATH_BYTES]; /* log of the recorded process that exec'd us; "" = none */
    char fallback_directory[CONFIG_PATH_BYTES]; /* TMPDIR or /tmp */
    uint64_t ancestor_run_id;
    uint32_t ancestor_pid;
    uint32_t recorder_pid; /* 0 = bare preload */
    uint32_t target_pid;   /* the process to record; 0 = any */
    enum config_level level;
    enum config_unwinder unwinder;
    int toggle_signal;  /* 0 = none */
    uint32_t max_depth; /* 0 = no limit */
    uint64_t max_live_bytes;
    uint32_t max_threads;        /* that are told apart, 0 = all */
    uint64_t keep_symbols_bytes; /* of symbol tables that are copied into the log */
    uint64_t sample_bytes;       /* mean distance between samples; 0 = every block is recorded */
    uint64_t sample_seed;        /* 0 = any */
    bool is_disabled_by_default;
    bool is_ancestor_tracing;
    bool is_ancestor_left; /* recording has ended in it, for good */
    bool has_free_backtraces;
    bool follows_children;
    bool zeroes_memory;
    bool gathers_mmaps;
    bool may_use_tsc;
    bool is_left;             /* by all threads, since the last recording of this process ended */
    bool is_attached;         /* the program ran already when we came; not of the environment */
    bool adds_asan_option;    /* mtrace-record put one of its own into ASAN_OPTIONS */
    const char *bad_variable; /* name of one with a senseless value (static), or NULL */
};

/* Reads `environment` (NULL-terminated, may be NULL) into *ret_config. */
void config_read(const char *const *environment, struct config *ret_config);

/* Value of NAME in `environment`, or NULL. Not MTRACE_RECORDER's assignments. */
const char *config_find(const char *const *environment, const char *name);

/* The same among MTRACE_RECORDER's assignments; *ret_bytes: to the end of its line. */
const char *config_find_assignment(const char *const *environment, const char *name,
                                   size_t *ret_bytes);

/* Appends `pattern` with %e executable, %t unix seconds, %p pid, %n `number`, %% replaced. */
void config_expand(const char *pattern, unsigned number, struct fmt *out);

/* True when `pattern` contains %n. */
bool config_is_numbered(const char *pattern);

#endif
