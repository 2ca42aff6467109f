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

/* A sanitizer's allocator has neither a heap at the break nor arenas. */
static void skip_without_glibc_heaps(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: the sanitizer brings its own allocator\n");
    skip();
#endif
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
