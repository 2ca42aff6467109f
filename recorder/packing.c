/* SPDX-License-Identifier: MIT */
#include "recorder/packing.h"

#include "recorder/cull.h"
#include "recorder/fault_point.h"
#include "recorder/last_frees.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUANTUM_NS = 16,      /* times of packed events are at most this coarse */
    RATE_MIN_NS = 100000, /* nearer readings give no rate */
    TIME_SHIFT_MAX = 8,
};

struct packing *packing_new(struct live_log *live, struct packed_log *packed, struct pack *pack,
                            int zstd_level)
{
    struct packing *packing = calloc(1, sizeof(*packing));

    if (!packing)
        return NULL;
    packing->live = live;
    packing->packed = packed;
    packing->pack = pack;
    packing->settings.zstd_level = zstd_level;
    return packing;
}

void packing_free(struct packing *packing)
{
    if (!packing)
        return;
    cull_free(packing->cull);
    last_frees_free(packing->others);
    definition_parts_done(&packing->definitions);
    free(packing->backlog);
    free(packing->taken);
    free(packing);
}

bool packing_start_culling(struct packing *packing, uint64_t max_ns)
{
    packing->cull = cull_new(max_ns);
    packing->others = last_frees_new();
    packing->knows_frees = true;
    return packing->cull && packing->others;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Ticks of a nanosecond, from two readings of both clocks; 0 when they are too near each other. */
static double tick_rate(const struct log_file *file)
{
    uint64_t ns = file->last_monotonic_ns - file->start_monotonic_ns;

    if (file->clock != LOG_CLOCK_TSC)
        return 1;
    if (file->last_ticks <= file->start_ticks
        || file->last_monotonic_ns < file->start_monotonic_ns + RATE_MIN_NS)
        return 0;
    return (double)(file->last_ticks - file->start_ticks) / (double)ns;
}

void packing_set_clock(struct packing *packing, const struct log_file *file)
{
    double ticks_per_quantum = tick_rate(file) * QUANTUM_NS;
    unsigned shift = 0;

    while (shift < TIME_SHIFT_MAX && (double)(2u << shift) <= ticks_per_quantum)
        shift++;
    packing->settings.time_shift = shift;
    packing->ticks_per_ns = tick_rate(file);
}

/* After taking segments, before any of them is packed (LR-2). */
static void learn_frees(struct packing *packing)
{
    if (packing->cull && packing->knows_frees)
        packing->knows_frees = last_frees_read(packing->others, packing->live);
}

/* CU-3: a free that was dropped is not known either. */
static bool may_cull(const struct packing *packing, const struct log_segment *segment)
{
    uint64_t n_dropped = 0;

    if (!packing->cull || !packing->knows_frees || segment->kind != LOG_SEGMENT_EVENTS)
        return false;
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        n_dropped |= atomic_load_explicit(&packing->live->file->dropped[i], memory_order_relaxed);
    return n_dropped == 0 && packing->ticks_per_ns > 0;
}

static int append_events(struct packing *packing, const struct log_segment *segment,
                         struct error *err)
{
    const void *payload = live_log_payload(segment);
    uint32_t n_bytes = live_log_readable_bytes(segment);
    struct log_frame frame;
    size_t n;
    int code;

    if (n_bytes == 0)
        return 0;
    if (may_cull(packing, segment))
        payload = cull_temporary(packing->cull, segment, payload, packing->others,
                                 packing->ticks_per_ns, &n_bytes);
    n = pack_segment(packing->pack, &packing->settings, segment, payload, 0, n_bytes,
                     packing->frame);
    fault_point("encoded");
    code = packed_log_append(packing->packed, packing->frame, n, err);
    fault_point("appended");
    if (code)
        return code;
    memcpy(&frame, packing->frame, sizeof(frame));
    packing->n_events += frame.n_events;
    return 0;
}

/* PG-3; is_last: the program is gone. On failure the part is tried again. */
static int append_definitions(struct packing *packing, struct log_segment *segment, bool is_last,
                              struct error *err)
{
    const uint32_t packed_bytes = segment->packed_bytes;
    uint32_t first;
    uint32_t end;
    size_t n;
    int code;

    if (!(is_last ? definition_parts_last(segment, &first, &end)
                  : definition_parts_next(packing->live, segment, &first, &end)))
        return 0;
    n = pack_segment(packing->pack, &packing->settings, segment,
                     (const uint8_t *)live_log_payload(segment) + first, first, end - first,
                     packing->frame);
    code = packed_log_append(packing->packed, packing->frame, n, err);
    if (code)
        segment->packed_bytes = packed_bytes;
    fault_point("defined");
    return code;
}

static int append_all_definitions(struct packing *packing, bool is_last, struct error *err)
{
    struct definition_parts *parts = &packing->definitions;
    int code = 0;

    if (!definition_parts_find(parts, packing->live))
        return error_set(err, ERROR_NOMEM, "not enough memory");
    for (size_t i = 0; code == 0 && i < parts->n; i++)
        code = append_definitions(packing, live_log_segment(packing->live, parts->indexes[i]),
                                  is_last, err);
    return code;
}

/* ---- while the program runs ------------------------------------------------------------------ */

static int by_sequence(const void *a, const void *b)
{
    const struct packing_item *left = a;
    const struct packing_item *right = b;

    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static int reserve(struct packing *packing, uint32_t n, struct error *err)
{
    struct packing_item *backlog;
    uint32_t *taken;

    if (n <= packing->n_capacity)
        return 0;
    backlog = realloc(packing->backlog, n * sizeof(*backlog));
    if (backlog)
        packing->backlog = backlog;
    taken = realloc(packing->taken, n * sizeof(*taken));
    if (taken)
        packing->taken = taken;
    if (!backlog || !taken)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    packing->n_capacity = n;
    return 0;
}

/* Adds what the program sealed to the backlog, each thread's segments in their order: the stack has
 * them in reverse, and none of them began before one of the same thread that was taken earlier. */
static int take(struct packing *packing, struct error *err)
{
    struct live_log *live = packing->live;
    uint32_t n_before = packing->n_backlog;
    uint32_t n_taken;
    int code;

    if (!live_log_refresh(live))
        return error_set(err, ERROR_NOMEM, "cannot map the grown live log '%s'", live->path);
    code = reserve(packing, 2 * live->n_mapped + 2 * LIVE_LOG_POOL_SEGMENTS, err);
    if (code)
        return code;
    n_taken = live_log_take_sealed(live, packing->taken);
    fault_point("taken");
    for (uint32_t i = 0; i < n_taken && packing->n_backlog < packing->n_capacity; i++) {
        const struct log_segment *segment = live_log_segment(live, packing->taken[i]);
        if (live_log_is_used(live, segment))
            packing->backlog[packing->n_backlog++] =
                (struct packing_item){segment->sequence, packing->taken[i]};
    }
    if (n_taken)
        qsort(packing->backlog + n_before, packing->n_backlog - n_before, sizeof(*packing->backlog),
              by_sequence);
    return 0;
}

/* Once the program attached, the packed file's header says what it is a log of. */
static int update_header(struct packing *packing, struct error *err)
{
    struct log_file file;
    int code;

    if (packing->has_header || packing->live->file->start_ticks == 0)
        return 0;
    live_log_copy_header(packing->live, &file);
    code = packed_log_write_header(packing->packed, &file, err);
    packing->has_header = code == 0;
    return code;
}

int packing_step(struct packing *packing, uint32_t *ret_n_packed, struct error *err)
{
    struct live_log *live = packing->live;
    uint32_t n_done = 0;
    int code = take(packing, err);

    if (code == 0)
        code = update_header(packing, err);
    if (code == 0 && packing->n_backlog)
        code = append_all_definitions(packing, false, err);
    if (packing->n_backlog)
        learn_frees(packing);
    if (packing->n_backlog && packing->settings.time_shift == 0)
        packing_set_clock(packing, live->file);
    for (; code == 0 && n_done < packing->n_backlog && n_done < PACKING_STEP_MAX; n_done++) {
        uint32_t index = packing->backlog[n_done].index;
        struct log_segment *segment = live_log_segment(live, index);
        code = append_events(packing, segment, err);
        if (code)
            break;
        atomic_store_explicit(&segment->state, LOG_STATE_PACKED, memory_order_release);
        fault_point("packed");
        live_log_recycle(live, index);
        fault_point("recycled");
    }
    packing->n_backlog -= n_done;
    memmove(packing->backlog, packing->backlog + n_done,
            packing->n_backlog * sizeof(*packing->backlog));
    *ret_n_packed = n_done;
    return code;
}

int packing_append_samples(struct packing *packing, const struct log_sample *samples, uint32_t n,
                           struct error *err)
{
    size_t n_frame = pack_bytes(packing->pack, &packing->settings, LOG_FRAME_SAMPLES,
                                packing->live->file->run_id, samples,
                                n * (uint32_t)sizeof(*samples), packing->frame);

    return packed_log_append(packing->packed, packing->frame, n_frame, err);
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* All used segments of events, whatever stack they are on; replaces the backlog. */
static int collect_all(struct packing *packing, struct error *err)
{
    struct live_log *live = packing->live;
    int code;

    if (!live_log_refresh(live))
        return error_set(err, ERROR_NOMEM, "cannot map the grown live log '%s'", live->path);
    code = reserve(packing, live->n_mapped, err);
    packing->n_backlog = 0;
    for (uint32_t i = live_log_next_used(live, 0); code == 0 && i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (!definition_parts_is(live_log_segment(live, i)))
            packing->backlog[packing->n_backlog++] =
                (struct packing_item){live_log_segment(live, i)->sequence, i};
    if (packing->n_backlog)
        qsort(packing->backlog, packing->n_backlog, sizeof(*packing->backlog), by_sequence);
    return code;
}

int packing_append_trailer(struct packing *packing, const struct log_file *file, struct error *err)
{
    struct log_file copy;
    size_t n;
    int code;

    memcpy(&copy, file, sizeof(copy));
    copy.form = LOG_FORM_PACKED;
    n = pack_bytes(packing->pack, &packing->settings, LOG_FRAME_TRAILER, copy.run_id, &copy,
                   sizeof(copy), packing->frame);
    fault_point("trailer");
    code = packed_log_append(packing->packed, packing->frame, n, err);
    if (code == 0)
        code = packed_log_write_header(packing->packed, &copy, err);
    fault_point("finished");
    return code;
}

int packing_finish(struct packing *packing, const struct log_file *file, struct error *err)
{
    struct live_log *live = packing->live;
    int code = collect_all(packing, err);

    if (packing->settings.time_shift == 0)
        packing_set_clock(packing, file);
    learn_frees(packing);
    if (code == 0)
        code = append_all_definitions(packing, true, err);
    for (uint32_t i = 0; code == 0 && i < packing->n_backlog; i++) {
        struct log_segment *segment = live_log_segment(live, packing->backlog[i].index);
        code = append_events(packing, segment, err);
        if (code == 0)
            atomic_store_explicit(&segment->state, LOG_STATE_PACKED, memory_order_release);
        fault_point("packed");
    }
    return code ? code : packing_append_trailer(packing, file, err);
}
