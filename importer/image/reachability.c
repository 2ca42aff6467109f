/* SPDX-License-Identifier: MIT */
#include "importer/image/reachability.h"

#include <stdlib.h>

const char *const block_state_names[3] = {"lost", "lost_indirect", "held"};

struct search {
    const struct heap_graph *graph;
    struct block_reach *reach;
    uint32_t *queue; /* each block enters once */
    uint32_t n_queued, n_done;
};

/* ---- held: breadth first, so that the paths from roots of one kind are shortest ---- */

static void hold(struct search *search, uint32_t block, uint32_t holder, uint32_t root)
{
    struct block_reach *reach = &search->reach[block];

    if (reach->state == BLOCK_HELD)
        return;
    *reach = (struct block_reach){.holder = holder,
                                  .root = root,
                                  .distance =
                                      holder == NO_BLOCK ? 1 : search->reach[holder].distance + 1,
                                  .state = BLOCK_HELD,
                                  .is_interior_only = true};
    search->queue[search->n_queued++] = block;
}

static void follow_held(struct search *search)
{
    const struct heap_graph *graph = search->graph;

    while (search->n_done < search->n_queued) {
        uint32_t block = search->queue[search->n_done++];

        for (uint64_t i = graph->first_edges[block]; i < graph->first_edges[block + 1]; i++)
            hold(search, heap_edge_block(graph->edges[i]), block, search->reach[block].root);
    }
}

/* All that variables lead to first: a stale word on a stack may point into the same structures. */
static void find_held(struct search *search)
{
    const struct heap_graph *graph = search->graph;

    for (size_t i = 0; i < graph->n_roots;) {
        const enum root_kind kind = graph->roots[i].kind;

        for (; i < graph->n_roots && graph->roots[i].kind == kind; i++)
            hold(search, heap_edge_block(graph->roots[i].edge), NO_BLOCK, (uint32_t)i);
        follow_held(search);
    }
}

/* ---- interior_only: what no chain of pointers to first bytes reaches ---- */

static void mark_start(struct search *search, heap_edge edge)
{
    struct block_reach *reach = &search->reach[heap_edge_block(edge)];

    if (heap_edge_is_interior(edge) || !reach->is_interior_only)
        return;
    reach->is_interior_only = false;
    search->queue[search->n_queued++] = heap_edge_block(edge);
}

static void find_interior_only(struct search *search)
{
    const struct heap_graph *graph = search->graph;

    search->n_queued = search->n_done = 0;
    for (size_t i = 0; i < graph->n_roots; i++)
        mark_start(search, graph->roots[i].edge);
    while (search->n_done < search->n_queued) {
        uint32_t block = search->queue[search->n_done++];

        for (uint64_t i = graph->first_edges[block]; i < graph->first_edges[block + 1]; i++)
            mark_start(search, graph->edges[i]);
    }
}

/* ---- lost ---- */

/* All lost blocks behind this one are indirect; it may lead to heads of earlier searches. */
static void mark_indirect(struct search *search, uint32_t head)
{
    const struct heap_graph *graph = search->graph;

    search->n_queued = search->n_done = 0;
    search->queue[search->n_queued++] = head;
    while (search->n_done < search->n_queued) {
        uint32_t block = search->queue[search->n_done++];

        for (uint64_t i = graph->first_edges[block]; i < graph->first_edges[block + 1]; i++) {
            uint32_t target = heap_edge_block(graph->edges[i]);

            if (search->reach[target].state != BLOCK_LOST || target == head)
                continue;
            search->reach[target].state = BLOCK_LOST_INDIRECT;
            search->queue[search->n_queued++] = target;
        }
    }
}

/* Sets holder, root and distance of the blocks behind a lost one. */
static void follow_lost(struct search *search, uint32_t head)
{
    const struct heap_graph *graph = search->graph;

    search->reach[head].root = head;
    search->n_queued = search->n_done = 0;
    search->queue[search->n_queued++] = head;
    while (search->n_done < search->n_queued) {
        uint32_t block = search->queue[search->n_done++];

        for (uint64_t i = graph->first_edges[block]; i < graph->first_edges[block + 1]; i++) {
            struct block_reach *reach = &search->reach[heap_edge_block(graph->edges[i])];

            if (reach->state != BLOCK_LOST_INDIRECT || reach->root != NO_BLOCK)
                continue;
            reach->holder = block;
            reach->root = head;
            reach->distance = search->reach[block].distance + 1;
            search->queue[search->n_queued++] = heap_edge_block(graph->edges[i]);
        }
    }
}

/* In the order of addresses, as memcheck does: of a cycle, the first block that leads to all others
 * is the lost one. */
static void find_lost(struct search *search, uint32_t n_blocks)
{
    for (uint32_t i = 0; i < n_blocks; i++)
        if (search->reach[i].state == BLOCK_LOST)
            mark_indirect(search, i);
    for (uint32_t i = 0; i < n_blocks; i++)
        if (search->reach[i].state == BLOCK_LOST)
            follow_lost(search, i);
}

int reachability_find(const struct block_index *index, const struct heap_graph *graph,
                      struct block_reach **ret_reach, struct error *err)
{
    size_t n = (size_t)index->n_blocks + 1;
    struct search search = {.graph = graph,
                            .reach = calloc(n, sizeof *search.reach),
                            .queue = malloc(n * sizeof *search.queue)};

    *ret_reach = search.reach;
    if (!search.reach || !search.queue) {
        free(search.queue);
        return error_set(err, ERROR_NOMEM, "no memory to search a heap image of %u blocks",
                         index->n_blocks);
    }
    for (uint32_t i = 0; i < index->n_blocks; i++)
        search.reach[i].root = search.reach[i].holder = NO_BLOCK;
    find_held(&search);
    find_interior_only(&search);
    find_lost(&search, index->n_blocks);
    free(search.queue);
    return 0;
}
