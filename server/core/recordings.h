/* SPDX-License-Identifier: MIT */
/*
 * recordings: the databases that are served, by an id that stays the same wherever the file lies.
 *
 * Model: names of files and folders become a list, made once at the start. The id is made of the
 *        process that the recording began with: of when it began, its pid and its program. A second
 *        database of the same recording has another id, in the order in which they were named.
 * Failure: a file that is no database of ours is refused in one line; in a folder it is left out.
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

#define RECORDINGS_NO_PEAK INT64_MIN /* nothing was ever live */

/* The one that was largest at its peak, the first of equal ones. */
struct recording_process {
    int64_t process_id, start_unix_ns, start_ns, duration_ns;
    int64_t peak_ns, peak_bytes; /* or RECORDINGS_NO_PEAK */
};

struct recording {
    char id[RECORDINGS_ID_BYTES];
    char *path;
    const char *name; /* the path's last piece */
    char *executable; /* of the first process; NULL: unknown */
    int64_t start_unix_ns;
    int64_t duration_ns;
    int64_t n_processes;
    struct recording_process largest;
    struct stat read;                /* the file, when this was read from it */
    struct follow_process *follower; /* of a log that is followed; NULL: it is none */
};

struct recordings {
    struct recording *items;
    size_t n_items, capacity;
};

/* A database, or a folder whose databases are served. */
int recordings_add(struct recordings *recordings, const char *path, struct error *err);

void recordings_done(struct recordings *recordings);

/* Importers of logs that are followed shall end; recordings_done waits for that. */
void recordings_interrupt(const struct recordings *recordings);

/* A log that is still written, and whatever becomes of it. */
int recordings_follow(struct recordings *recordings, const char *log_path, struct error *err);

bool recording_is_growing(const struct recording *recording);

/* What the database says now; as it was before where it cannot be read. */
void recordings_read_again(const struct recording *recording, struct recording *ret_now);
void recordings_read_done(struct recording *now);

/* By id, or "last" for the one that began last; NULL: there is none. */
const struct recording *recordings_find(const struct recordings *recordings, const char *id);

#endif
