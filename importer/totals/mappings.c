/* SPDX-License-Identifier: MIT */
#include "importer/totals/mappings.h"

#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- list of live pieces ---- */

enum {
    MAPPING_LIST_CHUNK = 128
};

/* Position of a piece; valid until the list changes. chunk == n_chunks: after the last piece. */
struct mapping_place {
    size_t chunk, index;
};

static uint64_t mapping_end(const struct mapping *piece)
{
    return piece->address + piece->length;
}

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

static void mapping_list_done(struct mapping_list *list)
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

/* The first piece that ends above the address. */
static struct mapping_place mapping_list_above(const struct mapping_list *list, uint64_t address)
{
    struct mapping_place place = {0, 0};

    LOWER_BOUND(place.chunk, list->n_chunks, chunk_end(list->chunks[place.chunk]) <= address);
    if (place.chunk == list->n_chunks)
        return place;
    const struct mapping_chunk *chunk = list->chunks[place.chunk];
    LOWER_BOUND(place.index, chunk->n, mapping_end(&chunk->pieces[place.index]) <= address);
    return place;
}

/* NULL after the last piece. */
static struct mapping *mapping_list_at(const struct mapping_list *list, struct mapping_place place)
{
    return place.chunk < list->n_chunks ? &list->chunks[place.chunk]->pieces[place.index] : NULL;
}

/* The position after that of a piece. */
static struct mapping_place mapping_list_next(const struct mapping_list *list,
                                              struct mapping_place place)
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

/* Inserts a copy of the piece at its address; it must not overlap another one. */
static int mapping_list_insert(struct mapping_list *list, const struct mapping *piece,
                               struct error *err)
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

/* The position must hold a piece. */
static void mapping_list_remove(struct mapping_list *list, struct mapping_place place)
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
    CHECKPOINT_IMAGE(io, piece);
    checkpoint_io_text(io, &piece->path, NULL);
    checkpoint_io_check(
        io,
        piece->process && piece->process <= room->n_processes && piece->thread <= room->n_threads
            && piece->backtrace <= room->n_backtraces && piece->unmap_thread <= room->n_threads
            && piece->unmap_backtrace <= room->n_backtraces && piece->length
            && piece->length <= UINT64_MAX - piece->address,
        "a mapping");
}

static void load_pieces(struct mapping_list *list, size_t n, const struct statistics_room *room,
                        struct checkpoint_io *io)
{
    uint64_t end = 0;

    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct mapping piece = {0};
        mapping_visit(&piece, room, io);
        checkpoint_io_check(io, piece.address >= end, "mappings that overlap");
        end = mapping_end(&piece);
        if (checkpoint_io_code(io) == 0 && mapping_list_insert(list, &piece, NULL) != 0)
            checkpoint_io_no_memory(io);
    }
}

/* Saves the list, or loads it into an empty one. */
static void mapping_list_visit(struct mapping_list *list, const struct statistics_room *room,
                               struct checkpoint_io *io)
{
    struct mapping_place place = {0, 0};
    size_t n = 0;

    for (size_t i = 0; i < list->n_chunks; i++)
        n += list->chunks[i]->n;
    checkpoint_io_count(io, &n, CHECKPOINT_MAX);
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

/* ---- pieces ---- */

void mappings_init(struct mappings *mappings, uint32_t process, uint64_t page_bytes,
                   uint64_t *next_id, mappings_ended_fn *ended, void *context)
{
    *mappings = (struct mappings){
        .process = process,
        .page_bytes = page_bytes ? page_bytes : 4096,
        .ended = ended,
        .context = context,
        .next_id = next_id,
    };
}

void mappings_done(struct mappings *mappings)
{
    mapping_list_done(&mappings->live);
}

static uint64_t whole_pages(const struct mappings *mappings, uint64_t length)
{
    return (length + mappings->page_bytes - 1) / mappings->page_bytes * mappings->page_bytes;
}

/* bytes * part / whole, part <= whole. */
static uint64_t share(uint64_t bytes, uint64_t part, uint64_t whole)
{
    return part == whole ? bytes : (uint64_t)((double)bytes * ((double)part / (double)whole));
}

/* What certainly lies in `part` of `whole` bytes if so many are resident. */
static uint64_t min_share(uint64_t bytes, uint64_t part, uint64_t whole)
{
    return bytes > whole - part ? bytes - (whole - part) : 0;
}

/* Samples of a larger piece do not tell which part of it was resident. */
static void share_samples(struct mapping *piece, uint64_t whole)
{
    if (piece->peak_rss_bytes != MAPPINGS_NEVER)
        piece->peak_rss_bytes = min_share(piece->peak_rss_bytes, piece->length, whole);
    piece->sampled_bytes = min_share(piece->sampled_bytes, piece->length, whole);
}

/* Splits the piece at an address inside it; the upper part gets a new id. */
static int split_at(struct mappings *mappings, struct mapping *piece, uint64_t address,
                    struct error *err)
{
    struct mapping upper = *piece;
    uint64_t lower_length = address - upper.address;

