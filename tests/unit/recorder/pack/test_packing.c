/* SPDX-License-Identifier: MIT */
/*
 * The recorder is killed at every step of packing while a program fills the pool. After each step
 * the packed file and the pool together hold every event. --pack makes one log of them that holds
 * each exactly once, and its stack before it. If a program damages its live log, everything read
 * before is kept, and the recorder is not harmed.
 */
#include "lib/base/fault_point.h"
#include "lib/process/writer_liveness.h"
#include "recorder/cli/pack_command.h"
#include "recorder/pack/frame_index.h"
#include "recorder/pack/packed_log.h"
#include "recorder/session/recording.h"
#include "tests/lib/unit.h"
#include "tests/unit/recorder/fake_collector.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    N_EVENTS = 600000, /* three times what the pool holds */
    N_NODES = 6000,
};

static struct follower_process follower;
static const struct recording_settings settings = {
    .zstd_level = 1, .force = true, .max_live_bytes = (uint64_t)1 << 30, .follower = &follower};

struct seen {
    uint8_t events[N_EVENTS + 1]; /* how often each was found */
    uint8_t nodes[LOG_NODE_FIRST + N_NODES];
    bool is_live; /* the pool is read, in no order */
};

static char folder[] = "/tmp/mtrace-test-packing-XXXXXX";
static char path[64];
static char live_path[64];

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat", folder);
    (void)snprintf(live_path, sizeof(live_path), "%s/run.dat.live", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(live_path);
    return rmdir(folder);
}

/* ---- a recorder in a process of its own ------------------------------------------------------ */

static volatile sig_atomic_t is_program_gone;

static void note_end(int number)
{
    (void)number;
    is_program_gone = 1;
}

/* Packs until SIGUSR1 announces the end of the program, then finishes. */
static void run_recorder(struct recording *recording)
{
    const struct timespec pause = {.tv_nsec = 200000};
    struct recording_totals totals;
    struct recording_end end = {0};
    uint64_t now_ns = 1;
    uint32_t n_packed;

    while (!is_program_gone) {
        assert_int_equal(recording_step(recording, now_ns, &n_packed, NULL), 0);
        now_ns += 100000000;
        nanosleep(&pause, NULL);
    }
    assert_int_equal(recording_finish(recording, &end, &totals, NULL), 0);
    _exit(0);
}

/* Records N_EVENTS and N_NODES while `fault` awaits the recorder; its wait status. */
static int record(const char *fault)
{
    struct fake_collector fake;
    struct recording *recording;
    pid_t recorder;
    bool is_there = true;
    int status;

    setenv("MTRACE_RECORD_FAULT", fault, 1);
    is_program_gone = 0;
    signal(SIGUSR1, note_end);
    assert_int_equal(recording_create(path, getpid(), &settings, &recording, NULL), 0);
    recorder = fork();
    if (recorder == 0)
        run_recorder(recording);
    fake_collector_attach(&fake, live_path);
    for (int i = 0; i < N_EVENTS; i++) {
        if (i % 1000 == 0 && is_there && waitpid(recorder, &status, WNOHANG) == recorder) {
            is_there = false;
            atomic_store(&fake.log.file->recorder_pid, 0);
        }
        if (i % (N_EVENTS / N_NODES) == 0)
            fake_collector_node(&fake);
        fake_collector_event(&fake);
    }
    fake_collector_detach(&fake);
    if (is_there) {
        kill(recorder, SIGUSR1);
        waitpid(recorder, &status, 0);
    }
    recording_free(recording);
    unsetenv("MTRACE_RECORD_FAULT");
    return status;
}

/* ---- what the files hold --------------------------------------------------------------------- */

static void see_payload(struct seen *seen, const struct log_segment *segment, const void *payload,
                        uint32_t first_byte, uint32_t n_bytes)
{
    const uint64_t *words = payload;
    const struct log_node *nodes = payload;

    if (segment->kind == LOG_SEGMENT_EVENTS) {
        for (uint32_t i = 0; i < n_bytes / 8; i += 2) {
            assert_int_equal(words[i] & 255, LOG_FREE);
            assert_in_range(words[i + 1] / 16, 1, N_EVENTS);
            if (!seen->is_live && !seen->nodes[words[i] >> 32]) /* PG-3 */
                fail_msg("node %u comes behind an event that names it", (unsigned)(words[i] >> 32));
            seen->events[words[i + 1] / 16]++;
        }
    } else if (segment->kind == LOG_SEGMENT_NODES) {
        for (uint32_t i = 0; i < n_bytes / sizeof(*nodes); i++)
            if (nodes[i].address) {
                uint32_t id = segment->first_node + first_byte / 16 + i;
                assert_int_equal(nodes[i].parent, id);
                seen->nodes[id] = 1;
            }
    }
}

