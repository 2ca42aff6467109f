/* SPDX-License-Identifier: MIT */
#include "importer/totals/group_totals.h"

#include "lib/totals/sample_weight.h"

#include <stdlib.h>

enum {
    KEY_BYTES = 2 * sizeof(uint32_t)
};

int group_totals_new(const struct definitions *definitions, struct group_totals **ret,
                     struct error *err)
{
    *ret = NULL;
    if (definitions->n_groups == 0)
        return 0;
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of groups");
    (*ret)->definitions = definitions;
    return 0;
}

void group_totals_free(struct group_totals *totals)
{
    if (!totals)
        return;
    hash_map_done(&totals->groups);
    hash_map_done(&totals->tags);
    hash_map_done(&totals->flows);
    free(totals);
}

/* ---- accounts ---- */

static void settle(struct group_account *account, uint64_t now_ns)
{
    if (account->changed_ns == now_ns)
        return;
    if (account->live_bytes > account->peak_bytes) {
        account->peak_bytes = account->live_bytes;
        account->peak_ns = account->changed_ns;
        account->peak_variance = account->live_variance;
    }
    account->changed_ns = now_ns;
}

/* Kinds of changes to an account. */
enum change {
    ALLOCATED,
    ENDED,
    ENDED_ELSEWHERE,
    EXPLAINED, /* known now: was freed in another group */
    MOVED_IN,
    MOVED_OUT,
    LEAKED,
    ELIDED,
};

struct posting {
    enum change change;
    uint64_t time_ns;
    uint64_t n_blocks, bytes;
    double bytes_variance;
};

static void count(uint64_t *blocks, uint64_t *bytes, const struct posting *posting)
{
    *blocks += posting->n_blocks;
    *bytes += posting->bytes;
}

static void change_live(struct group_account *account, const struct posting *posting, bool more)
{
    settle(account, posting->time_ns);
    account->live_blocks += more ? posting->n_blocks : -posting->n_blocks;
    account->live_bytes += more ? posting->bytes : -posting->bytes;
    account->live_variance += more ? posting->bytes_variance : -posting->bytes_variance;
}

static void post(struct group_account *account, const struct posting *posting)
{
    switch (posting->change) {
    case ALLOCATED:
        change_live(account, posting, true);
        count(&account->allocated_blocks, &account->allocated_bytes, posting);
        account->allocated_variance += posting->bytes_variance;
        return;
    case ENDED_ELSEWHERE:
        count(&account->freed_elsewhere_blocks, &account->freed_elsewhere_bytes, posting);
        /* fall through */
    case ENDED:
        change_live(account, posting, false);
        count(&account->freed_blocks, &account->freed_bytes, posting);
        return;
    case EXPLAINED:
        count(&account->freed_elsewhere_blocks, &account->freed_elsewhere_bytes, posting);
        return;
    case MOVED_IN:
        change_live(account, posting, true);
        count(&account->moved_in_blocks, &account->moved_in_bytes, posting);
        return;
    case MOVED_OUT:
        change_live(account, posting, false);
        count(&account->moved_out_blocks, &account->moved_out_bytes, posting);
        return;
    case LEAKED:
        count(&account->leaked_blocks, &account->leaked_bytes, posting);
        account->leaked_variance += posting->bytes_variance;
        return;
    default: /* ELIDED */
        count(&account->allocated_blocks, &account->allocated_bytes, posting);
        count(&account->freed_blocks, &account->freed_bytes, posting);
    }
}

static int post_to(struct hash_map *accounts, uint32_t process, uint32_t of,
                   const struct posting *posting, struct error *err)
{
    const uint32_t key[2] = {process, of};
    struct group_account *account =
        hash_map_get(accounts, key, KEY_BYTES, sizeof(struct group_account));

    if (!account)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of groups");
    post(account, posting);
    return 0;
}

static int post_all(struct group_totals *totals, uint32_t process, uint32_t number,
                    const struct posting *posting, struct error *err)
{
    int code = post_to(&totals->groups, process, number, posting, err);

    if (number == 0)
        return code;
    const struct definitions_group *group = &totals->definitions->groups[number];
    for (uint32_t i = 0; code == 0 && i < group->n_tags; i++)
        code = post_to(&totals->tags, process,
                       totals->definitions->group_tags[group->first_tag + i], posting, err);
    return code;
}

/* ---- from outside ---- */

static struct posting posting_of(const struct group_totals *totals, uint32_t process,
                                 const struct live_block *block, enum change change,
                                 uint64_t time_ns)
{
    uint64_t mean_bytes = totals->definitions->processes[process].sample_bytes;
    const struct sample_weight weight =
        sample_weight_of(mean_bytes, block->size, live_block_salt(block));

    return (struct posting){change, time_ns, weight.blocks, weight.bytes, weight.bytes_variance};
}

int group_totals_allocated(struct group_totals *totals, uint32_t process,
                           const struct live_block *block, uint32_t group, struct error *err)
{
    struct posting posting = posting_of(totals, process, block, ALLOCATED, block->alloc_ns);

    return post_all(totals, process, group, &posting, err);
}

static bool is_by_call(const struct pairing_end *end)
{
    return end->ended_by == PAIRING_FREED || end->ended_by == PAIRING_REALLOCATED;
}

static int add_flow(struct group_totals *totals, uint32_t process, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct posting posting = posting_of(totals, process, block, ENDED, end->time_ns);

    return is_by_call(end) ? pair_totals_add(&totals->flows, process, end->block_group, end->group,
                                             posting.n_blocks, posting.bytes, err)
                           : 0;
}

