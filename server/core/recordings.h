/* SPDX-License-Identifier: MIT */
/*
 * recordings: the served databases, by an id that does not depend on the path.
 *
 * The list is made once at the start from names of files and folders. An id is a hash of the start
 * time, the PID and the program of the first process. Further databases of the same recording get
 * other ids, in the order of the names.
 *
 * A log that is still written has an importer process, mtrace-import --follow. In each round it
 * replaces the database as a whole. A query that has the previous database open continues with it.
 *
 * Invariants
 *   FW-1 When recordings_follow returns 0, the database belongs to this log.
 *   FW-2 After recordings_done no importer that it started is left.
 *
 * Threads: the caller, and one for each importer, which waits for it to exit.
 * Errors: a file that is not a database of mtrace is refused with one line; in a folder it is
 * skipped.
 */
#ifndef MTRACE_SERVER_RECORDINGS_H
#define MTRACE_SERVER_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct follow_process;

enum {
    RECORDINGS_ID_BYTES = 33 /* 32 hexadecimal digits and '\0' */
};

#define RECORDINGS_NO_PEAK INT64_MIN /* no block was ever live */

/* The process with the highest peak, the first of equal ones. */
struct recording_process {
    int64_t process_id, start_unix_ns, start_ns, duration_ns;
    int64_t peak_ns, peak_bytes; /* or RECORDINGS_NO_PEAK */
};

struct recording {
    char id[RECORDINGS_ID_BYTES];
    char *path;
    const char *name; /* last component of the path */
    char *executable; /* of the first process; NULL: unknown */
    int64_t start_unix_ns;
    int64_t duration_ns;
    int64_t n_processes;
    struct recording_process largest;
    struct stat read;                /* state of the file when it was read */
    struct follow_process *follower; /* of a log that is followed; NULL: none */
};

struct recordings {
    struct recording *items;
    size_t n_items, capacity;
};

/* Adds a database, or all databases of a folder. */
int recordings_add(struct recordings *recordings, const char *path, struct error *err);

void recordings_done(struct recordings *recordings);

/* Tells the importers of followed logs to exit; recordings_done waits for them. */
void recordings_interrupt(const struct recordings *recordings);

/* Adds a log that is still written and keeps importing it. */
int recordings_follow(struct recordings *recordings, const char *log_path, struct error *err);

bool recording_is_growing(const struct recording *recording);

/* Reads the database again; if that fails, ret_now is a copy of the previous state. */
void recordings_read_again(const struct recording *recording, struct recording *ret_now);
void recordings_read_done(struct recording *now);

/* Finds a recording by id, or by "last" the one that began last; NULL: unknown. */
const struct recording *recordings_find(const struct recordings *recordings, const char *id);

/* The file was replaced or changed. */
static inline bool recordings_file_has_changed(const struct stat *now, const struct stat *before)
{
    return now->st_dev != before->st_dev || now->st_ino != before->st_ino
           || now->st_size != before->st_size || now->st_mtim.tv_sec != before->st_mtim.tv_sec
           || now->st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

#endif
