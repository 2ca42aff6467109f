/* SPDX-License-Identifier: MIT */
/* The cost of an import is bounded by the number of a log's records, whatever they contain. Each
 * log is made to cost as much as possible. */
#include "importer/cli/import.h"
#include "tests/lib/log_builder.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS UINT64_C(1000000000)
#define GIB      (UINT64_C(1) << 30)
#define MIB      (UINT64_C(1) << 20)

enum {
    BASE_MIB = 400, /* what sanitizers keep of freed memory included */
    MAX_RECORD_BYTES = 2000
};

static char folder[] = "/tmp/test_import.XXXXXX";
static char log_path[64], target[64];

struct hostile {
    struct log_builder *log;
    uint32_t thread, node;
};

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(log_path, sizeof(log_path), "%s/run.dat", folder);
    (void)snprintf(target, sizeof(target), "%s/run.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(log_path);
    (void)unlink(target);
    return rmdir(folder);
}

static struct hostile begin(void)
{
    const char *arguments[] = {"program", NULL};
    struct log_builder_options options = {.is_packed = true, .zstd_level = 1};
    struct hostile hostile = {.log = log_builder_open(log_path, &options)};
    uint32_t module;

    log_builder_process(hostile.log, "/bin/program", arguments);
    module = log_builder_module(hostile.log, "/bin/program", "\1\2\3\4", 4, 0x400000, START_NS);
    hostile.thread = log_builder_thread(hostile.log, 1000, "main", START_NS);
    hostile.node = log_builder_node(hostile.log, LOG_NODE_COMPLETE, module, 0x401000);
    return hostile;
}

static void import(void)
{
    const char *const paths[] = {log_path};
    struct import_options options = {
        .logs = paths, .n_logs = 1, .target = target, .force = true, .no_symbols = true};
    struct import_result result;
    struct progress progress;
    struct error err;

    progress_init(&progress, NULL, NULL);
    if (import_run(&options, &progress, &result, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    _exit(0);
}

/* Returns freed memory to the system: AddressSanitizer keeps a quarter of a GiB of it otherwise. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8";
}

/* Runs in a process of its own; returns its maximum of resident memory. */
static void check_cost(struct hostile *hostile, uint64_t n_records)
{
    struct rusage usage;
    int status;
    pid_t pid;

    log_builder_close(hostile->log);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        import();
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    assert_in_range(usage.ru_maxrss, 0, (BASE_MIB * MIB + n_records * MAX_RECORD_BYTES) / 1024);
}

TESTS_WITH(make_folder, remove_folder);

/* Every block has a MiB of the heap for itself. */
TEST(blocks_far_apart)
{
    enum {
        N = 200000
    };

    struct hostile hostile = begin();

    for (uint64_t i = 0; i < N; i++)
        log_builder_malloc(hostile.log, hostile.thread, START_NS + i, (i + 1) * MIB, 64,
                           hostile.node);
    check_cost(&hostile, N);
}

/* Blocks that claim all of the address space, with pages that they share with the next one. */
TEST(wide_blocks)
{
    enum {
        N = 30000
    };

    struct hostile hostile = begin();

    for (uint64_t i = 0; i < N; i++) {
        const uint64_t words[5] = {LOG_ALLOC_WIDE | (uint64_t)hostile.node << 32, (i + 1) * 4 * GIB,
                                   LOG_CHUNK_KNOWN, 4 * GIB - 16, 4 * GIB - 16};
        log_builder_event(hostile.log, hostile.thread, START_NS + i, words, 5);
    }
    check_cost(&hostile, N);
}

TEST(live_mappings)
{
    enum {
        N = 200000
    };

    struct hostile hostile = begin();

    for (uint64_t i = 0; i < N; i++) {
        const uint64_t words[6] = {LOG_MMAP | (uint64_t)hostile.node << 32, (i + 1) * MIB, 4096,
                                   3 | 0x22 << 16, UINT32_MAX};
        log_builder_event(hostile.log, hostile.thread, START_NS + i, words, 6);
    }
    check_cost(&hostile, N);
}

/* A stack of its own for each block: totals, tree, call sites. */
TEST(stacks_without_end)
{
    enum {
        N = 20000
    };

    struct hostile hostile = begin();
    uint32_t node = LOG_NODE_COMPLETE;

    for (uint64_t i = 0; i < N; i++) {
        node =
            log_builder_node(hostile.log, i % 250 ? node : LOG_NODE_COMPLETE, 1, 0x401000 + 16 * i);
        log_builder_malloc(hostile.log, hostile.thread, START_NS + i, 0x10000 + 64 * i, 48, node);
    }
    check_cost(&hostile, 2 * N);
}
