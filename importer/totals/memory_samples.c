/* SPDX-License-Identifier: MIT */
#include "importer/totals/memory_samples.h"

#include "lib/abi/glibc_heap.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(4096)

/* A block up to this distance above the heap of the main arena counts as part of it. */
#define MAIN_GAP_BYTES (UINT64_C(64) << 20)

enum {
    LAST_HEAPS = 64 /* cache for threads with different arenas */
};

struct seen_heap {
    uint64_t start, end;
    bool is_arena;
};

struct process_samples {
    uint64_t arena_bytes;         /* size of glibc's non-main arenas */
    struct memory_sample waiting; /* waits for its heaps and parts, which follow with its time */
    struct memory_sample sampled; /* the same as the log has it; own_bytes: in files */
    uint64_t live_bytes;          /* of that sample */
    uint64_t look_ns;             /* time of the latest heap sample */
    struct seen_heap *heaps;
    size_t n_heaps, max_heaps;
    size_t last[LAST_HEAPS];             /* heap found last, by address */
    uint64_t heaps_bytes;                /* sum over `heaps` */
    uint64_t own_bytes;                  /* in files, for the next sample; UINT64_MAX: not known */
    uint64_t own_private_bytes;          /* the same in private memory */
    uint64_t data_bytes;                 /* the collector's, in the last sample with parts */
    uint64_t gathered[MEMORY_PARTS + 1]; /* parts of the sample that waits */
    bool is_looked;                      /* there was a heap sample */
    bool is_waiting;
};

struct memory_samples {
    memory_samples_fn *taken;
    void *context;
    struct process_samples *processes; /* by id */
    uint32_t n_processes;
};

int memory_samples_new(uint32_t n_processes, const uint8_t *word_bytes, memory_samples_fn *taken,
                       void *context, struct memory_samples **ret, struct error *err)
{
    struct memory_samples *samples = calloc(1, sizeof *samples);

    if (samples)
        samples->processes = calloc((size_t)n_processes + 1, sizeof *samples->processes);
    if (!samples || !samples->processes) {
        memory_samples_free(samples);
        return error_set(err, ERROR_NOMEM, "out of memory for samples");
    }
    samples->taken = taken;
    samples->context = context;
    samples->n_processes = n_processes;
    for (uint32_t id = 1; id <= n_processes; id++) {
        samples->processes[id].own_bytes = UINT64_MAX;
        samples->processes[id].arena_bytes = glibc_heap_arena_bytes(word_bytes[id]);
    }
    *ret = samples;
    return 0;
}

void memory_samples_free(struct memory_samples *samples)
{
    if (!samples)
        return;
    for (uint32_t id = 1; samples->processes && id <= samples->n_processes; id++)
        free(samples->processes[id].heaps);
    free(samples->processes);
    free(samples);
}

/* Bytes of all heaps, including live_bytes; UINT64_MAX: nothing is known. */
static uint64_t heaps_now(const struct process_samples *process, uint64_t live_bytes)
{
    if (process->heaps_bytes > live_bytes)
        return process->heaps_bytes;
    return live_bytes == 0 && !process->is_looked && process->n_heaps == 0 ? UINT64_MAX
                                                                           : live_bytes;
}

/* Emits the waiting sample. */
static int flush(struct memory_samples *samples, uint32_t id, struct error *err)
{
    struct process_samples *process = &samples->processes[id];

    if (!process->is_waiting)
        return 0;
    process->is_waiting = false;
    return samples->taken(samples->context, &process->waiting, err);
}

void memory_samples_own(struct memory_samples *samples, uint32_t id, uint64_t file_bytes,
                        uint64_t private_bytes)
{
    samples->processes[id].own_bytes = file_bytes;
    samples->processes[id].own_private_bytes = private_bytes;
}

/* Subtracts up to own_bytes from a part of the resident bytes. */
static void subtract(struct memory_sample *sample, uint64_t *part, uint64_t own_bytes)
{
    uint64_t bytes = own_bytes < *part ? own_bytes : *part;

    *part -= bytes;
    sample->rss_bytes -= sample->rss_bytes > bytes ? bytes : sample->rss_bytes;
    sample->own_bytes += bytes;
}

/* Sets the resident bytes of the sample that waits, without mtrace's own. */
static void set_totals(struct process_samples *process)
{
    const struct memory_sample *sampled = &process->sampled;
    struct memory_sample *sample = &process->waiting;

    sample->rss_bytes = sampled->rss_bytes;
    sample->anonymous_bytes = sampled->anonymous_bytes;
    sample->file_bytes = sampled->file_bytes;
    sample->own_bytes = sampled->own_bytes;
    if (sampled->own_bytes == UINT64_MAX || sampled->file_bytes == UINT64_MAX)
        return;
    sample->own_bytes = 0;
    subtract(sample, &sample->file_bytes, sampled->own_bytes);
    subtract(sample, &sample->anonymous_bytes, process->own_private_bytes + process->data_bytes);
}

