/* SPDX-License-Identifier: MIT */
#include "importer/cli/program_cpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Leaves *ns unchanged if there is no such process. */
static void ask_kernel(uint32_t pid, uint64_t *ns)
{
    struct timespec cpu;
    clockid_t clock;

    if (pid != 0 && clock_getcpuclockid((pid_t)pid, &clock) == 0 && clock_gettime(clock, &cpu) == 0)
        *ns = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
}

/* Without memory the further processes count as 0. */
static void make_room(struct program_cpu *cpu, size_t n)
{
    uint64_t *seen_ns = n > cpu->n ? realloc(cpu->seen_ns, n * sizeof *seen_ns) : NULL;

    if (!seen_ns)
        return;
    memset(seen_ns + cpu->n, 0, (n - cpu->n) * sizeof *seen_ns);
    cpu->seen_ns = seen_ns;
    cpu->n = n;
}

uint64_t program_cpu_ns(struct program_cpu *cpu, const struct definitions *definitions)
{
    uint64_t sum_ns = 0;

    make_room(cpu, definitions->n_processes + 1);
    for (size_t id = 1; id <= definitions->n_processes && id < cpu->n; id++) {
        const struct definitions_process *process = &definitions->processes[id];
        if (definitions_ended_by(process, "exec"))
            cpu->seen_ns[id] = 0;
        else if (!definitions_ended_by(process, "exit") && !definitions_ended_by(process, "signal"))
            ask_kernel(process->pid, &cpu->seen_ns[id]);
        sum_ns += cpu->seen_ns[id];
    }
    return sum_ns;
}

void program_cpu_done(struct program_cpu *cpu)
{
    free(cpu->seen_ns);
    *cpu = (struct program_cpu){.n = 0};
}
