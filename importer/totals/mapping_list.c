/* SPDX-License-Identifier: MIT */
#include "importer/totals/mapping_list.h"

#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>
#include <string.h>

struct mapping_chunk {
    size_t n;
    size_t max; /* capacity; a list's only chunk grows up to MAPPING_LIST_CHUNK */
    struct mapping *pieces;
};

static void chunk_free(struct mapping_chunk *chunk)
{
    free(chunk->pieces);
    free(chunk);
}

void mapping_list_done(struct mapping_list *list)
{
    for (size_t i = 0; i < list->n_chunks; i++)
        chunk_free(list->chunks[i]);
    free(list->chunks);
    *list = (struct mapping_list){.chunks = NULL};
}

static uint64_t chunk_end(const struct mapping_chunk *chunk)
{
    return mapping_end(&chunk->pieces[chunk->n - 1]);
}

struct mapping_place mapping_list_above(const struct mapping_list *list, uint64_t address)
{
    struct mapping_place place = {0, 0};

    LOWER_BOUND(place.chunk, list->n_chunks, chunk_end(list->chunks[place.chunk]) <= address);
    if (place.chunk == list->n_chunks)
        return place;
    const struct mapping_chunk *chunk = list->chunks[place.chunk];
    LOWER_BOUND(place.index, chunk->n, mapping_end(&chunk->pieces[place.index]) <= address);
    return place;
}

struct mapping *mapping_list_at(const struct mapping_list *list, struct mapping_place place)
{
    return place.chunk < list->n_chunks ? &list->chunks[place.chunk]->pieces[place.index] : NULL;
}

struct mapping_place mapping_list_next(const struct mapping_list *list, struct mapping_place place)
{
    if (++place.index < list->chunks[place.chunk]->n)
        return place;
    return (struct mapping_place){.chunk = place.chunk + 1};
}

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for mappings");
}

/* Adds an empty chunk at the index. */
static int add_chunk(struct mapping_list *list, size_t index, struct error *err)
{
    struct mapping_chunk **chunks =
        dynamic_array_reserve(list->chunks, &list->max_chunks, list->n_chunks + 1, sizeof(*chunks));
    struct mapping_chunk *chunk = calloc(1, sizeof(*chunk));

    if (chunks)
        list->chunks = chunks;
    if (!chunks || !chunk) {
        free(chunk);
        return out_of_memory(err);
    }
    memmove(&chunks[index + 1], &chunks[index], (list->n_chunks - index) * sizeof(*chunks));
    chunks[index] = chunk;
    list->n_chunks++;
    return 0;
}

static int reserve_places(struct mapping_chunk *chunk, size_t n, struct error *err)
{
    struct mapping *pieces =
        dynamic_array_reserve(chunk->pieces, &chunk->max, n, sizeof(*chunk->pieces));

    if (!pieces)
        return out_of_memory(err);
    chunk->pieces = pieces;
    return 0;
}

static void remove_chunk(struct mapping_list *list, size_t index)
{
    chunk_free(list->chunks[index]);
    list->n_chunks--;
    memmove(&list->chunks[index], &list->chunks[index + 1],
            (list->n_chunks - index) * sizeof(*list->chunks));
}

/* Moves the upper half of a full chunk to a new one after it. */
static int halve(struct mapping_list *list, size_t index, struct error *err)
{
    int code = add_chunk(list, index + 1, err);

    if (code)
        return code;
    struct mapping_chunk *lower = list->chunks[index];
    struct mapping_chunk *upper = list->chunks[index + 1];
    code = reserve_places(upper, MAPPING_LIST_CHUNK, err);
    if (code) {
        remove_chunk(list, index + 1);
        return code;
    }
    upper->n = lower->n / 2;
    lower->n -= upper->n;
    memcpy(upper->pieces, &lower->pieces[lower->n], upper->n * sizeof(*upper->pieces));
    return 0;
}

int mapping_list_insert(struct mapping_list *list, const struct mapping *piece, struct error *err)
{
    struct mapping_place place = mapping_list_above(list, piece->address);
    int code = 0;

    if (place.chunk == list->n_chunks && place.chunk > 0) {
        place.chunk--; /* after the last piece of the list */
        place.index = list->chunks[place.chunk]->n;
    }
    if (list->n_chunks == 0)
        code = add_chunk(list, 0, err);
    else if (list->chunks[place.chunk]->n == MAPPING_LIST_CHUNK)
        code = halve(list, place.chunk, err);
    if (code)
        return code;
    struct mapping_chunk *chunk = list->chunks[place.chunk];
    if (place.index > chunk->n) {
        place.index -= chunk->n;
        chunk = list->chunks[++place.chunk];
    }
    code = reserve_places(chunk, chunk->n + 1, err);
    if (code) {
        if (chunk->n == 0)
            remove_chunk(list, place.chunk);
        return code;
    }
    memmove(&chunk->pieces[place.index + 1], &chunk->pieces[place.index],
            (chunk->n - place.index) * sizeof(*piece));
    chunk->pieces[place.index] = *piece;
    chunk->n++;
    return 0;
}

void mapping_list_remove(struct mapping_list *list, struct mapping_place place)
{
    struct mapping_chunk *chunk = list->chunks[place.chunk];

    MTRACE_ASSERT(place.index < chunk->n);
    chunk->n--;
    memmove(&chunk->pieces[place.index], &chunk->pieces[place.index + 1],
            (chunk->n - place.index) * sizeof(*chunk->pieces));
    if (chunk->n == 0)
        remove_chunk(list, place.chunk);
}

void mapping_visit(struct mapping *piece, const struct statistics_room *room,
                   struct checkpoint_io *io)
{
    STATE_IMAGE(io, piece);
    state_text(io, &piece->path, NULL);
    state_check(io,
                piece->process && piece->process <= room->n_processes
                    && piece->thread <= room->n_threads && piece->node <= room->n_nodes
                    && piece->unmap_thread <= room->n_threads && piece->unmap_node <= room->n_nodes
                    && piece->length && piece->length <= UINT64_MAX - piece->address,
                "a mapping");
}

static void load_pieces(struct mapping_list *list, size_t n, const struct statistics_room *room,
                        struct checkpoint_io *io)
{
    uint64_t end = 0;

    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct mapping piece = {0};
        mapping_visit(&piece, room, io);
        state_check(io, piece.address >= end, "mappings that overlap");
        end = mapping_end(&piece);
        if (checkpoint_io_code(io) == 0 && mapping_list_insert(list, &piece, NULL) != 0)
            state_no_memory(io);
    }
}

void mapping_list_visit(struct mapping_list *list, const struct statistics_room *room,
                        struct checkpoint_io *io)
{
    struct mapping_place place = {0, 0};
    size_t n = 0;

    for (size_t i = 0; i < list->n_chunks; i++)
        n += list->chunks[i]->n;
    state_count(io, &n, STATE_MOST);
    if (checkpoint_io_is_loading(io)) {
        load_pieces(list, n, room, io);
        return;
    }
    const struct mapping *piece;
    while ((piece = mapping_list_at(list, place)) != NULL) {
        struct mapping copy = *piece;
        mapping_visit(&copy, room, io);
        place = mapping_list_next(list, place);
    }
}
