/* SPDX-License-Identifier: MIT */
/*
 * log_tail: what of a packed log can be sent, while it grows.
 *
 * Model:   the file grows by frames, and its header page is written again. What counts is up to the last whole frame: behind it may lie the
 *          beginning of one that could not be written wholly, in whose place another one will come (packed_log.h).
 * Invariants
 *   TL-1 Bytes of the file up to `end`, the header page left out, are never changed by the recorder.
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
    uint64_t punched_hole; /* 0, or where what is still here begins (lib/process/punched_hole.h) */
    uint64_t device, inode;
    bool has_trailer; /* the recorder has finished it: its last frame says so */
    char program
        [LOG_TAIL_PROGRAM_BYTES]; /* what the log says of it, without folders; "": nothing yet */
};

int log_tail_open(const char *path, struct log_tail *ret_tail, struct error *err);
void log_tail_close(struct log_tail *tail);

/* Finds what is new. is_final: nobody writes any more, so what is no frame counts, too. */
void log_tail_look(struct log_tail *tail, bool is_final);

/* The last place up to `limit` where a frame begins, or `end`. */
uint64_t log_tail_boundary(const struct log_tail *tail, uint64_t limit);

/* Gives out what is in the frames of definitions from *at on; *at is where frames begin, and moves to the end. */
void log_tail_read_definitions(const struct log_tail *tail, uint64_t *at,
                               void (*take)(void *context, const void *payload, size_t n_bytes),
                               void *context);

/* The header page; false: the program has not begun to write its log. */
bool log_tail_read_header(const struct log_tail *tail, void *ret_page);

#endif
