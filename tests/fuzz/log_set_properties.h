/* SPDX-License-Identifier: MIT */
/*
 * log_set_properties: what must hold of every log set that opens, whatever bytes it was made of.
 *
 * Model:   for the fuzz targets of readers; each check aborts, which is how a target reports.
 * Failure: abort().
 */
#ifndef MTRACE_TESTS_FUZZ_LOG_SET_PROPERTIES_H
#define MTRACE_TESTS_FUZZ_LOG_SET_PROPERTIES_H

#include "importer/read/event_stream.h"
#include "importer/read/sample_stream.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

static inline void write_all(int fd, const void *bytes, size_t n)
{
    require(write(fd, bytes, n) == (ssize_t)n);
}

/* Definitions keep their invariants: preorder, frames and objects that exist, levels in order. */
static inline void check_definitions(const struct definitions *definitions)
{
    const struct definitions_backtrace *tree = definitions->backtraces;

    require(definitions->n_backtraces >= DEFINITIONS_LOST_BACKTRACE);
    for (uint32_t i = 1; i <= definitions->n_backtraces; i++) {
        require(tree[i].parent < i);
        require(tree[i].last_descendant >= i);
        require(tree[i].last_descendant <= definitions->n_backtraces);
        require(tree[i].parent == 0
                || tree[i].last_descendant <= tree[tree[i].parent].last_descendant);
        require(tree[i].frame >= 1 && tree[i].frame <= definitions->n_frames);
        require(definitions->frames[tree[i].frame].object <= definitions->n_objects);
    }
    for (size_t i = 0; i < definitions->n_levels; i++) {
        const struct definitions_level *level = &definitions->levels[i];
        require(level->frame >= 1 && level->frame <= definitions->n_frames);
        require(i == 0 || level[-1].frame <= level->frame);
        require(level->inline_level
                == (i > 0 && level[-1].frame == level->frame ? level[-1].inline_level + 1 : 0));
    }
    for (size_t i = 1; i <= definitions->n_threads; i++)
        require(definitions->threads[i].process <= definitions->n_processes);
    for (size_t i = 1; i <= definitions->n_modules; i++)
        require(definitions->objects[definitions->modules[i].object].path != NULL);
}

/* Events keep theirs; the sum tells two readings apart. */
static inline uint64_t read_events(struct log_set *set, bool is_taken)
{
    const struct definitions *definitions = log_set_definitions(set);
    struct event_stream *stream;
    struct event event;
    uint64_t time_ns = 0;
    uint64_t sum = 0;
    size_t n = 1;
    int r;

    require(event_stream_open(set, &stream, NULL) == 0);
    while ((r = is_taken ? event_stream_take(stream, &event, 1, &n, NULL)
                         : event_stream_next(stream, &event, NULL))
               == 1
           && n == 1) {
        require(event.time_ns >= time_ns);
        require(event.process >= 1 && event.process <= definitions->n_processes);
        require(event.thread >= 1 && event.thread <= definitions->n_threads);
        require(event.backtrace >= 1 && event.backtrace <= definitions->n_backtraces);
        if (event.kind == EVENT_ELIDED || event.kind == EVENT_ELIDED_MIXED)
            require(event.free_backtrace <= definitions->n_backtraces);
        if (event.kind == EVENT_MMAP || event.kind == EVENT_MARKER)
            require(!event.text || strlen(event.text) <= LOG_DEF_MAX_BYTES);
        time_ns = event.time_ns;
        sum = sum * 31 + event.address + event.size + event.kind;
    }
    require(r == 0);
    event_stream_close(stream);
    return sum;
}

static inline void read_samples(struct log_set *set, sample_fn *on_sample)
{
    struct sample_stream *stream = NULL;

    require(sample_stream_open(set, NULL, &stream, NULL) == 0);
    for (uint32_t process = 1; process <= log_set_definitions(set)->n_processes; process++)
        require(sample_stream_read(stream, process, UINT64_MAX, on_sample, NULL, NULL) == 0);
    sample_stream_close(stream);
}

/* The file opens and keeps all of the above, or is refused with one line. */
static inline void check_log(int fd, sample_fn *on_sample)
{
    char path[32];
    const char *paths[] = {path};
    struct log_set_options options = {.only = true};
    struct log_set *set;
    struct error err = {0};

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (log_set_open(paths, 1, &options, &set, &err) == 0) {
        uint64_t sum;
        check_definitions(log_set_definitions(set));
        sum = read_events(set, false);
        require(read_events(set, true) == sum);
        read_samples(set, on_sample);
        log_set_close(set);
    } else {
        require(err.code != ERROR_NONE && err.text[0] != '\0' && !strchr(err.text, '\n'));
    }
}

#endif
