/* SPDX-License-Identifier: MIT */
#include "importer/image/dominators.h"

#include <stdbool.h>
#include <stdlib.h>

/* Vertices are numbers in preorder of a depth-first search; 0 is above all roots. */
struct search {
    const struct block_index *index;
    const struct heap_graph *graph;
    uint32_t n;       /* highest vertex */
    uint32_t *number; /* vertex by block; 0: lost */
    uint32_t *block;  /* by vertex */
    uint32_t *parent; /* in the search tree; later the immediate dominator */
    uint32_t *ancestor;
    uint32_t *label; /* lowest semidominator on the compressed path */
    uint32_t *semi;
    uint32_t *stack;
    uint64_t *first_source; /* of `sources`, by vertex; before that the next pointer, by block */
    uint32_t *sources;      /* vertices that point to a vertex */
};

/* ---- depth-first search ---- */

static void visit(struct search *search, uint32_t block, uint32_t parent)
{
    uint32_t vertex = ++search->n;

    search->number[block] = vertex;
    search->block[vertex] = block;
    search->parent[vertex] = search->ancestor[vertex] = search->semi[vertex] = parent;
    search->label[vertex] = vertex;
    search->first_source[block] = search->graph->first_edges[block];
}

static void search_from(struct search *search, uint32_t root)
{
    const struct heap_graph *graph = search->graph;

    if (search->number[root])
        return;
    visit(search, root, 0);
    for (uint32_t vertex = search->number[root]; vertex != 0;) {
        uint32_t block = search->block[vertex];
        uint64_t *next = &search->first_source[block];

        while (*next < graph->first_edges[block + 1]
               && search->number[heap_edge_block(graph->edges[*next])])
            (*next)++;
        if (*next == graph->first_edges[block + 1]) {
            vertex = search->parent[vertex];
            continue;
        }
        visit(search, heap_edge_block(graph->edges[*next]), vertex);
        vertex = search->n;
    }
}

/* Lists the vertices that point to each vertex. */
static void reverse(struct search *search)
{
    const struct heap_graph *graph = search->graph;
    uint64_t *first = search->first_source;

    for (uint32_t i = 0; i <= search->n + 1; i++)
        first[i] = 0;
    for (uint32_t i = 1; i <= search->n; i++)
        for (uint64_t at = graph->first_edges[search->block[i]];
             at < graph->first_edges[search->block[i] + 1]; at++)
            first[search->number[heap_edge_block(graph->edges[at])]]++;
    for (uint32_t i = 1; i <= search->n + 1; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 1; i <= search->n; i++)
        for (uint64_t at = graph->first_edges[search->block[i]];
             at < graph->first_edges[search->block[i] + 1]; at++)
            search->sources[--first[search->number[heap_edge_block(graph->edges[at])]]] = i;
}

/* ---- semidominators ---- */

/* Points all vertices above `last` on the path directly to its end. */
static void compress(struct search *search, uint32_t vertex, uint32_t last)
{
    uint32_t n = 0;

    for (; search->ancestor[vertex] > last; vertex = search->ancestor[vertex])
        search->stack[n++] = vertex;
    while (n > 0) {
        uint32_t below = search->stack[--n];
        uint32_t above = search->ancestor[below];

        if (search->label[above] < search->label[below])
            search->label[below] = search->label[above];
        search->ancestor[below] = search->ancestor[above];
    }
}

static void find_semidominators(struct search *search)
{
    for (uint32_t i = search->n; i > 0; i--) {
        for (uint64_t at = search->first_source[i]; at < search->first_source[i + 1]; at++) {
            uint32_t source = search->sources[at];

            if (source > i) {
                compress(search, source, i);
                source = search->label[source];
            }
            if (source < search->semi[i])
                search->semi[i] = source;
        }
        search->label[i] = search->semi[i];
    }
}

/* The dominator is the nearest ancestor that is not below the semidominator. */
static void find_dominators(struct search *search)
{
    for (uint32_t i = 1; i <= search->n; i++)
        while (search->parent[i] > search->semi[i])
            search->parent[i] = search->parent[search->parent[i]];
}

/* ---- results ---- */

static void put(const struct search *search, struct dominators *ret)
{
    for (uint32_t i = 0; i < search->index->n_blocks; i++)
        ret->dominators[i] = NO_BLOCK;
    for (uint32_t i = search->n; i > 0; i--) {
        uint32_t block = search->block[i];

        ret->retained[block] += search->index->blocks[block].size_bytes;
        if (search->parent[i] == 0)
            continue;
        ret->dominators[block] = search->block[search->parent[i]];
        ret->retained[ret->dominators[block]] += ret->retained[block];
    }
}

static void find(struct search *search, struct dominators *ret)
{
    const struct heap_graph *graph = search->graph;

    for (size_t i = 0; i < graph->n_roots; i++)
        search_from(search, heap_edge_block(graph->roots[i].edge));
    for (size_t i = 0; i < graph->n_roots; i++)
        search->semi[search->number[heap_edge_block(graph->roots[i].edge)]] = 0;
    reverse(search);
    find_semidominators(search);
    find_dominators(search);
    put(search, ret);
}

int dominators_find(const struct block_index *index, const struct heap_graph *graph,
                    struct dominators *ret, struct error *err)
{
    struct search search = {.index = index, .graph = graph};
    uint32_t **arrays[] = {&search.number, &search.block, &search.parent, &search.ancestor,
                           &search.label,  &search.semi,  &search.stack};
    const size_t n = (size_t)index->n_blocks + 2;
    bool is_complete = true;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        is_complete = (*arrays[i] = calloc(n, sizeof(uint32_t))) && is_complete;
    search.first_source = calloc(n, sizeof *search.first_source);
    search.sources = malloc((graph->n_edges + 1) * sizeof *search.sources);
    ret->dominators = malloc(n * sizeof *ret->dominators);
    ret->retained = calloc(n, sizeof *ret->retained);
    is_complete =
        is_complete && search.first_source && search.sources && ret->dominators && ret->retained;
    if (is_complete)
        find(&search, ret);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(*arrays[i]);
    free(search.first_source);
    free(search.sources);
    return is_complete ? 0
                       : error_set(err, ERROR_NOMEM, "no memory for the dominators of %u blocks",
                                   index->n_blocks);
}

void dominators_done(struct dominators *dominators)
{
    free(dominators->dominators);
    free(dominators->retained);
    *dominators = (struct dominators){0};
}
