/* SPDX-License-Identifier: MIT */
/* A signal handler interrupts the lookup of a name, and jumps out; and names without a free number
 * or memory. */
#include "collector/groups/groups.h"
#include "collector/log/name_table.h"
#include "collector/os/memory.h"
#include "tests/lib/unit.h"

#include <signal.h>
#include <stdbool.h>

enum {
    LAST_GROUP = NAME_TABLE_CHUNK * NAME_TABLE_CHUNKS - 1,
};

static sigjmp_buf g_outside;
static volatile sig_atomic_t g_n_left;
static bool g_is_exhausted, g_jumps; /* to the last id */

uint32_t __real_name_table_intern(struct name_table *table, const char *text, size_t text_bytes);
uint32_t __wrap_name_table_intern(struct name_table *table, const char *text, size_t text_bytes);

/* The signal comes while the text lies in borrowed memory. */
uint32_t __wrap_name_table_intern(struct name_table *table, const char *text, size_t text_bytes)
{
    if (g_is_exhausted)
        return 0;
    (void)raise(SIGUSR1);
    return __real_name_table_intern(table, text, text_bytes);
}

uint32_t __real_name_table_add(struct name_table *table, const char *text, size_t text_bytes);
uint32_t __wrap_name_table_add(struct name_table *table, const char *text, size_t text_bytes);

uint32_t __wrap_name_table_add(struct name_table *table, const char *text, size_t text_bytes)
{
    if (g_jumps)
        table->next_id = LAST_GROUP;
    g_jumps = false;
    return __real_name_table_add(table, text, text_bytes);
}

static void leave(int signal)
{
    (void)signal;
    g_n_left = g_n_left + 1;
    siglongjmp(g_outside, 1);
}

TEST(borrowed_memory_is_returned_after_a_jump)
{
    struct sigaction action = {.sa_handler = leave};
    char *before = memory_borrow();
    char *after;

    memory_return(before);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    if (sigsetjmp(g_outside, 1) == 0)
        (void)groups_add("request", NULL, 0, true);
    assert_int_equal(g_n_left, 1);
    after = memory_borrow();
    assert_ptr_equal(after, before);
    memory_return(after);
}

/* It gets the root, as without a call, and is counted. */
TEST(without_an_id_it_is_the_root)
{
    const struct mtrace_counts before = groups_counters();
    struct mtrace_counts after;
    uint32_t id;

    g_is_exhausted = true;
    id = groups_add("one too many", NULL, 0, true);
    g_is_exhausted = false;
    after = groups_counters();
    assert_int_equal(id, MTRACE_GROUP_ROOT);
    assert_int_equal(groups_check(id), MTRACE_GROUP_ROOT);
    assert_int_equal(after.refused_groups, before.refused_groups + 1);
    assert_int_equal(after.groups, before.groups);
    assert_int_equal(after.bad_handles, before.bad_handles);
}

/* The last group works as any other, and earlier ones are found again; beyond there is the root.
 * Comes last. */
TEST(after_the_last_group_comes_the_root)
{
    struct mtrace_tag tag = {"tenant", "acme"};
    const struct mtrace_counts before = groups_counters();
    const uint32_t known = groups_add("known", &tag, 1, false);
    uint32_t last;

    g_jumps = true;
    last = groups_add("last", &tag, 1, false);
    assert_int_equal(last, LAST_GROUP);
    assert_int_equal(groups_check(last), last);
    assert_int_equal(groups_check(known), known);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(groups_add("one too many", &tag, 1, false), MTRACE_GROUP_ROOT);
    assert_int_equal(groups_counters().refused_groups, before.refused_groups + 3);
    assert_int_equal(groups_counters().bad_handles, before.bad_handles);
    assert_int_equal(groups_check(last + 1), MTRACE_GROUP_ROOT);
    assert_int_equal(groups_counters().bad_handles, before.bad_handles + 1);
}
