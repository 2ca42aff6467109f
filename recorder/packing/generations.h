/* SPDX-License-Identifier: MIT */
/*
 * generations: the packed events of a bounded log, in files that can be removed one by one (support/log_ring.h).
 *
 * Model:   frames go into LOG.gN until that has its part of log_ring_bytes, then into the next. Who keeps up with the log removes those that it
 *          has taken in (importer/command/keeper.h); we never do, but for what another recording of that name left.
 * Invariants
 *   GN-1 Each begins with the header of the log, so that it is known whose it is.
 *   GN-2 A frame is whole in one of them. After a failed write the next one goes to the same place.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_GENERATIONS_H
#define MTRACE_RECORDER_GENERATIONS_H

#include "common/log_format.h"
#include "recorder/packing/packed_log.h"
#include "support/error.h"

#include <stddef.h>
#include <stdint.h>

struct generations {
    const char *log_path; /* the caller's */
    struct packed_log current;
    int64_t most_bytes;
    uint32_t number;  /* of it; 0: none was begun */
    uint64_t n_bytes; /* that were written since somebody set it to 0 */
};

/* Before the log is made: has somebody something else where its generations and its state will be? ERROR_EXISTS. */
int generations_check(const char *log_path, struct error *err);

void generations_init(struct generations *generations, const char *log_path);

/* Closes; the files stay. All zero is fine. */
void generations_done(struct generations *generations);

/* As packed_log_append. `file`: the log's header as of now. */
int generations_append(struct generations *generations, const struct log_file *file,
                       const void *frame, size_t n_bytes, struct error *err);

#endif
