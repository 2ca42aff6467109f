/* SPDX-License-Identifier: MIT */
/* Definitions of logs, which files belong together, and the readable rest of damaged logs. */
#include "importer/read/log_set.h"
#include "importer/read/sample_stream.h"
#include "lib/process/writer_liveness.h"
#include "tests/lib/log_builder.h"
#include "tests/lib/log_reading.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_NS 1000000000ull
#define LOAD     0x7f0000000000ull

static struct log_builder *open_builder(const char *path, void **state)
{
    struct log_builder_options options = {.is_packed = *state != NULL, .zstd_level = 1};
    return log_builder_open(path, &options);
}

TESTS_WITH(log_reading_setup, log_reading_teardown);

/* DF-1 and DF-2, by the definition of preorder. */
static void check_tree(const struct definitions *definitions)
{
    const struct definitions_backtrace *tree = definitions->backtraces;

    for (uint32_t i = 1; i <= definitions->n_backtraces; i++) {
        uint32_t end = i + 1;
        assert_true(tree[i].parent < i);
        while (end <= definitions->n_backtraces && tree[end].parent >= i)
            end++;
        assert_int_equal(tree[i].last_descendant, end - 1);
        assert_int_equal(tree[i].depth, tree[i].parent ? tree[tree[i].parent].depth + 1 : 1);
        assert_in_range(tree[i].frame, 1, definitions->n_frames);
        if (tree[i].parent)
            assert_int_equal(tree[i].status, tree[tree[i].parent].status);
    }
}

/* The stack of a backtrace as "offset,offset,…", innermost first. */
static const char *stack_text(const struct definitions *definitions, uint32_t backtrace)
{
    static char text[4096];
    size_t n = 0;

    text[0] = '\0';
    for (; backtrace && n < sizeof(text) - 64;
         backtrace = definitions->backtraces[backtrace].parent) {
        const struct definitions_frame *frame =
            &definitions->frames[definitions->backtraces[backtrace].frame];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%lx ",
                              frame->label ? frame->label : "", frame->is_exact ? "!" : "",
                              (unsigned long)frame->offset);
    }
    return text;
}

