/* SPDX-License-Identifier: MIT */
/* The set compared with an array that is searched linearly. */
#include "importer/totals/address_set.h"
#include "tests/lib/unit.h"

#include <stdbool.h>

enum {
    N_ADDRESSES = 200,
    N_OF = 3,
    N_ROUNDS = 20000,
};

static bool g_is_there[N_ADDRESSES][N_OF];

static const struct address_item *check(const struct address_item *item, int expected)
{
    assert_int_equal(item ? (int)item->address : -1, expected);
    return item;
}

static int any_of(int address)
{
    for (int of = 0; of < N_OF; of++)
        if (g_is_there[address][of])
            return address;
    return -1;
}

static size_t count_all(void)
{
    size_t n = 0;

    for (int address = 0; address < N_ADDRESSES; address++)
        for (int of = 0; of < N_OF; of++)
            n += g_is_there[address][of];
    return n;
}

/* From the first to the last, two at one address included. */
static void check_order(const struct address_set *set)
{
    const struct address_item *item = address_set_first_at(set, 0);
    size_t n = 0;

    for (; item; item = address_set_next(set, item)) {
        const struct address_item *next = address_set_next(set, item);
        assert_true(g_is_there[item->address][item->of]);
        assert_true(!next || next->address > item->address
                    || (next->address == item->address && next->of > item->of));
        n++;
    }
    assert_int_equal(n, count_all());
}

TEST(finds_neighbours)
{
    struct address_set set = {NULL};
    struct error err = {0};

    srand(1);
    for (int round = 0; round < N_ROUNDS; round++) {
        int address = rand() % N_ADDRESSES;
        int of = rand() % N_OF;
        const struct address_item item = {
            .address = (uint64_t)address, .of = (uint32_t)of, .id = (uint64_t)round};
        int before = -1;
        int behind = -1;

        if (rand() % 8 == 0) {
            assert_int_equal(address_set_put(&set, &item, &err), 0);
            g_is_there[address][of] = true;
        } else {
            address_set_remove(&set, item.address, item.of);
            g_is_there[address][of] = false;
        }
        address = rand() % N_ADDRESSES;
        for (int at = address; at >= 0 && before < 0; at--)
            before = any_of(at);
        for (int at = address; at < N_ADDRESSES && behind < 0; at++)
            behind = any_of(at);
        check(address_set_last_at(&set, (uint64_t)address), before);
        check(address_set_first_at(&set, (uint64_t)address), behind);
    }
    check_order(&set);
    address_set_done(&set);
}