static uint64_t see_packed(struct seen *seen, uint64_t *sequences, uint64_t *ret_n_trailers)
{
    static uint64_t payload[LOG_SEGMENT_BYTES / 8];
    struct pack *pack = pack_new();
    struct frame_index frames;
    uint64_t n_sequences = 0;

    *ret_n_trailers = 0;
    assert_int_equal(frame_index_open(path, &frames, NULL), 0);
    for (size_t i = 0; i < frames.n_frames; i++) {
        const struct log_frame *frame = frame_index_get(&frames, i);
        *ret_n_trailers += frame->kind == LOG_FRAME_TRAILER;
        if (frame->kind != LOG_FRAME_SEGMENT)
            continue;
        assert_int_equal(pack_unpack(pack, frame, frame + 1, 0, payload, NULL), 0);
        see_payload(seen, &frame->segment, payload, frame->first_byte, frame->raw_bytes);
        if (frame->segment.kind == LOG_SEGMENT_EVENTS)
            sequences[n_sequences++] = frame->segment.sequence;
    }
    frame_index_done(&frames);
    pack_free(pack);
    return n_sequences;
}

static void see_live(struct seen *seen, const uint64_t *sequences, uint64_t n_sequences)
{
    struct live_log live;

    if (access(live_path, F_OK) != 0)
        return;
    seen->is_live = true;
    assert_int_equal(live_log_open(live_path, false, &live, NULL), 0);
    for (uint32_t i = 0; i < live.n_mapped; i++) {
        const struct log_segment *segment = live_log_segment(&live, i);
        bool is_packed = false;
        for (uint64_t k = 0; k < n_sequences; k++)
            is_packed |= sequences[k] == segment->sequence;
        if (live_log_is_used(&live, segment) && !is_packed)
            see_payload(seen, segment, live_log_payload(segment), 0,
                        live_log_readable_bytes(segment));
    }
    live_log_close(&live);
}

static void check_all_there(uint64_t want_trailers)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    uint64_t *sequences = calloc(N_EVENTS, sizeof(*sequences));
    uint64_t n_trailers;

    assert_non_null(seen);
    assert_non_null(sequences);
    see_live(seen, sequences, see_packed(seen, sequences, &n_trailers));
    for (int i = 1; i <= N_EVENTS; i++)
        if (seen->events[i] != 1)
            fail_msg("event %d is there %d times", i, seen->events[i]);
    for (int i = LOG_NODE_FIRST; i < LOG_NODE_FIRST + N_NODES; i++)
        if (!seen->nodes[i])
            fail_msg("node %d is lost", i);
    assert_int_equal(n_trailers, want_trailers);
    free(sequences);
    free(seen);
}

/* ---- the tests ------------------------------------------------------------------------------- */

TESTS_WITH(make_folder, remove_folder);

TEST(nothing_is_lost_undisturbed)
{
    assert_int_equal(record(""), 0);
    assert_int_not_equal(access(live_path, F_OK), 0);
    check_all_there(1);
}

/* A PID without a process, as of a recorder and a program that have both exited. */
static void orphan_live_log(void)
{
    struct live_log live;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    if (access(live_path, F_OK) != 0)
        return;
    assert_int_equal(live_log_open(live_path, true, &live, NULL), 0);
    live.file->pid = (uint32_t)pid;
    atomic_store(&live.file->recorder_pid, (uint32_t)pid);
    live_log_close(&live);
}

static void kill_at(const char *point, uint64_t want_trailers)
{
    const struct options options = {.input = path, .is_compressed = true, .quiet = true};
    int status = record(point);

    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("the recorder never came to '%s'", point);
    check_all_there(want_trailers);
    orphan_live_log();
    assert_int_equal(pack_command_run(&options, NULL), 0);
    assert_int_not_equal(access(live_path, F_OK), 0);
    check_all_there(1);
}

TEST(nothing_is_lost_at_any_step)
{
    static const char *const points[] = {"taken",    "encoded",   "appended", "packed",
                                         "freed",    "recycled",  "defined",  "encoded:40",
                                         "packed:7", "appended:9"};

    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
        kill_at(points[i], 0);
    kill_at("trailer", 0);
    kill_at("finished", 1);
}

/* ---- a program that damages its live log ----------------------------------------------------- */