int memory_samples_totals(struct memory_samples *samples, const struct memory_sample *sample,
                          struct error *err)
{
    struct process_samples *process = &samples->processes[sample->process];
    int code = flush(samples, sample->process, err);

    process->is_waiting = true;
    process->waiting = process->sampled = *sample;
    process->sampled.own_bytes = process->own_bytes;
    process->live_bytes = sample->heaps_bytes;
    process->waiting.heaps_bytes = heaps_now(process, process->live_bytes);
    set_totals(process);
    process->own_bytes = UINT64_MAX;
    memset(process->gathered, 0, sizeof process->gathered);
    for (int i = 0; i < MEMORY_PARTS; i++)
        process->waiting.parts[i] = UINT64_MAX;
    return code;
}

/* ---- parts ---- */

void memory_samples_add_part(struct memory_samples *samples, uint32_t id, enum memory_part part,
                             uint64_t bytes)
{
    if (samples->processes[id].is_waiting)
        samples->processes[id].gathered[part] += bytes;
}

void memory_samples_end_parts(struct memory_samples *samples, uint32_t id)
{
    struct process_samples *process = &samples->processes[id];
    struct memory_sample *sample = &process->waiting;

    if (!process->is_waiting)
        return;
    process->data_bytes = process->gathered[MEMORY_PART_MTRACE];
    set_totals(process);
    uint64_t left = sample->rss_bytes;
    for (int i = 0; i < MEMORY_PART_OTHER; i++) {
        sample->parts[i] = process->gathered[i] < left ? process->gathered[i] : left;
        left -= sample->parts[i];
    }
    sample->parts[MEMORY_PART_OTHER] = left;
}

bool memory_samples_is_heap(const struct memory_samples *samples, uint32_t id, uint64_t address,
                            uint64_t *ret_until)
{
    const struct process_samples *process = &samples->processes[id];

    *ret_until = UINT64_MAX;
    for (size_t i = 0; i < process->n_heaps; i++) {
        const struct seen_heap *heap = &process->heaps[i];
        if (heap->start <= address && address < heap->end) {
            *ret_until = heap->end;
            return true;
        }
        if (heap->start > address && heap->start < *ret_until)
            *ret_until = heap->start;
    }
    return false;
}

/* ---- heaps ---- */

static size_t *last_at(struct process_samples *process, uint64_t address)
{
    return &process->last[address / process->arena_bytes % LAST_HEAPS];
}

static int add_heap(struct process_samples *process, const struct seen_heap *heap,
                    struct error *err)
{
    struct seen_heap *heaps = dynamic_array_reserve(process->heaps, &process->max_heaps,
                                                    process->n_heaps + 1, sizeof *heaps);

    if (!heaps)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heaps", process->n_heaps);
    process->heaps = heaps;
    *last_at(process, heap->start) = process->n_heaps;
    heaps[process->n_heaps++] = *heap;
    process->heaps_bytes += heap->end - heap->start;
    return 0;
}

static void set_bounds(struct process_samples *process, struct seen_heap *heap, uint64_t start,
                       uint64_t end)
{
    process->heaps_bytes -= heap->end - heap->start;
    heap->start = start;
    heap->end = end;
    process->heaps_bytes += end - start;
}

static bool is_at(const struct process_samples *process, const struct seen_heap *heap,
                  uint64_t start, uint64_t end, bool is_arena)
{
    if (heap->is_arena || is_arena)
        return heap->is_arena == is_arena
               && heap->start / process->arena_bytes == start / process->arena_bytes;
    return start < heap->end + MAIN_GAP_BYTES && heap->start < end + MAIN_GAP_BYTES;
}

/* The heap that contains these addresses; NULL: not seen yet. */
static struct seen_heap *find_heap(struct process_samples *process, uint64_t start, uint64_t end,
                                   bool is_arena)
{
    for (size_t i = 0; i < process->n_heaps; i++)
        if (is_at(process, &process->heaps[i], start, end, is_arena)) {
            *last_at(process, start) = i;
            return &process->heaps[i];
        }
    return NULL;
}

