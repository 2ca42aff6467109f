/* SPDX-License-Identifier: MIT */
/* Every word of the totals by events whose answers were worked out by hand. */
#include "importer/write/database.h"
#include "importer/write/event_rows.h"
#include "importer/write/row_writer.h"
#include "importer/write/total_tables.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_A = 3,
    STACK_B = 4,
    STACK_FREE = 5,
    N_STACKS = 5,
    GLIBC = LOG_CHUNK_KNOWN,
};

#define HEAP UINT64_C(0x555500000000)

/* Two processes, the second a fork child of the first; threads 1, 2 and 4 have names, 3 and 5 stand
 * for unknown ones. */
struct fixture {
    struct definitions definitions;
    struct definitions_process processes[3];
    struct definitions_thread threads[6];
    struct definitions_frame frames[N_STACKS + 1];
    struct definitions_backtrace backtraces[N_STACKS + 1];
    struct definitions_text pools[3];
    char target[64];
    struct database *database;
    struct event_rows *rows;
    struct statistics *statistics;
    struct progress progress;
    struct error err;
};

static struct fixture *fixture_with_pools(const char *end_kind, size_t n_pools)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    for (uint32_t id = 1; id <= 2; id++) {
        fixture->processes[id] =
            (struct definitions_process){.pid = 100 + id,
                                         .executable = "/bin/program",
                                         .end_kind = end_kind,
                                         .parent = id - 1,
                                         .flags = id == 2 ? LOG_FLAG_FORKED : 0,
                                         .page_bytes = 4096,
                                         .last_ns = 6400};
    }
    for (uint32_t id = 1; id <= 5; id++)
        fixture->threads[id] = (struct definitions_thread){
            .process = id <= 3 ? 1 : 2, .tid = 200 + id, .is_unknown = id == 3 || id == 5};
    for (uint32_t id = 1; id <= N_STACKS; id++) {
        fixture->frames[id].offset = id * 16;
        fixture->backtraces[id] =
            (struct definitions_backtrace){.last_descendant = id, .frame = id, .depth = 1};
    }
    for (size_t i = 0; i < n_pools; i++)
        fixture->pools[i] = (struct definitions_text){.process = 1, .text = "pool"};
    fixture->definitions = (struct definitions){.pools = fixture->pools,
                                                .n_pools = n_pools,
                                                .processes = fixture->processes,
                                                .threads = fixture->threads,
                                                .frames = fixture->frames,
                                                .backtraces = fixture->backtraces,
                                                .n_processes = 2,
                                                .n_threads = 5,
                                                .n_frames = N_STACKS,
                                                .n_backtraces = N_STACKS};
    snprintf(fixture->target, sizeof fixture->target, "test_fact_tables_%ld.db", (long)getpid());
    progress_init(&fixture->progress, NULL, NULL);
    assert_int_equal(
        database_create(fixture->target, true, 0, NULL, &fixture->database, &fixture->err), 0);
    assert_int_equal(
        event_rows_new(database_sqlite(fixture->database), &fixture->rows, &fixture->err), 0);
    struct row_sink sink = event_rows_sink(fixture->rows, &fixture->definitions);
    assert_int_equal(statistics_new(&fixture->definitions, NULL, &sink, fixture->target,
                                    &fixture->statistics, &fixture->err),
                     0);
    return fixture;
}

static struct fixture *fixture_new(const char *end_kind)
{
    return fixture_with_pools(end_kind, 0);
}

static void fixture_free(struct fixture *fixture)
{
    statistics_free(fixture->statistics);
    event_rows_free(fixture->rows);
    database_close(fixture->database);
    assert_int_not_equal(access(fixture->target, F_OK), 0);
    free(fixture);
}

static void give(struct fixture *fixture, struct event event)
{
    if (event.process == 0)
        event.process = 1;
    if (event.thread == 0)
        event.thread = event.process == 1 ? 1 : 4;
    if (event.backtrace == 0)
        event.backtrace = STACK_A;
    assert_int_equal(statistics_event(fixture->statistics, &event, &fixture->err), 0);
}

static int write_rows(struct fixture *fixture)
{
    return row_writer_write_all(database_sqlite(fixture->database), fixture->statistics, false,
                                &fixture->progress, &fixture->err);
}

static void finish(struct fixture *fixture)
{
    assert_int_equal(statistics_finish(fixture->statistics, &fixture->err), 0);
    assert_int_equal(write_rows(fixture), 0);
    int code =
        total_tables_write(database_sqlite(fixture->database), fixture->statistics, &fixture->err);
    if (code)
        fail_msg("%s", fixture->err.text);
}

/* The first row of the answer, its values separated by '|', NULL as "-". */
static const char *ask(struct fixture *fixture, const char *sql)
{
    static char text[1024];
    sqlite3_stmt *statement = NULL;
    int code = database_prepare(database_sqlite(fixture->database), sql, &statement, &fixture->err);
    if (code)
        fail_msg("%s: %s", sql, fixture->err.text);
    text[0] = '\0';
    if (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            strcat(strcat(text, i ? "|" : ""), value ? value : "-");
        }
    }
    sqlite3_finalize(statement);
    return text;
}