    upper.address = address;
    upper.length -= lower_length;
    upper.file_offset += upper.path || upper.fd >= 0 ? (int64_t)lower_length : 0;
    upper.mmap_id = ++*mappings->next_id;
    piece->length = lower_length;
    share_samples(piece, lower_length + upper.length);
    share_samples(&upper, lower_length + upper.length);
    return mapping_list_insert(&mappings->live, &upper, err);
}

/* Anonymous bytes that may have pages; a PROT_NONE reservation has none. */
static int end_piece(struct mappings *mappings, struct mapping *piece, const struct event *event,
                     struct error *err)
{
    piece->unmapped_ns = event->time_ns;
    piece->unmap_thread = event->thread;
    piece->unmap_backtrace = event->backtrace;
    return mappings->ended(mappings->context, piece, err);
}

/* Ends everything in [start, end) at the time of the event. *ret_first gets the first piece that
 * ended, if any. */
static int end_range(struct mappings *mappings, uint64_t start, uint64_t end,
                     const struct event *event, struct mapping *ret_first, struct error *err)
{
    size_t n_ended = 0;
    int code = 0;

    while (code == 0) {
        struct mapping_place place = mapping_list_above(&mappings->live, start);
        struct mapping *piece = mapping_list_at(&mappings->live, place);
        if (!piece || piece->address >= end)
            break;
        if (piece->address < start) {
            code = split_at(mappings, piece, start, err);
            continue;
        }
        if (mapping_end(piece) > end) {
            code = split_at(mappings, piece, end, err);
            continue;
        }
        code = end_piece(mappings, piece, event, err);
        if (n_ended++ == 0 && ret_first)
            *ret_first = *piece;
        mapping_list_remove(&mappings->live, place);
    }
    return code;
}

/* Begins a new call; `piece` has what the event lacks. */
static int begin_piece(struct mappings *mappings, const struct event *event, struct mapping *piece,
                       struct error *err)
{
    piece->address = event->address;
    piece->length = whole_pages(mappings, event->size);
    piece->mapped_ns = event->time_ns;
    piece->thread = event->thread;
    piece->backtrace = event->backtrace;
    piece->process = mappings->process;
    piece->unmapped_ns = MAPPINGS_NEVER;
    piece->unmap_thread = piece->unmap_backtrace = 0;
    piece->peak_rss_bytes = piece->peak_rss_ns = MAPPINGS_NEVER;
    piece->sampled_ns = piece->sampled_bytes = 0;
    piece->mmap_id = ++*mappings->next_id;
    piece->call_id = piece->mmap_id;
    if (piece->length == 0)
        return 0;
    int code = end_range(mappings, piece->address, mapping_end(piece), event, NULL, err);
    if (code)
        return code;
    return mapping_list_insert(&mappings->live, piece, err);
}

static int on_mmap(struct mappings *mappings, const struct event *event, struct error *err)
{
    struct mapping piece = {
        .file_offset = event->file_offset,
        .path = event->text,
        .prot = event->prot,
        .flags = event->flags,
        .fd = event->fd,
    };
    return begin_piece(mappings, event, &piece, err);
}

/* An old length of 0 keeps the old mapping: pages that are shared or left behind empty. The
 * properties of a mapping made before the recording are not known. */
static int on_mremap(struct mappings *mappings, const struct event *event, struct error *err)
{
    struct mapping old = {.fd = -1, .prot = -1, .flags = -1};
    uint64_t old_end = event->old_address + whole_pages(mappings, event->old_size);
    int code = 0;

    if (event->old_size)
        code = end_range(mappings, event->old_address, old_end, event, &old, err);
    else {
        const struct mapping *piece = mapping_list_at(
            &mappings->live, mapping_list_above(&mappings->live, event->old_address));
        if (piece && piece->address <= event->old_address)
            old = *piece;
    }
    old.remapped_from_id = old.mmap_id;
    return code ? code : begin_piece(mappings, event, &old, err);
}

/* Adds a sample to at most n_most pieces. */
static void sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                   uint64_t rss_bytes, size_t n_most)
{
    if (start >= end)
        return;
    struct mapping_place place = mapping_list_above(&mappings->live, start);
    struct mapping *piece = mapping_list_at(&mappings->live, place);
    for (; piece && piece->address < end && n_most-- > 0;
         piece = mapping_list_at(&mappings->live, place)) {
        uint64_t from = piece->address > start ? piece->address : start;
        uint64_t upto = mapping_end(piece) < end ? mapping_end(piece) : end;
        if (piece->sampled_ns != time_ns)
            piece->sampled_bytes = 0;
        piece->sampled_ns = time_ns;
        piece->sampled_bytes += share(rss_bytes, upto - from, end - start);
        if (piece->peak_rss_bytes == MAPPINGS_NEVER
            || piece->sampled_bytes >= piece->peak_rss_bytes) {
            piece->peak_rss_bytes = piece->sampled_bytes;
            piece->peak_rss_ns = time_ns;
        }
        place = mapping_list_next(&mappings->live, place);
    }
}