/* While the recorder stood still between two looks, the program added far more than it had seen. */
TEST(a_pool_may_grow_at_any_time)
{
    struct fake_collector fake;
    struct recording *recording;
    pid_t recorder;
    int status;

    setenv("MTRACE_RECORD_FAULT", "unlinked:1:19" /* SIGSTOP */, 1);
    is_program_gone = 0;
    signal(SIGUSR1, note_end);
    assert_int_equal(recording_create(path, getpid(), &settings, &recording, NULL), 0);
    fake_collector_attach(&fake, live_path);
    fake_collector_event(&fake);
    fake_collector_seal(&fake);
    recorder = fork();
    if (recorder == 0)
        run_recorder(recording);
    assert_int_equal(waitpid(recorder, &status, WUNTRACED), recorder);
    assert_true(WIFSTOPPED(status));
    atomic_store(&fake.log.file->recorder_pid, 0); /* do not wait for it */
    while (fake.log.n_mapped < 4 * LIVE_LOG_POOL_SEGMENTS) {
        fake_collector_event(&fake);
        fake_collector_seal(&fake);
    }
    kill(recorder, SIGCONT);
    kill(recorder, SIGUSR1);
    assert_int_equal(waitpid(recorder, &status, 0), recorder);
    assert_int_equal(status, 0);
    assert_int_not_equal(access(live_path, F_OK), 0);
    fake_collector_detach(&fake);
    recording_free(recording);
    unsetenv("MTRACE_RECORD_FAULT");
}

static struct recording *begin(struct fake_collector *fake, int n_events)
{
    struct recording *recording;
    uint32_t n_packed;

    assert_int_equal(recording_create(path, getpid(), &settings, &recording, NULL), 0);
    fake_collector_attach(fake, live_path);
    fake_collector_node(fake);
    for (int i = 0; i < n_events; i++)
        fake_collector_event(fake);
    fake_collector_seal(fake);
    assert_int_equal(recording_step(recording, 1, &n_packed, NULL), 0);
    return recording;
}

static void end(struct recording *recording, struct fake_collector *fake,
                struct recording_totals *ret_totals)
{
    const struct recording_end end = {0};
    uint64_t n_trailers;
    struct seen *seen = calloc(1, sizeof(*seen));
    uint64_t *sequences = calloc(N_EVENTS, sizeof(*sequences));

    assert_non_null(seen);
    assert_non_null(sequences);
    assert_int_equal(recording_finish(recording, &end, ret_totals, NULL), 0);
    (void)see_packed(seen, sequences, &n_trailers);
    assert_int_equal(n_trailers, 1);
    free(seen);
    free(sequences);
    fake_collector_detach(fake);
    recording_free(recording);
}

/* Packed data is kept, with its process; the file says that the rest is missing. */
TEST(a_live_log_may_be_cut)
{
    const uint64_t run_id_bytes = offsetof(struct log_header, run_id);
    struct fake_collector fake;
    struct recording *recording = begin(&fake, 30000);
    uint64_t run_id = recording->live.seen.run_id;
    struct recording_totals totals;
    uint64_t found = 0;
    uint32_t n_packed;
    FILE *file;

    fake_collector_event(&fake);
    assert_int_equal(truncate(live_path, 0), 0);
    assert_int_equal(recording_step(recording, 1, &n_packed, NULL), 0);
    end(recording, &fake, &totals);
    assert_int_equal(totals.n_events, 30000);
    assert_true(totals.flags & LOG_FLAG_TRUNCATED);
    assert_true(totals.is_attached);
    assert_int_not_equal(access(live_path, F_OK), 0);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)run_id_bytes, SEEK_SET), 0);
    assert_int_equal(fread(&found, sizeof(found), 1, file), 1);
    fclose(file);
    assert_true(found == run_id);
}

/* 64 GiB of holes: only as much is looked at as --max-live allows. */
TEST(a_live_log_may_be_made_huge)
{
    struct fake_collector fake;
    struct recording *recording = begin(&fake, 30000);
    struct recording_totals totals;

    if (ftruncate(fake.log.fd, LOG_FILE_HEADER_BYTES + (off_t)LOG_MAX_SEGMENTS * LOG_SEGMENT_BYTES)
        != 0) {
        recording_discard(recording);
        recording_free(recording);
        fake_collector_detach(&fake);
        skip();
    }
    atomic_store(&fake.log.file->n_segments, UINT32_MAX);
    atomic_store(&fake.log.file->n_nodes, UINT32_MAX);
    end(recording, &fake, &totals);
    assert_int_equal(totals.n_events, 30000);
    assert_false(totals.flags & LOG_FLAG_TRUNCATED);
}

