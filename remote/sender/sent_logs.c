/* SPDX-License-Identifier: MIT */
#include "remote/sender/sent_logs.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/logfile/log_name.h"
#include "lib/logfile/successor_logs.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* ---- the list ---- */

static void add(void *context, const char *path)
{
    struct sent_logs *list = context;
    struct sent_log **logs;
    struct sent_log *log;
    uint64_t hash = XXH64(path, strlen(path), 0);

    for (size_t i = 0; i < list->n; i++)
        if (list->logs[i]->path_hash == hash)
            return;
    logs = dynamic_array_reserve(list->logs, &list->capacity, list->n + 1, sizeof(*logs));
    if (!logs)
        return;
    list->logs = logs;
    log = calloc(1, sizeof(*log));
    if (!log || !(log->path = strdup(path))) {
        free(log);
        return;
    }
    log->path_hash = hash;
    log->tail.fd = -1;
    logs[list->n++] = log;
}

void sent_logs_find(struct sent_logs *list, const char *path)
{
    add(list, path);
    successor_logs_find(path, true, add, list);
}

void sent_logs_done(struct sent_logs *list)
{
    for (size_t i = 0; i < list->n; i++) {
        log_tail_close(&list->logs[i]->tail);
        free(list->logs[i]->path);
        free(list->logs[i]);
    }
    free(list->logs);
    *list = (struct sent_logs){0};
}

/* ---- states ---- */

static bool is_sent(const struct sent_log *log)
{
    return log->state == SENT_STATE_SENT || log->state == SENT_STATE_NO_LOG;
}

static bool is_over(const struct sent_log *log)
{
    return is_sent(log) || log->state == SENT_STATE_STUCK;
}

bool sent_log_is_under_way(const struct sent_log *log)
{
    return log->state == SENT_STATE_BEGUN || log->state == SENT_STATE_FLOWING
           || log->state == SENT_STATE_ENDING;
}

bool sent_logs_are_over(const struct sent_logs *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_over(list->logs[i]))
            return false;
    return true;
}

bool sent_logs_are_sent(const struct sent_logs *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_sent(list->logs[i]))
            return false;
    return true;
}

size_t sent_logs_n_under_way(const struct sent_logs *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += sent_log_is_under_way(list->logs[i]);
    return n;
}

void sent_logs_wait(struct sent_logs *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (sent_log_is_under_way(list->logs[i])) {
            list->logs[i]->state = SENT_STATE_WAITING;
            list->logs[i]->asked_sync = 0;
        }
}

bool sent_logs_may_begin(const struct sent_logs *list, const struct sent_log *log)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct sent_log *other = list->logs[i];
        if (other != log && other->run_id == log->parent_run_id && other->run_id)
            return other->state != SENT_STATE_WAITING && other->state != SENT_STATE_BEGUN;
    }
    return true;
}

uint64_t sent_log_bytes_left(const struct sent_log *log)
{
    struct stat status;

    if (is_sent(log))
        return 0;
    if (log->tail.fd < 0)
        return stat(log->path, &status) == 0 ? (uint64_t)status.st_size : 0;
    return log->tail.end - (log->acked_bytes < log->tail.end ? log->acked_bytes : 0);
}

/* ---- the files ---- */

static void learn_ids(struct sent_log *log)
{
    uint8_t page[LOG_FILE_HEADER_BYTES];
    struct log_header file;

    if (!log_tail_read_header(&log->tail, page))
        return;
    memcpy(&file, page, sizeof(file));
    log->run_id = file.run_id;
    log->parent_run_id = file.parent_run_id;
}

/* A file that was removed has nothing to send. */
static bool open_tail(struct sent_log *log)
{
    struct error err = {0};

    if (log->tail.fd >= 0)
        return true;
    if (log_tail_open(log->path, &log->tail, &err) == 0)
        return true;
    log->tail.fd = -1;
    if (err.os_errno == ENOENT || err.code == ERROR_FORMAT)
        log->state = SENT_STATE_NO_LOG;
    return false;
}

/* No process writes it any more, or will pack what a dead recorder left. */
static bool is_whole(const struct sent_log *log, enum sent_growth growth)
{
    if (growth != SENT_GROWTH_OF_EACH)
        return growth == SENT_GROWTH_IS_OVER;
    return !log_name_has_live(log->path) && !file_lock_is_taken(log->path);
}

/* Looks at files also without a connection, because unsent data must be known at the end. Parents
 * precede their children in the list, so open logs name those that are not open yet. */
void sent_logs_look(struct sent_logs *list, enum sent_growth growth)
{
    size_t n_open = 0;

    for (size_t i = 0; i < list->n && n_open < SENT_LOGS_AT_ONCE; i++) {
        struct sent_log *log = list->logs[i];
        if (is_over(log) || !open_tail(log))
            continue;
        n_open++;
        log_tail_look(&log->tail, is_whole(log, growth));
        if (log->run_id == 0)
            learn_ids(log);
    }
}
