/* SPDX-License-Identifier: MIT */
#include "importer/image/heap_graph.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>

enum {
    AHEAD = 32, /* words between the prefetch of an index entry and its use */
    WORD_BYTES = 8,
};

struct builder {
    const struct image_file *image;
    const struct block_index *index;
    const struct root_areas *areas;
    struct stack_functions *stacks;
    struct heap_graph *graph;
    uint32_t block;               /* first block that ends behind the current word */
    uint32_t filled;              /* blocks whose first edge is known */
    size_t area;                  /* first area that ends behind the current word */
    bool has_noted;               /* objects and stacks; next come the edges */
    uint8_t *begins_with_pointer; /* a bit for each block */
    uint64_t *tables;             /* addresses of vtable pointers in blocks, ascending */
    size_t n_tables, table_capacity;
};

static int fail(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for the pointers of a heap image");
}

/* Steps to the block that contains the address; NO_BLOCK: none does. Addresses ascend. */
static uint32_t block_at(struct builder *builder, uint64_t address)
{
    const struct block_index *index = builder->index;

    while (builder->block < index->n_blocks
           && index->blocks[builder->block].address + index->blocks[builder->block].size_bytes
                  < address + WORD_BYTES)
        builder->block++;
    return builder->block < index->n_blocks && index->blocks[builder->block].address <= address
               ? builder->block
               : NO_BLOCK;
}

/* ---- objects ---- */

static bool is_constant_of_module(const struct image_file *image, uint64_t value)
{
    const struct image_range *range = image_file_range(image, value);

    return range && (range->flags & (IMAGE_WRITE | IMAGE_EXECUTE)) == 0
           && *image_file_path(image, range) == '/';
}

/* Notes vtable pointers in blocks, and which blocks begin with a pointer. */
static int note_word(struct builder *builder, uint64_t address, uint64_t value, struct error *err)
{
    uint32_t block = block_at(builder, address);
    uint64_t *tables;

    if (block == NO_BLOCK)
        return 0;
    if (builder->index->blocks[block].address == address)
        builder->begins_with_pointer[block / 8] |= (uint8_t)(1 << block % 8);
    if (block_index_find(builder->index, value) != NO_BLOCK
        || !is_constant_of_module(builder->image, value))
        return 0;
    tables = dynamic_array_reserve(builder->tables, &builder->table_capacity, builder->n_tables + 1,
                                   sizeof *tables);
    if (!tables)
        return fail(err);
    builder->tables = tables;
    tables[builder->n_tables++] = address;
    return 0;
}

static bool has_table(const struct builder *builder, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, builder->n_tables, builder->tables[i] < address);
    return i < builder->n_tables && builder->tables[i] == address;
}

static bool is_array(const struct builder *builder, uint64_t value, uint32_t block)
{
    const struct live_block_row *row = &builder->index->blocks[block];

    return row->is_of_new && value == row->address + WORD_BYTES
           && (builder->begins_with_pointer[block / 8] >> block % 8 & 1) == 0;
}

static bool is_second_base(const struct builder *builder, uint64_t value, uint32_t block)
{
    return value % WORD_BYTES == 0 && has_table(builder, value)
           && has_table(builder, builder->index->blocks[block].address);
}

static heap_edge edge_to(const struct builder *builder, uint64_t value, uint32_t block)
{
    bool is_start = builder->index->blocks[block].address == value
                    || is_array(builder, value, block) || is_second_base(builder, value, block);

    return block * 2 + !is_start;
}

/* ---- edges ---- */

static int add_edge(struct builder *builder, uint32_t from, heap_edge edge, struct error *err)
{
    struct heap_graph *graph = builder->graph;
    heap_edge *edges = dynamic_array_reserve(graph->edges, &graph->edge_capacity,
                                             graph->n_edges + 1, sizeof *edges);

    if (!edges)
        return fail(err);
    graph->edges = edges;
    while (builder->filled <= from)
        graph->first_edges[builder->filled++] = graph->n_edges;
    edges[graph->n_edges++] = edge;
    return 0;
}

static int add_root(struct heap_graph *graph, struct root_edge root, struct error *err)
{
    struct root_edge *roots =
        dynamic_array_reserve(graph->roots, &graph->root_capacity, graph->n_roots + 1, sizeof root);

    if (!roots)
        return fail(err);
    graph->roots = roots;
    roots[graph->n_roots++] = root;
    return 0;
}

/* glibc's bins and its top hold the addresses of chunk headers, 16 bytes before the block: the last
 * word of the block in front of it. */
static bool is_chunk_header(const struct block_index *index, uint64_t value, uint32_t block)
{
    const struct live_block_row *target = &index->blocks[block];

    return value != target->address
           && value == target->address + target->size_bytes + target->slack_bytes - WORD_BYTES;
}

