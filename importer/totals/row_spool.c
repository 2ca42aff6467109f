/* SPDX-License-Identifier: MIT */
#include "importer/totals/row_spool.h"

#include "importer/pairing/spill_file.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLOT_NS (UINT64_C(1) << 62)

enum kept_kind {
    KEPT_EVENT,
    KEPT_MAPPING,
    KEPT_MEMORY,
    KEPT_KINDS
};

struct kept {
    enum kept_kind kind;

    union {
        struct event event;
        struct mapping mapping;
        struct memory_sample memory;
    };
};

struct row_spool {
    struct spill_file file; /* of struct kept */
    bool is_reported;
    struct row_sink sink; /* if is_reported */
    struct statistics_ids ids;
    struct snapshot_stack *stacks;
    size_t stacks_capacity;
    char *target;
    uint64_t most; /* of each kind; 0: all are kept */
    uint64_t n[KEPT_KINDS], n_left_out[KEPT_KINDS];
    uint64_t slot_ns;     /* time slot of memory samples (KF-2); 0: all are kept */
    struct kept *waiting; /* by process: sample of its latest slot, not yet in the file */
    size_t waiting_capacity;
};

int row_spool_new(const char *target, struct row_spool **ret, struct error *err)
{
    struct row_spool *kept = calloc(1, sizeof *kept);

    if (!kept)
        return error_set(err, ERROR_NOMEM, "out of memory");
    kept->target = strdup(target);
    int code = kept->target ? spill_file_open(&kept->file, target, err)
                            : error_set(err, ERROR_NOMEM, "out of memory");
    if (code) {
        row_spool_free(kept);
        return code;
    }
    *ret = kept;
    return 0;
}

void row_spool_free(struct row_spool *kept)
{
    if (!kept)
        return;
    spill_file_done(&kept->file);
    free(kept->stacks);
    free(kept->waiting);
    free(kept->target);
    free(kept);
}

void row_spool_bound(struct row_spool *kept, uint64_t most)
{
    kept->most = most;
}

uint64_t row_spool_n_left_out(const struct row_spool *kept, unsigned kind, const char **ret_name)
{
    static const char *const names[ROW_SPOOL_KINDS] = {
        [KEPT_EVENT] = "events", [KEPT_MAPPING] = "mappings", [KEPT_MEMORY] = "samples"};
    _Static_assert((int)KEPT_KINDS == (int)ROW_SPOOL_KINDS, "each has a name");
    *ret_name = names[kind];
    return kept->n_left_out[kind];
}

static int emit(struct row_spool *kept, struct kept *item, struct error *err)
{
    const struct statistics_ids *ids = &kept->ids;

    switch (item->kind) {
    case KEPT_EVENT:
        item->event.thread = ids->threads[item->event.thread];
        item->event.backtrace = ids->backtraces[item->event.backtrace];
        return kept->sink.event(kept->sink.context, &item->event, err);
    case KEPT_MAPPING:
        item->mapping.thread = ids->threads[item->mapping.thread];
        item->mapping.backtrace = ids->backtraces[item->mapping.backtrace];
        item->mapping.unmap_thread = ids->threads[item->mapping.unmap_thread];
        item->mapping.unmap_backtrace = ids->backtraces[item->mapping.unmap_backtrace];
        return kept->sink.mapping(kept->sink.context, &item->mapping, err);
    default:
        return kept->sink.memory(kept->sink.context, &item->memory, err);
    }
}

static int read_item(struct row_spool *kept, uint64_t index, struct kept *ret, struct error *err)
{
    size_t n_read;
    int code = spill_file_read(&kept->file, index * sizeof *ret, ret, sizeof *ret, &n_read, err);

    return code || n_read == sizeof *ret
               ? code
               : error_set(err, ERROR_IO,
                           "a temporary file is shorter than what was written to it");
}

/* ---- samples of memory, where they are bounded (KF-2) ---- */

static bool has_waiting(const struct row_spool *kept, uint32_t process)
{
    return process < kept->waiting_capacity && kept->waiting[process].kind == KEPT_MEMORY;
}

static int wait_for_others(struct row_spool *kept, const struct kept *item, struct error *err)
{
    uint32_t process = item->memory.process;
    size_t capacity = kept->waiting_capacity;
    struct kept *waiting =
        dynamic_array_reserve(kept->waiting, &capacity, (size_t)process + 1, sizeof *waiting);

    if (!waiting)
        return error_set(err, ERROR_NOMEM, "out of memory for samples");
    for (size_t i = kept->waiting_capacity; i < capacity; i++)
        waiting[i].kind = KEPT_KINDS;
    kept->waiting = waiting;
    kept->waiting_capacity = capacity;
    waiting[process] = *item;
    return 0;
}

