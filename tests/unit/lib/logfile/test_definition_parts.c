/* SPDX-License-Identifier: MIT */
/* Definitions that are committed in another order than they lie: any late one is still in a
 * part. */
#include "lib/logfile/definition_parts.h"
#include "tests/lib/unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    N_POOL = 4,
    N_DEFS = 4,
};

static char g_folder[] = "/tmp/mtrace-test-parts-XXXXXX";
static struct live_log g_live;

static int begin(void **state)
{
    char path[64];

    (void)state;
    if (!mkdtemp(g_folder))
        return 1;
    (void)snprintf(path, sizeof(path), "%s/run.dat.live", g_folder);
    return live_log_create(path, 4711, N_POOL, &g_live, NULL);
}

static int finish(void **state)
{
    (void)state;
    live_log_remove(&g_live);
    live_log_close(&g_live);
    return rmdir(g_folder);
}

static struct log_def *def_at(uint32_t at)
{
    return (struct log_def *)(void *)((unsigned char *)(live_log_segment(&g_live, 0) + 1) + at);
}

static uint32_t bytes_of(uint32_t text_bytes)
{
    uint32_t size = (uint32_t)sizeof(struct log_def) + text_bytes;

    return (size + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
}

/* Space for so many, none of which is committed. */
static uint32_t reserve(uint32_t text_bytes)
{
    struct log_segment *segment = live_log_segment(&g_live, 0);
    const uint32_t size = bytes_of(text_bytes);

    memset(segment + 1, 0, (size_t)N_DEFS * size);
    segment->kind = LOG_SEGMENT_DEFS;
    atomic_store(&segment->reserved_bytes, N_DEFS * size);
    for (uint32_t i = 0; i < N_DEFS; i++) {
        def_at(i * size)->text_bytes = (uint16_t)text_bytes;
        memset(def_at(i * size) + 1, 'x', text_bytes);
    }
    return size;
}

/* The definitions that the recorder has afterwards. */
static unsigned take(struct definition_part *part, uint32_t size, bool is_last)
{
    uint32_t first;
    uint32_t end;
    unsigned found = 0;

    if (!(is_last ? definition_parts_last : definition_parts_next)(&g_live, part, &first, &end))
        return 0;
    for (uint32_t i = 0; i < N_DEFS; i++)
        if (i * size >= first && (i + 1) * size <= end && def_at(i * size)->magic == LOG_DEF_MAGIC)
            found |= 1u << i;
    return found;
}

static void commit(uint32_t i, uint32_t size)
{
    atomic_store(&def_at(i * size)->magic, LOG_DEF_MAGIC);
}

/* late: comes when all others have been looked at so many times. */
static unsigned found_with_late(uint32_t late, unsigned n_looks, uint32_t text_bytes)
{
    const uint32_t size = reserve(text_bytes);
    struct definition_part part = {.index = 0, .kind = LOG_SEGMENT_DEFS};
    unsigned found = 0;

    for (uint32_t i = 0; i < N_DEFS; i++)
        if (i != late)
            commit(i, size);
    for (unsigned i = 0; i < n_looks; i++)
        found |= take(&part, size, false);
    commit(late, size);
    found |= take(&part, size, false);
    return found | take(&part, size, true);
}

TEST(whichever_is_late_is_there)
{
    static const uint32_t texts[] = {0, 1, 40, 100, 500};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (uint32_t late = 0; late < N_DEFS; late++)
            for (unsigned n_looks = 0; n_looks < 4; n_looks++)
                assert_int_equal(found_with_late(late, n_looks, texts[i]), (1u << N_DEFS) - 1);
}

/* A thread that never commits does not block others. */
TEST(a_definition_that_is_never_committed_is_skipped)
{
    const uint32_t size = reserve(40);
    struct definition_part part = {.index = 0, .kind = LOG_SEGMENT_DEFS};
    unsigned found = 0;

    for (uint32_t i = 1; i < N_DEFS; i++) {
        commit(i, size);
        found |= take(&part, size, false);
        assert_int_equal(found, (1u << (i + 1)) - 2);
    }
    assert_int_equal(take(&part, size, true), (1u << N_DEFS) - 2);
}

static struct log_segment *use(uint32_t index, uint64_t sequence, uint32_t n_bytes)
{
    struct log_segment *segment = live_log_segment(&g_live, index);

    memset(segment + 1, 0, bytes_of(40));
    segment->kind = LOG_SEGMENT_DEFS;
    segment->run_id = g_live.seen.run_id;
    segment->sequence = sequence;
    atomic_store(&segment->reserved_bytes, n_bytes);
    atomic_store(&segment->state, LOG_STATE_FILLING);
    return segment;
}

static bool has_found(const struct definition_parts *parts, uint64_t sequence)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->parts[i].sequence == sequence)
            return true;
    return false;
}

/* If two threads want a new segment, the later one returns its own. Until it is taken again, it is
 * neither space for new definitions nor known. */
TEST(returned_segments_are_found_again)
{
    struct definition_parts parts = {0};
    struct log_segment *both;

    g_live.n_unprepared = 0;
    use(1, 101, LOG_SEGMENT_PAYLOAD_BYTES + 1);
    both = use(2, 102, 0);
    assert_true(definition_parts_find(&parts, &g_live));
    assert_true(has_found(&parts, 101) && has_found(&parts, 102));

    atomic_store(&both->state, LOG_STATE_FREE);
    use(3, 103, LOG_DEF_ALIGN);
    assert_true(definition_parts_find(&parts, &g_live));
    assert_true(has_found(&parts, 103));
    assert_false(has_found(&parts, 102));

    atomic_store(&live_log_segment(&g_live, 3)->reserved_bytes, LOG_SEGMENT_PAYLOAD_BYTES + 1);
    use(2, 104, LOG_DEF_ALIGN);
    assert_true(definition_parts_find(&parts, &g_live));
    assert_true(has_found(&parts, 104));
    assert_int_equal(parts.n, 3);
    definition_parts_done(&parts);
}

/* A thread that is delayed before it returns its segment does not hide the one that all others
 * fill. */
TEST(an_empty_segment_hides_no_other)
{
    struct definition_parts parts = {0};

    for (uint32_t i = 1; i <= 3; i++)
        atomic_store(&live_log_segment(&g_live, i)->state, LOG_STATE_FREE);
    use(1, 201, 0);
    assert_true(definition_parts_find(&parts, &g_live));
    assert_true(has_found(&parts, 201));
    use(2, 202, LOG_DEF_ALIGN);
    assert_true(definition_parts_find(&parts, &g_live));
    assert_true(has_found(&parts, 202));
    definition_parts_done(&parts);
}

TESTS_WITH(begin, finish);
