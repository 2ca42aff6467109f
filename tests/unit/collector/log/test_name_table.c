/* SPDX-License-Identifier: MIT */
/* Ids of texts: found again, never reused, and defined once in each log. */
#include "collector/log/definition.h"
#include "collector/log/name_table.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST = 2,
    N_MANY = 20000, /* several chunks of ids, several of texts */
    N_THREADS = 4,
    POOL = 1 << 30
};

static struct log_fixture g_log;
static struct name_store g_store;
static struct name_table g_table;

static _Atomic int g_n_maps;
static _Atomic(const char *) g_rival; /* another text is interned during the first lookup */

/* Tells the linker's names of the function and of the one that it wrapped. */
void *__real_memory_map_inherited(size_t size_bytes);
void *__wrap_memory_map_inherited(size_t size_bytes);

void *__wrap_memory_map_inherited(size_t size_bytes)
{
    const char *rival = atomic_exchange(&g_rival, NULL);

    g_n_maps++;
    if (rival)
        (void)name_table_intern(&g_table, rival, strlen(rival));
    return __real_memory_map_inherited(size_bytes);
}

static int open_log(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 8, POOL);
    memset(&g_store, 0, sizeof(g_store));
    g_table = (struct name_table){.kind = LOG_DEF_GROUP, .next_id = FIRST, .store = &g_store};
    return 0;
}

static int close_log(void **state)
{
    (void)state;
    definition_forget();
    log_fixture_close(&g_log);
    return 0;
}

/* Definitions of the id in the log with this text; -1: one has another text. */
static int count_definitions(uint32_t id, const char *text)
{
    int n = 0;

    for (uint32_t i = 0; i < g_log.file->n_segments; i++) {
        struct log_segment *segment = segment_at(i);
        if (segment->kind != LOG_SEGMENT_DEFS || segment->state == LOG_STATE_FREE)
            continue;
        for (size_t at = 0; at < LOG_SEGMENT_PAYLOAD_BYTES; at += LOG_DEF_ALIGN) {
            const struct log_def *def =
                (const struct log_def *)(const void *)(segment_payload(segment) + at);
            if (def->magic != LOG_DEF_MAGIC || def->kind != LOG_DEF_GROUP || def->id != id)
                continue;
            if (def->text_bytes != strlen(text) || memcmp(def + 1, text, def->text_bytes) != 0)
                return -1;
            n++;
        }
    }
    return n;
}

TEST_WITH(the_longest_text, open_log, close_log)
{
    static char text[NAME_TABLE_MAX_BYTES + 1];

    memset(text, 'x', NAME_TABLE_MAX_BYTES);
    for (int i = 0; i < 20; i++) /* more than a piece of text memory */
        assert_int_not_equal(name_table_add(&g_table, text, NAME_TABLE_MAX_BYTES), 0);
    assert_true(name_table_define(&g_table, FIRST, 3));
    assert_int_equal(count_definitions(FIRST, text), 1);
}

TEST_WITH(an_id_that_lost_a_race_is_not_counted, open_log, close_log)
{
    uint32_t id;

    g_rival = "tenant";
    id = name_table_intern(&g_table, "tenant", 6);
    assert_null(g_rival);
    assert_int_equal(name_table_count(&g_table) - FIRST, 2);
    assert_int_equal(name_table_count_lost(&g_table), 1);
    assert_int_equal(name_table_intern(&g_table, "tenant", 6), id);
}

TEST_WITH(ids_run_out, open_log, close_log)
{
    static const char text[NAME_TABLE_MAX_BYTES];

    g_table.next_id = NAME_TABLE_CHUNK * NAME_TABLE_CHUNKS - 1;
    assert_int_equal(name_table_add(&g_table, "last", 4), NAME_TABLE_CHUNK * NAME_TABLE_CHUNKS - 1);
    assert_int_equal(name_table_add(&g_table, "none", 4), 0);
    assert_int_equal(name_table_intern(&g_table, "none", 4), 0);
    assert_int_equal(name_table_add(&g_table, "none", 4), 0);
    /* No memory is used for texts without an id. */
    g_n_maps = 0;
    for (int i = 0; i < 100; i++)
        assert_int_equal(name_table_add(&g_table, text, NAME_TABLE_MAX_BYTES), 0);
    assert_int_equal(g_n_maps, 0);
}

struct worker {
    pthread_t thread;
    uint32_t ids[N_MANY];
};

static void *intern_many(void *argument)
{
    struct worker *worker = argument;
    char text[16];

    for (uint32_t i = 0; i < N_MANY; i++) {
        int n = snprintf(text, sizeof(text), "tenant %u", i);
        worker->ids[i] = name_table_intern(&g_table, text, (size_t)n);
    }
    return NULL;
}

TEST_WITH(threads_agree, open_log, close_log)
{
    static struct worker workers[N_THREADS];
    static bool is_seen[2 * N_THREADS * N_MANY];

    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, intern_many, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < N_MANY; i++) {
        uint32_t id = workers[0].ids[i];
        assert_int_not_equal(id, 0);
        assert_false(is_seen[id]);
        is_seen[id] = true;
        for (int k = 1; k < N_THREADS; k++)
            assert_int_equal(workers[k].ids[i], id);
    }
    /* Two threads may both take an id for a text; one of them is lost. */
    assert_int_equal(name_table_count(&g_table) - FIRST - name_table_count_lost(&g_table), N_MANY);
}