TEST_TWICE(test_stacks_of_two_processes_are_one_tree)
{
    struct log_builder_options second = {
        .is_packed = *state != NULL, .zstd_level = 1, .run_id = 2, .start_ns = START_NS + 1};
    const char *paths[] = {log_reading_path("one"), log_reading_path("two")};
    struct log_builder *a = open_builder(paths[0], state);
    struct log_builder *b = log_builder_open(paths[1], &second);
    uint32_t module_a = log_builder_module(a, "/lib/x.so", "\x01", 1, LOAD, START_NS);
    uint32_t other = log_builder_module(b, "/lib/y.so", "\x02", 1, LOAD, START_NS);
    uint32_t module_b = log_builder_module(b, "/lib/x.so", "\x01", 1, LOAD + 0x10000, START_NS);
    uint32_t main_a = log_builder_node(a, LOG_NODE_COMPLETE, module_a, LOAD + 0x100);
    uint32_t f_a = log_builder_node(a, main_a, module_a, LOAD + 0x200);
    uint32_t f_again = log_builder_node(a, main_a, module_a, LOAD + 0x200); /* a race */
    uint32_t cut_a = log_builder_node(a, LOG_NODE_TRUNCATED, module_a, LOAD + 0x100);
    uint32_t jit = log_builder_node(a, LOG_NODE_GUESSED, 0, 0x4242);
    uint32_t main_b = log_builder_node(b, LOG_NODE_COMPLETE, module_b, LOAD + 0x10100);
    uint32_t f_b = log_builder_node(b, main_b, module_b, LOAD + 0x10200);
    uint32_t exact = log_builder_node(b, main_b, module_b, (LOAD + 0x10200) | LOG_NODE_EXACT);
    uint32_t in_other = log_builder_node(b, main_b, other, LOAD + 0x200);
    const uint32_t nodes[] = {f_a, f_again, cut_a, jit, main_a, f_b, exact, in_other};
    const char *const stacks[] = {"200 100 ", "200 100 ", "100 ",      "4242 ",
                                  "100 ",     "200 100 ", "!200 100 ", "200 100 "};
    const struct definitions *definitions;
    struct log_reading reading;
    struct log_set *set;

    for (uint32_t i = 0; i < 8; i++)
        log_builder_malloc(i < 5 ? a : b, 0, START_NS + 10 + i, 0x1000 * (i + 1), 1, nodes[i]);
    log_builder_close(a);
    log_builder_close(b);

    assert_int_equal(log_set_open(paths, 2, NULL, &set, NULL), 0);
    definitions = log_set_definitions(set);
    check_tree(definitions);
    assert_int_equal(definitions->n_objects, 2);
    assert_int_equal(definitions->n_modules, 3);
    assert_int_equal(definitions->n_backtraces, 8);
    reading = log_reading_events(set);
    assert_int_equal(reading.n_events, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(stack_text(definitions, reading.events[i].backtrace), stacks[i]);
    assert_int_equal(reading.events[0].backtrace, reading.events[1].backtrace);
    assert_int_equal(reading.events[0].backtrace, reading.events[5].backtrace);
    assert_int_not_equal(reading.events[0].backtrace, reading.events[6].backtrace);
    assert_int_not_equal(reading.events[0].backtrace, reading.events[7].backtrace);
    assert_int_not_equal(reading.events[2].backtrace, reading.events[4].backtrace);
    assert_int_equal(definitions->backtraces[reading.events[2].backtrace].status,
                     DEFINITIONS_TRUNCATED);
    assert_int_equal(definitions->backtraces[reading.events[3].backtrace].status,
                     DEFINITIONS_GUESSED);
    assert_int_equal(definitions->backtraces[reading.events[4].backtrace].status,
                     DEFINITIONS_COMPLETE);
    assert_int_equal(definitions->backtraces[reading.events[0].backtrace].depth, 2);
    assert_int_equal(log_reading_damages(set), 0);
    free(reading.events);
    log_set_close(set);
}

TEST_TWICE(test_lost_parents_and_cycles)
{
    const char *path = log_reading_path("lost");
    struct log_builder *builder = open_builder(path, state);
    uint32_t module = log_builder_module(builder, "/lib/x.so", "", 0, LOAD, START_NS);
    uint32_t orphan = log_builder_node(builder, 500, module, LOAD + 1);
    uint32_t child = log_builder_node(builder, orphan, module, LOAD + 2);
    uint32_t cycle_a = log_builder_node(builder, child + 2, module, LOAD + 3);
    uint32_t cycle_b = log_builder_node(builder, cycle_a, module, LOAD + 4);
    uint32_t self = log_builder_node(builder, cycle_b + 1, module, LOAD + 5);
    uint32_t no_module = log_builder_node(builder, LOG_NODE_COMPLETE, 99, 0x77);
    const uint32_t nodes[] = {child,         cycle_a,          self, no_module, 4000000000u,
                              LOG_NODE_NONE, LOG_NODE_COMPLETE};
    const char *const stacks[] = {
        "2 1 [stack lost]0 ", "3 4 [stack lost]0 ", "5 [stack lost]0 ", "77 ",
        "[stack lost]0 ",     "[no backtrace]0 ",   "[no backtrace]0 "};
    const struct definitions *definitions;
    struct log_reading reading;
    struct log_set *set;

    for (uint32_t i = 0; i < 7; i++)
        log_builder_malloc(builder, 0, START_NS + i, 0x1000 * (i + 1), 1, nodes[i]);
    log_builder_close(builder);

    set = log_reading_open(path);
    definitions = log_set_definitions(set);
    check_tree(definitions);
    reading = log_reading_events(set);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(stack_text(definitions, reading.events[i].backtrace), stacks[i]);
    assert_int_equal(definitions->backtraces[reading.events[0].backtrace].status,
                     DEFINITIONS_TRUNCATED);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_NODE], 5);
    free(reading.events);
    log_set_close(set);
}

/* A stack of 200,000 frames, its nodes written innermost first. */
TEST_TWICE(test_deep_recursion)
{
    enum {
        DEPTH = 200000
    };

    const char *path = log_reading_path("deep");
    struct log_builder *builder = open_builder(path, state);
    const struct definitions *definitions;
    struct log_set *set;

    for (uint32_t i = 0; i < DEPTH; i++)
        log_builder_node(builder, i + 1 < DEPTH ? LOG_NODE_FIRST + i + 1 : LOG_NODE_COMPLETE, 0,
                         0x1000);
    log_builder_close(builder);

    set = log_reading_open(path);
    definitions = log_set_definitions(set);
    assert_int_equal(definitions->n_backtraces, DEPTH + 2);
    assert_int_equal(definitions->n_frames, 3);
    assert_int_equal(definitions->backtraces[DEPTH + 2].depth, DEPTH);
    assert_int_equal(definitions->backtraces[3].last_descendant, DEPTH + 2);
    log_set_close(set);
}

