/* SPDX-License-Identifier: MIT */
#include "importer/model/definitions_cut.h"

/* A later image of the process had begun, so this one had ended, even if the recorder has no time
 * for it. */
static bool has_next_image(const struct definitions *definitions,
                           const struct definitions_process *process)
{
    for (size_t id = 1; id <= definitions->n_processes; id++)
        if (definitions->processes[id].pid == process->pid
            && definitions->processes[id].image == process->image + 1
            && definitions->processes[id].start_ns >= process->start_ns)
            return true;
    return false;
}

/* If the recorder did not complete the log, its header has a time before the end. */
static void cut_process(const struct definitions *definitions, struct definitions_process *process,
                        uint64_t until_ns)
{
    process->is_cut = process->last_ns > until_ns || process->has_end_event;
    if (definitions_ended_by(process, "exec") && has_next_image(definitions, process))
        process->is_cut = false;
    if (process->last_ns > until_ns)
        process->last_ns = process->start_ns > until_ns ? process->start_ns : until_ns;
}

static void cut_thread(const struct definitions *definitions, struct definitions_thread *thread,
                       uint64_t until_ns)
{
    thread->is_later = thread->start_ns > until_ns || thread->process > definitions->n_processes;
    thread->has_end &= thread->end_ns <= until_ns;
}

static void cut_modules(struct definitions *definitions, uint64_t until_ns)
{
    size_t n = 0;

    for (size_t id = 1; id <= definitions->n_modules; id++) {
        struct definitions_module *module = &definitions->modules[id];
        module->is_unloaded &= module->unloaded_ns <= until_ns;
        if (module->seen_ns <= until_ns && module->process <= definitions->n_processes)
            definitions->modules[++n] = *module;
    }
    definitions->n_modules = n;
}

void definitions_cut(struct definitions *definitions, uint64_t until_ns)
{
    definitions->is_cut = true;
    for (size_t id = 1; id <= definitions->n_processes; id++)
        cut_process(definitions, &definitions->processes[id], until_ns);
    for (size_t id = 1; id <= definitions->n_threads; id++)
        cut_thread(definitions, &definitions->threads[id], until_ns);
    cut_modules(definitions, until_ns);
}
