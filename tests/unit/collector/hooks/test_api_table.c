/* SPDX-License-Identifier: MIT */
/* Return values of the API while the log is full: no call is half done, and all works again when
 * there is space. */
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/real.h"
#include "collector/thread/thread.h"
#include "include/mtrace.h"
#include "include/mtrace_objects.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/recording_fixture.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    N_SEGMENTS = 12,
    BYTES = 100,
    MAX_EVENTS = 1000000,
    N_NAMES = 32, /* that fill a segment and more */
};

static struct log_fixture g_log;

static int begin_recording(void **state)
{
    static const struct config config = {.unwinder = CONFIG_UNWINDER_FAST};

    (void)state;
    g_real.malloc = malloc; /* ready */
    return recording_fixture_begin(&g_log, N_SEGMENTS, &config) ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

static void *take(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    void *block = malloc(BYTES);

    assert_non_null(block);
    record_alloc_known(block, BYTES, malloc_usable_size(block), LOG_CALL_MALLOC, 0, &origin);
    return block;
}

static void give_back(void *block)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_free(block, &origin);
    free(block);
}

/* Ends when the next record of any size would be dropped. */
static void forget_drops(void)
{
    for (unsigned i = 0; i < LOG_DROP_REASONS; i++)
        atomic_store(&g_log.file->dropped[i], 0);
}

static void fill_log(void)
{
    for (unsigned i = 0; i < MAX_EVENTS && mtrace_counters().dropped == 0; i++)
        give_back(take());
    assert_true(mtrace_counters().dropped > 0);
}

/* Frees read segments as mtrace-record does. */
static void make_room(void)
{
    uint64_t head = atomic_exchange(&g_log.file->sealed_stack, 0);

    for (uint32_t link = (uint32_t)head; link != 0;) {
        struct log_segment *segment = segment_at(link - 1);
        link = atomic_load(&segment->next);
        if (segment->kind != LOG_SEGMENT_EVENTS)
            continue;
        atomic_store(&segment->state, LOG_STATE_FREE);
        segment_add_free(segment->index, 1);
    }
}

TEST(a_move_that_is_not_in_the_log_did_not_happen)
{
    const uint32_t from = mtrace_group_intern("from", NULL, 0);
    const uint32_t to = mtrace_group_intern("to", NULL, 0);
    uint64_t n_dropped;
    struct mtrace_scope scope;
    void *block;

    (void)mtrace_group_of(NULL);
    scope = mtrace_enter(from);
    block = take();
    mtrace_exit(scope);
    assert_int_equal(mtrace_group_of(block), from);
    assert_false(mtrace_move(NULL, to));
    assert_false(mtrace_move(block, UINT32_MAX));
    fill_log();
    n_dropped = mtrace_counters().dropped;
    errno = EXDEV;
    for (unsigned i = 0; i < 3; i++)
        assert_false(mtrace_move(block, to));
    assert_int_equal(errno, EXDEV);
    assert_int_equal(mtrace_counters().dropped, n_dropped + 3);
    assert_int_equal(mtrace_group_of(block), from); /* as the database will have it */
    make_room();
    assert_true(mtrace_move(block, to));
    assert_int_equal(mtrace_counters().dropped, n_dropped + 3);
    assert_int_equal(mtrace_group_of(block), to);
    assert_int_equal(g_thread.cursor[-2] & 0xff, LOG_MOVE);
    assert_int_equal(g_thread.cursor[-2] >> 32, to);
    give_back(block);
}

/* New groups, scopes, phases, markers and pools: the calls have their effect in the program, and
 * lost records are counted. */
