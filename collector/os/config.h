/* SPDX-License-Identifier: MIT */
/*
 * config: settings of the collector from the environment.
 *
 * The settings are MTRACE_* variables of the program's environment. mtrace-record passes its own in
 * MTRACE_RECORDER as NAME=value assignments (lib/abi/settings.h), which take precedence. So the
 * user's own variables reach the program unchanged.
 *
 *   CO-1 Nothing points into the environment afterwards.
 *   CO-2 An invalid value leaves the default and sets bad_variable.
 *
 * Read once at the start, constant afterwards. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_CONFIG_H
#define MTRACE_COLLECTOR_CONFIG_H

#include "collector/os/fmt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONFIG_PATH_BYTES = 4096,
    CONFIG_ANCESTOR_LEFT = '2' /* in MTRACE_PARENT, in the place of the open-window flag */
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
    uint32_t max_threads;        /* recorded individually, 0: all */
    uint64_t keep_symbols_bytes; /* of symbol tables that are copied into the log */
    uint64_t sample_bytes;       /* mean distance between samples; 0: every block is recorded */
    uint64_t sample_seed;        /* 0 = any */
    bool is_disabled_by_default;
    bool is_ancestor_tracing;
    bool is_ancestor_left; /* its recording has ended for good */
    bool has_free_backtraces;
    bool follows_children;
    bool zeroes_memory;
    bool takes_exit_image; /* --heap-image=exit */
    bool gathers_mmaps;
    bool may_use_tsc;
    bool is_left;             /* attach: no thread can still be inside the last recording */
    bool is_attached;         /* the collector was loaded by attach; not from the environment */
    bool adds_asan_option;    /* mtrace-record added an option to ASAN_OPTIONS */
    const char *bad_variable; /* name of a variable with an invalid value (static), or NULL */
};

/* Reads `environment` (NULL-terminated, may be NULL) into *ret_config. */
void config_read(const char *const *environment, struct config *ret_config);

/* Value of NAME in `environment`, or NULL. Ignores assignments in MTRACE_RECORDER. */
const char *config_find(const char *const *environment, const char *name);

/* The same for assignments in MTRACE_RECORDER; *ret_bytes: to the end of the assignment. */
const char *config_find_assignment(const char *const *environment, const char *name,
                                   size_t *ret_bytes);

/* Appends `pattern` with %e executable, %t unix seconds, %p pid, %n `number`, %% replaced. */
void config_expand(const char *pattern, unsigned number, struct fmt *out);

/* True when `pattern` contains %n. */
bool config_is_numbered(const char *pattern);

#endif