static int take_outside(struct builder *builder, uint64_t address, uint64_t value, uint32_t target,
                        struct error *err)
{
    const struct root_areas *areas = builder->areas;

    while (builder->area < areas->n_areas && areas->areas[builder->area].end <= address)
        builder->area++;
    if (builder->area == areas->n_areas || areas->areas[builder->area].start > address)
        return 0;
    const struct root_area *area = &areas->areas[builder->area];
    if (area->is_allocators && is_chunk_header(builder->index, value, target))
        return 0;
    return add_root(builder->graph,
                    (struct root_edge){.address = address,
                                       .edge = edge_to(builder, value, target),
                                       .area = (uint32_t)builder->area,
                                       .kind = area->kind},
                    err);
}

static bool is_ignored(const struct builder *builder, uint64_t address)
{
    const struct live_block_row *block = &builder->index->blocks[builder->block];
    const struct heap_graph *graph = builder->graph;

    for (size_t i = 0; i < graph->n_ignored; i++)
        if (graph->ignored[i].call_site_id == block->call_site_id
            && graph->ignored[i].offset_bytes == address - block->address)
            return true;
    return false;
}

static int take_word(struct builder *builder, uint64_t address, uint64_t value, struct error *err)
{
    const struct block_index *index = builder->index;
    uint32_t target = block_index_find(index, value);

    if (target == NO_BLOCK)
        return 0;
    if (block_at(builder, address) != NO_BLOCK)
        return is_ignored(builder, address)
                   ? 0
                   : add_edge(builder, builder->block, edge_to(builder, value, target), err);
    return take_outside(builder, address, value, target, err);
}

static int take_page(void *context, uint64_t page, const uint64_t *mask, const uint64_t *values,
                     struct error *err)
{
    struct builder *builder = context;
    uint64_t addresses[IMAGE_PAGE_WORDS];
    size_t n = 0;
    int code =
        builder->has_noted ? 0 : stack_functions_add_page(builder->stacks, page, mask, values, err);

    for (size_t i = 0; i < IMAGE_PAGE_WORDS / 64; i++)
        for (uint64_t bits = mask[i]; bits; bits &= bits - 1)
            addresses[n++] = page + (i * 64 + (uint64_t)__builtin_ctzll(bits)) * 8;
    for (size_t i = 0; code == 0 && i < n; i++) {
        if (i + AHEAD < n)
            block_index_prefetch(builder->index, values[i + AHEAD]);
        code = builder->has_noted ? take_word(builder, addresses[i], values[i], err)
                                  : note_word(builder, addresses[i], values[i], err);
    }
    return code;
}

static int take_registers(struct builder *builder, const struct image_file *image,
                          struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < image->n_threads; i++) {
        if (image->threads[i].thread.is_in_collector)
            continue;
        for (uint32_t j = 0; code == 0 && j < image->threads[i].thread.n_words; j++) {
            uint64_t value = image->threads[i].words[j];
            uint32_t target = block_index_find(builder->index, value);

            if (target != NO_BLOCK)
                code = add_root(builder->graph,
                                (struct root_edge){.address = j,
                                                   .edge = edge_to(builder, value, target),
                                                   .area = (uint32_t)i,
                                                   .kind = ROOT_REGISTER},
                                err);
        }
    }
    return code;
}

static int by_kind(const void *a, const void *b)
{
    const struct root_edge *left = a, *right = b;

    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return left->address < right->address ? -1 : left->address > right->address;
}

int heap_graph_make(const struct image_file *image, const struct block_index *index,
                    const struct root_areas *areas, struct stack_functions *stacks,
                    struct heap_graph *graph, struct error *err)
{
    struct builder builder = {
        .image = image, .index = index, .areas = areas, .stacks = stacks, .graph = graph};
    int code = 0;

    graph->first_edges = malloc(((size_t)index->n_blocks + 1) * sizeof *graph->first_edges);
    builder.begins_with_pointer = calloc((size_t)index->n_blocks / 8 + 1, 1);
    if (!graph->first_edges || !builder.begins_with_pointer)
        code = fail(err);
    if (code == 0)
        code = image_file_words(image, take_page, &builder, err);
    builder.has_noted = true;
    builder.block = 0;
    if (code == 0)
        code = image_file_words(image, take_page, &builder, err);
    while (graph->first_edges && builder.filled <= index->n_blocks)
        graph->first_edges[builder.filled++] = graph->n_edges;
    if (code == 0)
        code = take_registers(&builder, image, err);
    if (code == 0 && graph->n_roots)
        qsort(graph->roots, graph->n_roots, sizeof *graph->roots, by_kind);
    free(builder.begins_with_pointer);
    free(builder.tables);
    return code;
}

void heap_graph_done(struct heap_graph *graph)
{
    free(graph->first_edges);
    free(graph->edges);
    free(graph->roots);
    *graph = (struct heap_graph){0};
}
