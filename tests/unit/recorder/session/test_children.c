/* SPDX-License-Identifier: MIT */
/* Logs of children are packed while their processes run, and no other files. */
#include "lib/abi/file_systems.h"
#include "recorder/pack/frame_index.h"
#include "recorder/pack/process_tree.h"
#include "recorder/session/children.h"
#include "tests/lib/unit.h"
#include "tests/unit/recorder/fake_collector.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    N_EVENTS = 20000,
    N_SEGMENTS = 4,
    RUN_ID = 4711,
};

static const uint64_t second_ns = 1000000000;
static const pid_t program_pid = 1;
static struct follower_process follower = {.ring = {.log_path = "run.dat"}};
static const struct recording_settings settings = {.zstd_level = 1, .follower = &follower};

struct fixture {
    char folder[32];
    char path[64];
    char child_path[96];
    char live_path[128];
    char deaf_path[64];
    struct children *children;
    pid_t child;
    pid_t ended;    /* what child was */
    uint32_t flags; /* of its log */
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    strcpy(fixture->folder, "/tmp/mtrace-test-kids-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/run.dat", fixture->folder);
    fixture->child = fork();
    if (fixture->child == 0)
        for (;;)
            pause();
    (void)snprintf(fixture->child_path, sizeof(fixture->child_path), "%s.%d.1", fixture->path,
                   (int)fixture->child);
    (void)snprintf(fixture->live_path, sizeof(fixture->live_path), "%s.live", fixture->child_path);
    (void)snprintf(fixture->deaf_path, sizeof(fixture->deaf_path), "%s/deaf", fixture->folder);
    fixture->children = children_new(fixture->path, program_pid, true, &settings);
    assert_non_null(fixture->children);
    *state = fixture;
    return 0;
}

static void end_child(struct fixture *fixture)
{
    if (fixture->child > 0) {
        kill(fixture->child, SIGKILL);
        waitpid(fixture->child, NULL, 0);
    }
    fixture->ended = fixture->child;
    fixture->child = 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    end_child(fixture);
    follower_process_done(&follower);
    children_free(fixture->children);
    unlink(fixture->child_path);
    unlink(fixture->live_path);
    unlink(fixture->deaf_path);
    assert_int_equal(rmdir(fixture->folder), 0);
    free(fixture);
    return 0;
}

/* As the child's collector does. */
static void write_log(const struct fixture *fixture, const char *live_path)
{
    struct fake_collector fake;
    struct live_log log;

    assert_int_equal(live_log_create(live_path, RUN_ID, N_SEGMENTS, &log, NULL), 0);
    atomic_store(&log.file->recorder_pid, 0);
    live_log_close(&log);
    fake_collector_attach(&fake, live_path);
    fake.log.file->pid = (uint32_t)fixture->child;
    fake.log.file->flags |= fixture->flags;
    for (int i = 0; i < N_EVENTS; i++)
        fake_collector_event(&fake);
    fake_collector_detach(&fake);
}

static uint64_t events_in(const char *path)
{
    struct frame_index frames;
    uint64_t n_events = 0;

    assert_int_equal(frame_index_open(path, &frames, NULL), 0);
    for (size_t i = 0; i < frames.n_frames; i++)
        n_events += frame_index_get(&frames, i)->n_events;
    frame_index_done(&frames);
    return n_events;
}

static void check_totals(const struct fixture *fixture, uint32_t n_logs, uint64_t n_events)
{
    struct recording_totals totals;
    uint32_t n;

    children_get_totals(fixture->children, &totals, &n);
    assert_int_equal(n, n_logs);
    assert_int_equal(totals.n_events, n_events);
}

static void check_end(const struct fixture *fixture, uint32_t kind, int value, uint64_t rss_bytes)
{
    struct frame_index frames;
    struct log_header file;

    assert_int_equal(frame_index_open(fixture->child_path, &frames, NULL), 0);
    frame_index_get_file(&frames, &file);
    assert_int_equal(file.end_kind, kind);
    assert_int_equal(file.end_value, value);
    assert_int_equal(file.max_rss_bytes, rss_bytes);
    frame_index_done(&frames);
}

/* No process waited for it, but it writes nothing any more. */
TEST_WITH(a_zombie_is_over, set_up, tear_down)
{
    struct fixture *fixture = *state;
    siginfo_t info;

    write_log(fixture, fixture->live_path);
    kill(fixture->child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)fixture->child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(children_settle(fixture->children, second_ns), 0);
    check_totals(fixture, 1, N_EVENTS);
    check_end(fixture, LOG_END_SIGNAL, SIGKILL, 0);
}

