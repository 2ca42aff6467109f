/* SPDX-License-Identifier: MIT */
#include "importer/symbols/embedded_symbols.h"

#include "importer/symbols/symbol_rows.h"

#include <stdlib.h>
#include <string.h>

/* All objects together are one job of symbol_rows, which numbers and writes the names. */
struct given {
    const struct definitions *definitions;
    struct symbol_job job;
    struct symbol_frame *frames;
    struct intern labels;
};

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for the names of the recording");
}

/* *ret is SYMBOL_NONE for no text. Returns false without memory. */
static bool number_text(struct intern *texts, const char *text, uint32_t *ret)
{
    int64_t number = text && *text ? intern_add(texts, text, strlen(text)) : SYMBOL_NONE;

    *ret = (uint32_t)number;
    return number >= 0;
}

/* heaptrack demangled the function names, so each is its own raw name. */
static bool add_level(struct given *given, const struct definitions_level *from)
{
    struct symbol_store *store = &given->job.store;
    struct symbol_level *level = &store->levels[store->n_levels++];

    *level = (struct symbol_level){.function = SYMBOL_NONE, .source = SYMBOL_NONE};
    if (!from)
        return true;
    level->line = from->line;
    if (from->function
        && !symbol_store_add_function(store, from->function, from->function, &level->function))
        return false;
    return number_text(&store->sources, from->source, &level->source);
}

static bool add_frame(struct given *given, uint32_t frame, size_t *next_level)
{
    const struct definitions *definitions = given->definitions;
    struct symbol_job *job = &given->job;
    struct symbol_span *span = &job->spans[frame];
    bool has_memory = true;

    given->frames[frame - 1] =
        (struct symbol_frame){.frame_id = frame, .job = job, .position = frame};
    if (definitions->frames[frame].label) {
        given->frames[frame - 1].job = NULL;
        return number_text(&given->labels, definitions->frames[frame].label,
                           &given->frames[frame - 1].position);
    }
    span->first_level = (uint32_t)job->store.n_levels;
    while (has_memory && *next_level < definitions->n_levels
           && definitions->levels[*next_level].frame == frame)
        has_memory = add_level(given, &definitions->levels[(*next_level)++]);
    if (job->store.n_levels == span->first_level)
        has_memory = add_level(given, NULL);
    span->n_levels = (uint32_t)job->store.n_levels - span->first_level;
    return has_memory;
}

static int fill(struct given *given, struct error *err)
{
    size_t n_frames = given->definitions->n_frames;
    struct symbol_job *job = &given->job;
    size_t next_level = 0;

    given->frames = calloc(n_frames + 1, sizeof(*given->frames));
    job->spans = calloc(n_frames + 1, sizeof(*job->spans));
    job->store.levels =
        calloc(n_frames + given->definitions->n_levels + 1, sizeof(*job->store.levels));
    if (!given->frames || !job->spans || !job->store.levels)
        return no_memory(err);
    for (uint32_t frame = 1; frame <= n_frames; frame++)
        if (!add_frame(given, frame, &next_level))
            return no_memory(err);
    job->n_positions = n_frames + 1;
    return 0;
}

int embedded_symbols_write(sqlite3 *db, const struct definitions *definitions, struct error *err)
{
    struct given given = {.definitions = definitions};
    int code = fill(&given, err);

    if (code == 0)
        code = symbol_rows_write(db, &given.job, 1, given.frames, definitions->n_frames,
                                 &given.labels, err);
    symbol_job_done(&given.job);
    intern_done(&given.labels);
    free(given.frames);
    return code;
}
