/* SPDX-License-Identifier: MIT */
/*
 * log_tail: the part of a growing packed log that can be sent.
 *
 * The file grows by frames, and its header page is rewritten. Everything up to the end of the last
 * complete frame can be sent. After it may be the beginning of a frame whose write failed, which
 * another frame will replace (packed_log.h). If the frames of a log are in rotated files
 * (--no-local), offsets are those of the log that is sent: its header page, then all frames.
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
#include <sys/types.h>

struct error;

enum {
    LOG_TAIL_PROGRAM_BYTES = 64
};

/* A rotated file. */
struct log_tail_file {
    uint32_t number;
    uint64_t begin; /* offset of its first frame */
};

struct log_tail {
    int fd; /* -1: not open */
    uint64_t end;
    uint64_t begin; /* of the frames that are still here */
    bool is_rotated;
    char *path;                  /* owned */
    struct log_tail_file *files; /* rising; owned */
    size_t n_files, capacity;
    uint32_t open_number; /* of the rotated file that is open; 0: none */
    int open_fd;
    uint64_t device, inode;
    bool has_trailer; /* the recorder has finished it: the last frame is a trailer */
    char program[LOG_TAIL_PROGRAM_BYTES]; /* base name, from the log; "": not yet */
};

int log_tail_open(const char *path, struct log_tail *ret_tail, struct error *err);
void log_tail_close(struct log_tail *tail);

/* Finds new frames. is_final: no process writes any more, so an incomplete frame counts, too. */
void log_tail_look(struct log_tail *tail, bool is_final);

/* Reads at an offset, like pread. */
ssize_t log_tail_read(struct log_tail *tail, void *bytes, size_t n_bytes, uint64_t offset);

/* The receiver must have everything below this on its disk before the oldest rotated file can be
 * removed; UINT64_MAX: there is none, or it still grows. */
uint64_t log_tail_removable_at(const struct log_tail *tail);

/* The receiver has everything below `synced` on its disk: removes the rotated files before. */
void log_tail_remove(struct log_tail *tail, uint64_t synced);

/* Reads the header page; false: the program has not begun to write its log. */
bool log_tail_read_header(const struct log_tail *tail, void *ret_page);

#endif
