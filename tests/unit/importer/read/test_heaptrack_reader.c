/* SPDX-License-Identifier: MIT */
/* Recordings of heaptrack 1.1 to 1.5, raw and interpreted, plain and packed: definitions and events
 * by hand. */
#include "importer/read/log_set.h"
#include "lib/abi/log_format.h"
#include "tests/lib/log_reading.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
    TEXT_BYTES = 1 << 16
};

/* What differs between the versions are the first line and the strings. */
static const char events_text[] = "i 400100 2 1 4 7\n"
                                  "i 400200 2 3 4 5 1 4 8\n"
                                  "t 1 0\nt 2 1\n"
                                  "a 10 2\n+ 0\na 20 1\n+ 1\n+ 0\nc 1\nR 10\n- 0\n- 1\n- 1\nc 3\n";
static const char plain_strings[] = "s main\ns /bin/pro\ns inner\ns a.c\n";
static const char sized_strings[] = "s 4 main\ns 8 /bin/pro\ns 5 inner\ns 3 a.c\n";

static const char raw_text[] = "x 9 /bin/prog\nX prog a\nI 1000 5e298d\nm 1 -\n"
                               "m 1 x 400000 0 1000 2000 1000\n"
                               "t 400100 0\nt 400200 1\n"
                               "+ 10 2 5000\n+ 20 1 6000\nc 1\nR 10\n- 5000\n+ 10 2 5000\n- 9000\n"
                               "c 3\n";

static const char *store(const char *name, const char *text)
{
    const char *path = log_reading_path(name);

    log_reading_store(path, text, strlen(text));
    return path;
}

static const char *store_versioned(const char *name, const char *version, const char *strings,
                                   const char *rest)
{
    static char text[TEXT_BYTES];

    assert_in_range(
        snprintf(text, sizeof(text), "%s\nX prog\nI 1000 10\n%s%s", version, strings, rest), 1,
        sizeof(text) - 1);
    return store(name, text);
}

static void expect_event(const struct event *event, int kind, uint64_t size, uint64_t time_ns)
{
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->size, size);
    assert_int_equal(event->time_ns, time_ns);
    assert_int_equal(event->usable, 0);
    assert_int_equal(event->process, 1);
}

/* Which of size and stack: the youngest block dies first, the second one of that size stays. */
static void expect_interpreted(struct log_set *set)
{
    const struct definitions *definitions = log_set_definitions(set);
    struct log_reading reading = log_reading_events(set);
    const struct event *events = reading.events;

    assert_int_equal(log_reading_damages(set), 0);
    assert_string_equal(definitions->recorder, "heaptrack");
    assert_true(definitions->has_names && definitions->has_no_addresses);
    assert_string_equal(definitions->processes[1].executable, "prog");
    assert_int_equal(definitions->n_levels, 3);
    assert_string_equal(definitions->levels[1].function, "inner");
    assert_string_equal(definitions->levels[2].function, "main");
    assert_int_equal(definitions->levels[2].line, 8);
    assert_int_equal(definitions->levels[2].inline_level, 1);
    assert_int_equal(reading.n_events, 6);
    expect_event(&events[0], EVENT_ALLOC, 0x10, 0);
    expect_event(&events[1], EVENT_ALLOC, 0x20, 333333);
    expect_event(&events[2], EVENT_ALLOC, 0x10, 666666);
    expect_event(&events[3], EVENT_FREE, 0, 1000000);
    assert_int_equal(events[3].address, events[2].address);
    assert_int_equal(events[4].address, events[1].address);
    assert_true(events[5].address != events[0].address && events[5].address != events[1].address);
    assert_int_equal(definitions->backtraces[events[0].backtrace].depth, 2);
    assert_int_equal(definitions->backtraces[events[1].backtrace].depth, 1);
    free(reading.events);
    log_set_close(set);
}

TESTS_WITH(log_reading_setup, log_reading_teardown);

TEST(test_interpreted)
{
    expect_interpreted(
        log_reading_open(store_versioned("v1", "v 10200", plain_strings, events_text)));
    expect_interpreted(
        log_reading_open(store_versioned("v2", "v 10300 2", plain_strings, events_text)));
    expect_interpreted(
        log_reading_open(store_versioned("v3", "v 10400 3", sized_strings, events_text)));
    expect_interpreted(
        log_reading_open(store_versioned("v15", "v 10500 3", sized_strings, events_text)));
}

/* Version 0 is interpreted and has addresses all the same. */
TEST(test_interpreted_version_0)
{
    static const char text[] = "i 400100 2 1\nt 1 0\n+ 10 1 5000\n+ 20 1 6000\n- 5000\nc 2\n";
    struct log_set *set = log_reading_open(store_versioned("v0", "v 10100", plain_strings, text));
    struct log_reading reading = log_reading_events(set);

    assert_false(log_set_definitions(set)->has_no_addresses);
    assert_int_equal(reading.n_events, 3);
    assert_int_equal(reading.events[0].address, 0x5000);
    assert_int_equal(reading.events[2].address, 0x5000);
    free(reading.events);
    log_set_close(set);
}