TEST_TWICE(test_ends)
{
    static const struct {
        enum log_end kind;
        int value;
        const char *end_kind;
        int end_value;
        bool has_value;
    } ends[] = {
        {LOG_END_EXIT, 7, "exit", 7, true},        {LOG_END_IMMEDIATE, 8, "exit", 8, true},
        {LOG_END_QUICK, 9, "exit", 9, true},       {LOG_END_ABORT, 0, "signal", SIGABRT, true},
        {LOG_END_SIGNAL, 11, "signal", 11, true},  {LOG_END_EXEC, 0, "exec", 0, false},
        {LOG_END_UNKNOWN, 5, "unknown", 0, false}, {(enum log_end)77, 0, "unknown", 0, false},
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        const char *path = log_reading_path("end");
        struct log_builder *builder = open_builder(path, state);
        const struct definitions_process *process;
        struct log_set *set;
        log_builder_header(builder)->end_kind = ends[i].kind;
        log_builder_header(builder)->end_value = ends[i].value;
        log_builder_close(builder);
        set = log_reading_open(path);
        process = &log_set_definitions(set)->processes[1];
        assert_string_equal(process->end_kind, ends[i].end_kind);
        assert_int_equal(process->end_value, ends[i].end_value);
        assert_int_equal(process->has_end_value, ends[i].has_value);
        log_set_close(set);
    }
}

static const char *end_kind_of_only(const char *path)
{
    static char kind[16];
    struct log_set *set = log_reading_open(path);

    (void)snprintf(kind, sizeof(kind), "%s", log_set_definitions(set)->processes[1].end_kind);
    log_set_close(set);
    return kind;
}

/* A log of a process that is not there, which is open; its path is the same each time. */
static const char *open_without_process(uint32_t pid_space, int *ret_fd)
{
    struct log_builder_options options = {.pid = INT32_MAX};
    const char *path = log_reading_path("without_process");
    struct log_builder *builder = log_builder_open(path, &options);

    log_builder_header(builder)->pid_space = pid_space;
    log_builder_close(builder);
    *ret_fd = open(path, O_RDWR);
    assert_true(*ret_fd >= 0);
    return path;
}

/* Its PID is that of another process here, or of none: the open file decides. */
TEST(test_a_process_of_another_pid_namespace_is_seen)
{
    int fd;
    const char *path = open_without_process(writer_liveness_pid_space() + 1, &fd);

    assert_string_equal(end_kind_of_only(path), "running");
    bool is_reported = writer_liveness_of_file(fd) != WRITER_LIVENESS_UNKNOWN;
    close(fd);
    if (is_reported)
        assert_string_equal(end_kind_of_only(path), "unknown");
}

static void build_run(const char *path, uint64_t run_id, uint64_t parent_run_id, uint32_t pid,
                      const char *child_path)
{
    struct log_builder_options options = {.run_id = run_id,
                                          .parent_run_id = parent_run_id,
                                          .pid = pid,
                                          .start_ns = START_NS + run_id};
    struct log_builder *builder = log_builder_open(path, &options);
    struct log_def child = {.kind = LOG_DEF_CHILD, .a = pid + 1};

    if (child_path)
        log_builder_def(builder, &child, child_path, strlen(child_path));
    log_builder_malloc(builder, log_builder_thread(builder, pid, NULL, START_NS), START_NS + run_id,
                       0x1000, 1, 0);
    log_builder_close(builder);
}

/* Found by the record, by the name, and by neither. */
TEST(test_children_are_found)
{
    struct log_set_options only = {.only = true};
    const char *first = log_reading_path("run");
    const char *again[] = {first, first};
    const struct definitions *definitions;
    struct log_set *set;

    build_run(first, 1, 0, 10, "/nowhere/run.11.0");
    build_run(log_reading_path("run.11.0"), 2, 1, 11, "/nowhere/run.12.0"); /* which is not there */
    build_run(log_reading_path("run.11.1.live"), 3, 2, 11, NULL);
    build_run(log_reading_path("run.13.0"), 4, 99, 13, NULL); /* of another run */
    build_run(log_reading_path("run.backup"), 5, 1, 14, NULL);

    set = log_reading_open(first);
    definitions = log_set_definitions(set);
    assert_int_equal(definitions->n_processes, 3);
    assert_int_equal(definitions->processes[1].parent, 0);
    assert_int_equal(definitions->processes[2].parent, 1);
    assert_int_equal(definitions->processes[3].parent, 2);
    assert_int_equal(definitions->processes[3].pid, 11);
    assert_int_equal(log_reading_damages(set), 0);
    log_set_close(set);

    assert_int_equal(log_set_open(again, 2, &only, &set, NULL), 0);
    assert_int_equal(log_set_definitions(set)->n_processes, 1);
    log_set_close(set);
}

static void check_refusal(const char *path, int code, const char *words)
{
    const char *text = log_reading_refusal(path, code);

    if (!strstr(text, words))
        fail_msg("'%s' lacks '%s'", text, words);
    assert_null(strchr(text, '\n'));
}

