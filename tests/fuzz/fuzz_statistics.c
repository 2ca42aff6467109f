/* SPDX-License-Identifier: MIT */
/*
 * fuzz_statistics: a program of small steps as logs of up to four processes, and their totals.
 *
 * Bytes 0 to 3 say what each process is, all zero: there is none. Bit 0: there is one. 1: forked.
 * 2: started off. 3: dropped events. 4: ended in exec. Then steps of four bytes: what (4 bits),
 * which process and thread (2 bits each), where, how much, how long after the step before.
 * Addresses lie on a small grid, so that blocks meet; sizes go from 0 to more than an address
 * space.
 */
#include "tests/fuzz/statistics_properties.h"
#include "tests/lib/log_builder.h"

#include <sys/mman.h>

enum {
    N_PROCESSES = 4,
    N_THREADS = 3,
    STEP_BYTES = 4,
    MAX_STEPS = 4096,
};

struct machine {
    struct log_builder *logs[N_PROCESSES];
    int fds[N_PROCESSES];
    uint32_t threads[N_THREADS]; /* the same in all */
    uint32_t nodes[4];
    uint64_t ticks;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct log_builder *begin_log(struct machine *machine, unsigned number, uint8_t traits)
{
    const char *arguments[] = {"program", NULL};
    struct log_builder_options options = {.is_packed = number % 2 == 0,
                                          .pid = 1000 + number,
                                          .run_id = 1 + number,
                                          .parent_run_id = number > 0 ? 1 : 0,
                                          .start_ns = 1000000000};
    struct log_builder *log;
    char path[32];
    uint32_t module;

    machine->fds[number] = memfd_create("log", MFD_CLOEXEC);
    require(machine->fds[number] >= 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", machine->fds[number]);
    log = log_builder_open(path, &options);
    log_builder_process(log, "/bin/program", arguments);
    module = log_builder_module(log, "/bin/program", "\1\2\3\4", 4, 0x400000, 1000000000);
    for (uint32_t i = 0; i < N_THREADS; i++)
        machine->threads[i] = log_builder_thread(log, 1000 + i, "thread", 1000000000);
    for (uint32_t i = 0; i < 4; i++)
        machine->nodes[i] = log_builder_node(log, i % 2 ? machine->nodes[i - 1] : LOG_NODE_COMPLETE,
                                             module, 0x401000 + 16 * i);
    log_builder_header(log)->flags =
        (traits & 2 ? LOG_FLAG_FORKED : 0u) | (traits & 4 ? LOG_FLAG_STARTED_OFF : 0u);
    log_builder_header(log)->dropped[0] = traits & 8 ? 5 : 0;
    log_builder_header(log)->end_kind = traits & 16 ? LOG_END_EXEC : LOG_END_EXIT;
    return log;
}

/* Neighbours, far pieces, one per MiB, per arena, and the ends of the address space. */
static uint64_t address_of(uint8_t where)
{
    static const uint64_t bases[8] = {
        0x10000,        0x555500000000, 0x555500000ff0,     0x7f0000000000,
        0x7f0004000000, 0x100000,       0xffffffff0000 - 1, 0};
    static const unsigned shifts[8] = {6, 12, 4, 20, 26, 21, 4, 0};

    return bases[where >> 5] + ((uint64_t)(where & 31) << shifts[where >> 5]);
}

static uint64_t size_of(uint8_t how_much)
{
    unsigned shift = how_much >> 2;

    return shift < 62 ? ((UINT64_C(1) << shift) - 1) + (how_much & 3) : UINT64_MAX - (how_much & 3);
}

static void wide(struct log_builder *log, uint32_t thread, uint64_t ticks, uint64_t address,
                 const uint8_t *step, uint32_t node)
{
    uint64_t size = size_of(step[2]);
    uint64_t words[5] = {LOG_ALLOC_WIDE | (uint64_t)node << 32, address,
                         (step[3] & 0xe0u) | (uint64_t)(step[1] ^ step[2]) % 64 << 8, size,
                         size + (step[3] & 15u) * 8};

    log_builder_event(log, thread, ticks, words, 5);
}

static void mapping(struct log_builder *log, uint32_t thread, uint64_t ticks, unsigned what,
                    uint64_t address, uint64_t size, uint32_t node)
{
    uint64_t map[6] = {LOG_MMAP | (uint64_t)node << 32, address, size, 3 | 0x22 << 16, UINT32_MAX};
    uint64_t unmap[3] = {LOG_MUNMAP | (uint64_t)node << 32, address, size};
    uint64_t move[5] = {LOG_MREMAP | (uint64_t)node << 32, address, address_of((uint8_t)size),
                        size & 0xffff0000, size};

    if (size % 8 != 0) /* else as it comes, which cannot have happened */
        map[1] = unmap[1] = move[1] = address & ~UINT64_C(4095);
    move[2] &= ~UINT64_C(4095);
    if (what == 0)
        log_builder_event(log, thread, ticks, map, 6);
    else if (what == 1)
        log_builder_event(log, thread, ticks, unmap, 3);
    else
        log_builder_event(log, thread, ticks, move, 5);
}

static void other(struct log_builder *log, uint32_t thread, uint64_t ticks, const uint8_t *step,
                  uint32_t node)
{
    uint64_t address = address_of(step[1]);
    uint64_t size = size_of(step[2]);
    uint64_t extent[4] = {LOG_HEAP_EXTENT, address, address + size, 1 + step[3] % 3};
    uint64_t brk[3] = {LOG_BRK | (uint64_t)node << 32, address, size};
    uint64_t elided[5] = {LOG_ELIDED | (uint64_t)node << 32, (uint64_t)step[1] << 32,
                          node | (uint64_t)(step[2] & 3) << 32, size, step[2]};
    uint64_t allocations[2] = {LOG_ELIDED_ALLOCATIONS | (uint64_t)step[1] << 32, size};
    uint64_t resident[4] = {LOG_RESIDENT, address & ~UINT64_C(4095), size,
                            (uint64_t)(step[3] & 3) << 62 | size / (1u + (step[3] & 7u))};
    uint64_t tracing[2] = {LOG_TRACING | (uint64_t)(step[2] & 1) << 32, 0};
    uint64_t end[3] = {LOG_END, 0, step[2] % 7};

    switch (step[3] >> 5) {
    case 0:
        log_builder_event(log, thread, ticks, extent, 4);
        break;
    case 1:
        log_builder_event(log, thread, ticks, brk, 3);
        break;
    case 2:
        log_builder_event(log, thread, ticks, elided, 5);
        log_builder_event(log, thread, ticks, allocations, 2);
        break;
    case 3:
        log_builder_event(log, thread, ticks, tracing, 2);
        break;
    case 4:
    case 5:
        log_builder_event(log, thread, ticks, resident, 4);
        break;
    default:
        log_builder_event(log, thread, ticks, end, 3);
    }
}

static void samples(struct log_builder *log, uint64_t ticks, const uint8_t *step)
{
    uint64_t address = address_of(step[1]);
    uint64_t size = size_of(step[2]);
    struct log_sample all[7] = {
        {.monotonic_ns = ticks, .kind = LOG_SAMPLE_OWN, .a = size_of(step[3])},
        {.monotonic_ns = ticks, .kind = LOG_SAMPLE_MEMORY, .a = size, .b = size / 2, .c = size / 2},
        {.monotonic_ns = ticks, .kind = LOG_SAMPLE_HEAP, .a = address, .b = address + size, .c = 1},
        {.monotonic_ns = ticks,
         .kind = LOG_SAMPLE_MAPPING,
         .a = address,
         .b = address + size,
         .c = size},
        {.monotonic_ns = ticks,
         .kind = LOG_SAMPLE_PRIVATE,
         .a = address,
         .b = address + size,
         .c = size / 2},
        {.monotonic_ns = ticks,
         .kind = LOG_SAMPLE_NOT_DUMPED,
         .a = address,
         .b = address + size,
         .c = size / 4},
        {.monotonic_ns = ticks, .kind = LOG_SAMPLE_PARTS, .a = step[1], .b = step[2], .c = size},
    };

    log_builder_samples(log, all, 7);
}

static void take_step(struct machine *machine, const uint8_t *step)
{
    unsigned process = step[0] >> 4 & 3;
    struct log_builder *log = machine->logs[process];
    uint32_t thread = machine->threads[(step[0] >> 6) % N_THREADS];
    uint32_t node = machine->nodes[step[3] & 3];
    uint64_t address = address_of(step[1]);
    uint64_t ticks = machine->ticks += (uint64_t)(step[3] & 31) << (step[3] & 0x80 ? 24 : 2);

    if (!log)
        return;
    switch (step[0] & 15) {
    case 0:
    case 1:
    case 2:
        log_builder_malloc(log, thread, ticks, address, size_of(step[2]) & 0xffffffffff, node);
        break;
    case 3:
    case 4:
        wide(log, thread, ticks, address, step, node);
        break;
    case 5:
    case 6:
    case 7:
        log_builder_free(log, thread, ticks, address, node);
        break;
    case 8:
        machine->ticks += step[2];
        log_builder_realloc(log, thread, ticks, machine->ticks, address, address_of(step[2]),
                            step[3], node);
        break;
    case 9:
    case 10:
    case 11:
        mapping(log, thread, ticks, (step[0] & 15) - 9u, address, size_of(step[2]), node);
        break;
    case 12:
        if (process % 2 == 0)
            samples(log, ticks, step);
        break;
    case 13:
        log_builder_seal(log, thread);
        break;
    default:
        other(log, thread, ticks, step, node);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine machine = {.ticks = 1000000100};
    struct log_set_options options = {.only = true};
    char names[N_PROCESSES][32];
    const char *paths[N_PROCESSES];
    struct log_set *set;
    size_t n_paths = 0;

    if (size < N_PROCESSES)
        return 0;
    for (unsigned i = 0; i < N_PROCESSES; i++)
        machine.logs[i] = data[i] & 1 ? begin_log(&machine, i, data[i]) : NULL;
    for (size_t i = 0; i < MAX_STEPS && N_PROCESSES + (i + 1) * STEP_BYTES <= size; i++)
        take_step(&machine, data + N_PROCESSES + i * STEP_BYTES);
    for (unsigned i = 0; i < N_PROCESSES; i++) {
        if (!machine.logs[i])
            continue;
        log_builder_close(machine.logs[i]);
        (void)snprintf(names[n_paths], sizeof(names[n_paths]), "/proc/self/fd/%d", machine.fds[i]);
        paths[n_paths] = names[n_paths];
        n_paths++;
    }
    if (n_paths > 0) {
        require(log_set_open(paths, n_paths, &options, &set, NULL) == 0);
        check_statistics(set);
        log_set_close(set);
    }
    for (unsigned i = 0; i < N_PROCESSES; i++)
        if (machine.logs[i])
            close(machine.fds[i]);
    return 0;
}
