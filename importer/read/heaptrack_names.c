/* SPDX-License-Identifier: MIT */
/* Names of an interpreted recording for its frames. */
#include "importer/read/heaptrack_parts.h"
#include "importer/read/heaptrack_reader.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>

/* A place in code, and its frame or ip. */
struct place {
    uint64_t offset;
    uint32_t object;
    uint32_t number;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static struct place *list_ips(const struct heaptrack_reader *reader)
{
    const struct log_names *names = &reader->input->names;
    struct place *places = calloc((size_t)reader->grammar.n_ips + 1, sizeof(*places));

    for (uint32_t i = 1; places && i <= reader->grammar.n_ips; i++) {
        const struct heaptrack_ip *ip = &reader->ips[i];
        places[i - 1] = (struct place){
            .offset = (ip->address + 1) & ~LOG_NODE_EXACT,
            .object = ip->module ? names->modules[ip->module].object : 0,
            .number = i,
        };
    }
    if (places && reader->grammar.n_ips > 1)
        qsort(places, reader->grammar.n_ips, sizeof(*places), compare_places);
    return places;
}

/* The first ip at the frame's place, NULL if there is none. */
static const struct heaptrack_ip *find_ip(const struct heaptrack_reader *reader,
                                          const struct place *places,
                                          const struct definitions_frame *frame)
{
    struct place wanted = {.offset = frame->offset, .object = frame->object};
    size_t i;

    if (frame->label)
        return NULL;
    LOWER_BOUND(i, reader->grammar.n_ips, compare_places(&places[i], &wanted) < 0);
    if (i == reader->grammar.n_ips || places[i].offset != frame->offset
        || places[i].object != frame->object)
        return NULL;
    return &reader->ips[places[i].number];
}

static const char *text_of(const struct heaptrack_reader *reader, uint32_t string)
{
    return string ? reader->strings[string] : NULL;
}

static void add_levels(const struct heaptrack_reader *reader, const struct heaptrack_ip *ip,
                       uint32_t frame, size_t *n)
{
    for (uint32_t k = 0; k < ip->n_levels; k++) {
        const struct heaptrack_level *level = &reader->levels[ip->first_level + k];
        reader->named[(*n)++] = (struct definitions_level){
            .frame = frame,
            .inline_level = k,
            .function = text_of(reader, level->function),
            .source = text_of(reader, level->source),
            .line = level->line,
        };
    }
}

static int name_frames(struct heaptrack_reader *reader, struct definitions *definitions)
{
    struct place *places = list_ips(reader);
    size_t n = 0;

    /* Frames are distinct places, so each ip serves one of them at most. */
    reader->named = calloc(reader->n_levels + 1, sizeof(*reader->named));
    if (!places || !reader->named) {
        free(places);
        return ERROR_NOMEM;
    }
    for (uint32_t frame = 1; frame <= definitions->n_frames; frame++) {
        const struct heaptrack_ip *ip = find_ip(reader, places, &definitions->frames[frame]);
        if (ip)
            add_levels(reader, ip, frame, &n);
    }
    free(places);
    definitions->levels = reader->named;
    definitions->n_levels = n;
    return 0;
}

int heaptrack_reader_finish(struct heaptrack_reader *reader, struct definitions *definitions,
                            struct error *err)
{
    definitions->recorder = "heaptrack";
    definitions->suppressions = reader->suppressions;
    definitions->n_suppressions = reader->n_suppressions;
    definitions->has_no_addresses = !heaptrack_grammar_has_addresses(&reader->grammar);
    if (reader->grammar.is_raw)
        return 0;
    definitions->has_names = true;
    definitions->n_modules = 0; /* their addresses are unknown */
    return name_frames(reader, definitions) == 0 ? 0 : error_set(err, ERROR_NOMEM, "out of memory");
}
