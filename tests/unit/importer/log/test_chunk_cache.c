/* SPDX-License-Identifier: MIT */
/* Chunks unchanged since the last checkpoint come from the cache, others are packed: the bytes are
 * the same as without a cache. */
#include "importer/log/checkpoint_io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    PART_BYTES = 5 * CHECKPOINT_CHUNK_BYTES,
    MAX_BYTES = 16 * CHECKPOINT_CHUNK_BYTES
};

struct bytes {
    uint8_t bytes[MAX_BYTES];
    size_t n;
};

static int put(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    struct bytes *all = context;

    (void)err;
    assert_true(all->n + n_bytes <= MAX_BYTES);
    memcpy(all->bytes + all->n, chunk, n_bytes);
    all->n += n_bytes;
    return 0;
}

static void save(struct chunk_cache *cache, uint8_t *const parts[2], const size_t n_bytes[2],
                 struct bytes *ret)
{
    const struct checkpoint_io_sink sink = {.put = put, .context = ret};
    struct checkpoint_io *io;

    ret->n = 0;
    assert_int_equal(checkpoint_io_save(&sink, cache, &io, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        checkpoint_io_part(io, i ? CHECKPOINT_TOTALS : CHECKPOINT_PAIRING, 1);
        checkpoint_io_bytes(io, parts[i], n_bytes[i]);
    }
    assert_int_equal(checkpoint_io_end(io), 0);
    checkpoint_io_close(io);
}

static size_t n_known(const struct chunk_cache *cache)
{
    size_t n = 0;

    for (unsigned i = 0; i < CHUNK_CACHE_PARTS; i++)
        n += cache->parts[i].n;
    return n;
}

static void chunks_are_those_of_no_memo(void **state)
{
    static uint8_t first[PART_BYTES], second[PART_BYTES];
    static struct bytes with_memo, without;
    uint8_t *const parts[] = {first, second};
    struct chunk_cache cache = {0};
    uint64_t seed = 5;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        const size_t n_bytes[] = {1 + (size_t)(seed >> 20) % (PART_BYTES - 1),
                                  round % 3 ? PART_BYTES : 1 + (size_t)(seed >> 40) % 100};
        for (unsigned i = 0; i < round % 5; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            parts[i % 2][(seed >> 33) % PART_BYTES]++;
        }
        save(&cache, parts, n_bytes, &with_memo);
        save(NULL, parts, n_bytes, &without);
        assert_int_equal(with_memo.n, without.n);
        assert_memory_equal(with_memo.bytes, without.bytes, without.n);
        assert_true(n_known(&cache) <= 13); /* none for a removed part */
    }
    chunk_cache_done(&cache);
    assert_int_equal(n_known(&cache), 0);
}

static void what_is_the_same_is_found(void **state)
{
    struct chunk_cache cache = {0};
    size_t n = 0;

    (void)state;
    assert_null(chunk_cache_find(&cache, 3, 0, "first", 5, &n));
    chunk_cache_put(&cache, 3, 0, "packed", 6);
    assert_null(chunk_cache_find(&cache, 3, 1, "first", 5, &n));
    chunk_cache_put(&cache, 3, 1, "other", 5);
    assert_memory_equal(chunk_cache_find(&cache, 3, 0, "first", 5, &n), "packed", 6);
    assert_int_equal(n, 6);
    assert_null(chunk_cache_find(&cache, 4, 0, "first", 5, &n)); /* of another part */
    assert_null(chunk_cache_find(&cache, 3, 0, "First", 5, &n)); /* and is forgotten */
    assert_null(chunk_cache_find(&cache, 3, 0, "first", 5, &n));
    chunk_cache_cut(&cache, 3, 1);
    assert_null(chunk_cache_find(&cache, 3, 1, "first", 5, &n));
    chunk_cache_done(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_are_those_of_no_memo),
                                       cmocka_unit_test(what_is_the_same_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
