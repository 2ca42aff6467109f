/* SPDX-License-Identifier: MIT */
/*
 * massif: snapshots over time as massif.out files have them, for ms_print and massif-visualizer.
 *
 * Snapshots are taken at equal steps, at the peak and at the end. Every tenth, the peak and the
 * last have a tree of call stacks by live bytes, innermost caller first. Entries below 1 % of the
 * total are folded into one line, as in massif.
 */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_events.h"
#include "queries/export/export_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SNAPSHOTS = 80,
    DETAILED_EVERY = 10,
    MAX_DEPTH = 30, /* massif's own default */
    FOLDED_SHARE = 100,
    NS_PER_MS = 1000000
};

/* A stack with live bytes, its positions innermost first. */
struct branch {
    int64_t bytes;
    const struct stack_position **positions;
    size_t n;
};

struct writer {
    const struct export_job *job;
    struct export_peak peak;
    int64_t *live_bytes; /* by backtrace_id */
    int64_t n_stacks;
    int64_t bytes, slack_bytes;
    int64_t snapshot;
};

static const struct stack_position unknown_position;

/* ---- trees ---- */

static const struct stack_position *position_at(const struct branch *branch, size_t depth)
{
    return depth < branch->n ? branch->positions[depth] : NULL;
}

static int compare_branches(const void *a, const void *b)
{
    const struct branch *one = a;
    const struct branch *other = b;

    for (size_t i = 0; i < one->n && i < other->n && i < MAX_DEPTH; i++) {
        if (one->positions[i] != other->positions[i])
            return one->positions[i] < other->positions[i] ? -1 : 1;
    }
    return (one->n > other->n) - (one->n < other->n);
}

struct group {
    size_t first, n;
    int64_t bytes;
};

static int compare_groups(const void *a, const void *b)
{
    const struct group *one = a;
    const struct group *other = b;

    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? 1 : -1;
    return (one->first > other->first) - (one->first < other->first);
}

/* Groups callers at a depth; stacks that end there have none and are skipped. */
static size_t find_groups(const struct branch *branches, size_t n, size_t depth,
                          struct group *ret_groups)
{
    size_t n_groups = 0;

    for (size_t i = 0; i < n; i++) {
        const struct stack_position *position = position_at(&branches[i], depth);
        struct group *last = n_groups ? &ret_groups[n_groups - 1] : NULL;
        if (!position)
            continue;
        if (last && position_at(&branches[last->first], depth) == position) {
            last->n = i + 1 - last->first;
            saturating_grow(&last->bytes, branches[i].bytes);
        } else {
            ret_groups[n_groups++] = (struct group){i, 1, branches[i].bytes};
        }
    }
    qsort(ret_groups, n_groups, sizeof(*ret_groups), compare_groups);
    return n_groups;
}

static void put_position(FILE *out, const struct stack_position *position)
{
    (void)fprintf(out, "0x%" PRIX64 ": %s (", (uint64_t)position->object_offset,
                  position->function ? position->function : "???");
    if (position->source)
        (void)fprintf(out, "%s:%" PRId64 ")", position->source, position->line);
    else
        (void)fprintf(out, "in %s)", position->module ? position->module : "???");
}

static void indent(FILE *out, size_t depth)
{
    (void)fprintf(out, "%*s", (int)depth, "");
}

/* Writes the callers below a node; the caller has written the text after "nN: BYTES ". */
static int put_callers(const struct writer *writer, const struct branch *branches, size_t n,
                       size_t depth, const struct stack_position *position, int64_t bytes,
                       struct error *err)
{
    FILE *out = writer->job->out;
    struct group *groups = calloc(n + 1, sizeof(*groups));
    size_t n_groups;
    size_t n_shown = 0;
    int64_t folded_bytes = 0;
    int rc = 0;

    if (!groups)
        return error_set(err, ERROR_NOMEM, "no memory for a tree");
    n_groups = depth < MAX_DEPTH ? find_groups(branches, n, depth, groups) : 0;
    while (n_shown < n_groups
           && saturating_multiply(groups[n_shown].bytes, FOLDED_SHARE) >= writer->bytes)
        n_shown++;
    indent(out, depth);
    (void)fprintf(out, "n%zu: %" PRId64 " ", n_shown + (n_shown < n_groups), bytes);
    if (depth == 0)
        (void)fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", out);
    else
        put_position(out, position ? position : &unknown_position);
    (void)fputc('\n', out);
    for (size_t i = 0; rc == 0 && i < n_shown; i++)
        rc = put_callers(writer, branches + groups[i].first, groups[i].n, depth + 1,
                         position_at(&branches[groups[i].first], depth), groups[i].bytes, err);
    for (size_t i = n_shown; i < n_groups; i++)
        saturating_grow(&folded_bytes, groups[i].bytes);
    if (rc == 0 && n_shown < n_groups) {
        indent(out, depth + 1);
        (void)fprintf(out, "n0: %" PRId64 " in %zu place%s below massif's threshold (%.2f%%)\n",
                      folded_bytes, n_groups - n_shown, n_groups - n_shown == 1 ? "," : "s, all",
                      100.0 / FOLDED_SHARE);
    }
    free(groups);
    return rc;
}

