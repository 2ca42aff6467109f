/* SPDX-License-Identifier: MIT */
#include "importer/totals/object_walks.h"

#include "lib/base/dynamic_array.h"
#include "lib/totals/sample_weight.h"

#include <stdlib.h>
#include <string.h>

static void walk_done(struct object_walk *walk)
{
    free(walk->nodes);
    free(walk->claims);
    free(walk->warnings);
    id_table_done(&walk->by_address);
}

void object_walks_done(struct object_walks *walks)
{
    for (size_t i = 0; i < walks->n; i++)
        walk_done(&walks->list[i]);
    free(walks->list);
    hash_map_done(&walks->unclaimed);
}

/* The open walk of the record; NULL: none. */
static struct object_walk *find(struct object_walks *walks, const struct event *event)
{
    for (size_t i = walks->n_open; i-- > 0;) {
        struct object_walk *walk = &walks->list[walks->open[i]];
        if (walk->process == event->process && walk->number == (uint64_t)event->value)
            return walk;
    }
    return NULL;
}

static int begin(struct object_walks *walks, const struct event *event, struct error *err)
{
    struct object_walk *list;

    if (walks->n_open == OBJECT_WALKS_OPEN) {
        walks->n_bad++;
        return 0;
    }
    list = dynamic_array_reserve(walks->list, &walks->capacity, walks->n + 1, sizeof(*list));
    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu walks over objects", walks->n);
    walks->list = list;
    walks->open[walks->n_open++] = walks->n;
    list[walks->n++] = (struct object_walk){.name = event->text,
                                            .start_ns = event->time_ns,
                                            .process = event->process,
                                            .thread = event->thread,
                                            .number = (uint64_t)event->value,
                                            .is_open = true};
    return 0;
}

static int add_node(struct object_walks *walks, struct object_walk *walk, const struct event *event,
                    struct error *err)
{
    struct object_node *nodes;

    if (event->address != walk->n_nodes + 1 || event->old_address > walk->n_nodes
        || event->call > LOG_OBJECT_PADDING || walk->n_nodes >= UINT32_MAX - 1) {
        walks->n_bad++;
        return 0;
    }
    nodes = dynamic_array_reserve(walk->nodes, &walk->nodes_capacity, walk->n_nodes + 2,
                                  sizeof(*nodes));
    if (!nodes)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu objects", walk->n_nodes);
    walk->nodes = nodes;
    nodes[++walk->n_nodes] = (struct object_node){.name = event->text,
                                                  .parent = (uint32_t)event->old_address,
                                                  .kind = event->call,
                                                  .n_objects = event->n_elided,
                                                  .self_bytes = event->size};
    return 0;
}

/* ---- claims ---- */

/* A sampled block counts as what it stands for, as in the totals. */
static struct sample_weight weight_of(const struct process_totals *live,
                                      const struct live_block *block)
{
    return sample_weight_of(live->sample_bytes, block->size, live_block_salt(block));
}

static void find_block(struct object_claim *claim, const struct event *event,
                       struct object_node *node, struct pairing *pairing,
                       const struct pool_blocks *pools, const struct process_totals *live)
{
    const struct live_block *block;
    uint64_t n_blocks;

    if (pools)
        claim->pool_block_id = pool_blocks_find(pools, event->process, event->address, event->size,
                                                &claim->size_bytes);
    block = claim->pool_block_id ? NULL : pairing_find(pairing, event->process, event->address);
    if (block) {
        claim->allocation_id = block->allocation_id;
        claim->size_bytes = block->size;
    }
    n_blocks = block ? weight_of(live, block).blocks : 1;
    if (claim->size_bytes > claim->declared_bytes)
        node->slack_bytes += n_blocks * (claim->size_bytes - claim->declared_bytes);
    if (block && live_block_slack(block) != LIVE_BLOCK_SLACK_UNKNOWN)
        node->overhead_bytes += n_blocks * live_block_slack(block);
}

static bool address_equals(const void *context, uint32_t id, const void *key)
{
    return ((const struct object_claim *)context)[id - 1].address == *(const uint64_t *)key;
}

/* Finds the block of the last claim. Slack and overhead of a block count for its first claim
 * only. */
static int settle_claim(struct object_walk *walk, const struct event *event,
                        struct pairing *pairing, const struct pool_blocks *pools,
                        const struct process_totals *live, struct error *err)
{
    struct object_claim *claim = &walk->claims[walk->n_claims - 1];
    uint64_t hash = id_table_hash(claim->address, 0);
    uint32_t first =
        id_table_find(&walk->by_address, hash, address_equals, walk->claims, &claim->address);

    if (first) {
        claim->allocation_id = walk->claims[first - 1].allocation_id;
        claim->pool_block_id = walk->claims[first - 1].pool_block_id;
        claim->size_bytes = walk->claims[first - 1].size_bytes;
        claim->is_repeated = true;
        return 0;
    }
    find_block(claim, event, &walk->nodes[claim->node], pairing, pools, live);
    return id_table_add(&walk->by_address, hash, (uint32_t)walk->n_claims)
               ? error_set(err, ERROR_NOMEM, "out of memory for %zu claims", walk->n_claims)
               : 0;
}

