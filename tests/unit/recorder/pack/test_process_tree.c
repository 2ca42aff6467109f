/* SPDX-License-Identifier: MIT */
/* Which processes are missing at the end of a run: from definitions in any order, and the ends of
 * logs. */
#include "recorder/pack/process_tree.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

enum {
    PARENT = 4000001, /* no process has these, so no name is found */
    CHILD = 4000002,
    UNKNOWN = 4000003,
};

static struct process_tree *process_tree;
static char who[256];

static int make(void **state)
{
    (void)state;
    process_tree = process_tree_new();
    process_tree_note_log(process_tree, PARENT, true);
    return process_tree ? 0 : -1;
}

static int destroy(void **state)
{
    (void)state;
    process_tree_free(process_tree);
    return 0;
}

static void define(enum log_def_kind kind, uint64_t a, enum log_child what, uint64_t ticks,
                   const char *text)
{
    _Alignas(LOG_DEF_ALIGN) struct {
        struct log_def def;
        char text[80];
    } record = {.def = {.kind = (uint8_t)kind,
                        .magic = LOG_DEF_MAGIC,
                        .text_bytes = (uint16_t)strlen(text),
                        .extra = what,
                        .a = a,
                        .ticks = ticks}};

    memcpy(record.text, text, strlen(text));
    process_tree_learn(process_tree, PARENT, &record, sizeof(record));
}

static uint32_t count(enum process_tree_status status)
{
    return process_tree_list(process_tree, status, who, sizeof(who));
}

TEST_WITH(processes_without_log_space_are_reported_separately, make, destroy)
{
    define(LOG_DEF_CHILD, CHILD, LOG_CHILD_BEGINS, 5, "");
    process_tree_note_no_room(process_tree, CHILD);
    assert_int_equal(count(PROCESS_TREE_NO_LOG), 0);
    assert_int_equal(count(PROCESS_TREE_NO_ROOM), 1);
    assert_false(process_tree_is_expecting(process_tree));
    process_tree_note_log(process_tree, CHILD, true); /* of its next image */
    assert_int_equal(count(PROCESS_TREE_NO_ROOM), 0);
    assert_int_equal(count(PROCESS_TREE_RUNNING), 2);
    process_tree_note_end(process_tree, CHILD, LOG_END_EXIT, 1, 0);
    assert_int_equal(count(PROCESS_TREE_PART_ROOM), 1);
}

/* An unpacked log is reported as such. */
TEST_WITH(a_raw_log_is_a_log, make, destroy)
{
    define(LOG_DEF_CHILD, CHILD, LOG_CHILD_BEGINS, 5, "");
    process_tree_note_raw(process_tree, CHILD);
    assert_int_equal(count(PROCESS_TREE_NO_LOG), 0);
    process_tree_note_end(process_tree, PARENT, LOG_END_EXEC, 1, 0);
    assert_int_equal(count(PROCESS_TREE_WENT_ON), 1);
    process_tree_note_raw(process_tree, PARENT);
    assert_int_equal(count(PROCESS_TREE_WENT_ON), 0);
}

/* Its log has the PID of its own namespace, which belongs to another process here. */
TEST_WITH(one_in_another_pid_namespace_is_not_missing, make, destroy)
{
    define(LOG_DEF_CHILD, CHILD, LOG_CHILD_BEGINS, 5, "/tmp/run.dat.200.0.live");
    process_tree_note_log(process_tree, 1, false);
    process_tree_note_renamed(process_tree, PARENT);
    assert_int_equal(count(PROCESS_TREE_NO_LOG), 0);
    assert_int_equal(count(PROCESS_TREE_RUNNING), 2);
    assert_null(strchr(who, '('));
    define(LOG_DEF_CHILD, UNKNOWN, LOG_CHILD_BEGINS, 5, "/tmp/run.dat.201.0.live");
    assert_int_equal(count(PROCESS_TREE_NO_LOG),
                     2); /* the owner of the existing log is not known */
}

TEST_WITH(a_process_that_may_still_create_a_log_is_expected, make, destroy)
{
    assert_false(process_tree_is_expecting(process_tree));
    define(LOG_DEF_CHILD, (uint64_t)getpid(), LOG_CHILD_BEGINS, 5, "");
    assert_true(process_tree_is_expecting(process_tree)); /* it is alive */
    process_tree_note_log(process_tree, getpid(), true);
    define(LOG_DEF_CHILD, UNKNOWN, LOG_CHILD_BEGINS, 5, "");
    assert_false(process_tree_is_expecting(process_tree));
    process_tree_note_started(process_tree, 3); /* one more than was announced: a daemon */
    assert_true(process_tree_is_expecting(process_tree));
    process_tree_note_log(process_tree, CHILD, true);
    assert_false(process_tree_is_expecting(process_tree));
}

TEST_WITH(long_lists_are_cut, make, destroy)
{
    for (uint64_t pid = 4000010; pid < 4000060; pid++)
        define(LOG_DEF_CHILD, pid, LOG_CHILD_BEGINS, 5, "");
    assert_int_equal(count(PROCESS_TREE_NO_LOG), 50);
    assert_non_null(strstr(who, " and 42 more"));
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_NO_LOG, who, 12), 50);
    assert_true(strlen(who) < 12);
}

TEST_WITH(lengths_are_checked, make, destroy)
{
    _Alignas(LOG_DEF_ALIGN) struct log_def def = {
        .kind = LOG_DEF_PROCESS, .magic = LOG_DEF_MAGIC, .text_bytes = 65535};

    process_tree_learn(process_tree, PARENT, &def, sizeof(def));
    process_tree_learn(process_tree, PARENT, &def, sizeof(def) - 1);
    assert_int_equal(count(PROCESS_TREE_RUNNING), 1);
    assert_null(strchr(who, '('));
}