TEST(without_room_the_program_goes_on)
{
    uint64_t n_dropped;
    struct mtrace_scope scope;
    uint32_t group;
    uint32_t pool;

    forget_drops();
    fill_log();
    n_dropped = mtrace_counters().dropped;
    group = mtrace_group_register("late", &(struct mtrace_tag){"key", "value"}, 1);
    assert_true(group > MTRACE_GROUP_ROOT);
    scope = mtrace_enter(group);
    assert_int_equal(mtrace_current_group(), group);
    mtrace_marker("not there");
    mtrace_phase_end(mtrace_phase_begin("nor this"));
    pool = mtrace_pool_create("nor these");
    mtrace_pool_alloc(pool, &pool, sizeof(pool));
    mtrace_pool_free(pool, &pool);
    mtrace_exit(scope);
    assert_int_equal(mtrace_current_group(), MTRACE_GROUP_ROOT);
    assert_true(mtrace_counters().dropped > n_dropped);
    assert_int_equal(mtrace_counters().stale_exits, 0);
    make_room();
    n_dropped = mtrace_counters().dropped;
    mtrace_marker("there");
    mtrace_pool_alloc(pool, &pool, sizeof(pool));
    assert_int_equal(g_thread.cursor[-3] & 0xff, LOG_POOL_ALLOC);
    assert_int_equal(mtrace_counters().dropped, n_dropped);
}

/* Until no name fits; its segments are not given back (LF-4). */
static void fill_names(void)
{
    static char name[8000];

    memset(name, 'n', sizeof(name) - 1);
    for (unsigned i = 0; i < N_NAMES; i++)
        (void)mtrace_group_register(name, NULL, 0);
}

static uint64_t drops_of(void (*call)(void))
{
    uint64_t before = mtrace_counters().dropped;

    call();
    return mtrace_counters().dropped - before;
}

static void mark(void)
{
    mtrace_marker("no room for this name");
}

/* The end of a phase that did not begin is not counted as lost. */
static void go_through_phase(void)
{
    mtrace_phase_end(mtrace_phase_begin("nor for this"));
}

static void use_pool(void)
{
    uint32_t pool = mtrace_pool_create("nor for that of a pool");

    mtrace_pool_alloc(pool, &pool, sizeof(pool));
    mtrace_pool_resize(pool, &pool, &pool, 1);
    mtrace_pool_free(pool, &pool);
    mtrace_pool_destroy(pool);
}

/* Its beginning, whose name is lost, and its end. */
static void walk(void)
{
    struct mtrace_walk *walk = mtrace_api_2.objects->walk_new();

    assert_non_null(walk);
    assert_int_equal(mtrace_api_2.objects->walk_record(walk, "nor for that of a walk"), 0);
    mtrace_api_2.objects->walk_free(walk);
}

/* A recorder that serves one connection. Returns how many bytes it gets after "go". */
static void *serve(void *listener)
{
    int fd = accept(*(int *)listener, NULL, NULL);
    char text[64];
    ssize_t n = recv(fd, text, sizeof(text), 0) > 0 && send(fd, "go", 2, 0) == 2
                    ? recv(fd, text, sizeof(text), 0)
                    : -1;

    close(fd);
    return (void *)(intptr_t)n;
}

/* There is space for its name, and none for the event. */
TEST(a_request_without_its_marker_is_not_put)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, LOG_CONTROL_NAME "%d",
                     (int)getpid());
    pthread_t server;
    void *n_received;

    assert_int_equal(bind(listener, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
                     0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(pthread_create(&server, NULL, serve, &listener), 0);
    forget_drops();
    fill_log();
    atomic_store(&g_log.file->recorder_pid, (uint32_t)getpid());
    assert_int_equal(mtrace_report("summary", -1), ENOSPC);
    pthread_join(server, &n_received);
    assert_int_equal((intptr_t)n_received, 0);
    close(listener);
    atomic_store(&g_log.file->recorder_pid, 0);
    make_room();
}

TEST(definitions_without_space_are_counted)
{
    forget_drops();
    fill_log();
    fill_names();
    assert_int_equal(drops_of(mark), 1);
    assert_int_equal(drops_of(go_through_phase), 1);
    assert_int_equal(drops_of(use_pool), 4);
    assert_int_equal(drops_of(walk), 2);
    make_room();
    assert_int_equal(drops_of(mark), 0);
    assert_int_equal(drops_of(go_through_phase), 0);
    assert_int_equal(drops_of(use_pool), 0);
    assert_int_equal(drops_of(walk), 0);
}

TESTS_WITH(begin_recording, finish);