static int add_claim(struct object_walks *walks, struct object_walk *walk,
                     const struct event *event, struct pairing *pairing,
                     const struct pool_blocks *pools, const struct process_totals *live,
                     struct error *err)
{
    struct object_claim *claims;
    uint32_t node = (uint32_t)event->old_address;

    if (node == 0 || node > walk->n_nodes || event->call > 2) {
        walks->n_bad++;
        return 0;
    }
    claims = dynamic_array_reserve(walk->claims, &walk->claims_capacity, walk->n_claims + 1,
                                   sizeof(*claims));
    if (!claims)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu claims", walk->n_claims);
    walk->claims = claims;
    claims[walk->n_claims++] = (struct object_claim){.address = event->address,
                                                     .declared_bytes = event->size,
                                                     .node = node,
                                                     .kind = event->call};
    return settle_claim(walk, event, pairing, pools, live, err);
}

/* ---- the end ---- */

/* Sums the claimed live blocks by stack: entries of {0, stack, 0}. */
static int count_claimed(struct object_walk *walk, struct pairing *pairing,
                         const struct process_totals *live, struct hash_map *claimed,
                         struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < walk->n_claims; i++) {
        const struct object_claim *claim = &walk->claims[i];
        const struct live_block *block =
            claim->is_repeated ? NULL : pairing_find(pairing, walk->process, claim->address);
        if (!block || block->allocation_id != claim->allocation_id)
            continue;
        const struct sample_weight weight = weight_of(live, block);
        walk->claimed_blocks += weight.blocks;
        walk->claimed_bytes += weight.bytes;
        code = pair_totals_add(claimed, 0, block->backtrace, 0, weight.blocks, weight.bytes, err);
    }
    return code;
}

/* Sums the unclaimed live blocks by stack, from totals: visiting each block would be slow with many
 * walks over many blocks. */
static int count_unclaimed(struct object_walks *walks, struct object_walk *walk,
                           const struct process_totals *live, struct hash_map *claimed,
                           struct error *err)
{
    const uint32_t number = (uint32_t)(walk - walks->list) + 1;
    int code = 0;

    walk->live_blocks = live->live_blocks;
    walk->live_bytes = live->live_bytes;
    for (uint32_t i = 0; code == 0 && i < live->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(live, i);
        const struct pair_totals_entry *taken =
            stack->live_blocks && claimed->n ? pair_totals_find(claimed, 0, stack->backtrace, 0)
                                             : NULL;
        uint64_t blocks = stack->live_blocks - (taken ? taken->blocks : 0);
        if (blocks)
            code = pair_totals_add(&walks->unclaimed, number, stack->backtrace, 1, blocks,
                                   stack->live_bytes - (taken ? taken->bytes : 0), err);
    }
    return code;
}

static void close_walk(struct object_walks *walks, struct object_walk *walk)
{
    size_t i = 0;

    while (&walks->list[walks->open[i]] != walk)
        i++;
    memmove(&walks->open[i], &walks->open[i + 1], (--walks->n_open - i) * sizeof(*walks->open));
    walk->is_open = false;
}

static int end(struct object_walks *walks, struct object_walk *walk, const struct event *event,
               struct pairing *pairing, const struct process_totals *live, struct error *err)
{
    struct hash_map claimed = {0};
    int code = count_claimed(walk, pairing, live, &claimed, err);

    if (code == 0)
        code = count_unclaimed(walks, walk, live, &claimed, err);
    hash_map_done(&claimed);
    walk->n_warnings = event->address;
    close_walk(walks, walk);
    return code;
}

static int add_warning(struct object_walk *walk, const char *text, struct error *err)
{
    const char **texts = dynamic_array_reserve((void *)walk->warnings, &walk->warnings_capacity,
                                               walk->n_texts + 1, sizeof(*texts));

    if (!texts)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu warnings", walk->n_texts);
    walk->warnings = texts;
    texts[walk->n_texts++] = text;
    return 0;
}

int object_walks_event(struct object_walks *walks, const struct event *event,
                       struct pairing *pairing, const struct pool_blocks *pools,
                       const struct process_totals *live, struct error *err)
{
    struct object_walk *walk;

    if (event->kind == EVENT_OBJECT_WALK && event->text)
        return begin(walks, event, err);
    walk = find(walks, event);
    if (!walk) {
        walks->n_bad++;
        return 0;
    }
    switch (event->kind) {
    case EVENT_OBJECT_NODE:
        return add_node(walks, walk, event, err);
    case EVENT_OBJECT_CLAIM:
        return add_claim(walks, walk, event, pairing, pools, live, err);
    case EVENT_OBJECT_WARNING:
        return add_warning(walk, event->text, err);
    default:
        return end(walks, walk, event, pairing, live, err);
    }
}