int memory_samples_heap(struct memory_samples *samples, uint32_t id, uint64_t time_ns,
                        const struct seen_extent *extent, struct error *err)
{
    struct process_samples *process = &samples->processes[id];
    int code = process->waiting.time_ns < time_ns ? flush(samples, id, err) : 0;

    if (!process->is_looked || process->look_ns != time_ns) {
        process->n_heaps = 0; /* a new heap sample begins (SR-2) */
        process->heaps_bytes = 0;
    }
    process->is_looked = true;
    process->look_ns = time_ns;
    if (code == 0 && extent->start < extent->end)
        code = add_heap(process, &(struct seen_heap){extent->start, extent->end, extent->is_arena},
                        err);
    if (process->is_waiting)
        process->waiting.heaps_bytes = heaps_now(process, process->live_bytes);
    return code;
}

int memory_samples_extent(struct memory_samples *samples, uint32_t id,
                          const struct seen_extent *extent, struct error *err)
{
    struct process_samples *process = &samples->processes[id];
    struct seen_heap *heap;

    if (extent->start >= extent->end)
        return 0;
    heap = find_heap(process, extent->start, extent->end, extent->is_arena);
    if (!heap)
        return add_heap(process, &(struct seen_heap){extent->start, extent->end, extent->is_arena},
                        err);
    set_bounds(process, heap, extent->start, extent->end);
    return 0;
}

static bool is_inside(const struct seen_extent *block, const struct seen_heap *heap)
{
    return heap->start <= block->start && block->end <= heap->end;
}

int memory_samples_allocated(struct memory_samples *samples, uint32_t id,
                             const struct seen_extent *block, struct error *err)
{
    struct process_samples *process = &samples->processes[id];
    size_t last = *last_at(process, block->start);
    struct seen_heap *heap;
    uint64_t start = block->start;
    uint64_t end = block->end;

    if (last < process->n_heaps && is_inside(block, &process->heaps[last]))
        return 0;
    heap = find_heap(process, start, end, block->is_arena);
    if (heap && is_inside(block, heap))
        return 0;
    start = block->is_arena ? start / process->arena_bytes * process->arena_bytes
                            : start / PAGE_BYTES * PAGE_BYTES;
    end = (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (!heap)
        return add_heap(process, &(struct seen_heap){start, end, block->is_arena}, err);
    set_bounds(process, heap, start < heap->start ? start : heap->start,
               end > heap->end ? end : heap->end);
    return 0;
}

void memory_samples_reported(const struct memory_samples *samples, uint32_t id, uint64_t address,
                             uint64_t *ret_start, uint64_t *ret_end)
{
    const struct process_samples *process = &samples->processes[id];
    uint64_t region = address / process->arena_bytes * process->arena_bytes;
    size_t last = process->last[address / process->arena_bytes % LAST_HEAPS];

    *ret_start = *ret_end = 0;
    if (last >= process->n_heaps)
        return;
    const struct seen_heap *heap = &process->heaps[last];
    *ret_start = heap->start < region ? region : heap->start;
    *ret_end =
        heap->end < region + process->arena_bytes ? heap->end : region + process->arena_bytes;
}

int memory_samples_finish(struct memory_samples *samples, struct error *err)
{
    for (uint32_t id = 1; id <= samples->n_processes; id++) {
        int code = flush(samples, id, err);
        if (code)
            return code;
    }
    return 0;
}

/* ---- checkpoint ---- */

static void visit_process(struct process_samples *process, uint32_t id, struct checkpoint_io *io)
{
    STATE_IMAGE(io, &process->waiting);
    STATE_IMAGE(io, &process->sampled);
    state_u64(io, &process->live_bytes);
    state_u64(io, &process->look_ns);
    process->heaps = state_array(io, process->heaps, &process->n_heaps, &process->max_heaps,
                                 STATE_MOST, sizeof *process->heaps);
    for (size_t i = 0; i < process->n_heaps; i++)
        state_check_bool(io, &process->heaps[i].is_arena);
    state_bytes(io, process->last, sizeof process->last);
    state_u64(io, &process->heaps_bytes);
    state_u64(io, &process->own_bytes);
    state_u64(io, &process->own_private_bytes);
    state_u64(io, &process->data_bytes);
    state_bytes(io, process->gathered, sizeof process->gathered);
    state_bool(io, &process->is_looked);
    state_bool(io, &process->is_waiting);
    state_check(io, !process->is_waiting || process->waiting.process == id, "a sample that waits");
}

void memory_samples_visit(struct memory_samples *samples, struct checkpoint_io *io)
{
    size_t n = samples->n_processes;

    state_count(io, &n, samples->n_processes);
    for (size_t i = 1; i <= n && checkpoint_io_code(io) == 0; i++)
        visit_process(&samples->processes[i], (uint32_t)i, io);
}