#define assert_answer(fixture, sql, answer) assert_string_equal(ask(fixture, sql), answer)

/* Then the size, or the address, and what else is known. */
#define ALLOC(at, where, ...)                                                         \
    (struct event)                                                                    \
    {                                                                                 \
        .kind = EVENT_ALLOC, .time_ns = (at), .address = (where), .size = __VA_ARGS__ \
    }
#define FREE(at, ...)                                                                        \
    (struct event)                                                                           \
    {                                                                                        \
        .kind = EVENT_FREE, .time_ns = (at), .backtrace = STACK_FREE, .address = __VA_ARGS__ \
    }

TEST(fork_child)
{
    struct fixture *f = fixture_new("exit");

    give(f, ALLOC(10, 0x1000, 100));
    give(f, FREE(20, 0x1000, .process = 2)); /* inherited: the parent's block lives on */
    give(f, (struct event){.kind = EVENT_REALLOC_BEGIN,
                           .time_ns = 30,
                           .address = 0x2000,
                           .pair = 1,
                           .process = 2});
    give(f, (struct event){.kind = EVENT_REALLOC_END,
                           .time_ns = 31,
                           .address = 0x3000,
                           .size = 7,
                           .pair = 1,
                           .process = 2,
                           .call = LOG_CALL_REALLOC});
    finish(f);
    assert_answer(f, "SELECT inherited_frees FROM processes WHERE process_id = 2",
                  "2"); /* the realloc, too */
    assert_answer(f, "SELECT value FROM meta WHERE key = 'anomaly.unknown_free'", "0");
    assert_answer(f,
                  "SELECT leaked_bytes, chains_started FROM backtrace_totals"
                  " WHERE process_id = 1",
                  "100|1");
    assert_answer(f,
                  "SELECT leaked_bytes, chains_started, realloc_count FROM backtrace_totals"
                  " WHERE process_id = 2",
                  "7|1|0");
    assert_answer(f, "SELECT count(*) FROM chain_rows", "0");
    fixture_free(f);
}

TEST(exec_loses_blocks)
{
    struct fixture *f = fixture_new("exec");

    give(f, ALLOC(10, 0x1000, 100));
    finish(f);
    assert_answer(f, "SELECT leaked_blocks, freed_blocks, chains_leaked FROM backtrace_totals",
                  "0|0|0");
    assert_answer(f, "SELECT is_leaked, ended_by, free_ns FROM allocations", "0|exec|-");
    fixture_free(f);
}

/* Stamps of two cores may differ: what belongs together is put together and counted. */
TEST(inversions)
{
    struct fixture *f = fixture_new("exit");

    /* Thread 2 gets the address before the free of thread 1 was stamped. */
    give(f, ALLOC(10, 0x1000, 100));
    give(f, ALLOC(1000, 0x1000, 60, .thread = 2));
    give(f, FREE(1500, 0x1000, .thread = 1));
    /* Thread 2 frees what thread 1 is said to allocate later. */
    give(f, FREE(3000, 0x2000, .thread = 2));
    give(f, ALLOC(3100, 0x2000, 30, .thread = 1));
    /* Too far apart to be one: the first free is unknown, the second block covers a live one. */
    give(f, FREE(20000, 0x7000, .thread = 2));
    give(f, ALLOC(40000, 0x7000, 1, .thread = 1));
    give(f, ALLOC(60000, 0x7000, 2, .thread = 2));
    finish(f);
    assert_answer(f, "SELECT value FROM meta WHERE key = 'anomaly.clock_inversion'", "2");
    assert_answer(f, "SELECT value FROM meta WHERE key = 'anomaly.unknown_free'", "1");
    assert_answer(f, "SELECT value FROM meta WHERE key = 'anomaly.double_allocation'", "1");
    assert_answer(f,
                  "SELECT ended_by, free_ns, free_thread_id, free_backtrace_id"
                  " FROM allocations WHERE allocation_id = 1",
                  "free|1000|1|5");
    assert_answer(f,
                  "SELECT ended_by, free_ns, free_thread_id FROM allocations"
                  " WHERE allocation_id = 3",
                  "free|3100|2");
    assert_answer(f,
                  "SELECT ended_by, free_ns, free_thread_id FROM allocations"
                  " WHERE allocation_id = 4",
                  "unseen|60000|-");
    assert_answer(f, "SELECT group_concat(allocation_id) FROM allocations WHERE is_leaked", "2,5");
    fixture_free(f);
}