static int fill_branch(const struct writer *writer, struct branch *branch, int64_t backtrace_id,
                       struct error *err)
{
    const struct stack_position *buffer[MAX_DEPTH];

    branch->n = stack_weights_innermost(&writer->job->stacks, backtrace_id, buffer, MAX_DEPTH);
    branch->bytes = writer->live_bytes[backtrace_id];
    branch->positions = calloc(branch->n + 1, sizeof(*branch->positions));
    if (!branch->positions)
        return error_set(err, ERROR_NOMEM, "no memory for a stack");
    memcpy(branch->positions, buffer, branch->n * sizeof(*buffer));
    return rundb_go_on(&writer->job->query->database, err);
}

static int put_tree(const struct writer *writer, struct error *err)
{
    struct branch *branches = calloc((size_t)writer->n_stacks, sizeof(*branches));
    size_t n = 0;
    int rc = branches ? 0 : error_set(err, ERROR_NOMEM, "no memory for a tree");

    for (int64_t i = 0; rc == 0 && i < writer->n_stacks; i++) {
        if (writer->live_bytes[i] > 0)
            rc = fill_branch(writer, &branches[n++], i, err);
    }
    if (rc == 0) {
        qsort(branches, n, sizeof(*branches), compare_branches);
        rc = put_callers(writer, branches, n, 0, NULL, writer->bytes, err);
    }
    for (size_t i = 0; branches && i < n; i++)
        free(branches[i].positions);
    free(branches);
    return rc;
}

/* ---- snapshots ---- */

static void put_head(const struct writer *writer)
{
    const char *command = writer->job->command_line;

    (void)fputs("desc: mtrace " MTRACE_VERSION "\ncmd: ", writer->job->out);
    for (; *command; command++)
        (void)fputc(*command == '\n' ? ' ' : *command, writer->job->out);
    (void)fputs("\ntime_unit: ms\n", writer->job->out);
}

static int put_snapshot(struct writer *writer, int64_t at_ns, const char *tree, struct error *err)
{
    (void)fprintf(writer->job->out,
                  "#-----------\nsnapshot=%" PRId64 "\n#-----------\ntime=%" PRId64
                  "\nmem_heap_B=%" PRId64 "\nmem_heap_extra_B=%" PRId64
                  "\nmem_stacks_B=0\nheap_tree=%s\n",
                  writer->snapshot++, saturating_subtract(at_ns, writer->job->start_ns) / NS_PER_MS,
                  writer->bytes, writer->slack_bytes, tree);
    return *tree == 'e' ? 0 : put_tree(writer, err);
}

static const char *tree_of(const struct writer *writer)
{
    return writer->snapshot % DETAILED_EVERY == DETAILED_EVERY - 1 ? "detailed" : "empty";
}

static void add_event(struct writer *writer, const struct export_event *event)
{
    bool is_known = event->backtrace_id > 0 && event->backtrace_id < writer->n_stacks;
    int64_t sign = event->is_allocation ? 1 : -1;

    int64_t bytes = saturating_multiply(sign, event->size_bytes);

    saturating_grow(&writer->bytes, bytes);
    saturating_grow(&writer->slack_bytes, saturating_multiply(sign, event->slack_bytes));
    saturating_grow(&writer->live_bytes[is_known ? event->backtrace_id : 0], bytes);
}

static int put_snapshots(struct writer *writer, struct error *err)
{
    const struct export_job *job = writer->job;
    int64_t step_ns = saturating_subtract(job->end_ns, job->start_ns) / SNAPSHOTS + 1;
    int64_t due_ns = job->start_ns;
    int64_t n_events = 0;
    struct export_events events;
    struct export_event event;
    int rc = export_events_open(&events, job, err);

    while (rc == 0 && (rc = export_events_next(&events, &event, err)) == 1) {
        for (rc = 0; rc == 0 && due_ns < event.at_ns && due_ns < job->end_ns;
             due_ns = saturating_add(due_ns, step_ns))
            rc = put_snapshot(writer, due_ns, tree_of(writer), err);
        if (rc != 0)
            break;
        add_event(writer, &event);
        if (++n_events == writer->peak.event)
            rc = put_snapshot(writer, event.at_ns, "peak", err);
    }
    for (; rc == 0 && due_ns < job->end_ns; due_ns = saturating_add(due_ns, step_ns))
        rc = put_snapshot(writer, due_ns, tree_of(writer), err);
    if (rc == 0)
        rc = put_snapshot(writer, job->end_ns, "detailed", err);
    export_events_close(&events);
    return rc;
}

int export_massif_run(struct export_job *job, struct error *err)
{
    struct writer writer = {.job = job,
                            .n_stacks = job->stacks.n_nodes > 0 ? job->stacks.n_nodes : 1};
    int rc;

    writer.live_bytes = calloc((size_t)writer.n_stacks, sizeof(*writer.live_bytes));
    rc = writer.live_bytes ? export_events_find_peak(job, &writer.peak, err)
                           : error_set(err, ERROR_NOMEM, "no memory for stacks");
    if (rc == 0 && !job->query->options->is_sql_shown) {
        put_head(&writer);
        rc = put_snapshots(&writer, err);
    }
    free(writer.live_bytes);
    return rc;
}