int group_totals_ended(struct group_totals *totals, uint32_t process,
                       const struct live_block *block, const struct pairing_end *end,
                       struct error *err)
{
    struct posting posting =
        posting_of(totals, process, block, end->group != end->block_group ? ENDED_ELSEWHERE : ENDED,
                   end->time_ns);
    int code = post_all(totals, process, end->block_group, &posting, err);

    return code ? code : add_flow(totals, process, block, end, err);
}

int group_totals_explained(struct group_totals *totals, uint32_t process,
                           const struct live_block *block, const struct pairing_end *end,
                           struct error *err)
{
    struct posting posting = posting_of(totals, process, block, EXPLAINED, end->time_ns);
    int code = end->group != end->block_group
                   ? post_all(totals, process, end->block_group, &posting, err)
                   : 0;

    return code ? code : add_flow(totals, process, block, end, err);
}

int group_totals_moved(struct group_totals *totals, uint32_t process,
                       const struct live_block *block, const struct pairing_move *move,
                       struct error *err)
{
    struct posting out = posting_of(totals, process, block, MOVED_OUT, move->time_ns);
    struct posting in = posting_of(totals, process, block, MOVED_IN, move->time_ns);
    int code = post_all(totals, process, move->from_group, &out, err);

    return code ? code : post_all(totals, process, move->group, &in, err);
}

int group_totals_leaked(struct group_totals *totals, uint32_t process,
                        const struct live_block *block, uint32_t group, struct error *err)
{
    struct posting posting = posting_of(totals, process, block, LEAKED, 0);

    return post_all(totals, process, group, &posting, err);
}

int group_totals_elided(struct group_totals *totals, uint32_t process, uint32_t group,
                        uint64_t n_blocks, uint64_t bytes, struct error *err)
{
    struct posting posting = {ELIDED, 0, n_blocks, bytes, 0};
    int code = post_all(totals, process, group, &posting, err);

    return code ? code
                : pair_totals_add(&totals->flows, process, group, group, n_blocks, bytes, err);
}

static void settle_all(struct hash_map *accounts)
{
    struct group_account *all = accounts->elements;

    for (size_t i = 0; i < accounts->n; i++)
        settle(&all[i], UINT64_MAX);
}

void group_totals_finish(struct group_totals *totals)
{
    settle_all(&totals->groups);
    settle_all(&totals->tags);
}

static void visit_accounts(struct hash_map *accounts, uint32_t n_processes, size_t most,
                           struct checkpoint_io *io)
{
    const struct group_account *items;

    checkpoint_io_keyed(io, accounts, KEY_BYTES, sizeof *items);
    items = accounts->elements;
    for (size_t i = 0; i < accounts->n; i++)
        checkpoint_io_check(io, items[i].process <= n_processes && items[i].of <= most,
                            "an account");
}

void group_totals_visit(struct group_totals *totals, uint32_t n_processes, struct checkpoint_io *io)
{
    const struct definitions *definitions = totals->definitions;

    visit_accounts(&totals->groups, n_processes, definitions->n_groups, io);
    visit_accounts(&totals->tags, n_processes, definitions->n_tags, io);
    checkpoint_io_pairs(io, &totals->flows, n_processes, (uint32_t)definitions->n_groups);
}

/* ---- first groups that appear late ---- */

/* Frees by known threads. */
static int take_flows(struct group_totals *totals, const struct totals *all, uint32_t process,
                      struct error *err)
{
    const struct pair_totals_entry *entries = all->flows.elements;
    uint64_t blocks = 0;
    uint64_t bytes = 0;

    for (size_t i = 0; i < all->flows.n; i++)
        if (entries[i].process == process) {
            blocks += entries[i].blocks;
            bytes += entries[i].bytes;
        }
    for (uint32_t id = 1; id <= all->n_threads; id++)
        if (all->threads[id].freed_by.process == process) {
            blocks += all->threads[id].freed_by.blocks;
            bytes += all->threads[id].freed_by.bytes;
        }
    return blocks ? pair_totals_add(&totals->flows, process, 0, 0, blocks, bytes, err) : 0;
}

int group_totals_take_root(struct group_totals *totals, const struct totals *all, uint32_t process,
                           struct error *err)
{
    const struct process_totals *own = &all->processes[process];
    struct group_account root = {.process = process,
                                 .live_blocks = own->live_blocks,
                                 .live_bytes = own->live_bytes,
                                 .live_variance = own->live_variance.bytes};

    if (own->n_stacks == 0)
        return 0;
    if (own->peak_ns != TOTALS_NEVER) {
        root.peak_bytes = own->peak_bytes;
        root.peak_ns = own->peak_ns;
        root.peak_variance = own->peak_variance.bytes;
    }
    for (uint32_t i = 0; i < own->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(own, i);
        root.allocated_blocks += stack->allocated_blocks;
        root.allocated_bytes += stack->allocated_bytes;
        if (stack->variances)
            root.allocated_variance += stack->variances->allocated.bytes;
        if (stack->changed_epoch > root.changed_ns + 1)
            root.changed_ns = stack->changed_epoch - 1;
    }
    root.freed_blocks = root.allocated_blocks - root.live_blocks;
    root.freed_bytes = root.allocated_bytes - root.live_bytes;
    const uint32_t key[2] = {process, 0};
    struct group_account *account = hash_map_get(&totals->groups, key, KEY_BYTES, sizeof root);
    if (!account)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of groups");
    *account = root;
    return take_flows(totals, all, process, err);
}