static rlim_t set_descriptors(rlim_t n)
{
    struct rlimit limit;
    rlim_t before;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    before = limit.rlim_cur;
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* CH-1: it cannot be seen whether it is there. */
TEST_WITH(without_a_descriptor_nothing_is_over, set_up, tear_down)
{
    struct fixture *fixture = *state;

    write_log(fixture, fixture->live_path);
    int held = open(fixture->live_path, O_RDWR | O_CLOEXEC); /* as the child's mapping would */
    children_step(fixture->children, second_ns);
    rlim_t before = set_descriptors(0);
    children_step(fixture->children, 2 * second_ns);
    set_descriptors(before);
    check_totals(fixture, 0, 0);
    assert_int_equal(access(fixture->live_path, F_OK), 0);
    close(held);
    end_child(fixture);
    children_step(fixture->children, 3 * second_ns);
    check_totals(fixture, 1, N_EVENTS);
}

TEST_WITH(a_log_waits_for_a_descriptor, set_up, tear_down)
{
    struct fixture *fixture = *state;

    write_log(fixture, fixture->live_path);
    int lowest = dup(STDIN_FILENO); /* those below are in use */
    assert_true(lowest >= 0);
    close(lowest);
    rlim_t before = set_descriptors((rlim_t)lowest + 1); /* for one of two files */
    children_step(fixture->children, second_ns);
    set_descriptors(before);
    assert_int_not_equal(access(fixture->child_path, F_OK), 0);
    assert_true(children_step(fixture->children, 2 * second_ns) > 0);
}

TEST_WITH(without_inotify_the_folder_is_read, set_up, tear_down)
{
    struct fixture *fixture = *state;

    children_free(fixture->children);
    rlim_t before = set_descriptors(0);
    fixture->children = children_new(fixture->path, program_pid, true, &settings);
    set_descriptors(before);
    assert_non_null(fixture->children);
    children_step(fixture->children, second_ns);
    write_log(fixture, fixture->live_path);
    assert_true(children_step(fixture->children, 2 * second_ns) > 0);
}

/* Names that come in turns, as the kernel keeps one of those that are the same. */
static void make_other_files(const struct fixture *fixture, int n)
{
    char path[96];

    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof(path), "%s/%d", fixture->folder, i % 2);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
        unlink(path);
    }
}

static int events_that_are_kept(void)
{
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    int n = -1;

    if (file && fscanf(file, "%d", &n) != 1)
        n = -1;
    if (file)
        fclose(file);
    return n;
}

TEST_WITH(what_inotify_lost_is_found, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int n = events_that_are_kept();

    if (n < 0 || n > 100000)
        skip();
    make_other_files(fixture, n + 10);
    write_log(fixture, fixture->live_path);
    assert_true(children_step(fixture->children, second_ns) > 0);
}

TEST_WITH(an_existing_target_stays_and_so_does_the_raw_log, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int fd = open(fixture->child_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    write_log(fixture, fixture->live_path);
    end_child(fixture);
    assert_int_equal(children_step(fixture->children, second_ns), 0);
    assert_int_equal(children_settle(fixture->children, 2 * second_ns), 0);
    assert_int_equal(access(fixture->live_path, F_OK), 0); /* CH-2 */
    check_totals(fixture, 0, 0);
}

static void begin_again(struct fixture *fixture, pid_t pid, bool is_following,
                        struct process_tree *process_tree)
{
    struct recording_settings reported = settings;

    reported.process_tree = process_tree;
    children_free(fixture->children);
    fixture->children = children_new(fixture->path, pid, is_following, &reported);
    assert_non_null(fixture->children);
}

static void refuse_one(struct fixture *fixture, struct process_tree *process_tree)
{
    int fd = open(fixture->child_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
    begin_again(fixture, program_pid, true, process_tree);
    write_log(fixture, fixture->live_path);
    children_step(fixture->children, second_ns);
}

/* A child whose log cannot be packed, because there is such a file. */
TEST_WITH(what_cannot_be_packed_may_still_be_written, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct process_tree *process_tree = process_tree_new();
    struct error err;
    char who[64];

    assert_non_null(process_tree);
    refuse_one(fixture, process_tree);
    children_abandon(fixture->children);
    assert_int_equal(children_get_unpacked(fixture->children, &err), 0);
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_RUNNING, who, sizeof(who)), 1);
    assert_int_equal(atoi(who), fixture->child);
    process_tree_free(process_tree);
}

TEST_WITH(what_cannot_be_packed_is_counted_when_its_process_has_ended, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct process_tree *process_tree = process_tree_new();
    struct error err;
    char who[64];

    assert_non_null(process_tree);
    refuse_one(fixture, process_tree);
    end_child(fixture);
    children_abandon(fixture->children);
    assert_int_equal(children_get_unpacked(fixture->children, &err), 1);
    assert_int_equal(err.code, ERROR_EXISTS);
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_RUNNING, who, sizeof(who)), 0);
    process_tree_free(process_tree);
}

static bool is_link(const char *path)
{
    char target[8];

    return readlink(path, target, sizeof(target)) > 0;
}

/* PG-3: otherwise its frames would have no owner. */
TEST_WITH(the_header_is_written_before_what_has_no_room, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct rlimit most = {.rlim_cur = LOG_FILE_HEADER_BYTES + 64, .rlim_max = RLIM_INFINITY};
    const struct rlimit any = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    struct error err;

    write_log(fixture, fixture->live_path);
    end_child(fixture);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    children_settle(fixture->children, second_ns);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    assert_int_equal(children_get_unpacked(fixture->children, &err), 1);
    assert_true(error_is_disk_full(&err));
    assert_int_equal(events_in(fixture->child_path), 0);
    assert_int_equal(access(fixture->live_path, F_OK), 0);
}

