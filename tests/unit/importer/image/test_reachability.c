/* SPDX-License-Identifier: MIT */
/* Classes of blocks as valgrind's memcheck defines them, on graphs drawn by hand. */
#include "importer/image/reachability.h"
#include "tests/lib/unit.h"

enum {
    MAX = 8,
};

struct drawing {
    struct block_index index;
    struct heap_graph graph;
    struct live_block_row blocks[MAX];
    uint64_t first_edges[MAX + 1];
    heap_edge edges[MAX * 2];
    struct root_edge roots[MAX];
};

static struct drawing *draw(uint32_t n_blocks)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);

    assert_non_null(drawing);
    for (uint32_t i = 0; i < n_blocks; i++)
        drawing->blocks[i] = (struct live_block_row){.address = 0x1000 * (i + 1), .size_bytes = 64};
    drawing->index = (struct block_index){.blocks = drawing->blocks, .n_blocks = n_blocks};
    drawing->graph = (struct heap_graph){
        .first_edges = drawing->first_edges, .edges = drawing->edges, .roots = drawing->roots};
    return drawing;
}

/* Call in the order of `from`. */
static void point(struct drawing *drawing, uint32_t from, uint32_t to, unsigned interior)
{
    drawing->edges[drawing->graph.n_edges++] = to * 2 + interior;
    for (uint32_t i = from + 1; i <= drawing->index.n_blocks; i++)
        drawing->first_edges[i] = drawing->graph.n_edges;
}

static void root(struct drawing *drawing, uint32_t to, unsigned interior)
{
    drawing->roots[drawing->graph.n_roots++] =
        (struct root_edge){.edge = to * 2 + interior, .kind = ROOT_GLOBAL};
}

static struct block_reach *find(struct drawing *drawing)
{
    struct block_reach *reach;
    struct error err;

    assert_int_equal(reachability_find(&drawing->index, &drawing->graph, &reach, &err), 0);
    return reach;
}

TEST(test_of_a_lost_cycle_one_block_is_lost)
{
    struct drawing *drawing = draw(3);

    point(drawing, 0, 1, 0);
    point(drawing, 1, 2, 0);
    point(drawing, 2, 0, 0);
    struct block_reach *reach = find(drawing);
    assert_int_equal(reach[0].state, BLOCK_LOST);
    assert_int_equal(reach[1].state, BLOCK_LOST_INDIRECT);
    assert_int_equal(reach[2].state, BLOCK_LOST_INDIRECT);
    assert_int_equal(reach[2].root, 0);
    free(reach);
    free(drawing);
}

TEST(test_paths_are_shortest)
{
    struct drawing *drawing = draw(4);

    point(drawing, 0, 1, 0);
    point(drawing, 1, 2, 0);
    point(drawing, 2, 3, 0);
    root(drawing, 0, 0);
    root(drawing, 2, 0);
    struct block_reach *reach = find(drawing);
    assert_int_equal(reach[3].state, BLOCK_HELD);
    assert_int_equal(reach[3].distance, 2);
    assert_int_equal(reach[3].holder, 2);
    assert_int_equal(reach[3].root, 1);
    assert_int_equal(reach[2].holder, NO_BLOCK);
    assert_int_equal(reach[1].distance, 2);
    free(reach);
    free(drawing);
}

TEST(test_variables_come_before_stacks)
{
    struct drawing *drawing = draw(4);

    point(drawing, 0, 1, 0);
    point(drawing, 1, 2, 0);
    root(drawing, 0, 0);
    root(drawing, 2, 0); /* nearer, but perhaps stale */
    root(drawing, 3, 0);
    drawing->roots[1].kind = drawing->roots[2].kind = ROOT_STACK;
    struct block_reach *reach = find(drawing);
    assert_int_equal(reach[2].root, 0);
    assert_int_equal(reach[2].distance, 3);
    assert_int_equal(reach[3].root, 2);
    free(reach);
    free(drawing);
}

TEST(test_a_million_links_need_no_stack)
{
    enum {
        N = 1000000
    };
    struct block_index index = {.n_blocks = N};
    struct heap_graph graph = {.first_edges = malloc((N + 1) * sizeof(uint64_t)),
                               .edges = malloc(N * sizeof(heap_edge)),
                               .n_edges = N - 1};
    struct block_reach *reach;
    struct error err;

    assert_true(graph.first_edges && graph.edges);
    for (uint32_t i = 0; i < N; i++) {
        graph.first_edges[i] = i;
        graph.edges[i] = (i + 1) * 2;
    }
    graph.first_edges[N] = graph.first_edges[N - 1] = N - 1;
    assert_int_equal(reachability_find(&index, &graph, &reach, &err), 0);
    assert_int_equal(reach[0].state, BLOCK_LOST);
    assert_int_equal(reach[N - 1].distance, N - 1);
    free(reach);
    free(graph.first_edges);
    free(graph.edges);
}
