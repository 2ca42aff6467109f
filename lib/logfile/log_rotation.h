/* SPDX-License-Identifier: MIT */
/*
 * log_rotation: the files of a bounded log (mtrace-record --aggregate).
 *
 *   LOG            definitions and the trailer; LOG.PID.N for each exec successor and child
 *   LOG.g1, …      rotated files with packed events; also LOG.PID.N.g1, …
 *   LOG.state      checkpoint: the effect of all events of all these logs up to its watermark
 *
 * Invariants
 *   RI-1 A rotated file is removed after a checkpoint that covers it was synced, and while no
 *        reader has the lock. A reader that takes it, loads the checkpoint and lists the rotated
 *        files finds every event in one of the two.
 *   RI-2 Each file begins with a log header with LOG_FLAG_BOUNDED. Other files of such a name are
 *        neither removed nor replaced.
 *
 * Without memory functions return NULL or ERROR_NOMEM.
 */
#ifndef MTRACE_LIB_LOG_ROTATION_H
#define MTRACE_LIB_LOG_ROTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A checkpoint is due after so many bytes of rotated files (MTRACE_RING_BYTES in test builds). */
#define LOG_ROTATION_BYTES ((uint64_t)16 << 20)

enum {
    LOG_ROTATION_FILES = 8, /* rotated files per LOG_ROTATION_BYTES */
    LOG_ROTATION_MAX =
        16, /* limit of all rotated files, in LOG_ROTATION_BYTES, without a follower */
};

uint64_t log_rotation_bytes(void);

/* Suffix of a checkpoint that cannot be read: the user renames it to import the log without it. A
 * log without any checkpoint is taken for an incomplete copy. */
#define LOG_ROTATION_UNREADABLE_SUFFIX ".bad"

/* The caller frees them. */
char *log_rotation_name(const char *log_path, uint32_t number);
char *log_rotation_state_name(const char *log_path);

struct log_rotation {
    uint32_t *numbers; /* rising */
    size_t n, capacity;
};

/* Lists the rotated files; none if the folder cannot be read. */
int log_rotation_find(const char *log_path, struct log_rotation *ret);
void log_rotation_done(struct log_rotation *ring);

/* Offset in the header page of LOG.state of the size of the checkpoint (uint64_t). The rest of the
 * file belongs to an older one. */
#define LOG_ROTATION_STATE_END_AT 4088

/* Bytes of the rotated files of all logs of the run, and of its checkpoint; 0 if there are none.
 * log_path: the first log of the run. */
uint64_t log_rotation_run_bytes(const char *log_path);
uint64_t log_rotation_state_bytes(const char *log_path);

/* Limit of all rotated files: LOG_ROTATION_MAX, and twice the checkpoint, so that the next
 * checkpoint becomes due before the limit. */
uint64_t log_rotation_max_bytes(const char *log_path);

/* While a reader has the lock, no checkpoint is written and no rotated file removed (RI-1). Both
 * return a descriptor to close. -1: a reader has it; or, for a reader, no lock is possible, and it
 * reports files that are missing. log_path: the first log of the run. */
int log_rotation_lock_for_reading(const char *log_path);
int log_rotation_lock_for_removal(const char *log_path);
void log_rotation_unlock(int lock);

/* The file has the header of a bounded log (RI-2). */
bool log_rotation_is_part(const char *path);

/* Removes the rotated files and the checkpoint, also with LOG_ROTATION_UNREADABLE_SUFFIX (RI-2). */
void log_rotation_remove(const char *log_path);

/* Renames the rotated files and the checkpoint for a log that gets a new name (RI-2). */
void log_rotation_move(const char *log_path, const char *new_path);

#endif
