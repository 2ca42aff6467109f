/* SPDX-License-Identifier: MIT */
/*
 * heaptrack: its interpreted format, version 3, as heaptrack_print and heaptrack_gui read it.
 *
 * Strings, positions, stacks and kinds of blocks are numbered in the order of their first use and
 * defined just before it. All numbers except those in comments are hexadecimal.
 */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_events.h"
#include "queries/export/export_job.h"
#include "queries/render/compressed_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NS_PER_MS = 1000000,
    CLOCK_MS = 10, /* how often heaptrack itself writes the time */
    NAME_FUNCTION = 0,
    NAME_SOURCE,
    NAME_MODULE
};

struct writer {
    const struct export_job *job;
    FILE *out;
    struct hash_map strings; /* NAME_… and id */
    struct hash_map kinds;   /* size and stack of a block */
    uint32_t *position_of;   /* by frame_id, 0: not written yet */
    uint32_t *stack_of;      /* by backtrace_id */
    int64_t *path;           /* from a stack up to the first that is written */
    size_t path_capacity;
    uint32_t n_positions, n_stacks;
    int64_t *load_addresses; /* by object_id */
    int64_t n_objects;
    struct sqlite3_stmt *samples; /* of RSS */
    int64_t page_size;
    int64_t sample_ns, sample_pages; /* the next; -1: no more */
    int64_t clock_ms;
};

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for heaptrack's tables");
}

/* A newline ends a record, even within the length of a string. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        (void)fputc(*text == '\n' ? ' ' : *text, out);
}

/* The number of a string, 0 for none. */
static int string_number(struct writer *writer, int what, int64_t id, const char *text,
                         uint32_t *ret_number, struct error *err)
{
    bool is_new;
    int64_t number;

    *ret_number = 0;
    if (!text || !*text)
        return 0;
    number = id_pairs_get(&writer->strings, what, id, &is_new);
    if (number < 0)
        return no_memory(err);
    if (is_new) {
        (void)fprintf(writer->out, "s %zx ", strlen(text));
        put_text(writer->out, text);
        (void)fputc('\n', writer->out);
    }
    *ret_number = (uint32_t)number + 1;
    return 0;
}

struct numbers {
    uint32_t function, source;
};

static int number_position(struct writer *writer, const struct stack_position *position,
                           struct numbers *ret_numbers, struct error *err)
{
    int rc = string_number(writer, NAME_FUNCTION, position->function_id, position->function,
                           &ret_numbers->function, err);

    return rc == 0 ? string_number(writer, NAME_SOURCE, position->source_id, position->source,
                                   &ret_numbers->source, err)
                   : rc;
}

static uint64_t address_of(const struct writer *writer, const struct stack_position *position)
{
    int64_t base =
        position->object_id < writer->n_objects ? writer->load_addresses[position->object_id] : 0;

    return (uint64_t)base + (uint64_t)position->object_offset;
}