static void check_content(const void *bytes, size_t n, int code, const char *words)
{
    const char *path = log_reading_path("wrong");

    log_reading_store(path, bytes, n);
    check_refusal(path, code, words);
}

TEST_TWICE(test_wrong_files_are_named)
{
    const char *path = log_reading_path("header");
    static const char zeros[8192];
    struct log_header *header;
    uint8_t *bytes;
    size_t n;

    log_builder_close(open_builder(path, state));
    n = log_reading_load(path, &bytes);
    header = (struct log_header *)(void *)bytes;

    check_refusal(log_reading_path("absent"), ERROR_IO, "No such file");
    check_refusal(log_reading_path("."), ERROR_FORMAT, "directory");
    check_refusal("/dev/null", ERROR_FORMAT, "regular file");
    check_content("", 0, ERROR_FORMAT, "empty");
    check_content("hello\n", 6, ERROR_FORMAT, "text");
    check_content("v 10400 4\nx 5 /bin\n", 19, ERROR_VERSION, "heaptrack recording of format 4");
    check_content("SQLite format 3", 16, ERROR_FORMAT, "database");
    check_content("mtrace\n\n", 8, ERROR_FORMAT, "text mode");
    check_content("\x28\xb5\x2f\xfd????", 8, ERROR_FORMAT, "compressed");
    check_content("\x7f"
                  "ELF\2\1\1",
                  7, ERROR_FORMAT, "program");
    check_content("\1\2\3\4\5", 5, ERROR_FORMAT, "at byte 0");
    check_content(zeros, sizeof(zeros), ERROR_FORMAT, "no header");
    check_content(bytes, 100, ERROR_FORMAT, "ends inside its header at byte 100");
    header->version = LOG_VERSION + 1;
    check_content(bytes, n, ERROR_VERSION, "newer");
    header->version = LOG_VERSION;
    header->byte_order = LOG_BIG_ENDIAN;
    check_content(bytes, n, ERROR_FORMAT, "big-endian");
    header->byte_order = 0;
    check_content(bytes, n, ERROR_FORMAT, "byte order is 0 at byte 19");
    header->word_bytes = 0;
    check_content(bytes, n, ERROR_VERSION, "older version of mtrace; record again");
    header->byte_order = LOG_LITTLE_ENDIAN;
    header->word_bytes = 2;
    check_content(bytes, n, ERROR_FORMAT, "words have 2 bytes at byte 18");
    header->word_bytes = 8;
    header->segment_bytes = 7;
    check_content(bytes, n, ERROR_FORMAT, "segment size");
    free(bytes);
}

/* A log of 8 segments; event i has address i + 1. */
enum {
    N_SEQUENCE = 20000
};

static void build_sequence(const char *path, bool is_packed)
{
    struct log_builder_options options = {.is_packed = is_packed, .zstd_level = 1};
    struct log_builder *builder = log_builder_open(path, &options);
    uint32_t thread = log_builder_thread(builder, 1, NULL, START_NS);

    for (uint64_t i = 0; i < N_SEQUENCE; i++)
        log_builder_malloc(builder, thread, START_NS + i * 10, i + 1, i % 4096, 0);
    log_builder_close(builder);
}

/* Reads what is left of a sequence: events in order, none twice. Returns how many. */
static size_t count_sequence(const char *path, uint64_t *ret_n_damages, bool *ret_is_prefix)
{
    struct log_set *set = log_reading_open(path);
    struct log_reading reading = log_reading_events(set);
    size_t n = reading.n_events;

    *ret_is_prefix = true;
    for (size_t i = 0; i < n; i++) {
        *ret_is_prefix = *ret_is_prefix && reading.events[i].address == i + 1;
        if (i > 0)
            assert_true(reading.events[i].address > reading.events[i - 1].address);
    }
    *ret_n_damages = log_reading_damages(set);
    /* The pairing step learns that some are missing. */
    if (n < N_SEQUENCE && !log_set_is_growing(set) && *ret_n_damages > 0)
        assert_true(reading.n_losses > 0 || log_set_definitions(set)->processes[1].has_lost_events);
    log_set_close(set);
    free(reading.events);
    return n;
}

/* What the trailer says of the machine is not taken where the header says otherwise. */
TEST(test_trailer_of_another_machine)
{
    const char *path = log_reading_path("whole");
    struct log_set *set;
    uint8_t *bytes;
    uint64_t n_damages;
    bool is_prefix;
    size_t n;

    build_sequence(path, true);
    n = log_reading_load(path, &bytes);
    ((struct log_header *)(void *)bytes)->word_bytes = 4;
    ((struct log_header *)(void *)bytes)->arch = LOG_ARCH_ARM;
    log_reading_store(path, bytes, n);
    free(bytes);
    assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
    assert_int_equal(n_damages, 1);
    set = log_reading_open(path);
    assert_int_equal(log_set_definitions(set)->processes[1].word_bytes, 4);
    log_set_close(set);
}

