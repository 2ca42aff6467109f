/* SPDX-License-Identifier: MIT */
/*
 * dhat: the JSON file, version 2, that dh_view.html of Valgrind shows.
 *
 * A program point is a stack. Its values at the peak of the whole program need the time of the
 * peak. So events are read twice: to find the peak, and to add up.
 */
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_events.h"
#include "queries/export/export_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct point {
    int64_t total_bytes, total_blocks, lifetimes_ns;
    int64_t live_bytes, live_blocks;
    int64_t max_bytes, max_blocks;   /* blocks: at the time of max_bytes */
    int64_t peak_bytes, peak_blocks; /* at the program's peak */
};

struct points {
    const struct export_job *job;
    struct export_peak peak;
    struct point *list; /* by backtrace_id */
    int64_t n;
};

static void add_allocation(struct point *point, const struct export_event *event)
{
    saturating_grow(&point->total_bytes, event->size_bytes);
    point->total_blocks++;
    saturating_grow(&point->live_bytes, event->size_bytes);
    point->live_blocks++;
    if (point->live_bytes > point->max_bytes || point->max_blocks == 0) {
        point->max_bytes = point->live_bytes;
        point->max_blocks = point->live_blocks;
    }
}

static void add_free_event(struct point *point, const struct export_event *event)
{
    saturating_grow(&point->lifetimes_ns, saturating_subtract(event->at_ns, event->alloc_ns));
    point->live_bytes = saturating_subtract(point->live_bytes, event->size_bytes);
    point->live_blocks--;
}

static void keep_peak(struct points *points)
{
    for (int64_t i = 0; i < points->n; i++) {
        points->list[i].peak_bytes = points->list[i].live_bytes;
        points->list[i].peak_blocks = points->list[i].live_blocks;
    }
}

/* Blocks that were never freed live to the end. */
static void add_event(struct points *points, const struct export_event *event)
{
    bool is_known = event->backtrace_id > 0 && event->backtrace_id < points->n;
    struct point *point = &points->list[is_known ? event->backtrace_id : 0];
    int64_t to_end_ns;

    if (event->is_allocation)
        add_allocation(point, event);
    else
        add_free_event(point, event);
    to_end_ns = saturating_subtract(points->job->end_ns, event->alloc_ns);
    point->lifetimes_ns = event->is_allocation
                              ? saturating_add(point->lifetimes_ns, to_end_ns)
                              : saturating_subtract(point->lifetimes_ns, to_end_ns);
}

static int read_points(struct points *points, struct error *err)
{
    struct export_events events;
    struct export_event event;
    int64_t n = 0;
    int rc = export_events_find_peak(points->job, &points->peak, err);

    if (rc != 0 || points->job->query->options->is_sql_shown)
        return rc;
    rc = export_events_open(&events, points->job, err);
    while (rc == 0 && (rc = export_events_next(&events, &event, err)) == 1) {
        add_event(points, &event);
        if (++n == points->peak.event)
            keep_peak(points);
        rc = 0;
    }
    export_events_close(&events);
    return rc;
}

/* ---- writing ---- */

static void put_head(const struct points *points)
{
    const struct export_job *job = points->job;

    (void)fputs("{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"Allocated\"\n"
                ",\"bklt\":true,\"bkacc\":false\n,\"tu\":\"ns\",\"Mtu\":\"ms\",\"tuth\":1000\n"
                ",\"cmd\":",
                job->out);
    json_text_put(job->out, job->command_line);
    (void)fprintf(job->out, "\n,\"pid\":%" PRId64 "\n,\"te\":%" PRId64 "\n,\"tg\":%" PRId64 "\n",
                  job->pid, saturating_subtract(job->end_ns, job->start_ns),
                  saturating_subtract(points->peak.at_ns, job->start_ns));
}

/* Frames are positions, the first in the file being dhat's root. */
static void put_frames_of(const struct export_job *job, int64_t backtrace_id,
                          const struct stack_position **positions)
{
    size_t n = stack_weights_positions(&job->stacks, backtrace_id, positions);

    (void)fputs(",\"fs\":[", job->out);
    for (size_t i = n; i > 0; i--)
        (void)fprintf(job->out, "%td%s", positions[i - 1] - job->stacks.positions + 1,
                      i > 1 ? "," : "");
    (void)fputs(n ? "]}" : "0]}", job->out);
}

static void put_point(const struct points *points, int64_t backtrace_id,
                      const struct stack_position **positions, bool is_first)
{
    const struct point *point = &points->list[backtrace_id];
    FILE *out = points->job->out;

    (void)fprintf(out, "%s{\"tb\":%" PRId64 ",\"tbk\":%" PRId64 ",\"tl\":%" PRId64,
                  is_first ? "" : "\n ,", point->total_bytes, point->total_blocks,
                  point->lifetimes_ns);
    (void)fprintf(out, ",\"mb\":%" PRId64 ",\"mbk\":%" PRId64, point->max_bytes, point->max_blocks);
    (void)fprintf(out, ",\"gb\":%" PRId64 ",\"gbk\":%" PRId64, point->peak_bytes,
                  point->peak_blocks);
    (void)fprintf(out, ",\"eb\":%" PRId64 ",\"ebk\":%" PRId64, point->live_bytes,
                  point->live_blocks);
    put_frames_of(points->job, backtrace_id, positions);
}

static int put_points(const struct points *points, const struct stack_position **positions,
                      struct error *err)
{
    bool is_first = true;
    int rc = 0;

    (void)fputs(",\"pps\":\n [", points->job->out);
    for (int64_t i = 0; rc == 0 && i < points->n; i++) {
        if (points->list[i].total_blocks == 0)
            continue;
        put_point(points, i, positions, is_first);
        is_first = false;
        rc = rundb_go_on(&points->job->query->database, err);
    }
    if (rc == 0)
        (void)fputs("]\n", points->job->out);
    return rc;
}

/* "0xADDRESS: FUNCTION (FILE:LINE)", as Valgrind writes it. */
static void put_frame(FILE *out, const struct stack_position *position)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (!memory)
        return;
    (void)fprintf(memory, "0x%" PRIX64 ": %s (", (uint64_t)position->object_offset,
                  position->function ? position->function : "???");
    if (position->source)
        (void)fprintf(memory, "%s:%" PRId64 ")", position->source, position->line);
    else
        (void)fprintf(memory, "in %s)", position->module ? position->module : "???");
    if (fclose(memory) == 0) {
        (void)fputs("\n ,", out);
        json_text_put(out, text);
    }
    free(text);
}

static void put_frame_table(const struct export_job *job)
{
    (void)fputs(",\"ftbl\":\n [\"[root]\"", job->out);
    for (size_t i = 0; i < job->stacks.n_positions; i++)
        put_frame(job->out, &job->stacks.positions[i]);
    (void)fputs("\n ]\n}\n", job->out);
}

int export_dhat_run(struct export_job *job, struct error *err)
{
    struct points points = {.job = job, .n = job->stacks.n_nodes > 0 ? job->stacks.n_nodes : 1};
    const struct stack_position **positions = NULL;
    int rc;

    points.list = calloc((size_t)points.n, sizeof(*points.list));
    positions = calloc(job->stacks.max_positions + 1, sizeof(*positions));
    rc = points.list && positions ? 0 : error_set(err, ERROR_NOMEM, "no memory for stacks");
    if (rc == 0)
        rc = read_points(&points, err);
    if (rc == 0 && !job->query->options->is_sql_shown) {
        put_head(&points);
        rc = put_points(&points, positions, err);
        if (rc == 0)
            put_frame_table(job);
    }
    free(points.list);
    free(positions);
    return rc;
}