TEST(elided)
{
    struct fixture *f = fixture_new("exit");

    give(f, ALLOC(10, 0x1000, 100));
    give(f, (struct event){.kind = EVENT_ELIDED,
                           .time_ns = 20,
                           .n_elided = 5,
                           .size = 50,
                           .slack_bytes = 70,
                           .lifetime_ns = 12,
                           .result = 1,
                           .free_backtrace = STACK_FREE});
    give(f, (struct event){.kind = EVENT_ELIDED,
                           .time_ns = 30,
                           .n_elided = 2,
                           .size = 8,
                           .backtrace = STACK_B,
                           .free_backtrace = STACK_FREE});
    finish(f);
    assert_answer(f,
                  "SELECT allocated_blocks, allocated_bytes, freed_blocks, elided_blocks,"
                  " leaked_bytes FROM backtrace_totals WHERE backtrace_id = 3",
                  "6|150|5|5|100");
    assert_answer(f,
                  "SELECT allocated_blocks, min_size_bytes, max_size_bytes, first_ns"
                  " FROM backtrace_totals WHERE backtrace_id = 4",
                  "2|4|4|30");
    assert_answer(f,
                  "SELECT min_size_bytes, max_size_bytes, first_ns, last_ns, lifetime_sum_ns,"
                  " temporary_blocks, temporary_bytes FROM backtrace_totals WHERE backtrace_id = 3",
                  "10|100|10|20|12.0|5|50");
    assert_answer(f, "SELECT sum(blocks), sum(bytes) FROM lifetime_classes", "7|58");
    assert_answer(f, "SELECT sum(allocated_blocks), sum(freed_bytes) FROM timeline", "8|58");
    assert_answer(f, "SELECT sum(blocks) FROM free_sites", "7");
    assert_answer(f, "SELECT allocated_blocks, freed_blocks FROM threads WHERE thread_id = 1",
                  "8|7");
    fixture_free(f);
}

TEST(interrupted)
{
    struct fixture *f = fixture_new("exit");
    volatile sig_atomic_t stop = 1;

    give(f, ALLOC(10, 0x1000, 1));
    assert_int_equal(statistics_finish(f->statistics, &f->err), 0);
    progress_init(&f->progress, NULL, &stop);
    assert_int_equal(write_rows(f), ERROR_INTERRUPTED);
    fixture_free(f); /* and nothing is left of the database */
}

static void give_part(struct statistics *statistics, uint64_t start, uint64_t rss_bytes)
{
    const struct address_range range = {start, start + 4096};

    assert_int_equal(
        statistics_private_sample(statistics, 1, 20, LOG_SAMPLE_PRIVATE, &range, rss_bytes, NULL),
        0);
}

/* Bytes inside a heap of the latest heap sample are of the part heap; a sample without parts has
 * none. */
TEST(memory_samples)
{
    struct fixture *fixture = fixture_new("exit");
    struct statistics *statistics = fixture->statistics;

    assert_int_equal(statistics_memory_sample(statistics, 1, 10, 100, 60, 40, NULL), 0);
    assert_int_equal(statistics_memory_sample(statistics, 1, 20, 200, 160, 40, NULL), 0);
    assert_int_equal(
        statistics_heap_sample(statistics, 1, 20, HEAP, HEAP + 8192, LOG_HEAP_BRK, NULL), 0);
    assert_int_equal(
        statistics_heap_sample(statistics, 1, 20, 0x4000000, 0x4001000, LOG_HEAP_ARENA, NULL), 0);
    give_part(statistics, HEAP, 20);
    give_part(statistics, 0x4000000, 30);
    give_part(statistics, 0x5000000, 10);
    statistics_parts_sample(statistics, 1, 0, 0, 40);
    assert_int_equal(statistics_memory_sample(statistics, 1, 30, 300, 260, 40, NULL), 0);
    assert_int_equal(
        statistics_heap_sample(statistics, 1, 35, HEAP, HEAP + 4096, LOG_HEAP_BRK, NULL), 0);
    assert_int_equal(statistics_memory_sample(statistics, 2, 40, 70, 60, 10, NULL), 0);
    assert_int_equal(statistics_memory_sample(statistics, 1, 40, 400, 360, 40, NULL), 0);
    finish(fixture);
    assert_string_equal(ask(fixture,
                            "SELECT group_concat(process_id || ':' || at_ns || ':' || rss_bytes"
                            " || ':' || coalesce(heap_resident_bytes, '-'), ' ')"
                            " FROM memory_samples"),
                        "1:10:100:- 1:20:200:50 1:30:300:- 1:40:400:- 2:40:70:-");
    fixture_free(fixture);
}

/* A program that moves the break itself has a heap that reaches as far. */
TEST(moved_break)
{
    struct fixture *fixture = fixture_new("exit");

    give(fixture, (struct event){.kind = EVENT_ALLOC,
                                 .time_ns = 10,
                                 .address = HEAP + 16,
                                 .size = 32,
                                 .usable = 40,
                                 .call = GLIBC});
    give(fixture,
         (struct event){
             .kind = EVENT_BRK, .time_ns = 20, .old_address = HEAP + 4096, .address = HEAP + 4096});
    give(fixture,
         (struct event){
             .kind = EVENT_BRK, .time_ns = 20, .old_address = HEAP, .address = HEAP + 65536});
    finish(fixture);
    assert_string_equal(ask(fixture, "SELECT kind, end_address - start_address FROM heaps"),
                        "brk|65536");
    fixture_free(fixture);
}