/* A process killed in the middle of a frame left its segment in the pool: nothing is lost, and
 * nothing reported. If the pool has other segments by now, the file was cut later. */
TEST(test_cut_frame_beside_its_pool)
{
    const char *path = log_reading_path("pool");
    const char *pool = log_reading_path("pool.live");
    uint8_t *bytes, *pool_bytes;
    uint64_t n_damages;
    bool is_prefix;
    size_t n, n_pool;

    build_sequence(path, true);
    build_sequence(pool, false);
    n = log_reading_load(path, &bytes);
    n_pool = log_reading_load(pool, &pool_bytes);
    for (size_t length = LOG_FILE_HEADER_BYTES; length < n; length += 1 + (n - length) / 8) {
        log_reading_store(path, bytes, length);
        assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
        assert_int_equal(n_damages, 0);
    }
    for (size_t at = LOG_FILE_HEADER_BYTES; at < n_pool; at += LOG_SEGMENT_BYTES) {
        struct log_segment *segment = (struct log_segment *)(void *)(pool_bytes + at);
        segment->sequence += segment->kind == LOG_SEGMENT_EVENTS ? 1000000 : 0;
    }
    log_reading_store(pool, pool_bytes, n_pool);
    log_reading_store(path, bytes, n / 2);
    struct log_set *set = log_reading_open(path);
    assert_int_equal(log_reading_damages(set), 1);
    log_set_close(set);
    unlink(pool);
    unlink(path);
    free(pool_bytes);
    free(bytes);
}

/* Packed file and pool have the same data: nothing is read twice, and one repairs the other. */
TEST(test_packed_file_and_pool)
{
    const char *path = log_reading_path("pool");
    const char *pool = log_reading_path("pool.live");
    uint64_t n_damages;
    bool is_prefix;
    uint8_t *bytes;
    size_t n;

    build_sequence(path, true);
    build_sequence(pool, false);
    assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
    assert_int_equal(n_damages, 0);
    assert_int_equal(count_sequence(pool, &n_damages, &is_prefix), N_SEQUENCE);
    assert_int_equal(n_damages, 0);

    n = log_reading_load(path, &bytes);
    for (size_t at = LOG_FILE_HEADER_BYTES; at < n; at += n / 20) {
        bytes[at] ^= 1;
        log_reading_store(path, bytes, n);
        bytes[at] ^= 1;
        assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
        assert_true(is_prefix);
    }
    log_reading_store(path, bytes, n / 2);
    assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
    log_reading_store(path, bytes, 10);
    assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
    assert_int_equal(n_damages, 1);
    unlink(path);
    assert_int_equal(count_sequence(path, &n_damages, &is_prefix), N_SEQUENCE);
    free(bytes);
}

/* Mapped from then on, as who packs a log has it. */
static void store_log(const char *path, uint8_t *bytes, size_t n)
{
    struct log_header *header = (struct log_header *)bytes;

    header->recorder_pid = (uint32_t)getpid();
    header->start_unix_ns = 0; /* so that it is not known that the log is older than we are */
    log_reading_store(path, bytes, n);
    (void)log_builder_map(path);
}

/* More children than files are kept open of: a recorder packs and removes the pools of those that
 * end behind our list. */
TEST(test_pools_removed_while_read)
{
    enum {
        N_CHILDREN = 200
    };

    char name[64];
    char first[PATH_MAX];
    uint8_t *bytes;
    size_t n;

    (void)snprintf(first, sizeof(first), "%s", log_reading_path("crowd"));
    build_run(first, 1, 0, 10, NULL);
    for (unsigned i = 0; i < N_CHILDREN; i++) {
        (void)snprintf(name, sizeof(name), "crowd.%u.0.live", i + 11);
        build_run(log_reading_path(name), i + 2, 1, i + 11, NULL);
        n = log_reading_load(log_reading_path(name), &bytes);
        store_log(log_reading_path(name), bytes, n);
        free(bytes);
    }
    /* listed, but gone when it is opened */
    assert_int_equal(symlink("/nowhere", log_reading_path("crowd.9.0.live")), 0);

    struct log_set *set = log_reading_open(first);
    assert_int_equal(log_set_definitions(set)->n_processes, N_CHILDREN + 1);
    for (unsigned i = 0; i < N_CHILDREN; i++) {
        (void)snprintf(name, sizeof(name), "crowd.%u.0.live", i + 11);
        assert_int_equal(unlink(log_reading_path(name)), 0);
    }
    struct log_reading reading = log_reading_events(set);
    assert_int_equal(reading.n_events, N_CHILDREN + 1);
    assert_int_equal(log_reading_damages(set), 0);
    free(reading.events);
    log_set_close(set);
}

