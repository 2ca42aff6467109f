/* SPDX-License-Identifier: MIT */
/* Dominators of random graphs: a block is dominated by those without which no root leads to it. */
#include "importer/image/dominators.h"
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    MAX_BLOCKS = 24,
    MAX_EDGES = 64,
    ROUNDS = 3000,
};

struct drawing {
    struct block_index index;
    struct heap_graph graph;
    struct live_block_row blocks[MAX_BLOCKS];
    uint64_t first_edges[MAX_BLOCKS + 1];
    heap_edge edges[MAX_BLOCKS * MAX_EDGES];
    struct root_edge roots[3];
};

static void draw(struct drawing *drawing, unsigned *seed)
{
    uint32_t n = 1 + (uint32_t)rand_r(seed) % MAX_BLOCKS;
    int density = 1 + rand_r(seed) % 12;

    *drawing = (struct drawing){.index = {.blocks = drawing->blocks, .n_blocks = n},
                                .graph = {.first_edges = drawing->first_edges,
                                          .edges = drawing->edges,
                                          .roots = drawing->roots}};
    for (uint32_t from = 0; from < n; from++) {
        drawing->blocks[from].size_bytes = 1 + (uint64_t)rand_r(seed) % 100;
        for (uint32_t to = 0; to < n; to++)
            if (rand_r(seed) % 12 < density && rand_r(seed) % 6 == 0)
                drawing->edges[drawing->graph.n_edges++] = to * 2 + (uint32_t)rand_r(seed) % 2;
        drawing->first_edges[from + 1] = drawing->graph.n_edges;
    }
    for (int i = rand_r(seed) % 4; i > 0; i--)
        drawing->roots[drawing->graph.n_roots++].edge = (uint32_t)rand_r(seed) % n * 2;
}

static void reach_from(const struct drawing *drawing, uint32_t block, uint32_t without,
                       bool *reached)
{
    if (block == without || reached[block])
        return;
    reached[block] = true;
    for (uint64_t i = drawing->first_edges[block]; i < drawing->first_edges[block + 1]; i++)
        reach_from(drawing, heap_edge_block(drawing->edges[i]), without, reached);
}

static void reach(const struct drawing *drawing, uint32_t without, bool *reached)
{
    for (uint32_t i = 0; i < MAX_BLOCKS; i++)
        reached[i] = false;
    for (size_t i = 0; i < drawing->graph.n_roots; i++)
        reach_from(drawing, heap_edge_block(drawing->roots[i].edge), without, reached);
}

/* The nearest dominator is the one with most dominators of its own. */
static void check(const struct drawing *drawing, const struct dominators *found)
{
    const uint32_t n = drawing->index.n_blocks;
    bool reached[MAX_BLOCKS], without[MAX_BLOCKS][MAX_BLOCKS];
    uint32_t n_dominators[MAX_BLOCKS] = {0};

    reach(drawing, NO_BLOCK, reached);
    for (uint32_t d = 0; d < n; d++) {
        uint64_t retained = 0;

        reach(drawing, d, without[d]);
        for (uint32_t i = 0; i < n; i++) {
            bool is_dominated = reached[i] && !without[d][i];

            n_dominators[i] += is_dominated && i != d;
            retained += is_dominated ? drawing->blocks[i].size_bytes : 0;
        }
        assert_int_equal(found->retained[d], retained);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t nearest = NO_BLOCK;

        for (uint32_t d = 0; d < n; d++)
            if (d != i && reached[i] && !without[d][i]
                && (nearest == NO_BLOCK || n_dominators[d] > n_dominators[nearest]))
                nearest = d;
        assert_int_equal(found->dominators[i], nearest);
    }
}

TEST(test_random_graphs)
{
    unsigned seed = 1;

    for (int i = 0; i < ROUNDS; i++) {
        struct drawing drawing;
        struct dominators found;
        struct error err;

        draw(&drawing, &seed);
        assert_int_equal(dominators_find(&drawing.index, &drawing.graph, &found, &err), 0);
        check(&drawing, &found);
        dominators_done(&found);
    }
}

/* A list is as deep as it has blocks: the search must not recurse. */
TEST(test_long_list)
{
    enum {
        N = 1000000
    };
    struct live_block_row *blocks = calloc(N, sizeof *blocks);
    uint64_t *first_edges = calloc(N + 1, sizeof *first_edges);
    heap_edge *edges = calloc(N, sizeof *edges);
    struct root_edge root = {.edge = 0};
    struct block_index index = {.blocks = blocks, .n_blocks = N};
    struct heap_graph graph = {
        .first_edges = first_edges, .edges = edges, .n_edges = N - 1, .roots = &root, .n_roots = 1};
    struct dominators found;
    struct error err;

    assert_true(blocks && first_edges && edges);
    for (uint32_t i = 0; i < N; i++) {
        blocks[i].size_bytes = 16;
        edges[i] = (i + 1) * 2;
        first_edges[i + 1] = i + 1 < N ? i + 1 : N - 1;
    }
    assert_int_equal(dominators_find(&index, &graph, &found, &err), 0);
    assert_int_equal(found.retained[0], 16 * N);
    assert_int_equal(found.dominators[N - 1], N - 2);
    dominators_done(&found);
    free(blocks);
    free(first_edges);
    free(edges);
}
