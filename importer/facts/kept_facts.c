/* SPDX-License-Identifier: MIT */
#include "importer/facts/kept_facts.h"

#include "importer/pairing/spill_file.h"
#include "support/growing.h"

#include <stdlib.h>
#include <string.h>

enum kept_kind {
    KEPT_EVENT,
    KEPT_MAPPING,
    KEPT_MOVE,
    KEPT_MEMORY,
};

struct kept {
    enum kept_kind kind;

    union {
        struct event event;
        struct mapping mapping;
        struct memory_sample memory;
        struct facts_move move;
    };
};

struct kept_facts {
    struct spill_file file; /* of struct kept */
    bool is_told;
    struct facts_sink sink; /* when it is */
    struct facts_ids ids;
    struct snapshot_stack *stacks;
    size_t stacks_capacity;
};

int kept_facts_new(const char *target, struct kept_facts **ret, struct error *err)
{
    struct kept_facts *kept = calloc(1, sizeof *kept);

    if (!kept)
        return error_set(err, ERROR_NOMEM, "out of memory");
    int code = spill_file_open(&kept->file, target, err);
    if (code) {
        kept_facts_free(kept);
        return code;
    }
    *ret = kept;
    return 0;
}

void kept_facts_free(struct kept_facts *kept)
{
    if (!kept)
        return;
    spill_file_done(&kept->file);
    free(kept->stacks);
    free(kept);
}

static int tell(struct kept_facts *kept, struct kept *item, struct error *err)
{
    const struct facts_ids *ids = &kept->ids;

    switch (item->kind) {
    case KEPT_EVENT:
        item->event.thread = ids->threads[item->event.thread];
        item->event.node = ids->backtraces[item->event.node];
        return kept->sink.event(kept->sink.context, &item->event, err);
    case KEPT_MAPPING:
        item->mapping.thread = ids->threads[item->mapping.thread];
        item->mapping.node = ids->backtraces[item->mapping.node];
        item->mapping.unmap_thread = ids->threads[item->mapping.unmap_thread];
        item->mapping.unmap_node = ids->backtraces[item->mapping.unmap_node];
        return kept->sink.mapping(kept->sink.context, &item->mapping, err);
    case KEPT_MOVE: /* blocks and groups keep their numbers */
        return kept->sink.move ? kept->sink.move(kept->sink.context, &item->move, err) : 0;
    default:
        return kept->sink.memory(kept->sink.context, &item->memory, err);
    }
}

static int take(struct kept_facts *kept, struct kept *item, struct error *err)
{
    return kept->is_told ? tell(kept, item, err)
                         : spill_file_append(&kept->file, item, sizeof *item, err);
}

static int on_event(void *context, const struct event *event, struct error *err)
{
    struct kept item = {.kind = KEPT_EVENT, .event = *event};

    return take(context, &item, err);
}

static int on_mapping(void *context, const struct mapping *piece, struct error *err)
{
    struct kept item = {.kind = KEPT_MAPPING, .mapping = *piece};

    return take(context, &item, err);
}

static int on_memory(void *context, const struct memory_sample *sample, struct error *err)
{
    struct kept item = {.kind = KEPT_MEMORY, .memory = *sample};

    return take(context, &item, err);
}

static int on_move(void *context, const struct facts_move *move, struct error *err)
{
    struct kept item = {.kind = KEPT_MOVE, .move = *move};

    return take(context, &item, err);
}

static int compare_stacks(const void *left, const void *right)
{
    const struct snapshot_stack *a = left;
    const struct snapshot_stack *b = right;

    return (a->node > b->node) - (a->node < b->node);
}

static int on_snapshot(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct kept_facts *kept = context;
    struct snapshot told = *snapshot;
    struct snapshot_stack *stacks = growing_reserve(kept->stacks, &kept->stacks_capacity,
                                                    snapshot->n_stacks + 1, sizeof *stacks);

    if (!stacks)
        return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                         snapshot->n_stacks);
    kept->stacks = stacks;
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        stacks[i] = snapshot->stacks[i];
        stacks[i].node = kept->ids.backtraces[stacks[i].node];
    }
    qsort(stacks, snapshot->n_stacks, sizeof *stacks, compare_stacks);
    told.stacks = stacks;
    return kept->sink.snapshot(kept->sink.context, &told, err);
}

