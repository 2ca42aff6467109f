/* SPDX-License-Identifier: MIT */
/* Samples from outside equal what the process itself knows about its heaps. */
#include "recorder/session/memory_sampler.h"
#include "tests/lib/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

TEST(the_first_heap_ends_at_the_break)
{
    struct memory_sampler *samples;
    const struct log_sample *heap;
    void *block;

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

TEST(the_arena_of_another_thread_is_found)
{
    struct memory_sampler *samples;
    pthread_t thread;
    void *block;

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

TEST(memory_that_is_touched_counts)
{
    enum {
        TOUCHED_BYTES = 32 << 20
    };
    struct memory_sampler *before = take_at(0);
    char *block = malloc(TOUCHED_BYTES);
    struct memory_sampler *after;

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
TEST(pages_are_reported_where_they_lie)
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

    assert_true(start != MAP_FAILED);
    for (size_t i = 0; i < RUNS; i++)
        memset(start + touched[i].first * page, 1, touched[i].n * page);
    samples = take_at(second_ns);
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t first = (uint64_t)(uintptr_t)start + touched[i].first * page;
        bool is_reported = false;
        for (uint32_t k = 0; k < samples->n_samples; k++) {
            const struct log_sample *sample = &samples->samples[k];
            if (sample->kind != LOG_SAMPLE_PRIVATE || sample->c == 0 || sample->a >= sample->b)
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

/* The sample of this kind; the last one, or a zeroed one if there is none. */
static struct log_sample last_of(const struct memory_sampler *samples, uint64_t kind)
{
    struct log_sample found = {0};

    for (uint32_t i = 0; i < samples->n_samples; i++)
        if (samples->samples[i].kind == kind)
            found = samples->samples[i];
    return found;
}

/* Sanitizers map much more than fits; their samples have no parts. */
TEST(the_parts_end_with_stack_shared_memory_and_files)
{
    const size_t shared_bytes = 4 << 20;
    char *shared =
        mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct memory_sampler *samples;

    skip_without_glibc_heaps();
    assert_true(shared != MAP_FAILED);
    memset(shared, 1, shared_bytes);
    samples = take_at(second_ns);
    assert_int_equal(samples->samples[samples->n_samples - 1].kind, LOG_SAMPLE_PARTS);
    struct log_sample parts = last_of(samples, LOG_SAMPLE_PARTS);
    struct log_sample all = last_of(samples, LOG_SAMPLE_MEMORY);
    uint64_t private_bytes = 0;
    for (uint32_t i = 0; i < samples->n_samples; i++)
        if (samples->samples[i].kind == LOG_SAMPLE_PRIVATE
            || samples->samples[i].kind == LOG_SAMPLE_MODULE_DATA)
            private_bytes += samples->samples[i].c;
    assert_true(parts.a > 0);
    assert_true(parts.b == shared_bytes);
    assert_true(parts.c > 0);
    assert_int_equal(all.a, all.b + all.c);
    /* the rest are pages of the kernel */
    assert_true(parts.a + parts.b + parts.c + private_bytes <= all.a);
    assert_true(parts.a + parts.b + parts.c + private_bytes + 65536 > all.a);
    assert_int_equal(munmap(shared, shared_bytes), 0);
    free(samples);
}

/* Too many runs of pages in one mapping are merged where gaps are smallest; no byte is lost. */
TEST(many_runs_keep_their_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t n_pages = 20000;
    char *start =
        mmap(NULL, n_pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct memory_sampler *samples;
    uint64_t bytes = 0;
    uint32_t n = 0;

    skip_without_glibc_heaps();
    assert_true(start != MAP_FAILED);
    assert_int_equal(madvise(start, n_pages * page, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < n_pages; i += 2)
        start[i * page] = 1;
    samples = take_at(second_ns);
    for (uint32_t i = 0; i < samples->n_samples; i++) {
        const struct log_sample *sample = &samples->samples[i];
        uint64_t first = (uint64_t)(uintptr_t)start;
        if (sample->kind != LOG_SAMPLE_PRIVATE || sample->a < first
            || sample->b > first + n_pages * page)
            continue;
        bytes += sample->c;
        n++;
    }
    assert_true(bytes == n_pages / 2 * page);
    assert_in_range(n, 1000, 4200);
    assert_int_equal(munmap(start, n_pages * page), 0);
    free(samples);
}

/* Mappings grow, shrink and merge between two reads of smaps. The addresses are not of this
 * process: its pagemap has no resident pages there. */
TEST(a_mapping_that_is_repeated_counts_once)
{
    static const char text[] =
        "10000-14000 rw-p 00000000 00:00 0\nRss: 16 kB\nAnonymous: 16 kB\n"
        /* grows once, then twice */
        "20000-30000 rw-p 00000000 00:00 0 [heap]\nRss: 64 kB\nAnonymous: 64 kB\n"
        "20000-40000 rw-p 00000000 00:00 0 [heap]\nRss: 128 kB\nAnonymous: 128 kB\n"
        "20000-48000 rw-p 00000000 00:00 0 [heap]\nRss: 160 kB\nAnonymous: 160 kB\n"
        /* gives its end to the next one */
        "50000-60000 rw-p 00000000 00:00 0\nRss: 64 kB\nAnonymous: 64 kB\n"
        "58000-70000 ---p 00000000 00:00 0\nRss: 0 kB\nAnonymous: 0 kB\n"
        /* the gap between two is filled */
        "80000-84000 rw-p 00000000 00:00 0\nRss: 16 kB\nAnonymous: 16 kB\n"
        "90000-94000 rw-p 00000000 00:00 0\nRss: 16 kB\nAnonymous: 16 kB\n"
        "80000-a0000 rw-p 00000000 00:00 0\nRss: 128 kB\nAnonymous: 128 kB\n";

    static const struct {
        uint64_t start, end;
        bool is_resident;
    } expected[] = {{0x10000, 0x14000, true},  {0x20000, 0x48000, true}, {0x50000, 0x58000, true},
                    {0x58000, 0x70000, false}, {0x80000, 0x84000, true}, {0x84000, 0xa0000, true}};
    struct memory_sampler *samples = calloc(1, sizeof(*samples));
    FILE *smaps = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    uint64_t bytes = 0;
    size_t n = 0;

    assert_non_null(samples);
    assert_non_null(smaps);
    memory_sampler_init(samples, getpid(), 100, 0);
    samples->log_fd = -1;
    assert_true(memory_sampler_read_parts(samples, smaps, second_ns));
    for (uint32_t i = 0; i < samples->n_samples; i++) {
        const struct log_sample *sample = &samples->samples[i];
        if (sample->kind != LOG_SAMPLE_PRIVATE)
            continue;
        assert_in_range(n, 0, sizeof(expected) / sizeof(expected[0]) - 1);
        assert_true(sample->a == expected[n].start);
        assert_true(sample->b == expected[n].end);
        assert_true(sample->c == (expected[n].is_resident ? sample->b - sample->a : 0));
        bytes += sample->c;
        n++;
    }
    assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
    assert_true(last_of(samples, LOG_SAMPLE_MEMORY).a == bytes);
    assert_true(last_of(samples, LOG_SAMPLE_MEMORY).b == bytes);
    fclose(smaps);
    free(samples);
}

/* After a long walk there is a pause; a change of the total makes the next one earlier. */
TEST(parts_follow_changes_within_their_share)
{
    const size_t grown_bytes = 32 << 20;
    struct memory_sampler *samples;
    uint64_t first_ns;

    skip_without_glibc_heaps();
    samples = take_at(second_ns);
    first_ns = last_of(samples, LOG_SAMPLE_PARTS).monotonic_ns;
    assert_int_equal(first_ns, second_ns);
    assert_true(samples->parts.next_ns > second_ns);
    char *grown =
        mmap(NULL, grown_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(grown != MAP_FAILED);
    memset(grown, 1, grown_bytes);
    samples->parts.next_ns = UINT64_MAX;
    samples->parts.paid_ns = 0;
    memory_sampler_take(samples, 2 * second_ns); /* totals only: the change is seen */
    assert_int_equal(last_of(samples, LOG_SAMPLE_PARTS).monotonic_ns, first_ns);
    memory_sampler_take(samples, 2 * second_ns + 1);
    assert_int_equal(last_of(samples, LOG_SAMPLE_PARTS).monotonic_ns, 2 * second_ns + 1);
    samples->parts.next_ns = UINT64_MAX;
    samples->parts.paid_ns = 100 * second_ns; /* as after a walk of half a second */
    assert_int_equal(munmap(grown, grown_bytes), 0);
    memory_sampler_take(samples, 3 * second_ns);
    memory_sampler_take(samples, 4 * second_ns);
    assert_int_equal(last_of(samples, LOG_SAMPLE_PARTS).monotonic_ns, 2 * second_ns + 1);
    assert_in_range(samples->parts.next_ns, 50 * second_ns, 100 * second_ns);
    free(samples);
}

TEST(a_process_that_is_gone_gives_nothing)
{
    struct memory_sampler *samples = calloc(1, sizeof(*samples));

    assert_non_null(samples);
    memory_sampler_init(samples, 0x3fffffff, 100, 0);
    memory_sampler_take(samples, 10 * second_ns);
    assert_int_equal(samples->n_samples, 0);
    free(samples);
}

TEST(zero_means_never)
{
    struct memory_sampler *samples = calloc(1, sizeof(*samples));

    assert_non_null(samples);
    memory_sampler_init(samples, getpid(), 0, 0);
    assert_true(memory_sampler_take(samples, 10 * second_ns) == UINT64_MAX);
    assert_int_equal(samples->n_samples, 0);
    free(samples);
}
