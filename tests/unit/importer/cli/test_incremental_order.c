/* SPDX-License-Identifier: MIT */
/* An incremental import has all events of a growing log, in order, however the log grows during a
 * look, and whichever thread is delayed. */
#include "importer/cli/incremental_import.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"
#include "tests/lib/log_builder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>
/* clang-format on */

#define START_NS    UINT64_C(1000000000)
#define SECOND_NS   UINT64_C(1000000000)
#define STEP_NS     UINT64_C(1000000)
#define START_TICKS (UINT64_C(1) << 40)
#define ADDRESS     UINT64_C(0x555500000010)
#define RUN_ID      7

enum {
    ROUND_STEPS = 100, /* of a thread, in a round */
    N_THREADS = 3,
};

struct place {
    char folder[64], log[96], generation[128], database[96];
};

static void make_place(struct place *place)
{
    strcpy(place->folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/test_standing_order.XXXXXX"
                                                        : "/tmp/test_standing_order.XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->log, sizeof place->log, "%s/run.dat", place->folder);
    (void)snprintf(place->generation, sizeof place->generation, "%s.g1", place->log);
    (void)snprintf(place->database, sizeof place->database, "%s/run.db", place->folder);
}

static void remove_place(const struct place *place)
{
    (void)unlink(place->log);
    (void)unlink(place->generation);
    (void)unlink(place->database);
    assert_int_equal(rmdir(place->folder), 0);
}

/* ---- a program whose threads hand one block to each other, and its log */

struct program {
    struct log_builder *builder;
    const char *generation;
    uint64_t ticks, n_allocations, n_frees;
};

/* As recorder/pack/rotated_log.h, all in one. */
static void put_frame(void *context, const struct log_header *header, const void *frame,
                      size_t n_bytes)
{
    const struct program *program = context;
    int fd = open(program->generation, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat status;

    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    if (status.st_size == 0) {
        struct log_header own = *header;
        assert_int_equal(write(fd, &own, sizeof own), sizeof own);
        assert_int_equal(ftruncate(fd, LOG_FILE_HEADER_BYTES), 0);
    }
    assert_int_equal(write(fd, frame, n_bytes), n_bytes);
    close(fd);
}

static void define(struct log_builder *builder, uint64_t ticks)
{
    const char *arguments[] = {"program", NULL};

    log_builder_process(builder, "/bin/program", arguments);
    uint32_t module = log_builder_module(builder, "/bin/program", "\1\2\3\4", 4, 0x400000, ticks);
    for (uint32_t i = 1; i <= N_THREADS; i++)
        (void)log_builder_thread(builder, 1000 + i, NULL, ticks);
    (void)log_builder_node(builder, LOG_NODE_COMPLETE, module, 0x401000);
}

static void start(struct program *program, const struct place *place)
{
    const struct log_builder_options options = {.is_packed = true,
                                                .clock = LOG_CLOCK_TSC,
                                                .run_id = RUN_ID,
                                                .start_ns = START_NS,
                                                .start_ticks = START_TICKS,
                                                .ticks_per_ns = 1,
                                                .put_events = put_frame,
                                                .put_context = program};

    *program = (struct program){.generation = place->generation, .ticks = START_TICKS};
    program->builder = log_builder_open(place->log, &options);
    log_builder_header(program->builder)->flags |= LOG_FLAG_BOUNDED;
    log_builder_header(program->builder)->n_rotated_logs = 1;
    define(program->builder, START_TICKS);
    log_builder_flush(program->builder);
}

static uint64_t address_of(uint64_t allocation)
{
    return ADDRESS + 64 * allocation;
}

/* Each thread frees what the one before it allocated. What they wrote is in no file yet. */
static void work(struct program *program, uint32_t n_threads)
{
    for (uint32_t i = 0; i < n_threads * ROUND_STEPS; i++) {
        uint32_t thread = 1 + i % n_threads;
        if (program->n_allocations > program->n_frees) {
            log_builder_free(program->builder, thread, program->ticks += STEP_NS,
                             address_of(program->n_frees), LOG_NODE_FIRST);
            program->n_frees++;
        }
        log_builder_malloc(program->builder, thread, program->ticks += STEP_NS,
                           address_of(program->n_allocations), 10, LOG_NODE_FIRST);
        program->n_allocations++;
    }
}

static void seal(struct program *program, uint32_t first, uint32_t last)
{
    for (uint32_t thread = first; thread <= last; thread++)
        log_builder_seal(program->builder, thread);
}

static void end(struct program *program)
{
    struct log_header *header = log_builder_header(program->builder);

    header->end_kind = LOG_END_EXIT;
    header->last_ticks = program->ticks;
    header->last_monotonic_ns = START_NS + (program->ticks - START_TICKS);
    log_builder_close(program->builder);
    program->builder = NULL;
}

/* ---- what happens while a log is looked at */

static struct program *ends_behind_the_look; /* NULL: nothing does */

int __real_log_rotation_find(const char *log_path, struct log_rotation *ret);
int __wrap_log_rotation_find(const char *log_path, struct log_rotation *ret);

/* Which generations there are was looked for; how long they are, and whether there is an end, is
 * not known yet. */
int __wrap_log_rotation_find(const char *log_path, struct log_rotation *ret)
{
    struct program *program = ends_behind_the_look;
    int r = __real_log_rotation_find(log_path, ret);

    ends_behind_the_look = NULL;
    if (!program)
        return r;
    char *next = log_rotation_name(log_path, 2);
    const char *before = program->generation;
    program->generation = next;
    log_builder_header(program->builder)->n_rotated_logs = 2;
    work(program, N_THREADS);
    seal(program, 1, N_THREADS);
    end(program);
    program->generation = before;
    free(next);
    return r;
}

/* ---- looks */

static struct incremental_import *open_sole(const struct import_options *options,
                                            struct progress *progress)
{
    struct incremental_import *incremental;

    progress_init(progress, NULL, NULL);
    assert_int_equal(incremental_import_open(options, progress, &incremental, NULL), 0);
    incremental_import_be_bounded(incremental);
    return incremental;
}

static void look(struct incremental_import *incremental, uint64_t until_ns)
{
    struct error err;

    if (incremental_import_advance(incremental, until_ns, &err) != 0)
        fail_msg("advance: %s", err.text);
}

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return value;
}

/* The last look, and what it counts. */
static void check(struct incremental_import *incremental, const struct import_options *options,
                  const struct program *program, int64_t n_late)
{
    struct import_result result;
    struct error err;

    look(incremental, UINT64_MAX);
    if (incremental_import_write(incremental, options, true, &result, &err) != 0)
        fail_msg("write: %s", err.text);
    incremental_import_close(incremental);
    assert_int_equal(ask(options->target, "SELECT sum(allocated_blocks) FROM backtrace_totals"),
                     program->n_allocations);
    assert_int_equal(ask(options->target, "SELECT sum(freed_blocks) FROM backtrace_totals"),
                     program->n_frees);
    assert_int_equal(
        ask(options->target, "SELECT coalesce(sum(value), 0) FROM meta WHERE key LIKE 'anomaly.%'"),
        0);
    assert_int_equal(ask(options->target,
                         "SELECT coalesce(sum(value), 0) FROM meta WHERE key = 'log.damage.time'"),
                     n_late);
}

/* ---- tests */

/* Its last events, and then its end, come behind the look at the parts of the log, and before that
 * at its end: without the events, there was none yet. */
static void ends_while_it_is_looked_at(void **state)
{
    struct place place;
    struct program program;
    struct progress progress;

    (void)state;
    make_place(&place);
    start(&program, &place);
    const char *const logs[] = {place.log};
    struct import_options options = {.logs = logs,
                                     .n_logs = 1,
                                     .target = place.database,
                                     .force = true,
                                     .no_symbols = true,
                                     .slim = true};
    struct incremental_import *incremental = open_sole(&options, &progress);
    for (int i = 0; i < 3; i++) {
        work(&program, N_THREADS);
        seal(&program, 1, N_THREADS);
    }
    look(incremental, UINT64_MAX);
    assert_true(incremental_import_n_kept(incremental) > 0);
    ends_behind_the_look = &program;
    look(incremental, START_NS + 3600 * SECOND_NS);
    assert_null(program.builder);
    check(incremental, &options, &program, 0);
    char *next = log_rotation_name(place.log, 2);
    (void)unlink(next);
    free(next);
    remove_place(&place);
}

/* Two threads write down nothing for long, while the third goes on. What they did comes late, and
 * is counted; but between them it has its order. */
static void two_threads_are_held_up(void **state)
{
    struct place place;
    struct program program;
    struct progress progress;

    (void)state;
    make_place(&place);
    start(&program, &place);
    const char *const logs[] = {place.log};
    struct import_options options = {.logs = logs,
                                     .n_logs = 1,
                                     .target = place.database,
                                     .force = true,
                                     .no_symbols = true,
                                     .slim = true};
    struct incremental_import *incremental = open_sole(&options, &progress);
    work(&program, 2);
    uint64_t n_late = program.n_allocations + program.n_frees;
    for (int i = 0; i < 3; i++) {
        program.ticks += SECOND_NS;
        for (int k = 0; k < ROUND_STEPS; k++)
            log_builder_malloc(program.builder, 3, program.ticks += STEP_NS,
                               address_of(program.n_allocations++), 10, LOG_NODE_FIRST);
        seal(&program, 3, 3);
    }
    look(incremental, UINT64_MAX);
    assert_in_range(incremental_import_n_kept(incremental), ROUND_STEPS, 3 * ROUND_STEPS);
    seal(&program, 1, 2);
    end(&program);
    check(incremental, &options, &program, (int64_t)n_late);
    remove_place(&place);
}

/* ---- a clock that is read better later */

/* What two threads wrote so far: a raw log, which is written again. The first readings of the
 * clocks are `disturbed_ns` too late, because their thread was interrupted between the two; the
 * next ones, in segments that begin at `again_s`, are right. */
static void write_raw(struct program *program, const struct place *place, uint64_t start_ns,
                      uint64_t disturbed_ns, uint64_t again_s)
{
    const struct log_builder_options options = {.clock = LOG_CLOCK_TSC,
                                                .run_id = RUN_ID,
                                                .start_ns = start_ns,
                                                .start_ticks = START_TICKS,
                                                .ticks_per_ns = 1};
    const uint64_t n_steps = 1500; /* of ten milliseconds: no more than a segment of each */

    program->n_allocations = program->n_frees = 0;
    program->ticks = START_TICKS;
    program->builder = log_builder_open(place->log, &options);
    log_builder_header(program->builder)->recorder_pid = again_s ? 0 : (uint32_t)getpid();
    log_builder_header(program->builder)->start_unix_ns = 0;
    define(program->builder, START_TICKS);
    for (uint64_t i = 0; i < n_steps; i++) {
        uint32_t thread = 1 + i % 2;
        uint64_t ticks = START_TICKS + (i * 10 + 1) * STEP_NS;
        if (i)
            log_builder_free(program->builder, thread, ticks, address_of(program->n_frees++),
                             LOG_NODE_FIRST);
        log_builder_malloc(program->builder, thread, ticks + STEP_NS,
                           address_of(program->n_allocations++), 10, LOG_NODE_FIRST);
    }
    for (uint32_t i = 0; again_s && i < 2; i++) {
        log_builder_seal(program->builder, 1 + i);
        log_builder_malloc(program->builder, 1 + i, START_TICKS + (again_s + i) * SECOND_NS,
                           address_of(program->n_allocations++), 10, LOG_NODE_FIRST);
    }
    log_builder_close(program->builder);
    program->builder = NULL;
    int fd = open(place->log, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t at = LOG_FILE_HEADER_BYTES;; at += LOG_SEGMENT_BYTES) {
        struct log_segment segment;
        if (pread(fd, &segment, sizeof segment, at) != sizeof segment)
            break;
        if (segment.kind != LOG_SEGMENT_EVENTS || segment.base_ticks > START_TICKS + SECOND_NS)
            continue;
        segment.base_monotonic_ns += disturbed_ns;
        assert_int_equal(pwrite(fd, &segment, sizeof segment, at), sizeof segment);
    }
    close(fd);
    if (again_s == 0)
        (void)log_builder_map(place->log);
}

/* A program that logs little is not waited for, so that events are taken in up to a time between
 * two readings of its clocks. What the second one says of that time does not make events late that
 * come behind. */
static void clock_is_read_better_later(void **state)
{
    static const uint64_t disturbed_ns[] = {0, STEP_NS / 5, 4 * STEP_NS};

    (void)state;
    for (size_t i = 0; i < sizeof disturbed_ns / sizeof disturbed_ns[0]; i++) {
        uint64_t start_ns = monotonic_now_ns() - 6 * SECOND_NS;
        struct place place;
        struct program program = {0};
        struct progress progress;
        make_place(&place);
        const char *const logs[] = {place.log};
        struct import_options options = {.logs = logs,
                                         .n_logs = 1,
                                         .target = place.database,
                                         .force = true,
                                         .no_symbols = true,
                                         .slim = true};
        struct incremental_import *incremental = open_sole(&options, &progress);
        write_raw(&program, &place, start_ns, disturbed_ns[i], 0);
        look(incremental, UINT64_MAX);
        uint64_t n_kept = incremental_import_n_kept(incremental);
        assert_in_range(n_kept, 1, program.n_allocations + program.n_frees);
        look(incremental, UINT64_MAX);
        assert_true(incremental_import_n_kept(incremental) >= n_kept);
        write_raw(&program, &place, start_ns, disturbed_ns[i], 500);
        check(incremental, &options, &program, 0);
        remove_place(&place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_while_it_is_looked_at),
        cmocka_unit_test(two_threads_are_held_up),
        cmocka_unit_test(clock_is_read_better_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