/* Does the next sample of a slot replace the one that waits? The higher one stays, but one with
 * parts is worth an eighth more. */
static bool is_better(const struct memory_sample *next, const struct memory_sample *waiting)
{
    bool has_parts = next->parts[0] != UINT64_MAX;
    bool had_parts = waiting->parts[0] != UINT64_MAX;
    uint64_t rss_bytes = next->rss_bytes;

    if (has_parts && !had_parts)
        return rss_bytes + rss_bytes / 8 >= waiting->rss_bytes;
    if (had_parts && !has_parts)
        return rss_bytes > waiting->rss_bytes + waiting->rss_bytes / 8;
    return rss_bytes >= waiting->rss_bytes;
}

/* The best sample of a slot waits until a later slot begins. */
static int put_sample(struct row_spool *kept, struct spill_file *file, const struct kept *item,
                      struct error *err)
{
    uint32_t process = item->memory.process;
    int code = 0;

    if (!has_waiting(kept, process))
        return wait_for_others(kept, item, err);
    struct kept *waiting = &kept->waiting[process];
    if (waiting->memory.time_ns / kept->slot_ns == item->memory.time_ns / kept->slot_ns) {
        kept->n[KEPT_MEMORY]--;
        kept->n_left_out[KEPT_MEMORY]++;
        if (!is_better(&item->memory, &waiting->memory))
            return 0;
    } else {
        code = spill_file_append(file, waiting, sizeof *waiting, err);
    }
    *waiting = *item;
    return code;
}

static int put_waiting(struct row_spool *kept, struct spill_file *file, struct error *err)
{
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < kept->waiting_capacity; i++) {
        if (has_waiting(kept, i))
            code = spill_file_append(file, &kept->waiting[i], sizeof *kept->waiting, err);
        kept->waiting[i].kind = KEPT_KINDS;
    }
    return code;
}

static int copy_thinned(struct row_spool *kept, struct spill_file *into, struct error *err)
{
    int code = put_waiting(kept, &kept->file, err);
    uint64_t n = kept->file.size_bytes / sizeof(struct kept);
    struct kept item;

    if (code == 0)
        code = spill_file_flush(&kept->file, err);
    for (uint64_t i = 0; code == 0 && i < n; i++) {
        code = read_item(kept, i, &item, err);
        if (code == 0)
            code = item.kind == KEPT_MEMORY ? put_sample(kept, into, &item, err)
                                            : spill_file_append(into, &item, sizeof item, err);
    }
    return code;
}

/* Rewrites the file with the current slots. */
static int thin_samples(struct row_spool *kept, struct error *err)
{
    struct spill_file into = {0};
    int code = spill_file_open(&into, kept->target, err);

    if (code == 0)
        code = copy_thinned(kept, &into, err);
    if (code) {
        spill_file_done(&into);
        return code;
    }
    spill_file_done(&kept->file);
    kept->file = into;
    return 0;
}

/* Widens slots until there is space for as much time again as has passed. A slot is never longer
 * than that: then each process has one sample. */
static int widen_slots(struct row_spool *kept, uint64_t now_ns, struct error *err)
{
    int code = 0;

    if (kept->slot_ns == 0)
        kept->slot_ns = 1;
    while (kept->slot_ns < now_ns / kept->most)
        kept->slot_ns *= 2;
    while (code == 0 && kept->n[KEPT_MEMORY] > kept->most / 2 && kept->slot_ns <= now_ns
           && kept->slot_ns < MAX_SLOT_NS) {
        kept->slot_ns *= 2;
        code = thin_samples(kept, err);
    }
    return code;
}

static int take_sample(struct row_spool *kept, const struct kept *item, struct error *err)
{
    int code = 0;

    if (kept->most && kept->n[KEPT_MEMORY] >= kept->most)
        code = widen_slots(kept, item->memory.time_ns, err);
    if (code)
        return code;
    kept->n[KEPT_MEMORY]++;
    return kept->slot_ns ? put_sample(kept, &kept->file, item, err)
                         : spill_file_append(&kept->file, item, sizeof *item, err);
}

