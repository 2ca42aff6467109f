/* SPDX-License-Identifier: MIT */
/*
 * log_builder: writes logs record by record, raw or packed, as a collector and a recorder would.
 *
 * Model:   one builder makes one file. Every thread has a segment of its own that is written out
 *          when it is full; a thread that ends leaves the rest of its segment to the next one.
 *          Built twice with the same calls and different forms, a log has the same sequences, so a
 *          raw one can serve as the live pool beside the packed one.
 * Failure: a builder that cannot write prints why and exits: it serves tests and benchmarks.
 */
#ifndef MTRACE_TESTS_LIB_LOG_BUILDER_H
#define MTRACE_TESTS_LIB_LOG_BUILDER_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_builder;

/* Takes a frame of events or samples; `header` is that of the log as of now. */
typedef void log_builder_put_fn(void *context, const struct log_header *header, const void *frame,
                                size_t n_bytes);

/* Zero is a sensible value of each. */
struct log_builder_options {
    bool is_packed;
    int zstd_level;       /* packed: 0 stores */
    unsigned time_shift;  /* packed: how coarse times are */
    enum log_clock clock; /* 0: LOG_CLOCK_MONOTONIC */
    uint32_t pid;         /* 0: 1000 */
    uint32_t parent_pid;
    uint32_t image;
    uint64_t run_id; /* 0: 1 */
    uint64_t parent_run_id;
    uint64_t start_ticks;  /* 0: start_ns */
    uint64_t start_ns;     /* CLOCK_MONOTONIC; 0: one second */
    uint32_t ticks_per_ns; /* of another clock, which is read with each segment; 0: it never is */
    log_builder_put_fn *put_events; /* packed: NULL: they are in the file */
    void *put_context;
};

struct log_builder *log_builder_open(const char *path, const struct log_builder_options *options);

/* Writes what is open, the header and, in a packed file, the trailer. */
void log_builder_close(struct log_builder *builder);

/* Maps a raw log that is closed, as its recorder maps it: in this process, and in children from
 * then on. Unmap with log_builder_unmap; or never. */
void *log_builder_map(const char *path);
void log_builder_unmap(void *mapped);

/* Packed files only: the header, and what is defined so far, are in the file; and it is locked, as
 * of one that is recorded. */
void log_builder_flush(struct log_builder *builder);

/* The header, to be changed before close. */
struct log_header *log_builder_header(struct log_builder *builder);

/* Definitions. `def` is the fixed part without magic and text_bytes. */
void log_builder_def(struct log_builder *builder, const struct log_def *def, const void *text,
                     size_t text_bytes);

/* Packed files only: a frame of the definitions so far, copied while the last one was written: its
 * magic and all its text but the first byte are not there yet. */
void log_builder_torn_def(struct log_builder *builder);

void log_builder_process(struct log_builder *builder, const char *executable,
                         const char *const *arguments);
uint32_t log_builder_module(struct log_builder *builder, const char *path, const char *build_id,
                            size_t build_id_bytes, uint64_t load_address, uint64_t ticks);
uint32_t log_builder_thread(struct log_builder *builder, uint32_t tid, const char *name,
                            uint64_t ticks);
void log_builder_thread_end(struct log_builder *builder, uint32_t thread, uint64_t ticks);

/* A stack node; address with LOG_NODE_EXACT if so. */
uint32_t log_builder_node(struct log_builder *builder, uint32_t parent, uint32_t module,
                          uint64_t address);

/* Any event: the words with kind, node, address and what follows; the time is filled in. */
void log_builder_event(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                       const uint64_t *words, size_t n_words);

/* Common events. Sizes below 1 << LOG_SIZE_BITS. */
void log_builder_malloc(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                        uint64_t address, uint64_t size_bytes, uint32_t node);
void log_builder_free(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                      uint64_t address, uint32_t node);
void log_builder_realloc(struct log_builder *builder, uint32_t thread, uint64_t begin_ticks,
                         uint64_t end_ticks, uint64_t old_address, uint64_t address,
                         uint64_t size_bytes, uint32_t node);

/* The same events in the FALLBACK segment; n_words <= 6. */
void log_builder_fallback(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                          const uint64_t *words, size_t n_words);

/* Writes the thread's segment out although it is not full. */
void log_builder_seal(struct log_builder *builder, uint32_t thread);

/* Packed files only: a frame of samples. */
void log_builder_samples(struct log_builder *builder, const struct log_sample *samples, size_t n);

#endif
