/* SPDX-License-Identifier: MIT */
#include "importer/totals/memory_samples.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

struct seen_heap {
    uint64_t start, end;
};

struct process_samples {
    struct memory_sample waiting; /* waits for its parts, which follow with its time */
    struct memory_sample sampled; /* the same as the log has it; own_bytes: in files */
    uint64_t look_ns;             /* time of the latest heap sample */
    struct seen_heap *heaps;
    size_t n_heaps, max_heaps;
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

int memory_samples_new(uint32_t n_processes, memory_samples_fn *taken, void *context,
                       struct memory_samples **ret, struct error *err)
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
    for (uint32_t id = 1; id <= n_processes; id++)
        samples->processes[id].own_bytes = UINT64_MAX;
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

int memory_samples_heap(struct memory_samples *samples, uint32_t id, uint64_t time_ns,
                        uint64_t start, uint64_t end, struct error *err)
{
    struct process_samples *process = &samples->processes[id];
    int code = process->waiting.time_ns < time_ns ? flush(samples, id, err) : 0;
    struct seen_heap *heaps;

    if (!process->is_looked || process->look_ns != time_ns)
        process->n_heaps = 0; /* a new heap sample begins (SR-2) */
    process->is_looked = true;
    process->look_ns = time_ns;
    if (code || start >= end)
        return code;
    heaps = dynamic_array_reserve(process->heaps, &process->max_heaps, process->n_heaps + 1,
                                  sizeof *heaps);
    if (!heaps)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heaps", process->n_heaps);
    process->heaps = heaps;
    heaps[process->n_heaps++] = (struct seen_heap){start, end};
    return 0;
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
    CHECKPOINT_IMAGE(io, &process->waiting);
    CHECKPOINT_IMAGE(io, &process->sampled);
    checkpoint_io_u64(io, &process->look_ns);
    process->heaps = checkpoint_io_array(io, process->heaps, &process->n_heaps, &process->max_heaps,
                                         CHECKPOINT_MAX, sizeof *process->heaps);
    checkpoint_io_u64(io, &process->own_bytes);
    checkpoint_io_u64(io, &process->own_private_bytes);
    checkpoint_io_u64(io, &process->data_bytes);
    checkpoint_io_bytes(io, process->gathered, sizeof process->gathered);
    checkpoint_io_bool(io, &process->is_looked);
    checkpoint_io_bool(io, &process->is_waiting);
    checkpoint_io_check(io, !process->is_waiting || process->waiting.process == id,
                        "a sample that waits");
}

void memory_samples_visit(struct memory_samples *samples, struct checkpoint_io *io)
{
    size_t n = samples->n_processes;

    checkpoint_io_count(io, &n, samples->n_processes);
    for (size_t i = 1; i <= n && checkpoint_io_code(io) == 0; i++)
        visit_process(&samples->processes[i], (uint32_t)i, io);
}