static int take(struct row_spool *kept, struct kept *item, struct error *err)
{
    if (kept->is_reported)
        return emit(kept, item, err);
    if (item->kind == KEPT_MEMORY)
        return take_sample(kept, item, err);
    if (kept->most && kept->n[item->kind] >= kept->most) {
        kept->n_left_out[item->kind]++;
        return 0;
    }
    kept->n[item->kind]++;
    return spill_file_append(&kept->file, item, sizeof *item, err);
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

static int compare_stacks(const void *left, const void *right)
{
    const struct snapshot_stack *a = left;
    const struct snapshot_stack *b = right;

    return (a->backtrace > b->backtrace) - (a->backtrace < b->backtrace);
}

static int on_snapshot(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct row_spool *kept = context;
    struct snapshot reported = *snapshot;
    struct snapshot_stack *stacks = dynamic_array_reserve(kept->stacks, &kept->stacks_capacity,
                                                          snapshot->n_stacks + 1, sizeof *stacks);

    if (!stacks)
        return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                         snapshot->n_stacks);
    kept->stacks = stacks;
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        stacks[i] = snapshot->stacks[i];
        stacks[i].backtrace = kept->ids.backtraces[stacks[i].backtrace];
    }
    if (!kept->sink.takes_any_order)
        qsort(stacks, snapshot->n_stacks, sizeof *stacks, compare_stacks);
    reported.stacks = stacks;
    return kept->sink.snapshot(kept->sink.context, &reported, err);
}

struct row_sink row_spool_sink(struct row_spool *kept)
{
    return (struct row_sink){.context = kept,
                             .event = on_event,
                             .mapping = on_mapping,
                             .memory = on_memory,
                             .snapshot = on_snapshot,
                             .takes_any_order = true};
}

int row_spool_emit(struct row_spool *kept, const struct row_sink *sink,
                   const struct statistics_ids *ids, struct error *err)
{
    struct kept item;
    int code = put_waiting(kept, &kept->file, err);

    if (code == 0)
        code = spill_file_flush(&kept->file, err);
    kept->is_reported = true;
    kept->sink = *sink;
    kept->ids = *ids;
    for (uint64_t i = 0; code == 0 && i < kept->file.size_bytes / sizeof item; i++) {
        code = read_item(kept, i, &item, err);
        if (code == 0)
            code = emit(kept, &item, err);
    }
    return code;
}

/* ---- checkpoint: waiting samples follow all others ---- */

static void visit_item(struct kept *item, struct checkpoint_io *io)
{
    uint32_t kind = item->kind;
    struct event *event = &item->event;

    checkpoint_io_u32(io, &kind);
    item->kind = (enum kept_kind)kind;
    switch (item->kind) {
    case KEPT_EVENT:
        CHECKPOINT_IMAGE(io, event);
        if (event->kind == EVENT_MARKER)
            checkpoint_io_text(io, &event->text, NULL);
        else
            event->text = NULL; /* of others it is no text */
        return;
    case KEPT_MAPPING:
        mapping_visit(&item->mapping, io);
        return;
    default:
        CHECKPOINT_IMAGE(io, &item->memory);
    }
}

static size_t count_waiting(const struct row_spool *kept)
{
    size_t n = 0;

    for (uint32_t i = 0; i < kept->waiting_capacity; i++)
        n += has_waiting(kept, i);
    return n;
}

static void save(struct row_spool *kept, struct checkpoint_io *io)
{
    struct kept item;
    size_t n = kept->file.size_bytes / sizeof item;
    size_t n_all = n + count_waiting(kept);
    int code = spill_file_flush(&kept->file, NULL);

    checkpoint_io_count(io, &n_all, CHECKPOINT_MAX);
    for (size_t i = 0; i < n && code == 0 && checkpoint_io_code(io) == 0; i++) {
        code = read_item(kept, i, &item, NULL);
        if (code == 0)
            visit_item(&item, io);
    }
    for (uint32_t i = 0; i < kept->waiting_capacity && code == 0; i++)
        if (has_waiting(kept, i))
            visit_item(&kept->waiting[i], io);
    if (code)
        checkpoint_io_refuse(io, ERROR_IO, "a temporary file cannot be read");
}

static void load(struct row_spool *kept, struct checkpoint_io *io)
{
    size_t n = 0;

    checkpoint_io_count(io, &n, CHECKPOINT_MAX);
    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct kept item = {0};
        visit_item(&item, io);
        if (checkpoint_io_code(io) == 0 && take(kept, &item, NULL) != 0)
            checkpoint_io_refuse(io, ERROR_IO, "a temporary file cannot be written");
    }
}

void row_spool_visit(struct row_spool *kept, struct checkpoint_io *io)
{
    checkpoint_io_u64(io, &kept->slot_ns);
    if (checkpoint_io_is_loading(io))
        load(kept, io);
    else
        save(kept, io);
    for (int kind = 0; kind < KEPT_KINDS; kind++)
        checkpoint_io_u64(io, &kept->n_left_out[kind]);
}
