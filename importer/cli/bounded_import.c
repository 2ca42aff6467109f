/* SPDX-License-Identifier: MIT */
#include "importer/cli/bounded_import.h"

#include "importer/cli/import.h"
#include "importer/cli/incremental_import.h"
#include "importer/log/checkpoint_file.h"
#include "importer/log/process_logs.h"
#include "importer/read/log_set.h"
#include "lib/logfile/log_rotation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_due(const struct import_options *options)
{
    bool has_state = false;

    for (size_t i = 0; i < options->n_logs && !has_state; i++) {
        struct state_reader *reader;
        has_state = state_reader_open(options->logs[i], &reader, NULL) != 0 || reader;
        state_reader_close(reader);
    }
    return has_state;
}

static bool has_later_logs(const char *path)
{
    struct process_logs logs;
    bool has_any = process_logs_find(path, &logs) != 0 || logs.n > 0;

    process_logs_done(&logs);
    return has_any;
}

static int check_options(const struct import_options *options, struct error *err)
{
    if (options->n_logs != 1)
        return error_set(err, ERROR_USAGE, "a log of --aggregate is imported alone; name only '%s'",
                         options->logs[0]);
    if (options->until_ns || options->until_marker)
        return error_set(
            err, ERROR_USAGE,
            "'%s' was recorded with --aggregate: it has only totals of the whole run, so --until "
            "cannot be used",
            options->logs[0]);
    if (options->only && has_later_logs(options->logs[0]))
        return error_set(err, ERROR_USAGE,
                         "'%s' was recorded with --aggregate: its totals cover all its processes, "
                         "so --only cannot be used",
                         options->logs[0]);
    return 0;
}

/* In a run with a checkpoint, the later logs contain only what came after it. */
static int check_first(const struct import_options *options, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < options->n_logs; i++) {
        const char *path = options->logs[i];
        size_t n_first = process_logs_first_bytes(path);
        char *first = strndup(path, n_first);
        bool is_bounded = false;
        struct state_reader *reader = NULL;
        if (!first)
            return error_set(err, ERROR_NOMEM, "out of memory");
        code = checkpoint_file_is_bounded(path, &is_bounded, err);
        if (code == 0 && is_bounded && n_first < process_logs_packed_bytes(path)
            && (state_reader_open(first, &reader, NULL) != 0 || reader))
            code = error_set(err, ERROR_USAGE,
                             "'%s' was recorded with --aggregate: its totals are included in those "
                             "of '%s'; import that",
                             path, first);
        state_reader_close(reader);
        free(first);
    }
    return code;
}

/* Without the checkpoint only a part of the run is left, which must not pass for all of it. */
static void name_state(const char *path, struct error *err)
{
    char *state = process_logs_checkpoint_path(path);
    struct error said = *err;

    if (state)
        error_set(
            err, ERROR_FORMAT,
            "the checkpoint '%s' of this log (--aggregate) cannot be read: %s; if it is renamed "
            "to '%s" LOG_ROTATION_UNREADABLE_SUFFIX "', only later events are imported",
            state, said.text, state);
    free(state);
}

static int open_whole(const struct import_options *options, struct progress *progress,
                      struct incremental_import **ret, struct error *err)
{
    const char *path = options->logs[0];
    struct state_reader *reader = NULL;
    int code = state_reader_open(path, &reader, err);

    if (code == 0)
        code = incremental_import_open(options, progress, ret, err);
    if (code == 0 && reader) {
        struct checkpoint_io_source source = state_reader_source(reader);
        code = incremental_import_load(*ret, &source, err);
        (*ret)->keeps_logs = true; /* the room for names is that of these */
    }
    if (code == ERROR_FORMAT)
        name_state(path, err);
    if (code == 0)
        code = incremental_import_advance(*ret, UINT64_MAX, err);
    state_reader_close(reader);
    return code;
}

/* A normal ring has more files than the default limit of descriptors (MAX_OPEN_ROTATED_LOGS). */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int import_state(const struct import_options *options, struct progress *progress,
                        struct import_result *ret_result, struct error *err)
{
    struct import_options slim = *options;
    struct incremental_import *incremental = NULL;
    int code = check_options(options, err);

    raise_descriptors();
    slim.slim = true;
    slim.is_aggregate = true;
    if (code == 0)
        code = open_whole(&slim, progress, &incremental, err);
    if (code == 0)
        code = incremental_import_write(incremental, &slim, true, ret_result, err);
    incremental_import_close(incremental);
    return code;
}

int bounded_import_check_follow(const struct import_options *options, struct error *err)
{
    bool is_bounded = false;
    int code = 0;

    for (size_t i = 0; code == 0 && !is_bounded && i < options->n_logs; i++) {
        code = checkpoint_file_is_bounded(options->logs[i], &is_bounded, err);
        if (code == 0 && is_bounded)
            code = error_set(err, ERROR_USAGE,
                             "'%s' was recorded with --aggregate: its events are removed while it "
                             "grows, so --follow cannot be used; import it repeatedly",
                             options->logs[i]);
    }
    return code;
}

int bounded_import_run(const struct import_options *options, struct progress *progress,
                       struct import_result *ret_result, struct error *err)
{
    struct import_options locked = *options;
    int code = check_first(options, err);
    char *log_path = code ? NULL : process_logs_packed_path(options->logs[0]);
    int lock = log_path ? log_rotation_lock_for_reading(log_path) : -1;

    free(log_path);
    locked.files_lock = &lock;
    if (code == 0)
        code = is_due(options) ? import_state(&locked, progress, ret_result, err)
                               : import_run(&locked, progress, ret_result, err);
    if (lock >= 0)
        close(lock);
    return code;
}
