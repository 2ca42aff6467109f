/* SPDX-License-Identifier: MIT */
/* What is sampled from outside is what the process itself knows of its heaps. */
#include "recorder/session/memory_sampler.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static const uint64_t second_ns = 1000000000;

static struct memory_sampler *take_at(uint64_t now_ns)
{
    struct memory_sampler *samples = calloc(1, sizeof(*samples));

    assert_non_null(samples);
    memory_sampler_init(samples, getpid(), 100, 0);
    memory_sampler_take(samples, now_ns);
    return samples;
}

/* The sampled heap of this kind that holds the address, or NULL. */
static const struct log_sample *find(const struct memory_sampler *samples, uint64_t kind,
                                     uint64_t address)
{
    for (uint32_t i = 0; i < samples->n_samples; i++) {
        const struct log_sample *sample = &samples->samples[i];
        if (sample->kind == LOG_SAMPLE_HEAP && sample->c == kind && sample->a <= address
            && address < sample->b)
            return sample;
    }
    return NULL;
}

/* A sanitizer's allocator has neither a heap at the break nor arenas. */
static void skip_without_glibc_heaps(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: the sanitizer brings its own allocator\n");
    skip();
#endif
}

static void the_first_heap_ends_at_the_break(void **state)
{
    struct memory_sampler *samples;
    const struct log_sample *heap;
    void *block;

    (void)state;
    skip_without_glibc_heaps();
    block = malloc(100);
    samples = take_at(second_ns);
    heap = find(samples, LOG_HEAP_BRK, (uint64_t)(uintptr_t)block);
    assert_non_null(heap);
    if (heap) /* for compilers that do not know assert_non_null */
        assert_true(heap->b == (uint64_t)(uintptr_t)sbrk(0));
    free(samples);
    free(block);
}

static void *allocate(void *arg)
{
    (void)arg;
    return malloc(5000);
}

static void the_arena_of_another_thread_is_found(void **state)
{
    struct memory_sampler *samples;
    pthread_t thread;
    void *block;

    (void)state;
    skip_without_glibc_heaps();
    mallopt(M_ARENA_MAX, 8);
    assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
    assert_int_equal(pthread_join(thread, &block), 0);
    samples = take_at(second_ns);
    assert_non_null(find(samples, LOG_HEAP_ARENA, (uint64_t)(uintptr_t)block));
    assert_null(find(samples, LOG_HEAP_BRK, (uint64_t)(uintptr_t)block));
    free(samples);
    free(block);
}

static void memory_that_is_touched_counts(void **state)
{
    enum {
        TOUCHED_BYTES = 32 << 20
    };
    struct memory_sampler *before = take_at(0);
    char *block = malloc(TOUCHED_BYTES);
    struct memory_sampler *after;

    (void)state;
    assert_non_null(block);
    memset(block, 1, TOUCHED_BYTES);
    after = take_at(0);
    assert_int_equal(before->samples[0].kind, LOG_SAMPLE_MEMORY);
    assert_int_equal(after->samples[0].kind, LOG_SAMPLE_MEMORY);
    assert_true(after->samples[0].a >= before->samples[0].a + TOUCHED_BYTES / 10 * 9);
    assert_true(after->samples[0].a >= after->samples[0].b);
    free(block);
    free(before);
    free(after);
}

/* Mapped one by one, one mapping to the kernel: each has its own pages. */
static void pages_are_reported_where_they_lie(void **state)
{
    enum {
        PAGES = 200,
        RUNS = 3
    };

    static const struct {
        size_t first, n;
    } touched[RUNS] = {{0, 30}, {90, 20}, {150, 50}};

    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct memory_sampler *samples;
    uint64_t bytes = 0;

    (void)state;
    assert_true(start != MAP_FAILED);
    for (size_t i = 0; i < RUNS; i++)
        memset(start + touched[i].first * page, 1, touched[i].n * page);
    samples = take_at(second_ns);
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t first = (uint64_t)(uintptr_t)start + touched[i].first * page;
        bool is_reported = false;
        for (uint32_t k = 0; k < samples->n_samples; k++) {
            const struct log_sample *sample = &samples->samples[k];
            if (sample->kind != LOG_SAMPLE_MAPPING || sample->c == 0 || sample->a >= sample->b)
                continue;
            /* Neighbours of other owners may be joined to the first and the last. */
            is_reported = is_reported
                          || (sample->a <= first && sample->b >= first + touched[i].n * page
                              && sample->c == sample->b - sample->a);
        }
        assert_true(is_reported);
        bytes += touched[i].n * page;
    }
    assert_true(bytes < PAGES * page);
    assert_int_equal(munmap(start, PAGES * page), 0);
    free(samples);
}

static void a_process_that_is_gone_gives_nothing(void **state)
{
    struct memory_sampler *samples = calloc(1, sizeof(*samples));

    (void)state;
    assert_non_null(samples);
    memory_sampler_init(samples, 0x3fffffff, 100, 0);
    memory_sampler_take(samples, 10 * second_ns);
    assert_int_equal(samples->n_samples, 0);
    free(samples);
}

static void zero_means_never(void **state)
{
    struct memory_sampler *samples = calloc(1, sizeof(*samples));

    (void)state;
    assert_non_null(samples);
    memory_sampler_init(samples, getpid(), 0, 0);
    assert_true(memory_sampler_take(samples, 10 * second_ns) == UINT64_MAX);
    assert_int_equal(samples->n_samples, 0);
    free(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_heap_ends_at_the_break),
        cmocka_unit_test(the_arena_of_another_thread_is_found),
        cmocka_unit_test(memory_that_is_touched_counts),
        cmocka_unit_test(pages_are_reported_where_they_lie),
        cmocka_unit_test(a_process_that_is_gone_gives_nothing),
        cmocka_unit_test(zero_means_never),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
