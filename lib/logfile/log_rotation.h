/* SPDX-License-Identifier: MIT */
/*
 * log_ring: the files of a bounded log (mtrace-record --aggregate): who they are called, and which are there.
 *
 * Model:   beside LOG, which has the definitions and the end, lie LOG.g1, LOG.g2, …, generations of packed events. So it is with the log of each
 *          later image and child, LOG.PID.N. Beside the first lies LOG.state: what all events of all of them up to a mark amount to. A
 *          generation is removed when nothing of it lies behind the mark.
 * Invariants
 *   RI-1 What LOG.state says was taken in, is in it for good before a generation is removed: whoever looks for generations
 *        first, and reads the state then, has every event in one of the two.
 *   RI-2 Each of them begins with a log's header that has LOG_FLAG_RING. Files of such a name that do not are neither removed nor replaced.
 * Threads: none.
 * Failure: NULL, or ERROR_NOMEM, without memory.
 */
#ifndef MTRACE_LOG_RING_H
#define MTRACE_LOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A state is taken when generations have grown by so much (MTRACE_RING_BYTES in builds for tests). */
#define LOG_ROTATION_BYTES ((uint64_t)16 << 20)

enum {
    LOG_ROTATION_GENERATIONS = 8, /* that so much is made of */
    LOG_ROTATION_MOST =
        16, /* times as much lies in generations, whatever becomes of whoever takes them in */
};

uint64_t log_rotation_bytes(void);

/* Behind the name of a state that cannot be read: its owner says by it that the log is to be read without. A log that merely lacks its state is a copy that
 * lacks it. */
#define LOG_ROTATION_FALLBACK ".bad"

/* The caller frees them. */
char *log_rotation_name(const char *log_path, uint32_t number);
char *log_rotation_state_name(const char *log_path);

struct log_rotation {
    uint32_t *numbers; /* rising */
    size_t n, capacity;
};

/* Which are there; a folder that cannot be read has none. */
int log_rotation_find(const char *log_path, struct log_rotation *ret);
void log_rotation_done(struct log_rotation *ring);

/* Where the header page of LOG.state says how many bytes are the state, as a uint64_t: behind them lies what an older one had in that file. */
#define LOG_ROTATION_STATE_END_AT 4088

/* What the generations of all logs of the run that this is the first of take, and what the state; what is not there, or without memory,
 * nothing. A state that does not say so takes its whole file. */
uint64_t log_rotation_run_bytes(const char *log_path);
uint64_t log_rotation_state_bytes(const char *log_path);

/* What generations of the run may take: as said above, and twice its state. So the next state, which is due when they have as much as the
 * last one, always becomes due. */
uint64_t log_rotation_most_bytes(const char *log_path);

/* Does the file's header say that it is of a bounded log? What else has such a name is somebody's own. */
bool log_rotation_is_part(const char *path);

/* All of them, and the state, be it put aside; nothing that is no part of a bounded log. */
void log_rotation_remove(const char *log_path);

#endif
