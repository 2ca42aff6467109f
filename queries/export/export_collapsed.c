/* SPDX-License-Identifier: MIT */
/*
 * flamegraph.pl: collapsed stacks, "outermost;…;innermost NUMBER" a line, of one measure.
 *
 * Stacks that read the same are one line. The format has no escapes: ';' and line ends in names
 * become ':' and blanks.
 */
#include "queries/export/export_job.h"
#include "queries/question/query.h"
#include "support/error.h"
#include "support/saturating.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
    char *text;
    int64_t weight;
};

static void put_name(FILE *out, const struct stack_position *position)
{
    const char *name = position->function ? position->function : position->module;

    for (const char *at = name ? name : "??"; *at; at++)
        (void)fputc(*at == ';' ? ':' : *at == '\n' ? ' ' : *at, out);
}

static char *make_text(const struct export_job *job, int64_t backtrace_id,
                       const struct stack_position **positions)
{
    char *text = NULL;
    size_t size = 0;
    size_t n = stack_weights_positions(&job->stacks, backtrace_id, positions);
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            (void)fputc(';', out);
        put_name(out, positions[i]);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static void put_lines(struct export_job *job, struct line *lines, size_t n)
{
    qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && strcmp(lines[i].text, lines[i + 1].text) == 0)
            saturating_grow(&lines[i + 1].weight, lines[i].weight);
        else
            (void)fprintf(job->out, "%s %" PRId64 "\n", lines[i].text, lines[i].weight);
    }
}

int export_collapsed_run(struct export_job *job, struct error *err)
{
    const struct stack_weights *stacks = &job->stacks;
    struct line *lines = calloc(stacks->n + 1, sizeof(*lines));
    const struct stack_position **positions = calloc(stacks->max_positions + 1, sizeof(*positions));
    bool is_by_blocks = job->query->options->is_by_blocks;
    size_t n = 0;
    int rc = lines && positions ? 0 : error_set(err, ERROR_NOMEM, "no memory for stacks");

    for (size_t i = 0; rc == 0 && i < stacks->n; i++) {
        int64_t weight = is_by_blocks ? stacks->list[i].blocks : stacks->list[i].bytes;
        if (weight == 0)
            continue;
        lines[n].weight = weight;
        lines[n].text = make_text(job, stacks->list[i].backtrace_id, positions);
        if (!lines[n++].text)
            rc = error_set(err, ERROR_NOMEM, "no memory for a stack");
    }
    if (rc == 0)
        put_lines(job, lines, n);
    for (size_t i = 0; lines && i < n; i++)
        free(lines[i].text);
    free(lines);
    free(positions);
    return rc;
}
