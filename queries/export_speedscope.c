/* SPDX-License-Identifier: MIT */
/*
 * speedscope: its JSON file format, a sampled profile for each measure over shared frames.
 *
 * A sample is a stack, outermost frame first, and its weight is what the stack has of the measure.
 */
#include "queries/export_job.h"
#include "queries/export_totals.h"
#include "queries/json_text.h"
#include "queries/query.h"
#include "support/error.h"

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

/* Every position is a frame, under its index. */
static void put_frames(const struct export_job *job)
{
    const struct stack_weights *stacks = &job->stacks;

    (void)fputs("\"shared\":{\"frames\":[", job->out);
    for (size_t i = 0; i < stacks->n_positions; i++) {
        const struct stack_position *position = &stacks->positions[i];
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

static void put_sample(const struct export_job *job, int64_t backtrace_id,
                       const struct stack_position **positions, bool is_first)
{
    size_t n = stack_weights_positions(&job->stacks, backtrace_id, positions);

    (void)fputs(is_first ? "\n[" : ",\n[", job->out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(job->out, "%s%td", i ? "," : "", positions[i] - job->stacks.positions);
    (void)fputc(']', job->out);
}

/* The stacks that have something of the measure; their sum comes back. */
static int put_samples(const struct export_job *job, const struct profile *profile,
                       const struct stack_position **positions, bool is_weights, int64_t *ret_sum,
                       struct error *err)
{
    struct export_totals totals;
    struct export_stack_totals stack;
    int64_t n = 0;
    int rc = export_totals_open(&totals, job, err);

    *ret_sum = 0;
    while (rc == 0 && (rc = export_totals_next(&totals, &stack, err)) == 1) {
        int64_t weight = stack.totals[profile->total];
        rc = 0;
        if (weight <= 0)
            continue;
        if (is_weights)
            (void)fprintf(job->out, "%s%" PRId64, n ? "," : "", weight);
        else
            put_sample(job, stack.backtrace_id, positions, n == 0);
        n++;
        *ret_sum += weight;
    }
    export_totals_close(&totals);
    return rc;
}

static int put_profile(const struct export_job *job, const struct profile *profile,
                       const struct stack_position **positions, struct error *err)
{
    int64_t sum;
    int rc;

    (void)fprintf(job->out, "%s{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[",
                  profile == profiles ? "" : ",", profile->name, profile->unit);
    rc = put_samples(job, profile, positions, false, &sum, err);
    (void)fputs("],\"weights\":[", job->out);
    if (rc == 0)
        rc = put_samples(job, profile, positions, true, &sum, err);
    (void)fprintf(job->out, "],\"startValue\":0,\"endValue\":%" PRId64 "}\n", sum);
    return rc;
}

int export_speedscope_run(struct export_job *job, struct error *err)
{
    const struct stack_position **positions;
    int rc = 0;

    positions = calloc((size_t)job->stacks.max_positions + 1, sizeof(*positions));
    if (!positions)
        return error_set(err, ERROR_NOMEM, "no memory for stacks");
    (void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                "\"exporter\":\"mtrace " MTRACE_VERSION "\",\"name\":",
                job->out);
    json_text_put(job->out, job->command_line);
    (void)fputs(",\n\"activeProfileIndex\":0,", job->out);
    put_frames(job);
    (void)fputs(",\n\"profiles\":[", job->out);
    for (size_t i = 0; rc == 0 && i < sizeof(profiles) / sizeof(profiles[0]); i++)
        rc = put_profile(job, &profiles[i], positions, err);
    (void)fputs("]}\n", job->out);
    free(positions);
    return rc;
}
