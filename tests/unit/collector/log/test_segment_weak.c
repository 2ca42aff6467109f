/* SPDX-License-Identifier: MIT */
/*
 * Growth on a file system without fallocate: several threads reserve the same space by writing, and
 * none of them overwrites space that another already uses.
 */
#include "collector/log/segment.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    N_THREADS = 4,
    N_TAKEN = 600, /* segments, of all threads */
    PATTERN = 0xa5,
};

static struct log_fixture g_log;
static atomic_uint g_n_taken;
static struct log_segment *g_taken[N_TAKEN];

long __wrap_sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes);

long __wrap_sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes)
{
    (void)fd, (void)offset, (void)size_bytes;
    return -EOPNOTSUPP;
}

static void *take_and_fill(void *unused)
{
    unsigned i;

    (void)unused;
    while ((i = g_n_taken++) < N_TAKEN) {
        g_taken[i] = segment_take(LOG_SEGMENT_EVENTS);
        if (!g_taken[i])
            return NULL;
        memset(segment_payload(g_taken[i]), PATTERN, LOG_SEGMENT_PAYLOAD_BYTES);
    }
    return NULL;
}

TEST(writing_reserves_without_overwriting)
{
    pthread_t threads[N_THREADS];

    log_fixture_open(&g_log, 1, (uint64_t)1 << 30);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_fill, NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(g_log.file->flags & LOG_FLAG_WEAK);
    for (unsigned i = 0; i < N_TAKEN; i++) {
        const uint8_t *bytes;
        assert_non_null(g_taken[i]);
        bytes = segment_payload(g_taken[i]);
        assert_int_equal(g_taken[i]->run_id, g_log.file->run_id);
        for (unsigned at = 0; at < LOG_SEGMENT_PAYLOAD_BYTES; at++)
            if (bytes[at] != PATTERN)
                fail_msg("byte %u of segment %u is %u", at, g_taken[i]->index, bytes[at]);
    }
    log_fixture_close(&g_log);
}
