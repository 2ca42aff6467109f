/* SPDX-License-Identifier: MIT */
/* Interning: the same key gives the same node, every node is in the log before its id is known. */
#include "collector/log/stack_tree.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <pthread.h>
#include <string.h>

enum {
    N_MANY = 100000,
    N_THREADS = 4,
    POOL = 1 << 30
};

static struct log_fixture g_log;

static int open_log(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 8, POOL);
    return 0;
}

static int close_log(void **state)
{
    (void)state;
    stack_tree_forget();
    log_fixture_close(&g_log);
    return 0;
}

/* Looks a node up as a reader of the file would. */
static const struct log_node *node_in_log(uint32_t id)
{
    for (uint32_t i = 0; i < g_log.file->n_segments; i++) {
        struct log_segment *segment = segment_at(i);
        if (segment->kind == LOG_SEGMENT_NODES && segment->state != LOG_STATE_FREE
            && id - segment->first_node < LOG_NODES_PER_SEGMENT)
            return (const struct log_node *)(const void *)segment_payload(segment)
                   + (id - segment->first_node);
    }
    return NULL;
}

/* More children than fit where those of a parent are kept together, made between other nodes. */
TEST_WITH(a_node_of_many_children_finds_them, open_log, close_log)
{
    enum {
        N_CHILDREN = 20000
    };

    uint32_t *ids = malloc(N_CHILDREN * sizeof(*ids));
    uint32_t hub = stack_tree_child(LOG_NODE_COMPLETE, 0x400000, 1, false);
    uint32_t n_nodes;

    assert_non_null(ids);
    for (uint32_t i = 0; i < N_CHILDREN; i++) {
        uint32_t below;
        ids[i] = stack_tree_child(hub, 0x500000 + i * 8, 1, false);
        below = stack_tree_child(ids[i], 0x600000, 1, false);
        assert_int_equal(stack_tree_next(ids[i], 0x600000, 1, false), below);
    }
    n_nodes = g_log.file->n_nodes;
    for (uint32_t i = 0; i < N_CHILDREN; i++) {
        assert_int_equal(stack_tree_child(hub, 0x500000 + i * 8, 1, false), ids[i]);
        assert_int_equal(node_in_log(ids[i])->parent, hub);
    }
    assert_int_equal(g_log.file->n_nodes, n_nodes);
    free(ids);
}

static void *intern_all(void *ids)
{
    uint32_t *own = ids;

    for (uint32_t i = 0; i < N_MANY / 4; i++)
        own[i] = stack_tree_child(LOG_NODE_COMPLETE, 0x400000 + i * 16, 1, false);
    return NULL;
}

/* ST-2: threads may make a few duplicates, but every id means its key. */
TEST_WITH(threads_agree_on_what_a_node_is, open_log, close_log)
{
    static uint32_t ids[N_THREADS][N_MANY / 4];
    pthread_t threads[N_THREADS];

    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, ids[i]), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned t = 0; t < N_THREADS; t++)
        for (uint32_t i = 0; i < N_MANY / 4; i += 97) {
            const struct log_node *node = node_in_log(ids[t][i]);
            assert_non_null(node);
            assert_true(node->address == 0x400000 + i * 16);
            assert_int_equal(node->parent, LOG_NODE_COMPLETE);
        }
    assert_true(g_log.file->n_nodes < LOG_NODE_FIRST + N_MANY / 4 * 2);
}

static int open_small(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 1, 0);
    return 0;
}

TEST_WITH(without_room_there_is_no_node_and_no_id_is_lost, open_small, close_log)
{
    uint32_t n = 0;

    while (stack_tree_child(LOG_NODE_COMPLETE, 0x1000 + n, 0, false) != LOG_NODE_NONE)
        n++;
    assert_int_equal(n, LOG_NODES_PER_SEGMENT - LOG_NODE_FIRST);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(stack_tree_child(LOG_NODE_TRUNCATED, i, 0, false), LOG_NODE_NONE);
    assert_int_equal(g_log.file->n_nodes, LOG_NODES_PER_SEGMENT);
    assert_true(stack_tree_child(LOG_NODE_COMPLETE, 0x1000, 0, false) >= LOG_NODE_FIRST);
}