/* Stores anywhere and at any time, from a process of its own. */
static void scribble(struct fake_collector *fake)
{
    static const uint32_t words[] = {0,       1,          2,      3,         4,          7,
                                     64,      128,        65408,  65409,     0xffffffff, 0xfffffff0,
                                     1 << 16, 0x80000000, 1 << 8, 0x7fffffff};
    volatile uint32_t *all = (volatile uint32_t *)(void *)fake->log.file;
    uint64_t random = 1;

    for (;;) {
        uint32_t segment;
        random = random * 6364136223846793005u + 1442695040888963407u;
        segment = (uint32_t)(random >> 33) % LIVE_LOG_POOL_SEGMENTS;
        if (random >> 62 == 0)
            all[34 + (random >> 40) % 34] = words[(random >> 20) % 16]; /* from n_segments on */
        else
            all[1024 + segment * 16384 + (random >> 40) % (random >> 62 == 1 ? 5000 : 24)] =
                words[(random >> 20) % 16];
    }
}

TEST(a_live_log_may_be_overwritten_during_packing)
{
    struct fake_collector fake;
    struct recording *recording = begin(&fake, N_EVENTS / 8);
    struct recording_totals totals;
    uint32_t n_packed;
    pid_t scribbler = fork();

    if (scribbler == 0)
        scribble(&fake);
    for (uint64_t i = 0; i < 300; i++)
        assert_int_equal(recording_step(recording, i * 100000000, &n_packed, NULL), 0);
    assert_int_equal(recording_finish(recording, NULL, &totals, NULL), 0);
    kill(scribbler, SIGKILL);
    waitpid(scribbler, NULL, 0);
    fake_collector_detach(&fake);
    recording_free(recording);
}

static void pack_some(struct recording *recording, struct fake_collector *fake)
{
    uint32_t n_packed;

    for (int i = 0; i < 1000; i++)
        fake_collector_event(fake);
    fake_collector_seal(fake);
    assert_int_equal(recording_step(recording, 1, &n_packed, NULL), 0);
    assert_int_equal(n_packed, 1);
}

/* LI-3: though what the header says of the clocks is hardly more than another shift the second
 * time, or nothing the first time. */
TEST(all_events_are_rounded_alike)
{
    static const uint64_t first_ticks[] = {124900000, 0};

    for (size_t i = 0; i < sizeof(first_ticks) / sizeof(*first_ticks); i++) {
        struct recording *recording;
        struct fake_collector fake;
        struct frame_index frames;
        uint8_t shifts[2];
        size_t n = 0;

        assert_int_equal(recording_create(path, getpid(), &settings, &recording, NULL), 0);
        fake_collector_attach(&fake, live_path);
        fake.log.file->clock = LOG_CLOCK_TSC;
        log_file_set_machine(fake.log.file);
        fake.log.file->start_ticks = fake.log.file->start_monotonic_ns = 1000;
        fake.log.file->last_ticks = 1000 + first_ticks[i];
        fake.log.file->last_monotonic_ns = first_ticks[i] ? 1000001000 : 1000;
        fake_collector_node(&fake);
        pack_some(recording, &fake);
        fake.log.file->last_ticks = 126000000 + 1000;
        fake.log.file->last_monotonic_ns = 1000001000;
        pack_some(recording, &fake);
        assert_int_equal(frame_index_open(path, &frames, NULL), 0);
        for (size_t k = 0; k < frames.n_frames; k++) {
            const struct log_frame *frame = frame_index_get(&frames, k);
            if (frame->segment.kind != LOG_SEGMENT_EVENTS)
                continue;
            assert_int_equal(frame->codec, LOG_CODEC_COLUMNS);
            assert_true(n < 2);
            shifts[n++] = *(const uint8_t *)(frame + 1);
        }
        assert_int_equal(n, 2);
        assert_int_equal(shifts[0], shifts[1]);
        frame_index_done(&frames);
        recording_discard(recording);
        recording_free(recording);
        fake_collector_detach(&fake);
    }
}

/* Other users must not read the program's memory. */
TEST(logs_are_their_owners)
{
    struct fake_collector fake;
    struct recording_totals totals;
    struct recording *recording;
    struct stat status;
    mode_t mask = umask(0);

    recording = begin(&fake, 1);
    assert_int_equal(stat(live_path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    end(recording, &fake, &totals);
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* A check whether a log is being recorded neither looks like its recorder nor blocks the recorder's
 * lock. */
TEST(checks_for_a_recorder_change_nothing)
{
    struct packed_log log;
    int looker;

    assert_int_equal(packed_log_create(path, true, &log, NULL), 0);
    assert_true(file_lock_is_taken(path));
    assert_int_equal(flock(log.fd, LOCK_UN), 0);
    log.is_locked = false; /* as if it was checked when it was made */
    looker = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
    assert_false(file_lock_is_taken(path));
    assert_int_equal(packed_log_append(&log, "12345678", 8, NULL), 0);
    close(looker);
    assert_false(file_lock_is_taken(path));
    assert_int_equal(packed_log_append(&log, "12345678", 8, NULL), 0);
    assert_true(file_lock_is_taken(path));
    packed_log_close(&log);
    assert_false(file_lock_is_taken(path));
}
