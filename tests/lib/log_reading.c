/* SPDX-License-Identifier: MIT */
#include "tests/lib/log_reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>
/* clang-format on */

static char g_folder[] = "/tmp/mtrace-test-XXXXXX";

int log_reading_setup(void **state)
{
    (void)state;
    return mkdtemp(g_folder) ? 0 : -1;
}

int log_reading_teardown(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", g_folder);
    return system(command);
}

const char *log_reading_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", g_folder, name);
    return path;
}

struct log_set *log_reading_open(const char *path)
{
    struct log_set *set;
    struct error err = {0};

    if (log_set_open(&path, 1, NULL, &set, &err) != 0)
        fail_msg("%s", err.text);
    return set;
}

const char *log_reading_refusal(const char *path, int expected_code)
{
    static struct error err;
    struct log_set *set;

    err = (struct error){0};
    assert_int_equal(log_set_open(&path, 1, NULL, &set, &err), expected_code);
    assert_int_equal(err.code, expected_code);
    assert_non_null(strstr(err.text, path));
    return err.text;
}

enum {
    TAKEN_AT_ONCE = 7
};

/* EV-2: the number of open halves; the pairs of a run are few enough to look through. */
static void check_pair(const struct log_reading *reading, uint64_t *open, size_t *n_open)
{
    const struct event *event = &reading->events[reading->n_events];

    if (event->kind == EVENT_REALLOC_BEGIN) {
        assert_true(event->pair != 0 && *n_open < 4096);
        open[(*n_open)++] = event->pair;
    } else if (event->kind == EVENT_REALLOC_END) {
        size_t i = 0;
        while (i < *n_open && open[i] != event->pair)
            i++;
        assert_true(i < *n_open);
        open[i] = open[--*n_open];
    }
}

static void check_same(const struct event *a, const struct event *b)
{
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->old_address, b->old_address);
    assert_int_equal(a->usable, b->usable);
    assert_int_equal(a->pair, b->pair);
    assert_int_equal(a->process, b->process);
    assert_int_equal(a->thread, b->thread);
    assert_int_equal(a->backtrace, b->backtrace);
    assert_int_equal(a->group, b->group);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->call, b->call);
    assert_int_equal(a->chunk_flags, b->chunk_flags);
    assert_int_equal(a->alignment_log2, b->alignment_log2);
}

/* PN-1: many values together equal the same values one by one. */
static void check_taken(struct log_set *set, const struct log_reading *reading)
{
    struct event events[TAKEN_AT_ONCE];
    struct event_stream *stream;
    uint64_t n_seen = 0;
    size_t n;
    int more = event_stream_open(set, &stream, NULL) == 0;

    assert_true(more);
    while (more > 0) {
        more = event_stream_take(stream, events, TAKEN_AT_ONCE, &n, NULL);
        for (size_t i = 0; i < n; i++) {
            if (events[i].kind == EVENT_LOST)
                continue;
            assert_true(n_seen < reading->n_events);
            check_same(&events[i], &reading->events[n_seen++]);
        }
    }
    assert_int_equal(more, 0);
    assert_int_equal(n_seen, reading->n_events);
    event_stream_close(stream);
}

struct log_reading log_reading_events(struct log_set *set)
{
    static uint64_t open[4096];
    struct log_reading reading = {0};
    struct event_stream *stream;
    struct error err = {0};
    size_t capacity = 0;
    size_t n_open = 0;
    int r = event_stream_open(set, &stream, &err);

    while (r >= 0) {
        if (reading.n_events == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            reading.events = realloc(reading.events, capacity * sizeof(struct event));
            assert_non_null(reading.events);
        }
        r = event_stream_next(stream, &reading.events[reading.n_events], &err);
        if (r <= 0)
            break;
        if (reading.n_events > 0)
            assert_true(reading.events[reading.n_events].time_ns
                        >= reading.events[reading.n_events - 1].time_ns);
        if (reading.events[reading.n_events].kind == EVENT_LOST) {
            reading.n_losses++;
            continue;
        }
        check_pair(&reading, open, &n_open);
        reading.n_events++;
    }
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n_open, 0);
    event_stream_close(stream);
    check_taken(set, &reading);
    return reading;
}

uint64_t log_reading_damages(const struct log_set *set)
{
    const struct log_damage_report *damage = log_set_damage(set);
    uint64_t n = 0;

    for (int i = 0; i < LOG_DAMAGE_KINDS; i++)
        n += damage->count[i];
    return n;
}

struct log_reading log_reading_log(const char *path)
{
    struct log_set *set = log_reading_open(path);
    struct log_reading reading = log_reading_events(set);

    assert_int_equal(log_reading_damages(set), 0);
    log_set_close(set);
    return reading;
}

size_t log_reading_load(const char *path, uint8_t **ret)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    size_t n;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    *ret = malloc((size_t)status.st_size + 1);
    assert_non_null(*ret);
    n = fread(*ret, 1, (size_t)status.st_size, file);
    fclose(file);
    return n;
}

void log_reading_store(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}
