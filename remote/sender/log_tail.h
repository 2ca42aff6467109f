/* SPDX-License-Identifier: MIT */
/*
 * log_tail: the part of a growing packed log that can be sent.
 *
 * The file grows by frames, and its header page is rewritten. Everything up to the end of the last
 * complete frame can be sent. After it may be the beginning of a frame whose write failed, which
 * another frame will replace (packed_log.h).
 *
 * Invariants
 *   TL-1 The recorder never changes bytes below `end`, except the header page.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_LOG_TAIL_H
#define MTRACE_REMOTE_LOG_TAIL_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    LOG_TAIL_PROGRAM_BYTES = 64
};

struct log_tail {
    int fd; /* -1: not open */
    uint64_t end;
    uint64_t punched_hole; /* 0, or where the remaining part begins (lib/logfile/log_header.h) */
    uint64_t device, inode;
    bool has_trailer; /* the recorder has finished it: the last frame is a trailer */
    char program[LOG_TAIL_PROGRAM_BYTES]; /* base name, from the log; "": not yet */
};

int log_tail_open(const char *path, struct log_tail *ret_tail, struct error *err);
void log_tail_close(struct log_tail *tail);

/* Finds new frames. is_final: no process writes any more, so an incomplete frame counts, too. */
void log_tail_look(struct log_tail *tail, bool is_final);

/* The last frame boundary up to `limit`, or `end`. */
uint64_t log_tail_boundary(const struct log_tail *tail, uint64_t limit);

/* Reads the header page; false: the program has not begun to write its log. */
bool log_tail_read_header(const struct log_tail *tail, void *ret_page);

#endif
