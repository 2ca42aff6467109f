/* SPDX-License-Identifier: MIT */
#include "importer/totals/mappings.h"

#include <stdbool.h>
#include <sys/mman.h>

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

/* Scales samples of a larger piece to this part of it. */
static void share_samples(struct mapping *piece, uint64_t whole)
{
    if (piece->peak_rss_bytes != MAPPINGS_NEVER)
        piece->peak_rss_bytes = share(piece->peak_rss_bytes, piece->length, whole);
    piece->sampled_bytes = share(piece->sampled_bytes, piece->length, whole);
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
static uint64_t touchable_bytes(const struct mapping *piece)
{
    bool is_anonymous = piece->flags != -1 && (piece->flags & MAP_ANONYMOUS) != 0;

    return is_anonymous && piece->prot != PROT_NONE ? piece->length : 0;
}

static int end_piece(struct mappings *mappings, struct mapping *piece, const struct event *event,
                     struct error *err)
{
    piece->unmapped_ns = event->time_ns;
    piece->unmap_thread = event->thread;
    piece->unmap_node = event->node;
    mappings->anonymous_bytes -= touchable_bytes(piece);
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
    int code = end_range(mappings, piece->address, mapping_end(piece), event, NULL, err);
    if (code)
        return code;
    mappings->anonymous_bytes += touchable_bytes(piece);
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

/* With an old length of 0, mremap maps shared pages a second time and keeps the old mapping. The
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
        if (piece->peak_rss_bytes == MAPPINGS_NEVER || piece->sampled_bytes > piece->peak_rss_bytes)
            piece->peak_rss_bytes = piece->sampled_bytes;
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
            piece->peak_rss_bytes = MAPPINGS_NEVER;
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
    state_u64(io, &mappings->anonymous_bytes);
    state_u64(io, &mappings->looked_ns);
    state_u32(io, &mappings->looking_thread);
    state_u64(io, &mappings->n_unknown);
}
