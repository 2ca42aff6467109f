/* SPDX-License-Identifier: MIT */
/*
 * speedscope: its JSON file format, a sampled profile per measure over shared frames.
 *
 * A sample is a stack, outermost frame first, with its weight in the measure. A frame is a
 * function, whatever line it calls from, so that its weights add up; code without a function is its
 * module. The line of a frame is that of its first call.
 */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "queries/core/call_tree.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct profile {
    const char *name;
    const char *unit;
    enum export_total total;
} profiles[] = {
    {"live bytes", "bytes", EXPORT_LIVE_BYTES},
    {"live blocks", "none", EXPORT_LIVE_BLOCKS},
    {"bytes at the peak", "bytes", EXPORT_PEAK_BYTES},
    {"blocks at the peak", "none", EXPORT_PEAK_BLOCKS},
    {"allocated bytes", "bytes", EXPORT_ALLOCATED_BYTES},
    {"allocated blocks", "none", EXPORT_ALLOCATED_BLOCKS},
    {"temporary bytes", "bytes", EXPORT_TEMPORARY_BYTES},
    {"temporary blocks", "none", EXPORT_TEMPORARY_BLOCKS},
};

/* By call_tree_key; the frame's number is where it stands in the list. */
struct known_frame {
    uint64_t key;
};

/* The frame of each position, and of each frame the first position. NULL: no memory. */
struct frames {
    uint32_t *of_position;
    size_t *first;
    size_t n;
};

static int number_frames(const struct export_job *job, struct frames *frames, struct error *err)
{
    const struct stack_weights *stacks = &job->stacks;
    struct hash_map known = {0};
    int rc = 0;

    frames->of_position = calloc(stacks->n_positions + 1, sizeof(*frames->of_position));
    frames->first = calloc(stacks->n_positions + 1, sizeof(*frames->first));
    if (!frames->of_position || !frames->first)
        rc = error_set(err, ERROR_NOMEM, "no memory for %zu frames", stacks->n_positions);
    for (size_t i = 0; rc == 0 && i < stacks->n_positions; i++) {
        uint64_t key = call_tree_key(&stacks->positions[i]);
        size_t n = known.n;
        const struct known_frame *frame = hash_map_get(&known, &key, sizeof(key), sizeof(*frame));

        if (!frame)
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu frames", n);
        else
            frames->of_position[i] = (uint32_t)(frame - (const struct known_frame *)known.elements);
        if (known.n > n)
            frames->first[n] = i;
    }
    frames->n = known.n;
    hash_map_done(&known);
    return rc;
}

static void frames_done(struct frames *frames)
{
    free(frames->of_position);
    free(frames->first);
}

static void put_frames(const struct export_job *job, const struct frames *frames)
{
    const struct stack_weights *stacks = &job->stacks;

    (void)fputs("\"shared\":{\"frames\":[", job->out);
    for (size_t i = 0; i < frames->n; i++) {
        const struct stack_position *position = &stacks->positions[frames->first[i]];
        const char *name = position->function ? position->function : position->module;

        (void)fputs(i ? ",\n{\"name\":" : "\n{\"name\":", job->out);
        json_text_put(job->out, name ? name : "??");
        if (position->source || position->module) {
            (void)fputs(",\"file\":", job->out);
            json_text_put(job->out, position->source ? position->source : position->module);
        }
        if (position->line > 0)
            (void)fprintf(job->out, ",\"line\":%" PRId64, position->line);
        (void)fputc('}', job->out);
    }
    (void)fputs("]}", job->out);
}