/* "i ADDRESS MODULE [FUNCTION [FILE LINE (FUNCTION FILE LINE)…]]", innermost first. */
static int put_position(struct writer *writer, int64_t frame_id, struct error *err)
{
    size_t n;
    const struct stack_position *positions =
        stack_weights_frame(&writer->job->stacks, frame_id, &n);
    struct numbers *numbers = n ? calloc(n, sizeof(*numbers)) : NULL;
    uint32_t module = 0;
    int rc = n && !numbers ? no_memory(err) : 0;

    if (rc == 0 && n > 0)
        rc = string_number(writer, NAME_MODULE, positions->object_id, positions->module, &module,
                           err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = number_position(writer, &positions[i], &numbers[i], err);
    if (rc == 0) {
        (void)fprintf(writer->out, "i %" PRIx64 " %" PRIx32, n ? address_of(writer, positions) : 0,
                      module);
        for (size_t i = 0; i < n && (numbers[0].function || numbers[0].source); i++) {
            (void)fprintf(writer->out, " %" PRIx32, numbers[i].function);
            if (n > 1 || numbers[i].source)
                (void)fprintf(writer->out, " %" PRIx32 " %" PRIx64, numbers[i].source,
                              (uint64_t)positions[i].line);
        }
        (void)fputc('\n', writer->out);
        writer->position_of[frame_id] = ++writer->n_positions;
    }
    free(numbers);
    return rc;
}

static int put_stack(struct writer *writer, int64_t backtrace_id, struct error *err)
{
    const struct stack_weights *stacks = &writer->job->stacks;
    const struct stack_node *node = &stacks->nodes[backtrace_id];
    bool is_known = node->frame_id > 0 && node->frame_id < stacks->n_frames;
    int64_t frame_id = is_known ? node->frame_id : 0;
    int rc = writer->position_of[frame_id] ? 0 : put_position(writer, frame_id, err);

    if (rc != 0)
        return rc;
    (void)fprintf(writer->out, "t %" PRIx32 " %" PRIx32 "\n", writer->position_of[frame_id],
                  writer->stack_of[node->parent_id]);
    writer->stack_of[backtrace_id] = ++writer->n_stacks;
    return 0;
}

/* Callers are written before callees. A stack that is not in the tree stays 0: unknown. */
static int need_stack(struct writer *writer, int64_t backtrace_id, struct error *err)
{
    size_t n = 0;
    int rc = 0;

    if (backtrace_id < 0 || backtrace_id >= writer->job->stacks.n_nodes)
        return 0;
    for (int64_t id = backtrace_id; id && !writer->stack_of[id];
         id = writer->job->stacks.nodes[id].parent_id) {
        int64_t *path =
            dynamic_array_reserve(writer->path, &writer->path_capacity, n + 1, sizeof(*path));
        if (!path)
            return no_memory(err);
        writer->path = path;
        path[n++] = id;
    }
    while (rc == 0 && n > 0)
        rc = put_stack(writer, writer->path[--n], err);
    return rc;
}

/* ---- time and memory ---- */

static int next_sample(struct writer *writer, struct error *err)
{
    int rc = rundb_step(&writer->job->query->database, writer->samples, err);

    writer->sample_ns = rc == 1 ? sqlite3_column_int64(writer->samples, 0) : -1;
    writer->sample_pages =
        rc == 1 ? sqlite3_column_int64(writer->samples, 1) / writer->page_size : 0;
    return rc < 0 ? rc : 0;
}

static void put_clock(struct writer *writer, int64_t at_ns)
{
    int64_t ms = saturating_subtract(at_ns, writer->job->start_ns) / NS_PER_MS;

    if (ms < writer->clock_ms + CLOCK_MS)
        return;
    (void)fprintf(writer->out, "c %" PRIx64 "\n", (uint64_t)ms);
    writer->clock_ms = ms;
}

static int put_time(struct writer *writer, int64_t at_ns, struct error *err)
{
    int rc = 0;

    while (rc == 0 && writer->sample_ns >= 0 && writer->sample_ns <= at_ns) {
        put_clock(writer, writer->sample_ns);
        (void)fprintf(writer->out, "R %" PRIx64 "\n", (uint64_t)writer->sample_pages);
        rc = next_sample(writer, err);
    }
    put_clock(writer, at_ns);
    return rc;
}

/* ---- events ---- */

static uint32_t stack_number(const struct writer *writer, int64_t backtrace_id)
{
    bool is_known = backtrace_id > 0 && backtrace_id < writer->job->stacks.n_nodes;

    return is_known ? writer->stack_of[backtrace_id] : 0;
}

static int put_event(struct writer *writer, const struct export_event *event, struct error *err)
{
    bool is_new;
    int64_t kind;
    int rc = put_time(writer, event->at_ns, err);

    if (rc == 0)
        rc = need_stack(writer, event->backtrace_id, err);
    if (rc != 0)
        return rc;
    kind = id_pairs_get(&writer->kinds, event->size_bytes, event->backtrace_id, &is_new);
    if (kind < 0)
        return no_memory(err);
    if (is_new)
        (void)fprintf(writer->out, "a %" PRIx64 " %" PRIx32 "\n", (uint64_t)event->size_bytes,
                      stack_number(writer, event->backtrace_id));
    (void)fprintf(writer->out, "%c %" PRIx64 "\n", event->is_allocation ? '+' : '-',
                  (uint64_t)kind);
    return 0;
}

static void put_head(const struct writer *writer)
{
    (void)fputs("v 10400 3\nX ", writer->out);
    put_text(writer->out, writer->job->command_line);
    (void)fprintf(writer->out, "\nI %" PRIx64 " 0\n", (uint64_t)writer->page_size);
}

static int put_events(struct writer *writer, struct error *err)
{
    struct export_events events;
    struct export_event event;
    int rc = export_events_open(&events, writer->job, err);

    if (rc == 0 && !writer->job->query->options->is_sql_shown) {
        put_head(writer);
        rc = next_sample(writer, err);
        while (rc == 0 && (rc = export_events_next(&events, &event, err)) == 1)
            rc = put_event(writer, &event, err);
        if (rc == 0)
            rc = put_time(writer, writer->job->end_ns, err);
        (void)fprintf(writer->out, "c %" PRIx64 "\n",
                      (uint64_t)saturating_subtract(writer->job->end_ns, writer->job->start_ns)
                          / NS_PER_MS);
        (void)fprintf(writer->out, "# strings: %zu\n# ips: %" PRIu32 "\n", writer->strings.n,
                      writer->n_positions);
    }
    export_events_close(&events);
    return rc;
}

static int prepare(struct writer *writer, struct error *err)
{
    const struct export_job *job = writer->job;
    int rc = rundb_get_int64(&job->query->database,
                             "SELECT max(value) FROM meta WHERE key = 'page_size'",
                             &writer->page_size, err);

    if (rc == 0)
        rc = export_job_load_addresses(job, &writer->load_addresses, &writer->n_objects, err);
    if (rc == 0)
        rc = rundb_prepare(&job->query->database,
                           "SELECT at_ns, rss_bytes FROM memory_samples WHERE process_id = ?1"
                           " AND rss_bytes IS NOT NULL ORDER BY at_ns",
                           &writer->samples, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(writer->samples, 1, job->process_id);
    if (writer->page_size <= 0)
        writer->page_size = 4096;
    writer->position_of = calloc((size_t)job->stacks.n_frames + 1, sizeof(uint32_t));
    writer->stack_of = calloc((size_t)job->stacks.n_nodes + 1, sizeof(uint32_t));
    return writer->position_of && writer->stack_of ? 0 : no_memory(err);
}

static void done(struct writer *writer)
{
    hash_map_done(&writer->strings);
    hash_map_done(&writer->kinds);
    free(writer->position_of);
    free(writer->stack_of);
    free(writer->path);
    free(writer->load_addresses);
    sqlite3_finalize(writer->samples);
}

int export_heaptrack_run(struct export_job *job, struct error *err)
{
    struct writer writer = {.job = job};
    int rc;

    writer.out =
        compressed_stream_open(job->out, compressed_stream_kind_of(job->query->output_name));
    if (!writer.out)
        return no_memory(err);
    rc = prepare(&writer, err);
    if (rc == 0)
        rc = put_events(&writer, err);
    done(&writer);
    if (fclose(writer.out) != 0 && rc == 0)
        rc = export_job_write_error(job, errno, err);
    return rc;
}
