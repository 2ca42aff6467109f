/* SPDX-License-Identifier: MIT */
/* A keyed array against a plain list of what was put into it. */
#include "lib/base/hash_map.h"
#include "tests/lib/unit.h"

enum {
    N_KEYS = 100000,
    ROUNDS = 3
};

struct counted {
    uint32_t key[3];
    uint32_t n;
    uint64_t sum;
};

/* Keys that differ in one word only, each word in turn. */
static void make_key(uint32_t number, uint32_t key[3])
{
    key[0] = key[1] = key[2] = 7;
    key[number % 3] = 8 + number / 3;
}

static struct counted *get(struct hash_map *keyed, uint32_t number)
{
    uint32_t key[3];

    make_key(number, key);
    return hash_map_get(keyed, key, sizeof(key), sizeof(struct counted));
}

TEST(a_key_has_one_element)
{
    struct hash_map keyed = {0};

    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < N_KEYS; i++) {
            struct counted *element = get(&keyed, i);
            assert_non_null(element);
            element->n++;
            element->sum += i;
        }
    }
    assert_int_equal(keyed.n, N_KEYS);
    for (uint32_t i = 0; i < N_KEYS; i++) {
        const struct counted *element = (const struct counted *)keyed.elements + i;
        uint32_t key[3];
        make_key(i, key);
        assert_memory_equal(element->key, key, sizeof(key)); /* in the order of asking */
        assert_int_equal(element->n, ROUNDS);
        assert_int_equal(element->sum, (uint64_t)ROUNDS * i);
    }
    hash_map_done(&keyed);
}

TEST(missing_keys_are_not_found)
{
    struct hash_map keyed = {0};
    uint64_t key = 1;

    assert_null(hash_map_find(&keyed, &key, sizeof(key), sizeof(key)));
    assert_non_null(hash_map_add(&keyed, &key, sizeof(key), sizeof(key)));
    assert_ptr_equal(hash_map_find(&keyed, &key, sizeof(key), sizeof(key)), keyed.elements);
    key = 0;
    assert_null(hash_map_find(&keyed, &key, sizeof(key), sizeof(key)));
    hash_map_done(&keyed);
}
