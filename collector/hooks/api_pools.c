/* SPDX-License-Identifier: MIT */
#include "collector/hooks/api_pools.h"

#include "collector/events/record.h"
#include "collector/groups/groups.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

/* While tracking is off, allocations are not recorded. Frees are: the block may have been allocated
 * before. */
static bool is_recorded(uint32_t pool, bool is_allocation)
{
    return pool != 0 && lifecycle_is_ready() && state_is_recording()
           && (!is_allocation || state_is_tracing()) && groups_check_pool(pool);
}

static void record(enum log_event_kind kind, uint32_t pool, const void *address,
                   const uint64_t *words, unsigned n_words, const struct unwind_origin *origin)
{
    const struct record_name name = {groups_define_pool, pool};

    (void)record_named_event(kind, (uintptr_t)address, words, n_words, origin, &name, NULL);
}

enum {
    MIN_ADDRESS = 32768, /* minimum of vm.mmap_min_addr: this on ARM, twice as much elsewhere */
};

/* Can the block be in memory, and can the log represent its address? */
static bool is_block(const void *address, size_t size_bytes)
{
    const uint64_t end = (uint64_t)1 << LOG_ADDRESS_BITS;

    if ((uint64_t)size_bytes >> LOG_SIZE_BITS == 0 && (uintptr_t)address >= MIN_ADDRESS
        && (uintptr_t)address < end && end - (uintptr_t)address >= size_bytes)
        return true;
    groups_count_bad_handle();
    return false;
}

static uint64_t size_word(uint32_t pool, size_t size_bytes)
{
    return size_bytes | (uint64_t)pool << LOG_SIZE_BITS;
}

static void allocated(uint32_t pool, const void *address, size_t size_bytes,
                      const struct unwind_origin *origin)
{
    const uint64_t words[3] = {0, 0, size_word(pool, size_bytes)};

    if (address && is_recorded(pool, true) && is_block(address, size_bytes))
        record(LOG_POOL_ALLOC, pool, address, words, 3, origin);
}

static void ended(uint32_t pool, const void *address, const struct unwind_origin *origin)
{
    const uint64_t words[3] = {0, 0, pool};

    if (address && is_recorded(pool, false) && is_block(address, 0))
        record(LOG_POOL_FREE, pool, address, words, 3, origin);
}

static void resized(uint32_t pool, const void *old_address, const void *address, size_t size_bytes,
                    const struct unwind_origin *origin)
{
    const uint64_t words[4] = {0, 0, size_word(pool, size_bytes), (uintptr_t)old_address};

    if (!old_address)
        allocated(pool, address, size_bytes, origin);
    else if (address && is_recorded(pool, true) && is_block(address, size_bytes)
             && is_block(old_address, 0))
        record(LOG_POOL_RESIZE, pool, address, words, 4, origin);
    else if (address) /* what it becomes is not recorded, but what it was has ended */
        ended(pool, old_address, origin);
}

uint32_t api_pool_create(const char *name)
{
    return lifecycle_is_ready() && (state_is_recording() || !state_is_off()) ? groups_pool(name)
                                                                             : 0;
}

void api_pool_alloc(uint32_t pool, const void *address, size_t size_bytes)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    allocated(pool, address, size_bytes, &origin);
}

void api_pool_resize(uint32_t pool, const void *old_address, const void *address, size_t size_bytes)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    resized(pool, old_address, address, size_bytes, &origin);
}

void api_pool_free(uint32_t pool, const void *address)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    ended(pool, address, &origin);
}

void api_pool_destroy(uint32_t pool)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (is_recorded(pool, false))
        record(LOG_POOL_END, pool, (const void *)(uintptr_t)pool, NULL, 2, &origin);
}

/* ---- heaptrack's calls ----------------------------------------------------------------------- */

void heaptrack_malloc(void *address, size_t size_bytes);
void heaptrack_realloc(void *old_address, size_t size_bytes, void *address);
void heaptrack_free(void *address);

/* heaptrack has no pools: all blocks are in one. The loser of a race has defined a pool that stays
 * empty. */
static uint32_t heaptrack_pool(void)
{
    static _Atomic uint32_t found;
    uint32_t pool =
        atomic_load_explicit(&found, memory_order_acquire); /* acquire: its name is defined */
    uint32_t none = 0;

    if (mtrace_likely(pool != 0))
        return pool;
    pool = api_pool_create("heaptrack_api");
    return atomic_compare_exchange_strong(&found, &none, pool) ? pool : none;
}

MTRACE_EXPORT void heaptrack_malloc(void *address, size_t size_bytes)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    allocated(heaptrack_pool(), address, size_bytes, &origin);
}

MTRACE_EXPORT void heaptrack_realloc(void *old_address, size_t size_bytes, void *address)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    resized(heaptrack_pool(), old_address, address, size_bytes, &origin);
}

MTRACE_EXPORT void heaptrack_free(void *address)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    ended(heaptrack_pool(), address, &origin);
}