/* A recorder packs all segments and gives their places away while the log is read: behind the list,
 * and, where `n_listed` bytes of the packed file were there before, in part before it; 0: half of
 * it was. */
static void check_recycling(size_t n_listed, bool is_alone)
{
    const char *path = log_reading_path("pool");
    const char *pool = log_reading_path("pool.live");
    uint8_t *packed_bytes, *pool_bytes;
    size_t n_packed, n_pool;

    build_sequence(path, true);
    build_sequence(pool, false);
    n_packed = log_reading_load(path, &packed_bytes);
    n_pool = log_reading_load(pool, &pool_bytes);
    store_log(path, packed_bytes, n_listed ? n_listed : n_packed / 2);
    store_log(pool, pool_bytes, n_pool);
    if (is_alone)
        unlink(path);

    struct log_set *set = log_reading_open(is_alone ? pool : path);
    assert_true(log_set_is_growing(set));
    store_log(path, packed_bytes, n_packed);
    for (size_t at = LOG_FILE_HEADER_BYTES; at < n_pool; at += LOG_SEGMENT_BYTES)
        ((struct log_segment *)(pool_bytes + at))->sequence += 1000000;
    store_log(pool, pool_bytes, n_pool);
    struct log_reading reading = log_reading_events(set);
    assert_int_equal(reading.n_events, N_SEQUENCE);
    for (size_t i = 0; i < reading.n_events; i++)
        assert_int_equal(reading.events[i].address, i + 1);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_CHECKSUM], 0);
    free(reading.events);
    log_set_close(set);
    unlink(pool);
    free(packed_bytes);
    free(pool_bytes);
}

TEST(test_recycled_while_read)
{
    check_recycling(LOG_FILE_HEADER_BYTES, false);
    check_recycling(0, false);
}

/* A child's log, which a recorder finds and begins to pack behind our list. */
TEST(test_adopted_while_read)
{
    check_recycling(LOG_FILE_HEADER_BYTES, true);
}

/* Segments whose slots were reused, and whose frames cannot be found: the packed file was removed
 * or cut. */
TEST(test_recycled_and_gone)
{
    const char *path = log_reading_path("pool");
    const char *pool = log_reading_path("pool.live");
    uint8_t *packed_bytes, *pool_bytes;
    size_t n_packed, n_pool;

    build_sequence(path, true);
    build_sequence(pool, false);
    n_packed = log_reading_load(path, &packed_bytes);
    n_pool = log_reading_load(pool, &pool_bytes);
    assert_true(n_packed > LOG_FILE_HEADER_BYTES);
    store_log(path, packed_bytes, LOG_FILE_HEADER_BYTES);
    store_log(pool, pool_bytes, n_pool);

    struct log_set *set = log_reading_open(path);
    for (size_t at = LOG_FILE_HEADER_BYTES; at < n_pool; at += LOG_SEGMENT_BYTES)
        ((struct log_segment *)(pool_bytes + at))->sequence += 1000000;
    store_log(pool, pool_bytes, n_pool);
    struct log_reading reading = log_reading_events(set);
    assert_true(reading.n_events
                < LOG_SEGMENT_PAYLOAD_BYTES / 24); /* what was being filled was copied */
    assert_true(reading.n_losses > 0);
    assert_true(log_set_damage(set)->lost_bytes > 0);
    free(reading.events);
    log_set_close(set);
    unlink(pool);
    free(packed_bytes);
    free(pool_bytes);
}

/* ---- a pool whose recorder elides ---- */

enum {
    N_LISTED = 100,
    FIRST_ELIDED = 5000, /* addresses of what the frame has */
};

/* One segment of n events. */
static void build_segment(const char *path, bool is_packed, size_t n, uint64_t first)
{
    struct log_builder_options options = {.is_packed = is_packed, .zstd_level = 1};
    struct log_builder *builder = log_builder_open(path, &options);
    uint32_t thread = log_builder_thread(builder, 1, NULL, START_NS);

    for (uint64_t i = 0; i < n; i++)
        log_builder_malloc(builder, thread, START_NS + i * 10, first + i, i, 0);
    log_builder_close(builder);
}