/* Splits the piece that contains the address. */
static int split_around(struct mappings *mappings, uint64_t address, struct error *err)
{
    struct mapping *piece =
        mapping_list_at(&mappings->live, mapping_list_above(&mappings->live, address));

    return piece && piece->address < address ? split_at(mappings, piece, address, err) : 0;
}

/* An incomplete scan does not prove that nothing is resident: forgets peaks of 0. */
static void forget_nothing(struct mappings *mappings, uint64_t start, uint64_t end)
{
    struct mapping_place place = mapping_list_above(&mappings->live, start);
    struct mapping *piece = mapping_list_at(&mappings->live, place);

    for (size_t i = 0; piece && piece->address < end && i < MAPPINGS_MAX_LOOK; i++) {
        if (piece->peak_rss_bytes == 0)
            piece->peak_rss_bytes = piece->peak_rss_ns = MAPPINGS_NEVER;
        place = mapping_list_next(&mappings->live, place);
        piece = mapping_list_at(&mappings->live, place);
    }
}

/* Handles the process's report of its own resident memory, run by run. The memory is about to be
 * unmapped: if it is part of a piece, the piece is split so that the part gets its bytes. */
static int on_resident(struct mappings *mappings, const struct event *event, struct error *err)
{
    uint64_t end = event->address + whole_pages(mappings, event->size);
    int code = 0;

    if (event->value < 0) {
        mappings->n_unknown++;
        forget_nothing(mappings, event->address, end);
        return 0;
    }
    if (!event->call) {
        code = split_around(mappings, event->address, err);
        if (code == 0)
            code = split_around(mappings, end, err);
    }
    if (!event->call || mappings->looking_thread != event->thread)
        mappings->looked_ns = event->time_ns;
    mappings->looking_thread = event->thread;
    sample(mappings, mappings->looked_ns, event->address, end, (uint64_t)event->value,
           MAPPINGS_MAX_LOOK);
    return code;
}

int mappings_event(struct mappings *mappings, const struct event *event, struct error *err)
{
    switch (event->kind) {
    case EVENT_MMAP:
        return on_mmap(mappings, event, err);
    case EVENT_MUNMAP:
        return end_range(mappings, event->address,
                         event->address + whole_pages(mappings, event->size), event, NULL, err);
    case EVENT_MREMAP:
        return on_mremap(mappings, event, err);
    case EVENT_RESIDENT:
        return on_resident(mappings, event, err);
    default:
        return 0;
    }
}

void mappings_sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                     uint64_t rss_bytes)
{
    sample(mappings, time_ns, start, end, rss_bytes, SIZE_MAX);
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address,
                                    uint64_t *ret_until)
{
    const struct mapping *piece =
        mapping_list_at(&mappings->live, mapping_list_above(&mappings->live, address));
    bool is_inside = piece && piece->address <= address;

    *ret_until = !piece ? UINT64_MAX : is_inside ? mapping_end(piece) : piece->address;
    return is_inside ? piece : NULL;
}

int mappings_finish(struct mappings *mappings, struct error *err)
{
    struct mapping_place place = {0, 0};
    const struct mapping *piece;
    int code = 0;

    while (code == 0 && (piece = mapping_list_at(&mappings->live, place)) != NULL) {
        code = mappings->ended(mappings->context, piece, err);
        place = mapping_list_next(&mappings->live, place);
    }
    mapping_list_done(&mappings->live);
    return code;
}

void mappings_visit(struct mappings *mappings, const struct statistics_room *room,
                    struct checkpoint_io *io)
{
    mapping_list_visit(&mappings->live, room, io);
    checkpoint_io_u64(io, &mappings->looked_ns);
    checkpoint_io_u32(io, &mappings->looking_thread);
    checkpoint_io_u64(io, &mappings->n_unknown);
}