static void expect_raw(const char *version, const char *text)
{
    static char all[TEXT_BYTES];
    const struct definitions *definitions;
    struct log_reading reading;
    struct log_set *set;

    (void)snprintf(all, sizeof(all), "%s\n%s", version, text);
    set = log_reading_open(store("raw", all));
    definitions = log_set_definitions(set);
    reading = log_reading_events(set);
    assert_int_equal(log_reading_damages(set), 0);
    assert_false(definitions->has_names || definitions->has_no_addresses);
    assert_string_equal(definitions->processes[1].executable, "/bin/prog");
    assert_int_equal(definitions->n_modules, 1);
    assert_int_equal(definitions->modules[1].load_address, 0x400000);
    assert_int_equal(reading.n_events, 5);
    expect_event(&reading.events[0], EVENT_ALLOC, 0x10, 0);
    assert_int_equal(reading.events[0].address, 0x5000);
    expect_event(&reading.events[4], EVENT_FREE, 0, 2333333);
    assert_int_equal(reading.events[4].address, 0x9000);
    free(reading.events);
    log_set_close(set);
}

TEST(test_raw)
{
    static char unsized[TEXT_BYTES];

    expect_raw("v 10400 3", raw_text);
    expect_raw("v 10500 3", raw_text);
    (void)snprintf(unsized, sizeof(unsized),
                   "x /bin/prog\nX prog a\nI 1000 5e298d\nm -\n"
                   "m x 400000 0 1000 2000 1000\n%s",
                   strstr(raw_text, "t 400100"));
    expect_raw("v 10300 2", unsized);
    expect_raw("v 10200", unsized);
}

/* ---- compression ---- */

static size_t make_text(char *text)
{
    return (size_t)snprintf(text, TEXT_BYTES, "v 10400 3\nX prog\nI 1000 10\n%s%s", sized_strings,
                            events_text);
}

static size_t pack_gzip(const char *text, size_t n, unsigned char *packed)
{
    z_stream stream = {0};

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text;
    stream.avail_in = (uInt)n;
    stream.next_out = packed;
    stream.avail_out = TEXT_BYTES;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

static size_t pack_zstd(const char *text, size_t n, unsigned char *packed)
{
    size_t packed_bytes = ZSTD_compress(packed, TEXT_BYTES, text, n, 3);

    assert_false(ZSTD_isError(packed_bytes));
    return packed_bytes;
}

typedef size_t pack_fn(const char *text, size_t n, unsigned char *packed);

/* Whole, in two members with a line across them, and cut. The name says nothing. */
static void check_packed(pack_fn *pack)
{
    static char text[TEXT_BYTES];
    static unsigned char packed[2 * TEXT_BYTES];
    size_t n_text = make_text(text);
    size_t n = pack(text, n_text, packed);
    struct log_set *set;

    log_reading_store(log_reading_path("whole"), packed, n);
    expect_interpreted(log_reading_open(log_reading_path("whole")));
    n = pack(text, n_text / 2, packed);
    n += pack(text + n_text / 2, n_text - n_text / 2, packed + n);
    log_reading_store(log_reading_path("members"), packed, n);
    expect_interpreted(log_reading_open(log_reading_path("members")));
    log_reading_store(log_reading_path("cut"), packed, n - 9);
    set = log_reading_open(log_reading_path("cut"));
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_TRUNCATED], 1);
    log_set_close(set);
}

TEST(test_gzip)
{
    check_packed(pack_gzip);
}

TEST(test_zstd)
{
    check_packed(pack_zstd);
}

/* ---- what else a recording says ---- */

TEST(test_suppressions)
{
    struct log_set *set = log_reading_open(store_versioned(
        "rules", "v 10400 3", "S b leak:foobar\nS leak:^plain$\nS # a comment\nS\nS leak:\n",
        "t 1 0\na 1 0\n+ 0\nc 1\n"));
    const struct definitions *definitions = log_set_definitions(set);

    assert_int_equal(definitions->n_suppressions, 2);
    assert_string_equal(definitions->suppressions[0], "leak:foobar");
    assert_string_equal(definitions->suppressions[1], "leak:^plain$");
    log_set_close(set);
}

TEST(test_too_many_suppressions)
{
    static char text[TEXT_BYTES];
    size_t n = 0;
    struct log_set *set;

    for (int i = 0; i < 1003; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "S leak:x%d\n", i);
    set = log_reading_open(store_versioned("many", "v 10300 2", text, "t 1 0\na 1 0\n+ 0\n"));
    assert_int_equal(log_set_definitions(set)->n_suppressions, 1000);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_RECORD], 3);
    log_set_close(set);
}

