/* SPDX-License-Identifier: MIT */
#include "importer/facts/memory_samples.h"

#include <stdbool.h>
#include <stdlib.h>

struct process_samples {
    struct memory_sample waiting; /* its heaps come behind it at the same instant */
    uint64_t heaps_ns;            /* of the latest look */
    uint64_t heaps_bytes;         /* UINT64_MAX before the first */
    uint64_t own_bytes;           /* of the sample to come; UINT64_MAX: not known */
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
        samples->processes[id].heaps_bytes = samples->processes[id].own_bytes = UINT64_MAX;
    *ret = samples;
    return 0;
}

void memory_samples_free(struct memory_samples *samples)
{
    if (!samples)
        return;
    free(samples->processes);
    free(samples);
}

/* Tells the sample that waits. */
static int flush(struct memory_samples *samples, uint32_t id, struct error *err)
{
    struct process_samples *process = &samples->processes[id];

    if (!process->is_waiting)
        return 0;
    process->is_waiting = false;
    uint64_t live_bytes = process->waiting.heaps_bytes;
    bool is_seen = process->heaps_bytes != UINT64_MAX;

    if (is_seen ? process->heaps_bytes > live_bytes : live_bytes == 0)
        process->waiting.heaps_bytes = process->heaps_bytes;
    return samples->taken(samples->context, &process->waiting, err);
}

void memory_samples_own(struct memory_samples *samples, uint32_t id, uint64_t own_bytes)
{
    samples->processes[id].own_bytes = own_bytes;
}

/* The log is a file, and resident as far as the files are. */
static void take_own_off(struct memory_sample *sample, uint64_t own_bytes)
{
    sample->own_bytes = own_bytes;
    if (own_bytes == UINT64_MAX || sample->file_bytes == UINT64_MAX)
        return;
    if (own_bytes > sample->file_bytes)
        sample->own_bytes = sample->file_bytes;
    sample->file_bytes -= sample->own_bytes;
    sample->rss_bytes -= sample->rss_bytes > sample->own_bytes ? sample->own_bytes : 0;
}

int memory_samples_totals(struct memory_samples *samples, const struct memory_sample *sample,
                          struct error *err)
{
    struct process_samples *process = &samples->processes[sample->process];
    int code = flush(samples, sample->process, err);

    process->is_waiting = true;
    process->waiting = *sample;
    take_own_off(&process->waiting, process->own_bytes);
    process->own_bytes = UINT64_MAX;
    return code;
}

int memory_samples_heap(struct memory_samples *samples, uint32_t id, uint64_t time_ns,
                        uint64_t extent_bytes, struct error *err)
{
    struct process_samples *process = &samples->processes[id];
    int code = process->waiting.time_ns < time_ns ? flush(samples, id, err) : 0;

    if (process->heaps_bytes == UINT64_MAX || process->heaps_ns != time_ns)
        process->heaps_bytes = 0; /* a new look begins */
    process->heaps_ns = time_ns;
    process->heaps_bytes += extent_bytes;
    return code;
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