struct facts_sink kept_facts_sink(struct kept_facts *kept)
{
    return (struct facts_sink){.context = kept,
                               .event = on_event,
                               .mapping = on_mapping,
                               .memory = on_memory,
                               .snapshot = on_snapshot,
                               .move = on_move};
}

int kept_facts_tell(struct kept_facts *kept, const struct facts_sink *sink,
                    const struct facts_ids *ids, struct error *err)
{
    struct kept item;
    size_t n_read;
    int code = spill_file_flush(&kept->file, err);

    kept->is_told = true;
    kept->sink = *sink;
    kept->ids = *ids;
    for (uint64_t at = 0; code == 0 && at < kept->file.size_bytes; at += sizeof item) {
        code = spill_file_read(&kept->file, at, &item, sizeof item, &n_read, err);
        if (code == 0 && n_read < sizeof item)
            code =
                error_set(err, ERROR_IO, "a temporary file is shorter than what was written to it");
        if (code == 0)
            code = tell(kept, &item, err);
    }
    return code;
}

/* ---- the state as bytes ---- */

static void visit_item(struct kept *item, const struct facts_room *room, struct state_io *io)
{
    uint32_t kind = item->kind;
    struct event *event = &item->event;
    struct mapping *piece = &item->mapping;

    state_u32(io, &kind);
    state_check(io, kind <= KEPT_MEMORY, "a fact");
    item->kind = kind <= KEPT_MEMORY ? (enum kept_kind)kind : KEPT_MOVE;
    switch (item->kind) {
    case KEPT_EVENT:
        STATE_IMAGE(io, event);
        if (event->kind == EVENT_MARKER)
            state_text(io, &event->text, NULL);
        else
            event->text = NULL; /* of others it is no text */
        state_check(io,
                    event->process && event->process <= room->n_processes
                        && event->thread <= room->n_threads && event->node <= room->n_nodes
                        && event->kind <= EVENT_LOST,
                    "an event");
        return;
    case KEPT_MAPPING:
        mapping_visit(piece, room, io);
        return;
    case KEPT_MOVE:
        STATE_IMAGE(io, &item->move);
        return;
    default:
        STATE_IMAGE(io, &item->memory);
        state_check(io, item->memory.process && item->memory.process <= room->n_processes,
                    "a sample");
    }
}

static void save(struct kept_facts *kept, const struct facts_room *room, struct state_io *io)
{
    struct kept item;
    size_t n_read;
    size_t n = kept->file.size_bytes / sizeof item;
    int code = spill_file_flush(&kept->file, NULL);

    state_count(io, &n, STATE_MOST);
    for (size_t i = 0; i < n && code == 0 && state_io_code(io) == 0; i++) {
        code = spill_file_read(&kept->file, i * sizeof item, &item, sizeof item, &n_read, NULL);
        if (code == 0 && n_read == sizeof item)
            visit_item(&item, room, io);
        else
            code = ERROR_IO;
    }
    if (code)
        state_refuse(io, ERROR_IO, "a temporary file cannot be read");
}

void kept_facts_visit(struct kept_facts *kept, const struct facts_room *room, struct state_io *io)
{
    size_t n = 0;

    if (!state_io_is_loading(io)) {
        save(kept, room, io);
        return;
    }
    state_count(io, &n, STATE_MOST);
    for (size_t i = 0; i < n && state_io_code(io) == 0; i++) {
        struct kept item = {0};
        visit_item(&item, room, io);
        if (state_io_code(io) == 0 && spill_file_append(&kept->file, &item, sizeof item, NULL) != 0)
            state_refuse(io, ERROR_IO, "a temporary file cannot be written");
    }
}