TEST_WITH(the_word_of_an_earlier_run_is_no_word_of_this_one, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct process_tree *process_tree = process_tree_new();
    char who[64];

    assert_non_null(process_tree);
    assert_int_equal(symlink(FILE_SYSTEMS_NO_ROOM, fixture->live_path), 0);
    begin_again(fixture, program_pid, true, process_tree);
    assert_false(is_link(fixture->live_path));
    children_step(fixture->children, second_ns);
    children_settle(fixture->children, 2 * second_ns);
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_NO_ROOM, who, sizeof(who)), 0);
    process_tree_free(process_tree);
}

/* The name is free then, and a later log of that name is found. */
TEST_WITH(the_word_of_a_child_does_not_stay, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct process_tree *process_tree = process_tree_new();
    char who[64];

    assert_non_null(process_tree);
    begin_again(fixture, program_pid, true, process_tree);
    assert_int_equal(symlink(FILE_SYSTEMS_NO_ROOM, fixture->live_path), 0);
    children_step(fixture->children, second_ns);
    assert_false(is_link(fixture->live_path));
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_NO_ROOM, who, sizeof(who)), 1);
    write_log(fixture, fixture->live_path);
    assert_true(children_step(fixture->children, 2 * second_ns) > 0);
    assert_int_equal(process_tree_list(process_tree, PROCESS_TREE_NO_ROOM, who, sizeof(who)), 0);
    process_tree_free(process_tree);
}

/* By its number the next image is looked for. */
TEST_WITH(the_word_of_an_image_of_the_program_stays_to_the_end, set_up, tear_down)
{
    struct fixture *fixture = *state;
    char first_path[128];

    begin_again(fixture, fixture->child, false, NULL);
    (void)snprintf(first_path, sizeof(first_path), "%s.%d.0.live", fixture->path,
                   (int)fixture->child);
    assert_int_equal(symlink(FILE_SYSTEMS_NO_ROOM, first_path), 0);
    children_step(fixture->children, second_ns);
    assert_true(is_link(first_path));
    write_log(fixture, fixture->live_path);
    assert_true(children_step(fixture->children, 2 * second_ns) > 0);
    children_abandon(fixture->children);
    assert_false(is_link(first_path));
}

/* An importer that ignores both the end of requests and the termination signal. */
static void write_deaf_importer(const struct fixture *fixture)
{
    static const char script[] = "#!/bin/sh\ntrap '' TERM\nexec sleep 1000\n";
    int fd = open(fixture->deaf_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, sizeof(script) - 1), sizeof(script) - 1);
    close(fd);
}

static bool take_connection(void *fd, struct recording *recording)
{
    assert_true(report_service_take(&recording->service, *(int *)fd));
    return true;
}

/* As a program does. */
static void ask(const struct fixture *fixture)
{
    static const char post[] = "0 1 summary";
    char go[8];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    children_each(fixture->children, take_connection, &ends[1]);
    children_step(fixture->children, second_ns);
    assert_int_equal(recv(ends[0], go, sizeof(go), MSG_DONTWAIT), 2);
    assert_int_equal(send(ends[0], post, sizeof(post) - 1, 0), sizeof(post) - 1);
    children_step(fixture->children, second_ns);
    close(ends[0]);
}

/* The process ends with a request on its way. */
static void end_while_asked(struct fixture *fixture, const struct report_service_programs *programs)
{
    struct recording_settings asked = settings;

    asked.programs = programs;
    write_deaf_importer(fixture);
    children_free(fixture->children);
    fixture->children = children_new(fixture->path, program_pid, true, &asked);
    assert_non_null(fixture->children);
    write_log(fixture, fixture->live_path);
    children_step(fixture->children, second_ns);
    ask(fixture);
    end_child(fixture);
}

/* CH-3: whichever other process has a log that fills up. */
TEST_WITH(no_importer_that_continues_is_waited_for, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct report_service_programs programs = {.import = fixture->deaf_path,
                                                     .query = "/bin/true"};
    const struct timespec nap = {.tv_nsec = 10000000};

    end_while_asked(fixture, &programs);
    children_step(fixture->children, 2 * second_ns);
    assert_int_equal(access(fixture->live_path, F_OK), 0);
    check_totals(fixture, 0, 0);
    while (access(fixture->live_path, F_OK) == 0) {
        assert_int_equal(children_settle(fixture->children, 3 * second_ns), 0);
        nanosleep(&nap, NULL);
    }
    check_totals(fixture, 1, N_EVENTS);
}

TEST_WITH(what_is_over_is_finished_before_the_others_are_left, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct report_service_programs programs = {.import = fixture->deaf_path,
                                                     .query = "/bin/true"};

    end_while_asked(fixture, &programs);
    assert_int_equal(children_settle(fixture->children, 2 * second_ns), 0);
    children_abandon(fixture->children);
    check_totals(fixture, 1, N_EVENTS);
}
