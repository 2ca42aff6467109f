/* SPDX-License-Identifier: MIT */
#include "importer/facts/mappings.h"

#include "common/invariant.h"
#include "support/growing.h"

#include <stdlib.h>
#include <string.h>

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
    free(mappings->pieces);
    mappings->pieces = NULL;
    mappings->n_pieces = mappings->max_pieces = 0;
}

static uint64_t end_of(const struct mapping *piece)
{
    return piece->address + piece->length;
}

static uint64_t whole_pages(const struct mappings *mappings, uint64_t length)
{
    return (length + mappings->page_bytes - 1) / mappings->page_bytes * mappings->page_bytes;
}

/* Index of the first piece that ends above the address. */
static size_t first_above(const struct mappings *mappings, uint64_t address)
{
    size_t low = 0;
    size_t high = mappings->n_pieces;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&mappings->pieces[middle]) > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int insert_at(struct mappings *mappings, size_t index, const struct mapping *piece,
                     struct error *err)
{
    struct mapping *pieces = growing_reserve(mappings->pieces, &mappings->max_pieces,
                                             mappings->n_pieces + 1, sizeof *pieces);

    if (!pieces)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu mappings", mappings->n_pieces);
    mappings->pieces = pieces;
    memmove(&pieces[index + 1], &pieces[index], (mappings->n_pieces - index) * sizeof *piece);
    pieces[index] = *piece;
    mappings->n_pieces++;
    return 0;
}

/* bytes * part / whole, part <= whole. */
static uint64_t share(uint64_t bytes, uint64_t part, uint64_t whole)
{
    return part == whole ? bytes : (uint64_t)((double)bytes * ((double)part / (double)whole));
}

/* Of the larger piece that it was only a part is meant. */
static void share_samples(struct mapping *piece, uint64_t whole)
{
    if (piece->peak_rss_bytes != MAPPINGS_NEVER)
        piece->peak_rss_bytes = share(piece->peak_rss_bytes, piece->length, whole);
    piece->sampled_bytes = share(piece->sampled_bytes, piece->length, whole);
}

/* Cuts the piece in two at the address, which lies inside of it; the upper one gets a new id. */
static int split_at(struct mappings *mappings, size_t index, uint64_t address, struct error *err)
{
    struct mapping upper = mappings->pieces[index];
    uint64_t lower_length = address - upper.address;

    upper.address = address;
    upper.length -= lower_length;
    upper.file_offset += upper.path || upper.fd >= 0 ? (int64_t)lower_length : 0;
    upper.mmap_id = ++*mappings->next_id;
    share_samples(&upper, lower_length + upper.length);
    int code = insert_at(mappings, index + 1, &upper, err);
    if (code)
        return code;
    mappings->pieces[index].length = lower_length;
    share_samples(&mappings->pieces[index], lower_length + upper.length);
    return 0;
}

/* Ends everything in [start, end) at the instant of the event. The id of the first piece that ended
 * goes into *ret_first with its properties, when there was one. */
static int end_range(struct mappings *mappings, uint64_t start, uint64_t end,
                     const struct event *event, struct mapping *ret_first, struct error *err)
{
    size_t index = first_above(mappings, start);
    size_t n_ended = 0;
    int code = 0;

    if (index < mappings->n_pieces && mappings->pieces[index].address < start
        && mappings->pieces[index].address < end)
        code = split_at(mappings, index++, start, err);
    for (size_t i = index; code == 0 && i < mappings->n_pieces; i++) {
        if (mappings->pieces[i].address >= end)
            break;
        if (end_of(&mappings->pieces[i]) > end)
            code = split_at(mappings, i, end, err);
        struct mapping *piece = &mappings->pieces[i];
        piece->unmapped_ns = event->time_ns;
        piece->unmap_thread = event->thread;
        piece->unmap_node = event->node;
        if (n_ended++ == 0 && ret_first)
            *ret_first = *piece;
        if (code == 0)
            code = mappings->ended(mappings->context, piece, err);
    }
    if (n_ended) {
        memmove(&mappings->pieces[index], &mappings->pieces[index + n_ended],
                (mappings->n_pieces - index - n_ended) * sizeof *mappings->pieces);
        mappings->n_pieces -= n_ended;
    }
    return code;
}

/* A new call; `piece` has what does not come from the event. */
static int begin_piece(struct mappings *mappings, const struct event *event, struct mapping *piece,
                       struct error *err)
{
    piece->address = event->address;
    piece->length = whole_pages(mappings, event->size);
    piece->mapped_ns = event->time_ns;
    piece->thread = event->thread;
    piece->node = event->node;
    piece->process = mappings->process;
    piece->unmapped_ns = MAPPINGS_NEVER;
    piece->unmap_thread = piece->unmap_node = 0;
    piece->peak_rss_bytes = MAPPINGS_NEVER;
    piece->sampled_ns = piece->sampled_bytes = 0;
    piece->mmap_id = ++*mappings->next_id;
    piece->call_id = piece->mmap_id;
    if (piece->length == 0)
        return 0;
    int code = end_range(mappings, piece->address, end_of(piece), event, NULL, err);
    if (code)
        return code;
    return insert_at(mappings, first_above(mappings, piece->address), piece, err);
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

/* With an old length of 0 mremap maps shared pages a second time and leaves the old mapping. A
 * mapping that was made before the recording began has no properties that we know. */
static int on_mremap(struct mappings *mappings, const struct event *event, struct error *err)
{
    struct mapping old = {.fd = -1, .prot = -1, .flags = -1};
    uint64_t old_end = event->old_address + whole_pages(mappings, event->old_size);
    int code = 0;

    if (event->old_size)
        code = end_range(mappings, event->old_address, old_end, event, &old, err);
    else if (mappings->n_pieces) {
        size_t index = first_above(mappings, event->old_address);
        if (index < mappings->n_pieces && mappings->pieces[index].address <= event->old_address)
            old = mappings->pieces[index];
    }
    old.remapped_from_id = old.mmap_id;
    return code ? code : begin_piece(mappings, event, &old, err);
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
    default:
        return 0;
    }
}

void mappings_sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                     uint64_t rss_bytes)
{
    if (start >= end)
        return;
    for (size_t i = first_above(mappings, start); i < mappings->n_pieces; i++) {
        struct mapping *piece = &mappings->pieces[i];
        uint64_t from = piece->address > start ? piece->address : start;
        uint64_t upto = end_of(piece) < end ? end_of(piece) : end;
        if (piece->address >= end)
            break;
        if (piece->sampled_ns != time_ns)
            piece->sampled_bytes = 0;
        piece->sampled_ns = time_ns;
        piece->sampled_bytes += share(rss_bytes, upto - from, end - start);
        if (piece->peak_rss_bytes == MAPPINGS_NEVER || piece->sampled_bytes > piece->peak_rss_bytes)
            piece->peak_rss_bytes = piece->sampled_bytes;
    }
}

int mappings_finish(struct mappings *mappings, struct error *err)
{
    for (size_t i = 0; i < mappings->n_pieces; i++) {
        int code = mappings->ended(mappings->context, &mappings->pieces[i], err);
        if (code)
            return code;
    }
    mappings->n_pieces = 0;
    return 0;
}