/* The headers of all segments of events in a pool. */
static void set_segments(uint8_t *pool, size_t n_pool, uint32_t segment_state, uint64_t more)
{
    for (size_t at = LOG_FILE_HEADER_BYTES; at < n_pool; at += LOG_SEGMENT_BYTES) {
        struct log_segment *segment = (struct log_segment *)(pool + at);
        if (segment->kind != LOG_SEGMENT_EVENTS)
            continue;
        segment->state = segment_state;
        segment->sequence += more;
        if (more) /* it is another filling */
            memset(segment + 1, 0, LOG_SEGMENT_PAYLOAD_BYTES);
    }
}

/* Listed in that state, with N_LISTED events; then its place is given away, and n_framed events are
 * what its frame has. */
static void check_elided(uint32_t segment_state, size_t n_framed, size_t n, uint64_t first)
{
    const char *path = log_reading_path("elided");
    const char *pool = log_reading_path("elided.live");
    uint8_t *packed_bytes, *pool_bytes;
    size_t n_packed, n_pool;

    build_segment(path, true, n_framed, FIRST_ELIDED);
    build_segment(pool, false, N_LISTED, 1);
    n_packed = log_reading_load(path, &packed_bytes);
    n_pool = log_reading_load(pool, &pool_bytes);
    set_segments(pool_bytes, n_pool, segment_state, 0);
    store_log(path, packed_bytes, LOG_FILE_HEADER_BYTES);
    store_log(pool, pool_bytes, n_pool);

    struct log_set *set = log_reading_open(path);
    assert_true(log_set_is_growing(set));
    store_log(path, packed_bytes, n_packed);
    set_segments(pool_bytes, n_pool, LOG_STATE_FILLING, 1000000);
    store_log(pool, pool_bytes, n_pool);
    for (int i = 0; i < 2; i++) { /* also when it is known where it is */
        struct log_reading reading = log_reading_events(set);
        assert_int_equal(reading.n_events, n);
        assert_int_equal(reading.n_losses, 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(reading.events[k].address, first + k);
        free(reading.events);
    }
    assert_int_equal(log_reading_damages(set), 0);
    log_set_close(set);
    unlink(path);
    unlink(pool);
    free(packed_bytes);
    free(pool_bytes);
}

/* The whole of the frame, as nothing came behind what was listed; be it shorter or longer than
 * that. */
TEST(test_sealed_and_elided)
{
    check_elided(LOG_STATE_SEALED, N_LISTED / 3, N_LISTED / 3, FIRST_ELIDED);
    check_elided(LOG_STATE_SEALED, 2 * N_LISTED, 2 * N_LISTED, FIRST_ELIDED);
}

/* What was there when it was listed, as the frame says nothing about a part of it. */
TEST(test_filled_and_elided)
{
    check_elided(LOG_STATE_FILLING, N_LISTED / 3, N_LISTED, 1);
    check_elided(LOG_STATE_FILLING, 2 * N_LISTED, N_LISTED, 1);
}

/* GR-3: whichever waits for the other, blocks that may still be elided are not certain. */
TEST(test_what_may_be_elided_is_not_certain)
{
    const uint64_t watermark_ns = 1000, time_limit_ns = 10, second_ns = 1000000000;
    const char *path = log_reading_path("steady");
    const char *pool = log_reading_path("steady.live");
    uint8_t *packed_bytes, *pool_bytes;
    size_t n_packed, n_pool;

    build_sequence(path, true);
    build_sequence(pool, false);
    n_packed = log_reading_load(path, &packed_bytes);
    n_pool = log_reading_load(pool, &pool_bytes);
    struct log_header *header = (struct log_header *)(void *)pool_bytes;
    struct log_packing *packing = (struct log_packing *)(void *)(pool_bytes + LOG_PACKING_OFFSET);
    store_log(path, packed_bytes, n_packed / 2);
    header->last_ticks = header->last_monotonic_ns = START_NS + second_ns;
    for (int i = 0; i < 2; i++) {
        packing->watermark_ticks = i ? START_NS + watermark_ns : 0;
        store_log(pool, pool_bytes, n_pool);
        struct log_set *set = log_reading_open(path);
        assert_true(log_set_is_growing(set));
        for (uint64_t time_limit = 0; time_limit <= time_limit_ns; time_limit += time_limit_ns) {
            uint64_t mark_ns = log_set_watermark(set, time_limit) >> CLOCK_MAP_FRACTION_BITS;
            assert_int_equal(mark_ns < watermark_ns, i);
            assert_true(mark_ns >= watermark_ns / 2);
        }
        log_set_close(set);
    }
    unlink(path);
    unlink(pool);
    free(packed_bytes);
    free(pool_bytes);
}

/* Of segments that begin during a look at the pool some are seen: those that began before are
 * complete. */
TEST(test_begun_while_listed)
{
    const char *path = log_reading_path("begun.live");
    uint8_t *bytes;
    size_t n;

    build_sequence(path, false);
    n = log_reading_load(path, &bytes);
    struct log_header *header = (struct log_header *)(void *)bytes;
    uint64_t n_whole = header->next_sequence - 1;
    header->next_sequence = n_whole; /* the last one came since */
    store_log(path, bytes, n);
    struct log_set *set = log_reading_open(path);
    assert_true(log_set_is_growing(set));
    struct log_reading reading = log_reading_events(set);
    assert_true(reading.n_events > 0 && reading.n_events < N_SEQUENCE);
    for (size_t i = 0; i < reading.n_events; i++)
        assert_int_equal(reading.events[i].address, i + 1);
    free(reading.events);
    log_set_close(set);
    unlink(path);
    free(bytes);
}

/* The recorder copies definitions while the program writes them, and has the whole ones in a later
 * part. */
TEST(test_copied_while_it_was_written)
{
    const char *path = log_reading_path("torn");
    const struct log_builder_options options = {.is_packed = true, .zstd_level = 1};
    struct log_builder *builder = log_builder_open(path, &options);
    struct log_def group = {.kind = LOG_DEF_GROUP, .id = 7};
    struct log_set *set;

    log_builder_def(builder, &group, "request\0tenant\0ant", 18);
    log_builder_torn_def(builder);
    group.id = 8;
    log_builder_def(builder, &group, "other", 5);
    log_builder_close(builder);

    set = log_reading_open(path);
    assert_int_equal(log_set_definitions(set)->n_groups, 3); /* and the one of lost ones */
    assert_string_equal(log_set_definitions(set)->groups[1].name, "request");
    assert_int_equal(log_set_definitions(set)->groups[1].text_bytes, 18);
    assert_memory_equal(log_set_definitions(set)->groups[1].text, "request\0tenant\0ant", 18);
    assert_string_equal(log_set_definitions(set)->groups[2].name, "other");
    log_set_close(set);
}

static void define_group(struct log_builder *builder, uint32_t index, const char *name)
{
    const struct log_def group = {.kind = LOG_DEF_GROUP, .id = index};

    log_builder_def(builder, &group, name, strlen(name));
}

static uint32_t id_of_group(const struct log_set *set, const char *name)
{
    const struct definitions *definitions = log_set_definitions(set);
    uint32_t id = UINT32_MAX;

    for (size_t i = 1; i <= definitions->n_groups; i++)
        if (strcmp(definitions->groups[i].name, name) == 0) {
            assert_int_equal(id, UINT32_MAX); /* there is one of that name */
            id = definitions->groups[i].id;
        }
    return id;
}

/* Parent and children go on to number theirs from where they parted. */
TEST_TWICE(test_ids_of_groups)
{
    const char *const paths[] = {log_reading_path("parent"), log_reading_path("child"),
                                 log_reading_path("sibling")};
    struct log_builder *parent = open_builder(paths[0], state);
    struct log_builder *child, *sibling;
    struct log_builder_options options = {
        .is_packed = *state != NULL, .run_id = 2, .parent_run_id = 1, .start_ns = START_NS + 1};
    struct log_set *set;

    child = log_builder_open(paths[1], &options);
    options.run_id = 3;
    options.start_ns++;
    sibling = log_builder_open(paths[2], &options);
    define_group(parent, 2, "base");
    define_group(parent, 3, "of the parent");
    define_group(child, 5, "last of the child"); /* not in their order */
    define_group(child, 3, "of the child");
    define_group(child, 4, "of both children");
    define_group(child, UINT32_MAX, "of no program");
    define_group(sibling, 2, "base");
    define_group(sibling, 3, "of the sibling");
    define_group(sibling, 4, "of both children");
    define_group(sibling, LOG_GROUP_UNTRACKED, "untracked");
    log_builder_close(parent);
    log_builder_close(child);
    log_builder_close(sibling);

    assert_int_equal(log_set_open(paths, 3, NULL, &set, NULL), 0);
    assert_int_equal(id_of_group(set, "base"), 2);
    assert_int_equal(id_of_group(set, "of the parent"), 3);
    assert_int_equal(id_of_group(set, "of both children"), 4);
    assert_int_equal(id_of_group(set, "last of the child"), 5);
    assert_int_equal(id_of_group(set, "of the child"), 6);
    assert_int_equal(id_of_group(set, "of no program"), 7);
    assert_int_equal(id_of_group(set, "of the sibling"), 8);
    assert_int_equal(id_of_group(set, "[lost]"), 9);
    assert_int_equal(id_of_group(set, "untracked"), LOG_GROUP_UNTRACKED);
    assert_int_equal(log_set_definitions(set)->n_groups, 9);
    log_set_close(set);
}
