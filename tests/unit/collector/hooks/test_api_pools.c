/* SPDX-License-Identifier: MIT */
/* Calls with the largest values that a record has room for, and calls beyond the last pool. */
#include "collector/events/record.h"
#include "collector/groups/groups.h"
#include "collector/hooks/api_pools.h"
#include "collector/log/name_table.h"
#include "collector/os/real.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/recording_fixture.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
    N_SEGMENTS = 64,
    LAST_POOL = NAME_TABLE_CHUNK * NAME_TABLE_CHUNKS - 1,
    BYTES = 100,
};

static struct log_fixture g_log;
static char g_slab[4096];
static bool g_jumps; /* to the last id */

uint32_t __real_name_table_add(struct name_table *table, const char *text, size_t text_bytes);
uint32_t __wrap_name_table_add(struct name_table *table, const char *text, size_t text_bytes);

uint32_t __wrap_name_table_add(struct name_table *table, const char *text, size_t text_bytes)
{
    if (g_jumps)
        table->next_id = LAST_POOL;
    g_jumps = false;
    return __real_name_table_add(table, text, text_bytes);
}

static int begin_recording(void **state)
{
    static const struct config config = {.unwinder = CONFIG_UNWINDER_FAST};

    (void)state;
    g_real.malloc = malloc; /* ready */
    return recording_fixture_begin(&g_log, N_SEGMENTS, &config) ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

/* The last record has so many words. */
static const uint64_t *last_words(unsigned n)
{
    return g_thread.cursor - n;
}

static uint64_t address_of(const uint64_t *words)
{
    return words[1] & (((uint64_t)1 << LOG_ADDRESS_BITS) - 1);
}

static uint64_t size_word(uint32_t pool, uint64_t size_bytes)
{
    return size_bytes | (uint64_t)pool << LOG_SIZE_BITS;
}

/* The largest block and the highest address there can be. */
TEST(limits_are_recorded_and_what_is_beyond_is_counted)
{
    const uint64_t max_bytes = ((uint64_t)1 << LOG_SIZE_BITS) - 1;
    const uint64_t end = (uint64_t)1 << LOG_ADDRESS_BITS;
    const uint32_t pool = api_pool_create("limits");
    const uint64_t n_bad = groups_counters().bad_handles;
    const uint64_t *before;

    if (sizeof(uintptr_t) < sizeof(uint64_t))
        skip(); /* the log ends there */
    api_pool_alloc(pool, g_slab, (size_t)max_bytes);
    assert_int_equal(last_words(3)[2], size_word(pool, max_bytes));
    api_pool_alloc(pool, (void *)(uintptr_t)(end - 16), 16);
    assert_int_equal(address_of(last_words(3)), end - 16);
    before = g_thread.cursor;
    api_pool_alloc(pool, (void *)(uintptr_t)(end - 16), 17);
    api_pool_alloc(pool, (void *)(uintptr_t)end, 0);
    api_pool_alloc(pool, g_slab, (size_t)(max_bytes + 1));
    api_pool_free(pool, (void *)(uintptr_t)end);
    assert_ptr_equal(g_thread.cursor, before);
    assert_int_equal(groups_counters().bad_handles, n_bad + 4);
}

/* The last pool works as any other; a call beyond it gets 0, which has no effect, and is counted.
 * Comes last. */
TEST(pools_beyond_the_limit_get_no_number)
{
    const uint64_t n_refused = groups_counters().refused_groups;
    const uint64_t n_bad = groups_counters().bad_handles;
    const uint64_t *before;
    uint32_t last;

    g_jumps = true;
    last = api_pool_create("last");
    assert_int_equal(last, LAST_POOL);
    api_pool_alloc(last, g_slab, BYTES);
    assert_int_equal(last_words(3)[2], size_word(last, BYTES));
    api_pool_free(last, g_slab);
    assert_int_equal(last_words(3)[2], last);
    before = g_thread.cursor;
    for (unsigned i = 0; i < 3; i++)
        api_pool_alloc(api_pool_create("one too many"), g_slab, BYTES);
    assert_int_equal(groups_counters().refused_groups, n_refused + 3);
    assert_int_equal(groups_counters().bad_handles, n_bad);
    api_pool_alloc(last + 1, g_slab, BYTES);
    assert_int_equal(groups_counters().bad_handles, n_bad + 1);
    assert_ptr_equal(g_thread.cursor, before);
}

TESTS_WITH(begin_recording, finish);
