/* SPDX-License-Identifier: MIT */
/* Slots of modules: an id belongs to one module only, and slots of unloaded ones are reused. */
#include "collector/log/module_table.h"
#include "tests/lib/unit.h"

#include <stdbool.h>

static uint32_t g_last_ended;
static uintptr_t g_gone; /* the module that starts here is unloaded; 0: all are */

static int forget(void **state)
{
    (void)state;
    module_table_forget();
    return 0;
}

static struct module_identity numbered(uintptr_t n)
{
    return (struct module_identity){n << 12, (n + 1) << 12, n, n, n};
}

static bool is_there(const struct module_identity *identity)
{
    return g_gone != 0 && identity->start != g_gone;
}

static void ended(uint32_t id)
{
    g_last_ended = id;
}

static uint32_t add(uintptr_t n, uint64_t file)
{
    struct module_identity identity = numbered(n);
    struct module_slot *slot = module_table_claim(&identity, file);
    uint32_t id;

    if (!slot)
        return 0;
    id = module_table_id(slot);
    module_table_publish(slot, true);
    return id;
}

static uint32_t find(uintptr_t n)
{
    struct module_identity identity = numbered(n);

    return module_table_find(&identity);
}

static void unload(uintptr_t n)
{
    g_gone = n << 12;
    assert_true(module_table_end(is_there, ended));
}

TEST_WITH(it_has_it_too_where_its_link_map_is_another_one, forget, NULL)
{
    struct module_identity identity = numbered(1);
    uint32_t id = add(1, 77);

    unload(1);
    identity.link_map += 16;
    struct module_slot *slot = module_table_claim(&identity, 77);
    assert_int_equal(module_table_id(slot), id);
    module_table_publish(slot, true);
    assert_int_equal(module_table_find(&identity), id);
    assert_int_equal(find(1), 0);
}

/* MT-3: each return up to the last reported one has a definition, and an end before it. */
TEST_WITH(modules_that_reload_are_defined_a_limited_number_of_times, forget, NULL)
{
    const struct module_identity identity = numbered(1);
    unsigned n_defined = 0, n_ended = 0;

    for (unsigned i = 0; i < 3 * MODULE_TABLE_REPORTED; i++) {
        struct module_slot *slot = module_table_claim(&identity, 77);
        n_defined += !module_table_is_settled(slot);
        module_table_publish(slot, true);
        g_last_ended = 0;
        unload(1);
        n_ended += g_last_ended != 0;
        assert_int_equal(find(1), 0);
    }
    assert_int_equal(n_defined, 1 + MODULE_TABLE_REPORTED);
    assert_int_equal(n_ended, MODULE_TABLE_REPORTED);
    assert_int_equal(add(1, 78), 2);
    unload(1);
    assert_int_equal(g_last_ended, 2);
}

/* MT-1 */
TEST_WITH(slots_come_back_under_new_ids, forget, NULL)
{
    for (uintptr_t n = 1; n <= 3 * MODULE_TABLE_SLOTS; n++) {
        assert_int_equal(add(n, n % 2), n);
        assert_int_equal(find(n), n);
        unload(n);
        assert_int_equal(g_last_ended, n);
    }
}

TEST_WITH(as_many_modules_as_there_are_slots, forget, NULL)
{
    for (uintptr_t n = 1; n <= MODULE_TABLE_SLOTS; n++)
        assert_int_equal(add(n, 0), n);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(add(MODULE_TABLE_SLOTS + 1, 0), 0);
    assert_int_equal(find(MODULE_TABLE_SLOTS), MODULE_TABLE_SLOTS);
    unload(5);
    assert_int_not_equal(add(MODULE_TABLE_SLOTS + 1, 0), 0);
}

TEST_WITH(one_that_could_not_be_defined_takes_no_room, forget, NULL)
{
    struct module_identity identity = numbered(1);

    for (unsigned i = 0; i < 2 * MODULE_TABLE_SLOTS; i++) {
        struct module_slot *slot = module_table_claim(&identity, 77);
        assert_non_null(slot);
        module_table_publish(slot, false);
        assert_int_equal(find(1), 0);
    }
}
