/* SPDX-License-Identifier: MIT */
/* Cached rules: lookups return what was stored, in the epochs in which the module was loaded. */
#include "collector/unwind/unwind_cache.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <string.h>

enum {
    EPOCH = 7,
    MODULE = 3,
    N_MANY = 50000,
    N_TURNS = 200000
};

static int start(void **state)
{
    (void)state;
    unwind_cache_init();
    return 0;
}

static void assert_same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    assert_int_equal(a->module, b->module);
    assert_int_equal(a->cfa_offset, b->cfa_offset);
    assert_int_equal(a->fp_offset, b->fp_offset);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->fp_kind, b->fp_kind);
}

TEST_WITH(every_field_comes_back, start, NULL)
{
    static const struct unwind_rule rules[] = {
        {MODULE, 16, -16, UNWIND_RULE_FP, UNWIND_FP_AT_CFA},
        {(1 << 19) - 1, (1 << 23) - 8, INT16_MIN, UNWIND_RULE_SIGNAL, UNWIND_FP_AT_FP},
        {1, -(1 << 23), INT16_MAX, UNWIND_RULE_DEREF, UNWIND_FP_KEPT},
        {1, 0, 0, UNWIND_RULE_FULL, 0},
        {1, 0, 0, UNWIND_RULE_END, 0},
        {0, 0, 0, UNWIND_RULE_GUESS, 0},
    };
    struct unwind_rule found;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const uintptr_t address = (uintptr_t)0x7fff12345678 + i;
        unwind_cache_put(address, EPOCH, &rules[i]);
        assert_true(unwind_cache_find(address, EPOCH, &found));
        assert_same_rule(&found, &rules[i]);
    }
}

/* UC-1 */
TEST_WITH(rules_hold_in_epochs_in_which_their_module_was_seen, start, NULL)
{
    struct unwind_rule rule = {MODULE, 16, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
    struct unwind_rule found;

    unwind_cache_put(0x1000, EPOCH, &rule);
    assert_false(unwind_cache_find(0x1000, EPOCH + 1, &found));
    assert_true(unwind_cache_find_former(0x1000, &found));
    assert_same_rule(&found, &rule);
    unwind_cache_confirm(MODULE, EPOCH + 1);
    assert_true(unwind_cache_find(0x1000, EPOCH + 1, &found));
    rule.module = MODULE + 1; /* another module at the same place */
    unwind_cache_put(0x1000, EPOCH + 2, &rule);
    assert_true(unwind_cache_find(0x1000, EPOCH + 2, &found));
    assert_int_equal(found.module, MODULE + 1);
}

TEST_WITH(code_without_a_module_is_looked_up_in_each_epoch, start, NULL)
{
    struct unwind_rule rule = {.kind = UNWIND_RULE_GUESS};
    struct unwind_rule found;

    unwind_cache_put(0x1000, 0x12345678, &rule);
    unwind_cache_put(0x2000, 0x12345679, &rule);
    assert_true(unwind_cache_find(0x1000, 0x12345678, &found));
    assert_false(unwind_cache_find(0x1000, 0x12345679, &found));
    assert_false(unwind_cache_find(0x1000, 0x22345678, &found));
    assert_false(unwind_cache_find_former(0x1000, &found));
}

TEST_WITH(addresses_beyond_the_cache_are_not_cached, start, NULL)
{
    struct unwind_rule far = {MODULE, 1 << 29, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
    struct unwind_rule many = {UNWIND_CACHE_MODULES, 8, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
    struct unwind_rule rule = {MODULE, 8, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
    const uintptr_t beyond = (uintptr_t)(1ull << 48); /* of addresses of 64 bits */
    struct unwind_rule found;

    unwind_cache_put(0x1000, EPOCH, &far);
    unwind_cache_put(0x2000, EPOCH, &many);
    if (beyond != 0)
        unwind_cache_put(beyond | 0x3000, EPOCH, &rule);
    assert_false(unwind_cache_find(0x1000, EPOCH, &found));
    assert_false(unwind_cache_find(0x2000, EPOCH, &found));
    assert_false(unwind_cache_find(beyond | 0x3000, EPOCH, &found));
    assert_false(unwind_cache_find(0x3000, EPOCH, &found));
    assert_false(unwind_cache_find(0, 0, &found)); /* a call of NULL */
}

/* Far more than the first cache holds: it grows, and lookups never return another address's
 * rule. */
TEST_WITH(many_rules_are_kept, start, NULL)
{
    uint32_t n_found = 0;

    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < N_MANY; i++) {
            uintptr_t address = 0x400000 + (uintptr_t)i * 13;
            struct unwind_rule rule = {MODULE, (int32_t)i * 8, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
            struct unwind_rule found;
            if (unwind_cache_find(address, EPOCH, &found)) {
                assert_int_equal(found.cfa_offset, rule.cfa_offset);
                n_found += turn > 0;
            } else {
                unwind_cache_put(address, EPOCH, &rule);
            }
        }
    assert_true(n_found > N_MANY / 4 * 3);
}

/* Two addresses whose rules identify them, stored alternately until one evicts the other. */
static void *put_and_find(void *seed)
{
    uintptr_t at = *(uint32_t *)seed;

    for (uint32_t i = 0; i < N_TURNS; i++) {
        struct unwind_rule rule = {MODULE, 0, 0, UNWIND_RULE_SP, UNWIND_FP_KEPT};
        struct unwind_rule found;
        at = at * 1103515245 + 12345;
        rule.cfa_offset = (int32_t)(at >> 8 & 63) * 8;
        if (unwind_cache_find(0x400000 + (at >> 8 & 63), EPOCH, &found)) {
            if (found.cfa_offset != rule.cfa_offset)
                return seed; /* the rule of another address */
        } else {
            unwind_cache_put(0x400000 + (at >> 8 & 63), EPOCH, &rule);
        }
    }
    return NULL;
}

/* UC-2: 64 addresses in two lines, put by four threads. */
TEST_WITH(threads_never_see_half_an_entry, start, NULL)
{
    pthread_t threads[4];
    uint32_t seeds[4] = {1, 22, 333, 4444};

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_find, &seeds[i]), 0);
    for (unsigned i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
}
