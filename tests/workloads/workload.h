/* SPDX-License-Identifier: MIT */
/*
 * workload: shared by the test programs. A workload causes a known number of heap events, and
 * prints lines `expect NAME VALUE` that tests/e2e/run.py compares with the database. Its own blocks
 * have sizes that end in 777, so that SQL alone can distinguish them from the C library's, without
 * stacks and symbols: size_bytes % 1000 = 777.
 */
#ifndef MTRACE_TESTS_WORKLOAD_H
#define MTRACE_TESTS_WORKLOAD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKLOAD_INLINE static inline __attribute__((always_inline, unused))

#define OWN_BYTES(n) ((size_t)(n)*1000 + 777)

/* Relaxed atomics: the counts are read when all threads are done. */
static struct {
    unsigned long long allocated, allocated_bytes, freed, freed_bytes;
} own;

/* Keeps the compiler from proving that a block is never used. */
WORKLOAD_INLINE void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

WORKLOAD_INLINE void own_count_alloc(size_t size_bytes)
{
    __atomic_fetch_add(&own.allocated, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own.allocated_bytes, size_bytes, __ATOMIC_RELAXED);
}

WORKLOAD_INLINE void own_count_free(size_t size_bytes)
{
    __atomic_fetch_add(&own.freed, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own.freed_bytes, size_bytes, __ATOMIC_RELAXED);
}

WORKLOAD_INLINE void *own_malloc(unsigned n)
{
    void *block = malloc(OWN_BYTES(n));
    if (block == NULL)
        abort();
    own_count_alloc(OWN_BYTES(n));
    return keep(block);
}

WORKLOAD_INLINE void own_free(void *block, unsigned n)
{
    own_count_free(OWN_BYTES(n));
    free(block);
}

/* One write(2) and no stdio buffer, so that it works in handlers, sandboxes and dying threads. */
__attribute__((unused)) static void expect(const char *name, unsigned long long value)
{
    char line[128];
    int n = snprintf(line, sizeof(line), "expect %s %llu\n", name, value);
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        _exit(99);
}

__attribute__((unused)) static void expect_own(void)
{
    expect("allocated", own.allocated);
    expect("allocated_bytes", own.allocated_bytes);
    expect("freed", own.freed);
    expect("leaked_blocks", own.allocated - own.freed);
    expect("leaked_bytes", own.allocated_bytes - own.freed_bytes);
}

/* A planted leak: bytes and blocks lost at one line of one function. */
__attribute__((unused)) static void expect_leak(unsigned long long bytes, unsigned long long blocks,
                                                const char *function, const char *file, int line)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "leak %llu %llu %s %s %d\n", bytes, blocks, function, file,
                     line);
    if (write(STDOUT_FILENO, text, (size_t)n) != n)
        _exit(99);
}

/* A part of a workload, named by its first argument. */
struct workload_part {
    const char *name;
    void (*run)(void);
};

/* Runs the part of that name. The status of main. */
__attribute__((unused)) static int run_part(const struct workload_part *parts, size_t n_parts,
                                            const char *name)
{
    for (size_t i = 0; name && i < n_parts; i++) {
        if (strcmp(name, parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    return 2;
}

#define RUN_PART(parts, name) run_part(parts, sizeof(parts) / sizeof((parts)[0]), name)

__attribute__((unused, noreturn)) static void skip(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    fflush(stderr);
    _exit(77);
}

#endif
