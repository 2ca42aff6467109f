/* SPDX-License-Identifier: MIT */
/*
 * Finds the stacks that heaptrack cut. It keeps the innermost 64 frames, two or four of them its
 * own, and does not mark a cut. A cut stack begins in the middle of the program, so every stack
 * with its outermost frame has the same length. Where a complete stack begins, shorter ones begin,
 * too.
 */
#include "importer/read/heaptrack_parts.h"
#include "lib/base/dynamic_array.h"

enum {
    FEWEST_CUT_FRAMES = 60,
    MOST_CUT_FRAMES = 64, /* longer ones are not from heaptrack */
};

int heaptrack_stacks_add(struct heaptrack_reader *reader, uint64_t parent)
{
    uint32_t number = reader->grammar.n_traces;
    struct heaptrack_trace *traces = dynamic_array_reserve(reader->traces, &reader->traces_capacity,
                                                           number + 1u, sizeof(*traces));

    if (!traces)
        return ERROR_NOMEM;
    reader->traces = traces;
    traces[number] = (struct heaptrack_trace){.root = number, .n_frames = 1};
    if (parent > 0 && parent < number) {
        uint8_t n_outer = traces[parent].n_frames;
        traces[number].root = traces[parent].root;
        traces[number].n_frames = n_outer < UINT8_MAX ? (uint8_t)(n_outer + 1) : n_outer;
    }
    return 0;
}

void heaptrack_stacks_use(struct heaptrack_reader *reader, uint64_t trace)
{
    struct heaptrack_trace *root;
    uint8_t n_frames;

    if (trace == 0 || trace > reader->grammar.n_traces)
        return;
    n_frames = reader->traces[trace].n_frames;
    root = &reader->traces[reader->traces[trace].root];
    if (n_frames < FEWEST_CUT_FRAMES || n_frames > MOST_CUT_FRAMES)
        root->has_short = true;
    else
        root->has_long = true;
}

void heaptrack_stacks_settle(struct heaptrack_reader *reader)
{
    for (uint32_t i = 1; i <= reader->grammar.n_traces; i++) {
        const struct heaptrack_trace *trace = &reader->traces[i];
        struct node_note *node;
        if (trace->root != i || trace->has_short || !trace->has_long)
            continue;
        node = log_names_find_node(&reader->input->names, i + LOG_NODE_FIRST - 1);
        if (node)
            node->parent = LOG_NODE_TRUNCATED;
    }
}
