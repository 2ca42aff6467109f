/* SPDX-License-Identifier: MIT */
/* The main program of one unit test file: each TEST registers itself and runs in the order of the
 * file. Include it once in a program, after the header under test. */
#ifndef MTRACE_TESTS_LIB_UNIT_H
#define MTRACE_TESTS_LIB_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    MAX_UNIT_TESTS = 100,
};

static struct {
    struct CMUnitTest tests[MAX_UNIT_TESTS];
    size_t n_tests;
    CMFixtureFunction set_up, tear_down; /* of all tests together; NULL: none */
} g_unit;

/* TEST(name) { … }: a test without fixture. Its body may use `void **state`. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* TEST_WITH(name, set_up, tear_down) { … }: both run around this test; NULL: none. */
#define TEST_WITH(test, set_up, tear_down)                                        \
    static void test(void **state);                                               \
    __attribute__((constructor)) static void register_##test(void)                \
    {                                                                             \
        unit_register((struct CMUnitTest){#test, test, set_up, tear_down, NULL}); \
    }                                                                             \
    static void test(__attribute__((unused)) void **state)

/* TEST_TWICE(name) { … }: first with *state NULL, then with another *state. */
#define TEST_TWICE(test)                                                      \
    static void test(void **state);                                           \
    __attribute__((constructor)) static void register_##test(void)            \
    {                                                                         \
        unit_register((struct CMUnitTest){#test, test, NULL, NULL, NULL});    \
        unit_register((struct CMUnitTest){#test, test, NULL, NULL, &g_unit}); \
    }                                                                         \
    static void test(void **state)

/* TESTS_WITH(set_up, tear_down): set_up runs before the first test of the file, tear_down after the
 * last. A semicolon follows. */
#define TESTS_WITH(before_all, after_all)                           \
    __attribute__((constructor)) static void register_fixture(void) \
    {                                                               \
        g_unit.set_up = before_all;                                 \
        g_unit.tear_down = after_all;                               \
    }                                                               \
    struct CMUnitTest

static inline void unit_register(struct CMUnitTest test)
{
    if (g_unit.n_tests == MAX_UNIT_TESTS)
        abort();
    g_unit.tests[g_unit.n_tests++] = test;
}

int main(void)
{
    return _cmocka_run_group_tests("tests", g_unit.tests, g_unit.n_tests, g_unit.set_up,
                                   g_unit.tear_down);
}

#endif