static void put_sample(const struct export_job *job, const struct frames *frames,
                       int64_t backtrace_id, const struct stack_position **positions, bool is_first)
{
    size_t n = stack_weights_positions(&job->stacks, backtrace_id, positions);

    (void)fputs(is_first ? "\n[" : ",\n[", job->out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(job->out, "%s%" PRIu32, i ? "," : "",
                      frames->of_position[positions[i] - job->stacks.positions]);
    (void)fputc(']', job->out);
}

/* Each profile writes its stacks twice, so the totals are read once and kept. */
struct stacks {
    struct export_stack_totals *list;
    size_t n, capacity;
    const struct stack_position **positions; /* of the stack at hand */
};

static int keep_stack(struct stacks *stacks, const struct export_stack_totals *stack,
                      struct error *err)
{
    struct export_stack_totals *list =
        dynamic_array_reserve(stacks->list, &stacks->capacity, stacks->n + 1, sizeof(*list));

    if (!list)
        return error_set(err, ERROR_NOMEM, "no memory for %zu stacks", stacks->n + 1);
    stacks->list = list;
    list[stacks->n++] = *stack;
    return 0;
}

static int read_stacks(const struct export_job *job, struct stacks *stacks, struct error *err)
{
    struct export_totals totals;
    struct export_stack_totals stack;
    int rc = export_totals_open(&totals, job, err);

    while (rc == 0 && (rc = export_totals_next(&totals, &stack, err)) == 1)
        rc = keep_stack(stacks, &stack, err);
    export_totals_close(&totals);
    return rc;
}

/* The stacks that have something of the measure. */
static int put_samples(const struct export_job *job, const struct frames *frames,
                       const struct stacks *stacks, enum export_total total, struct error *err)
{
    bool is_first = true;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < stacks->n; i++) {
        if (stacks->list[i].totals[total] <= 0)
            continue;
        put_sample(job, frames, stacks->list[i].backtrace_id, stacks->positions, is_first);
        is_first = false;
        rc = rundb_go_on(&job->query->database, err);
    }
    return rc;
}

/* Writes their weights and returns the sum. */
static int64_t put_weights(const struct export_job *job, const struct stacks *stacks,
                           enum export_total total)
{
    int64_t sum = 0;

    for (size_t i = 0; i < stacks->n; i++) {
        int64_t weight = stacks->list[i].totals[total];
        if (weight <= 0)
            continue;
        (void)fprintf(job->out, "%s%" PRId64, sum ? "," : "", weight);
        saturating_grow(&sum, weight);
    }
    return sum;
}

static int put_profile(const struct export_job *job, const struct frames *frames,
                       const struct profile *profile, const struct stacks *stacks,
                       struct error *err)
{
    int64_t sum;
    int rc;

    (void)fprintf(job->out, "%s{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[",
                  profile == profiles ? "" : ",", profile->name, profile->unit);
    rc = put_samples(job, frames, stacks, profile->total, err);
    if (rc != 0)
        return rc;
    (void)fputs("],\"weights\":[", job->out);
    sum = put_weights(job, stacks, profile->total);
    (void)fprintf(job->out, "],\"startValue\":0,\"endValue\":%" PRId64 "}\n", sum);
    return 0;
}

static int put_file(const struct export_job *job, const struct frames *frames,
                    const struct stacks *stacks, struct error *err)
{
    int rc = 0;

    (void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                "\"exporter\":\"mtrace " MTRACE_VERSION,
                job->out);
    if (job->query->database.sample_bytes)
        (void)fprintf(job->out, "; estimates from samples, one for each %" PRId64 " bytes",
                      job->query->database.sample_bytes);
    (void)fputs("\",\"name\":", job->out);
    json_text_put(job->out, job->command_line);
    (void)fputs(",\n\"activeProfileIndex\":0,", job->out);
    put_frames(job, frames);
    (void)fputs(",\n\"profiles\":[", job->out);
    for (size_t i = 0; rc == 0 && i < sizeof(profiles) / sizeof(profiles[0]); i++)
        rc = put_profile(job, frames, &profiles[i], stacks, err);
    if (rc == 0)
        (void)fputs("]}\n", job->out);
    return rc;
}

int export_speedscope_run(struct export_job *job, struct error *err)
{
    struct stacks stacks = {.n = 0};
    struct frames frames = {.n = 0};
    int rc = read_stacks(job, &stacks, err);

    stacks.positions = calloc((size_t)job->stacks.max_positions + 1, sizeof(*stacks.positions));
    if (rc == 0 && !stacks.positions)
        rc = error_set(err, ERROR_NOMEM, "no memory for stacks");
    if (rc == 0)
        rc = number_frames(job, &frames, err);
    if (rc == 0)
        rc = put_file(job, &frames, &stacks, err);
    frames_done(&frames);
    free(stacks.positions);
    free(stacks.list);
    return rc;
}