/* A chain of n_frames traces from `ip` of the outermost on; returns the number of the innermost. */
static unsigned put_stack(FILE *out, unsigned n_before, unsigned ip, unsigned n_frames)
{
    for (unsigned i = 0; i < n_frames; i++)
        (void)fprintf(out, "t %x %x\n", ip + i, i == 0 ? 0 : n_before + i);
    return n_before + n_frames;
}

/* The status of the stack with the one allocation of `size`. */
static enum definitions_status status_of(const struct log_set *set,
                                         const struct log_reading *reading, uint64_t size)
{
    for (size_t i = 0; i < reading->n_events; i++) {
        if (reading->events[i].kind == EVENT_ALLOC && reading->events[i].size == size)
            return log_set_definitions(set)->backtraces[reading->events[i].backtrace].status;
    }
    fail_msg("no allocation of %d bytes", (int)size);
    return DEFINITIONS_COMPLETE;
}

/* Alone of 62 frames: cut. As long, but a shorter one begins there, too: whole. Longer than what
 * heaptrack keeps: not its own work, whole. */
static void check_cut(bool is_raw)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    unsigned ends[4] = {0};
    struct log_reading reading;
    struct log_set *set;

    fputs(is_raw ? "v 10400 3\nx 2 /p\nX p\nI 1000 0\nm 1 -\n" : "v 10400 3\nX p\n", out);
    for (unsigned ip = 1; !is_raw && ip < 1000; ip++)
        (void)fprintf(out, "i %x 0\n", ip);
    ends[0] = put_stack(out, 0, 1, 62);
    ends[1] = put_stack(out, ends[0], 100, 62);
    ends[2] = put_stack(out, ends[1], 200, 80);
    ends[3] = put_stack(out, ends[2], 400, 61);
    for (unsigned i = 0; i < 5; i++) {
        unsigned trace = i == 4 ? ends[0] + 7 : ends[i];
        if (is_raw)
            (void)fprintf(out, "+ %x %x %x\n", i + 1, trace, 0x1000 * (i + 1));
        else
            (void)fprintf(out, "a %x %x\n+ %x\n", i + 1, trace, i);
    }
    fclose(out);
    set = log_reading_open(store("deep", text));
    reading = log_reading_events(set);
    assert_int_equal(status_of(set, &reading, 1), DEFINITIONS_TRUNCATED);
    assert_int_equal(status_of(set, &reading, 2), DEFINITIONS_COMPLETE);
    assert_int_equal(status_of(set, &reading, 3), DEFINITIONS_COMPLETE);
    assert_int_equal(status_of(set, &reading, 4), DEFINITIONS_TRUNCATED);
    assert_int_equal(status_of(set, &reading, 5), DEFINITIONS_COMPLETE);
    free(reading.events);
    log_set_close(set);
    free(text);
}

TEST(test_cut_stacks)
{
    check_cut(false);
    check_cut(true);
}

/* The same file was unloaded and another one is where it was. */
TEST(test_modules_change)
{
    struct log_set *set =
        log_reading_open(store("modules", "v 10400 3\nx 2 /p\nX p\nI 1000 0\n"
                                          "m 1 -\nm 1 x 400000 0 1000\nm 2 /a 500000 0 1000\n"
                                          "t 500100 0\n+ 8 1 10\nc 5\n"
                                          "m 1 -\nm 1 x 400000 0 1000\nm 2 /b 500000 0 1000\n"
                                          "t 500200 0\n+ 9 2 20\nc 9\n"));
    const struct definitions *definitions = log_set_definitions(set);

    assert_int_equal(definitions->n_modules, 3);
    for (uint32_t i = 1; i <= definitions->n_modules; i++) {
        const struct definitions_module *module = &definitions->modules[i];
        bool is_first = strcmp(definitions->objects[module->object].path, "/a") == 0;
        assert_int_equal(module->is_unloaded, is_first);
        if (is_first)
            assert_int_equal(module->unloaded_ns, 5000000);
    }
    log_set_close(set);
}

TEST(test_newer_version)
{
    assert_non_null(strstr(log_reading_refusal(store("newer", "v 20000 4\n"), ERROR_VERSION),
                           "formats 0 to 3 are known"));
}

/* What makes no sense is left out and counted; numbers behind it stay. */
TEST(test_damage)
{
    struct log_set *set = log_reading_open(
        store("bad", "v 10400 3\ns zz x\nt 1 0\na 1 1\nq\na zz 1\na 3 1\n+ 2\n+ 9\n- 5\n- 2"));
    struct log_reading reading = log_reading_events(set);

    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_RECORD], 5);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_TRUNCATED], 1);
    assert_int_equal(reading.n_events, 1);
    assert_int_equal(reading.events[0].size, 3);
    free(reading.events);
    log_set_close(set);
}
