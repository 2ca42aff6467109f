/* SPDX-License-Identifier: MIT */
#include "recorder/pack/packing.h"

#include "lib/base/clock_pair.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/fault_point.h"
#include "lib/base/monotonic.h"
#include "lib/base/utf8.h"
#include "recorder/pack/elide.h"
#include "recorder/pack/last_frees.h"
#include "recorder/pack/module_files.h"
#include "recorder/pack/process_tree.h"
#include "recorder/patch/allocator.h"
#include "recorder/patch/patch_plan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUANTUM_NS = 16, /* maximum rounding of times in packed events */
    TIME_SHIFT_MAX = 8,
    CLOCKS_DIFFER_NS = 100000, /* maximum error of a time in ticks, here or in the importer */
};

struct packing *packing_new(struct live_log *live, struct packed_log *packed, struct pack *pack,
                            int zstd_level)
{
    struct packing *packing = malloc(sizeof(*packing));

    if (!packing)
        return NULL;
    memset(packing, 0, offsetof(struct packing, payload));
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
    elide_free(packing->elide);
    last_frees_free(packing->others);
    definition_parts_done(&packing->definitions);
    free(packing->backlog);
    free(packing->executable);
    free(packing);
}

bool packing_start_eliding(struct packing *packing, uint64_t max_ns, uint64_t max_bytes)
{
    packing->elide = elide_new(max_ns, max_bytes);
    packing->others = last_frees_new();
    packing->knows_frees = packing->is_alone = true;
    return packing->elide && packing->others;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void report_watermark(struct packing *packing, uint64_t ticks)
{
    packing->watermark_ticks = ticks;
    /* release: pairs with the importer's load before it lists the live log, so it also sees earlier
     * frames */
    atomic_store_explicit(&live_log_packing(packing->live)->watermark_ticks, ticks,
                          memory_order_release);
}

void packing_expect_readers(struct packing *packing)
{
    packing->has_readers = true;
    packing->hold_ns = monotonic_now_ns(); /* earlier readers did not expect elided blocks */
    report_watermark(packing, 1);
}

void packing_abandon(struct packing *packing)
{
    if (packing->has_readers)
        report_watermark(packing, UINT64_MAX);
}

void packing_hold_until(struct packing *packing, uint64_t monotonic_ns)
{
    packing->hold_ns = later(packing->hold_ns, monotonic_ns);
    packing->has_requests |= monotonic_ns != 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static double tick_rate(const struct log_header *file)
{
    if (file->clock != LOG_CLOCK_TSC)
        return 1;
    return clock_pair_rate(file->start_ticks, file->start_monotonic_ns, file->last_ticks,
                           file->last_monotonic_ns);
}

void packing_set_clock(struct packing *packing, const struct log_header *file)
{
    double ticks_per_quantum = tick_rate(file) * QUANTUM_NS;
    unsigned shift = 0;

    while (shift < TIME_SHIFT_MAX && (double)(2u << shift) <= ticks_per_quantum)
        shift++;
    packing->settings.time_shift = shift;
    packing->ticks_per_ns = tick_rate(file);
}

/* LI-3: all segments use one shift, because readers rely on that of the first. The header's
 * readings may be too close to the start to compute it; a reading now is not. */
static void settle_clock(struct packing *packing, const struct log_header *file)
{
    struct log_header known;

    if (packing->has_packed_events)
        return;
    memcpy(&known, file, sizeof(known));
    if (tick_rate(&known) == 0
        && !clock_pair_read(&known, &known.last_ticks, &known.last_monotonic_ns))
        memcpy(&known, file, sizeof(known));
    packing_set_clock(packing, &known);
}

/* Fallback records belong to no thread's segment. */
static bool has_fallback_records(const struct live_log *live)
{
    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (live_log_segment(live, i)->kind == LOG_SEGMENT_FALLBACK)
            return true;
    return false;
}

/* Call between taking and packing segments (LR-2). With one thread, no other thread can free its
 * blocks: a thread gets its number before its first event. */
static void learn_frees(struct packing *packing)
{
    const struct live_log *live = packing->live;

    if (!packing->elide || !packing->knows_frees)
        return;
    packing->is_alone = packing->is_alone
                        && atomic_load_explicit(&live->seen.n_threads, memory_order_relaxed) <= 1
                        && !has_fallback_records(live);
    if (!packing->is_alone)
        packing->knows_frees = last_frees_read(packing->others, live);
}

/* ---- events that are not elided (PG-5, PG-6) ------------------------------------------------- */

/* A marker of the program may be among the events that are packed now. */
static bool may_have_marker(const struct packing *packing)
{
    return atomic_load_explicit(&live_log_mailbox(packing->live)->phase, memory_order_relaxed)
           == LOG_REQUEST_TURN;
}

/* For a request, all events so far are published, too. */
static void hold_for_request(struct packing *packing)
{
    if (may_have_marker(packing))
        packing_hold_until(packing, monotonic_now_ns());
}

/* Converts a recent time to ticks by the current reading of both clocks. */
static uint64_t ticks_of(const struct log_header *file, uint64_t at_ns, uint64_t now_ticks,
                         uint64_t now_ns)
{
    double rate =
        (double)(now_ticks - file->start_ticks) / (double)(now_ns - file->start_monotonic_ns);
    double before = (double)(int64_t)(now_ns - at_ns) * rate;

    return before < (double)now_ticks ? now_ticks - (uint64_t)(int64_t)before : 1;
}

/* When the earliest event began that is not packed yet, at the earliest. */
static uint64_t find_unpacked(const struct live_log *live)
{
    uint64_t ticks = UINT64_MAX;

    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (live_log_segment(live, i)->kind == LOG_SEGMENT_EVENTS)
            ticks = earlier(ticks, live_log_segment(live, i)->base_ticks);
    return ticks - earlier(ticks, LOG_EARLY_TICKS);
}

/* Events stamped before this time are not elided from now on. Followers keep only what is before
 * it, so in a log that is followed it also passes by segments that take long to fill. */
static uint64_t find_watermark(const struct packing *packing, uint64_t now_ticks, uint64_t now_ns)
{
    const struct log_header *file = &packing->live->seen;
    uint64_t ticks = ticks_of(file, now_ns - PACKING_WATERMARK_NS, now_ticks, now_ns);

    if (!packing->ring && !packing->has_requests)
        ticks = earlier(ticks, find_unpacked(packing->live));
    else if (packing->n_backlog)
        ticks = earlier(
            ticks, later(live_log_segment(packing->live, packing->backlog->index)->base_ticks,
                         ticks_of(file, now_ns - PACKING_MAX_WATERMARK_NS, now_ticks, now_ns)));
    return later(ticks, ticks_of(file, packing->hold_ns + CLOCKS_DIFFER_NS, now_ticks, now_ns));
}

/* Call when no frame is being written (PG-5). */
void packing_note_watermark(struct packing *packing)
{
    const struct log_header *file = &packing->live->seen;
    uint64_t now_ticks;
    uint64_t now_ns;

    if (!packing->has_readers || !packing->live->has_begun)
        return;
    hold_for_request(packing);
    if (!clock_pair_read(file, &now_ticks, &now_ns)) {
        report_watermark(packing, UINT64_MAX); /* nothing is elided */
    } else if (now_ticks > file->start_ticks && now_ns > file->start_monotonic_ns) {
        report_watermark(
            packing, later(packing->watermark_ticks, find_watermark(packing, now_ticks, now_ns)));
    }
}

/* ---- elision --------------------------------------------------------------------------------- */

/* For a copied segment. CU-3: a dropped free is unknown, too. */
static bool may_elide(const struct packing *packing, const struct log_segment *segment)
{
    uint64_t n_dropped = 0;

    if (!packing->elide || !packing->knows_frees || segment->kind != LOG_SEGMENT_EVENTS
        || (packing->has_readers && may_have_marker(packing)))
        return false;
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        n_dropped |= atomic_load_explicit(&packing->live->seen.dropped[i], memory_order_relaxed);
    return n_dropped == 0;
}

/* Packs a copied segment into packing->frame; *ret_n_events: of the program. */
static size_t put_segment(struct packing *packing, const struct log_segment *segment,
                          uint32_t n_bytes, uint64_t *ret_n_events, uint64_t *ret_n_elided)
{
    bool is_compressed = packing->settings.zstd_level > 0;
    struct elide_result result = {.payload = packing->payload, .n_bytes = n_bytes};
    struct elide_input input = {
        .segment = segment,
        .payload = packing->payload,
        .n_bytes = n_bytes,
        .time_shift = is_compressed ? packing->settings.time_shift : 0,
        .others = packing->is_alone ? NULL : packing->others,
        .from_ticks = packing->watermark_ticks,
        .ticks_per_ns = tick_rate(&packing->live->seen),
    };
    struct log_frame frame;

    if (input.ticks_per_ns == 0) /* the header's readings are too close together */
        input.ticks_per_ns = packing->ticks_per_ns;
    if (may_elide(packing, segment))
        elide_segment(packing->elide, &input, &result);
    size_t n = pack_segment(packing->pack, &packing->settings, segment, result.payload, 0,
                            result.n_bytes, packing->frame);

    memcpy(&frame, packing->frame, sizeof(frame));
    *ret_n_events = result.n_elided ? result.n_events : frame.n_events;
    *ret_n_elided = result.n_elided;
    return n;
}

/* Appends a frame of events or samples. */
static int append_frame(struct packing *packing, size_t n_bytes, struct error *err)
{
    if (!packing->ring)
        return packed_log_append(packing->packed, packing->frame, n_bytes, err);
    int code =
        rotated_log_append(packing->ring, &packing->live->seen, packing->frame, n_bytes, err);

    /* With this number readers notice that rotated files were removed. */
    atomic_store_explicit(&packing->live->file->n_rotated_logs, packing->ring->number,
                          memory_order_release);
    return code;
}

/* Packs a segment of the backlog; does nothing if the segment has changed. */
static int append_events(struct packing *packing, const struct packing_item *item,
                         struct error *err)
{
    struct log_segment segment;
    uint32_t n_bytes = live_log_copy_segment(packing->live, item->index, item->sequence, &segment,
                                             packing->payload);
    uint64_t n_events;
    uint64_t n_elided;
    size_t n;
    int code;

    if (n_bytes == 0)
        return 0;
    packing->has_allocations =
        packing->has_allocations || pack_has_allocations(&segment, packing->payload, n_bytes);
    n = put_segment(packing, &segment, n_bytes, &n_events, &n_elided);
    fault_point("encoded");
    code = append_frame(packing, n, err);
    packing->has_packed_events |= code == 0 && segment.kind == LOG_SEGMENT_EVENTS;
    fault_point("appended");
    if (code)
        return code;
    packing->n_events += n_events;
    packing->n_elided += n_elided;
    return 0;
}

static void learn_executable(struct packing *packing, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    while (!packing->executable
           && (def = definition_parts_def(packing->payload, n_bytes, &at)) != NULL)
        if (def->kind == LOG_DEF_PROCESS)
            packing->executable = strndup((const char *)(def + 1), def->text_bytes);
}

/* PG-3; is_last: the program has exited. On failure the part is tried again. */
static int append_definitions(struct packing *packing, struct definition_part *part, bool is_last,
                              struct error *err)
{
    const struct definition_part before = *part;
    struct log_segment segment;
    uint32_t first;
    uint32_t end;
    size_t n;
    int code;

    if (!(is_last ? definition_parts_last(packing->live, part, &first, &end)
                  : definition_parts_next(packing->live, part, &first, &end)))
        return 0;
    definition_parts_copy(packing->live, part, first, end, &segment, packing->payload);
    if (segment.kind == LOG_SEGMENT_DEFS)
        learn_executable(packing, end - first);
    if (packing->process_tree && segment.kind == LOG_SEGMENT_DEFS)
        process_tree_learn(packing->process_tree, (pid_t)packing->live->seen.pid, packing->payload,
                           end - first);
    if (packing->module_files && segment.kind == LOG_SEGMENT_DEFS)
        module_files_learn(packing->module_files, packing->payload, end - first);
    n = pack_segment(packing->pack, &packing->settings, &segment, packing->payload, first,
                     end - first, packing->frame);
    code = packed_log_append(packing->packed, packing->frame, n, err);
    if (code)
        *part = before;
    if (code && packing->ring)
        rotated_log_note_failure(packing->ring->run, err);
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
        code = append_definitions(packing, &parts->parts[i], is_last, err);
    return code;
}

/* In a segment that no live log has. */
static bool append_module_file(void *context, const void *payload, uint32_t n_bytes)
{
    struct packing *packing = context;
    struct log_segment segment = {.kind = LOG_SEGMENT_DEFS,
                                  .run_id = packing->live->seen.run_id,
                                  .sequence =
                                      atomic_fetch_add_explicit(&packing->live->file->next_sequence,
                                                                1, memory_order_relaxed)};
    size_t n = pack_segment(packing->pack, &packing->settings, &segment, payload, 0, n_bytes,
                            packing->frame);

    return packed_log_append(packing->packed, packing->frame, n, NULL) == 0;
}

/* ---- while the program runs ------------------------------------------------------------------ */

static int by_sequence(const void *a, const void *b)
{
    const struct packing_item *left = a;
    const struct packing_item *right = b;

    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* Adds a used segment to the backlog; false without memory. */
static bool add_to_backlog(void *context, uint32_t index)
{
    struct packing *packing = context;
    const struct log_segment *segment = live_log_segment(packing->live, index);
    struct packing_item *backlog;

    if (!live_log_is_used(packing->live, segment))
        return true;
    backlog = dynamic_array_reserve(packing->backlog, &packing->n_capacity, packing->n_backlog + 1,
                                    sizeof(*backlog));
    if (!backlog)
        return false;
    packing->backlog = backlog;
    backlog[packing->n_backlog++] = (struct packing_item){segment->sequence, index};
    return true;
}

/* Adds sealed segments to the backlog in each thread's order: the stack has them reversed, and none
 * began before one of its thread that was taken earlier. Without memory they stay sealed and are
 * found at the end. */
static int take_sealed_segments(struct packing *packing, struct error *err)
{
    struct live_log *live = packing->live;
    size_t n_before = packing->n_backlog;

    if (!live_log_refresh(live))
        return error_set(err, ERROR_NOMEM, "cannot map the grown live log '%s'", live->path);
    live_log_take_sealed(live, add_to_backlog, packing);
    fault_point("taken");
    if (packing->n_backlog > n_before)
        qsort(packing->backlog + n_before, packing->n_backlog - n_before, sizeof(*packing->backlog),
              by_sequence);
    return 0;
}

/* Writes the header of the packed file as soon as the program has attached. */
static int update_header(struct packing *packing, struct error *err)
{
    int code;

    if (packing->has_header || packing->live->seen.start_ticks == 0)
        return 0;
    code = packed_log_write_header(packing->packed, &packing->live->seen, err);
    packing->has_header = code == 0;
    return code;
}

/* A segment that was refilled since must not be returned. */
static void recycle_segment(struct live_log *live, const struct packing_item *item)
{
    struct log_segment *segment = live_log_segment(live, item->index);

    if (segment->sequence != item->sequence || !live_log_is_used(live, segment))
        return;
    atomic_store_explicit(&segment->state, LOG_STATE_PACKED, memory_order_release);
    fault_point("packed");
    live_log_recycle(live, item->index);
    fault_point("recycled");
}

/* Definitions are read before any event needs them, because files may be deleted soon. */
static bool has_new_modules(struct packing *packing)
{
    return packing->module_files && packing->has_header
           && definition_parts_find(&packing->definitions, packing->live)
           && definition_parts_have_grown(&packing->definitions, packing->live);
}

int packing_step(struct packing *packing, uint32_t *ret_n_packed, struct error *err)
{
    struct live_log *live = packing->live;
    size_t n_done = 0;
    int code = take_sealed_segments(packing, err);

    live_log_read_header(live);
    packing_note_watermark(packing);
    if (code == 0)
        code = update_header(packing, err);
    if (code == 0 && (packing->n_backlog || has_new_modules(packing)))
        code = append_all_definitions(packing, false, err);
    if (code == 0 && packing->module_files && packing->has_header)
        module_files_step(packing->module_files, monotonic_now_ns(), append_module_file, packing);
    if (packing->n_backlog)
        learn_frees(packing);
    if (packing->n_backlog)
        settle_clock(packing, &live->seen);
    for (; code == 0 && n_done < packing->n_backlog && n_done < PACKING_STEP_MAX; n_done++) {
        code = append_events(packing, &packing->backlog[n_done], err);
        if (code)
            break;
        recycle_segment(live, &packing->backlog[n_done]);
    }
    packing->n_backlog -= n_done;
    if (n_done)
        memmove(packing->backlog, packing->backlog + n_done,
                packing->n_backlog * sizeof(*packing->backlog));
    *ret_n_packed = (uint32_t)n_done;
    return code;
}

int packing_append_samples(struct packing *packing, const struct log_sample *samples, uint32_t n,
                           struct error *err)
{
    size_t n_frame =
        pack_bytes(packing->pack, &packing->settings, LOG_FRAME_SAMPLES, packing->live->seen.run_id,
                   samples, n * (uint32_t)sizeof(*samples), packing->frame);

    return append_frame(packing, n_frame, err);
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* Replaces the backlog by all used segments with events, whatever stack they are on. */
static int collect_all(struct packing *packing, struct error *err)
{
    struct live_log *live = packing->live;

    if (!live_log_refresh(live))
        return error_set(err, ERROR_NOMEM, "cannot map the grown live log '%s'", live->path);
    packing->n_backlog = 0;
    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (!definition_parts_is(live_log_segment(live, i)) && !add_to_backlog(packing, i))
            return error_set(err, ERROR_NOMEM, "not enough memory");
    if (packing->n_backlog)
        qsort(packing->backlog, packing->n_backlog, sizeof(*packing->backlog), by_sequence);
    return 0;
}

int packing_append_trailer(struct packing *packing, const struct log_header *file,
                           struct error *err)
{
    struct log_header copy;
    size_t n;
    int code;

    memcpy(&copy, file, sizeof(copy));
    copy.form = LOG_FORM_PACKED;
    copy.flags |= live_log_is_cut(packing->live) ? LOG_FLAG_TRUNCATED : 0u;
    copy.flags |= packing->packed->added_flags;
    n = pack_bytes(packing->pack, &packing->settings, LOG_FRAME_TRAILER, copy.run_id, &copy,
                   sizeof(copy), packing->frame);
    fault_point("trailer");
    code = packed_log_append(packing->packed, packing->frame, n, err);
    if (code == 0)
        code = packed_log_write_header(packing->packed, &copy, err);
    fault_point("finished");
    return code;
}

static bool is_attached(const struct log_header *file)
{
    return (file->flags & LOG_FLAG_ATTACHED) != 0;
}

/* Why a known allocator, whose functions are not all redirected, was not recorded. */
static const char *why_unseen(const struct log_header *file, const struct patch_plan *plan)
{
    static const char *const reasons[] = {
        [LOG_EMBEDDED_CHANGED] = "its code is not what the file has",
        [LOG_EMBEDDED_THREADS] = "there were threads before main",
        [LOG_EMBEDDED_NO_ROOM] = "there is no room near its code",
        [LOG_EMBEDDED_REFUSED] = "/proc/self/mem cannot be written",
    };

    if (file->embedded_status < sizeof(reasons) / sizeof(*reasons)
        && reasons[file->embedded_status])
        return reasons[file->embedded_status];
    if (plan->text && is_attached(file))
        return "it cannot be patched while it runs: start it under mtrace-record";
    if (*plan->why)
        return plan->why;
    return plan->text
               ? "it is looked for only in the program on the command line, and not with --no-patch"
               : "some of its functions are not there by name";
}

static void name_unseen(struct packing *packing, struct log_header *file, const char *allocator,
                        const struct patch_plan *plan)
{
    (void)snprintf(file->unseen_allocator, sizeof(file->unseen_allocator), "%.12s%s", allocator,
                   file->embedded_status == LOG_EMBEDDED_PARTLY ? " (in part)" : "");
    (void)snprintf(file->unseen_why, sizeof(file->unseen_why), "%s", why_unseen(file, plan));
    utf8_clean(file->unseen_why);
    (void)snprintf(packing->unseen, sizeof(packing->unseen), "%s inside '%s' are not recorded (%s)",
                   file->unseen_allocator, packing->executable, file->unseen_why);
    utf8_clean(packing->unseen);
}

/* The plan for anything that can be redirected; if there was no plan, the one that is used by
 * default. */
static const struct patch_plan *find_plan(const char *executable, const struct log_header *file)
{
    const struct patch_plan *plan = allocator_plan_inside(executable, true);

    return plan->text && file->embedded_status == LOG_EMBEDDED_NO_PLAN && !is_attached(file)
               ? allocator_plan_inside(executable, false)
               : plan;
}

static void note_unseen(struct packing *packing, struct log_header *file)
{
    static const struct patch_plan none;
    const struct patch_plan *plan = &none;
    const char *allocator;

    memset(file->unseen_allocator, 0, sizeof(file->unseen_allocator));
    memset(file->unseen_why, 0, sizeof(file->unseen_why));
    memset(file->embedded_allocator, 0, sizeof(file->embedded_allocator));
    if (!packing->executable)
        return;
    allocator = allocator_inside(packing->executable);
    if (allocator)
        (void)snprintf(file->embedded_allocator, sizeof(file->embedded_allocator), "%s", allocator);
    if (file->embedded_status == LOG_EMBEDDED_RECORDED)
        return;
    if (allocator || file->embedded_status != LOG_EMBEDDED_NO_PLAN
        || file->flags & LOG_FLAG_FOREIGN_MALLOC)
        plan = find_plan(packing->executable, file);
    if (!allocator)
        allocator = plan->allocator; /* an unknown malloc */
    if (allocator)
        name_unseen(packing, file, allocator, plan);
}

int packing_finish(struct packing *packing, struct log_header *file, struct error *err)
{
    struct live_log *live = packing->live;
    int code = collect_all(packing, err);

    settle_clock(packing, file);
    learn_frees(packing);
    packing_note_watermark(packing);
    if (code == 0)
        code = update_header(packing, err);
    if (code == 0)
        code = append_all_definitions(packing, true, err);
    if (code == 0 && packing->module_files)
        module_files_flush(packing->module_files, append_module_file, packing);
    for (size_t i = 0; code == 0 && i < packing->n_backlog; i++) {
        const struct packing_item *item = &packing->backlog[i];
        code = append_events(packing, item, err);
        if (code == 0)
            atomic_store_explicit(&live_log_segment(live, item->index)->state, LOG_STATE_PACKED,
                                  memory_order_release);
        fault_point("packed");
    }
    note_unseen(packing, file);
    if (packing->ring)
        atomic_store_explicit(&file->n_rotated_logs, packing->ring->number, memory_order_relaxed);
    return code ? code : packing_append_trailer(packing, file, err);
}
