/* SPDX-License-Identifier: MIT */
/* A signal handler that leaves what it interrupted, while a name is made, takes nothing with it. */
#include "collector/log/name_table.h"
#include "collector/platform/memory.h"
#include "collector/record/groups.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static sigjmp_buf g_outside;
static volatile sig_atomic_t g_n_left;

uint32_t __real_name_table_intern(struct name_table *table, const char *text, size_t text_bytes);
uint32_t __wrap_name_table_intern(struct name_table *table, const char *text, size_t text_bytes);

/* The signal comes while the text lies in borrowed memory. */
uint32_t __wrap_name_table_intern(struct name_table *table, const char *text, size_t text_bytes)
{
    (void)raise(SIGUSR1);
    return __real_name_table_intern(table, text, text_bytes);
}

static void leave(int signal)
{
    (void)signal;
    g_n_left = g_n_left + 1;
    siglongjmp(g_outside, 1);
}

static void what_was_borrowed_is_given_back(void **state)
{
    struct sigaction action = {.sa_handler = leave};
    char *before = memory_borrow();
    char *after;

    (void)state;
    memory_return(before);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    if (sigsetjmp(g_outside, 1) == 0)
        (void)groups_add("request", NULL, 0, true);
    assert_int_equal(g_n_left, 1);
    after = memory_borrow();
    assert_ptr_equal(after, before);
    memory_return(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_borrowed_is_given_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
