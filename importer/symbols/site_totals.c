/* SPDX-License-Identifier: MIT */
#include "importer/symbols/site_totals.h"

#include "importer/totals/statistics.h"
#include "importer/write/database.h"
#include "lib/base/hash_map.h"
#include "lib/base/saturating.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The key of all sums: process, call site, and the rule or the freeing call site. part: 1 for
 * blocks of stacks that leak, in site_frees only. */
struct place {
    uint32_t process, site, part, other;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->other > b->other) - (a->other < b->other);
}

static void *sums_of(struct hash_map *all, const struct place *place, size_t bytes,
                     struct error *err)
{
    void *sums = hash_map_get(all, place, sizeof *place, bytes);

    if (!sums)
        (void)error_set(err, ERROR_NOMEM, "out of memory for totals of %zu call sites", all->n);
    return sums;
}

/* Sorts in the order of the views. */
static void sort(struct hash_map *all, size_t bytes)
{
    if (all->n)
        qsort(all->elements, all->n, bytes, compare_places);
}

/* Fills by_id with the stacks of a process; NULL: none. Ids are below n_stacks. */
static void index_stacks(const struct process_totals *process, const struct stack_totals **by_id,
                         size_t n_stacks)
{
    memset((void *)by_id, 0, n_stacks * sizeof *by_id);
    for (uint32_t i = 0; i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        if (stack->backtrace && stack->backtrace < n_stacks)
            by_id[stack->backtrace] = stack;
    }
}

struct counting {
    const struct statistics *statistics;
    const struct site_of_stack *sites;
    const struct stack_rules *rules;
    struct hash_map all;
};

typedef int stack_fn(struct counting *counting, uint32_t process, uint32_t id,
                     const struct stack_totals *stack, struct error *err);

static int each_stack(struct counting *counting, stack_fn *take, struct error *err)
{
    const struct statistics *statistics = counting->statistics;
    size_t n_stacks = counting->sites->n_stacks;
    const struct stack_totals **by_id = malloc(n_stacks * sizeof *by_id);
    int code = by_id ? 0 : error_set(err, ERROR_NOMEM, "out of memory for %zu stacks", n_stacks);

    for (uint32_t process = 1; code == 0 && process <= statistics->definitions->n_processes;
         process++) {
        index_stacks(&statistics->totals->processes[process], by_id, n_stacks);
        for (uint32_t id = 1; code == 0 && id < n_stacks; id++)
            if (by_id[id])
                code = take(counting, process, id, by_id[id], err);
    }
    free((void *)by_id);
    return code;
}

/* ---- margins ---- */

/* Squared margins of a sum. */
struct squares {
    double sum;
    bool is_known;
};

static void add_square(struct squares *squares, double variance)
{
    double margin = sample_weight_margin(variance);

    squares->sum += margin * margin;
    squares->is_known = true;
}

/* Negative (none) becomes NULL in database_insert. */
static double margin_of(const struct squares *squares)
{
    return squares->is_known ? sqrt(squares->sum) : -1;
}

/* ---- site_totals ---- */

enum {
    N_SUMS = 17
};

static const char totals_sql[] =
    "INSERT INTO site_totals(process_id, call_site_id, stacks, complete_blocks, allocated_blocks,"
    " allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, temporary_blocks,"
    " temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, slack_bytes, realloc_count,"
    " realloc_copied_bytes, elided_blocks, elided_bytes, lifetime_sum_ns, allocated_blocks_margin,"
    " allocated_bytes_margin, leaked_blocks_margin, leaked_bytes_margin, peak_blocks_margin,"
    " peak_bytes_margin)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

struct site_totals {
    struct place place;
    int64_t sums[N_SUMS];
    int64_t complete_blocks;
    bool has_complete;
    double lifetime_sum_ns;
    struct squares squares[6];
};

static int add_total(struct counting *counting, uint32_t process, uint32_t id,
                     const struct stack_totals *stack, struct error *err)
{
    const struct place place = {.process = process, .site = counting->sites->ids[id]};
    struct site_totals *site = sums_of(&counting->all, &place, sizeof *site, err);
    const uint64_t blocks = stack->allocated_blocks + stack->elided_blocks;
    const uint64_t bytes = stack->allocated_bytes + stack->elided_bytes;
    const uint64_t values[N_SUMS] = {blocks > 0,
                                     blocks,
                                     bytes,
                                     blocks - stack->live_blocks,
                                     bytes - stack->live_bytes,
                                     stack->leaked_blocks,
                                     stack->leaked_bytes,
                                     stack->temporary_blocks,
                                     stack->temporary_bytes,
                                     stack->peak_blocks,
                                     stack->peak_bytes,
                                     stack->own_peak_bytes,
                                     stack->slack_bytes,
                                     stack->realloc_count,
                                     stack->realloc_copied_bytes,
                                     stack->elided_blocks,
                                     stack->elided_bytes};

    if (!site)
        return ERROR_NOMEM;
    for (size_t i = 0; i < N_SUMS; i++)
        saturating_grow(&site->sums[i], (int64_t)values[i]);
    if (counting->statistics->definitions->backtraces[id].status == DEFINITIONS_COMPLETE) {
        site->has_complete = true;
        saturating_grow(&site->complete_blocks, (int64_t)blocks);
    }
    site->lifetime_sum_ns += stack->lifetime_sum_ns;
    if (stack->variances) {
        const struct stack_variances *of = stack->variances;
        const double variances[] = {of->allocated.blocks, of->allocated.bytes, of->leaked.blocks,
                                    of->leaked.bytes,     of->peak.blocks,     of->peak.bytes};
        for (size_t i = 0; i < sizeof variances / sizeof *variances; i++)
            add_square(&site->squares[i], variances[i]);
    }
    return 0;
}

static int insert_total(sqlite3_stmt *insert, const struct site_totals *site, struct error *err)
{
    const int64_t *sums = site->sums;

    return database_insert(
        insert, err, "uzimiiiiiiiiiiiiiiiisssssss", (uint64_t)site->place.process,
        (uint64_t)site->place.site, sums[0],
        site->has_complete ? (uint64_t)site->complete_blocks : UINT64_MAX, sums[1], sums[2],
        sums[3], sums[4], sums[5], sums[6], sums[7], sums[8], sums[9], sums[10], sums[11], sums[12],
        sums[13], sums[14], sums[15], sums[16], site->lifetime_sum_ns, margin_of(&site->squares[0]),
        margin_of(&site->squares[1]), margin_of(&site->squares[2]), margin_of(&site->squares[3]),
        margin_of(&site->squares[4]), margin_of(&site->squares[5]));
}

static int write_totals(sqlite3 *db, struct counting *counting, struct error *err)
{
    const struct site_totals *sites;
    sqlite3_stmt *insert = NULL;
    int code = each_stack(counting, add_total, err);

    if (code == 0)
        code = database_prepare(db, totals_sql, &insert, err);
    sort(&counting->all, sizeof *sites);
    sites = counting->all.elements;
    for (size_t i = 0; code == 0 && i < counting->all.n; i++)
        code = insert_total(insert, &sites[i], err);
    sqlite3_finalize(insert);
    hash_map_done(&counting->all);
    return code;
}

/* ---- site_frees ---- */

struct site_free {
    struct place place; /* other: the freeing call site; 0: omitted ones */
    int64_t blocks;
};

/* Adds the stack itself if it leaks. Statistics find stacks by other ids than those of the
 * database. */
static int add_leaking(struct counting *counting, uint32_t process, uint32_t id,
                       const struct stack_totals *stack, struct error *err)
{
    const struct place place = {.process = process, .site = id};

    return stack->leaked_blocks == 0 || sums_of(&counting->all, &place, sizeof place, err)
               ? 0
               : ERROR_NOMEM;
}

static int add_frees(struct counting *counting, const struct hash_map *leaking, struct error *err)
{
    const struct site_of_stack *sites = counting->sites;
    const struct pair_totals_entry *entries = counting->statistics->totals->free_sites.elements;
    size_t n = counting->statistics->totals->free_sites.n;

    for (size_t i = 0; i < n; i++) {
        const struct pair_totals_entry *entry = &entries[i];
        struct site_free *sum;
        if (entry->from == 0 || entry->from >= sites->n_stacks || entry->to >= sites->n_stacks)
            continue;
        const struct place stack = {.process = entry->process, .site = entry->from};
        const struct place place = {
            .process = entry->process,
            .site = sites->ids[entry->from],
            .part = hash_map_find(leaking, &stack, sizeof stack, sizeof stack) != NULL,
            .other = entry->to ? sites->ids[entry->to] : 0};
        if (entry->to && place.other == 0)
            continue;
        sum = sums_of(&counting->all, &place, sizeof *sum, err);
        if (!sum)
            return ERROR_NOMEM;
        saturating_grow(&sum->blocks, (int64_t)entry->blocks);
    }
    return 0;
}

/* Order of two entries of one part of a call site: most blocks first, then known freeing call
 * sites. */
static bool is_before(const struct site_free *a, const struct site_free *b)
{
    return a->blocks != b->blocks ? a->blocks > b->blocks : a->place.other && !b->place.other;
}

static int write_frees(sqlite3 *db, struct counting *counting, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    const struct site_free *frees;
    struct counting leaking = {.statistics = counting->statistics, .sites = counting->sites};
    size_t next;
    int code = each_stack(&leaking, add_leaking, err);

    if (code == 0)
        code = add_frees(counting, &leaking.all, err);
    hash_map_done(&leaking.all);
    if (code == 0)
        code = database_prepare(db, "INSERT INTO site_frees VALUES (?, ?, ?, ?, ?)", &insert, err);
    sort(&counting->all, sizeof *frees);
    frees = counting->all.elements;
    for (size_t i = 0; code == 0 && i < counting->all.n; i = next) {
        const struct site_free *most = &frees[i];
        for (next = i + 1; next < counting->all.n; next++) {
            if (frees[next].place.process != most->place.process
                || frees[next].place.site != most->place.site
                || frees[next].place.part != most->place.part)
                break;
            if (is_before(&frees[next], most))
                most = &frees[next];
        }
        if (most->place.other)
            code = database_insert(insert, err, "uzuui", (uint64_t)most->place.process,
                                   (uint64_t)most->place.site, (uint64_t)most->place.part,
                                   (uint64_t)most->place.other, most->blocks);
    }
    sqlite3_finalize(insert);
    hash_map_done(&counting->all);
    return code;
}

int site_totals_write_totals(sqlite3 *db, const struct statistics *statistics,
                             const struct site_of_stack *sites, struct error *err)
{
    struct counting counting = {.statistics = statistics, .sites = sites};
    int code = write_totals(db, &counting, err);

    return code ? code : write_frees(db, &counting, err);
}

/* ---- site_leaks ---- */

struct site_leak {
    struct place place; /* other: the rule */
    int64_t n_stacks, allocated_blocks, blocks, bytes;
    uint64_t first_ns, last_ns;
    struct squares blocks_squares, bytes_squares;
};

static bool ended_in_exec(const struct statistics *statistics, uint32_t process)
{
    const char *end_kind = statistics->definitions->processes[process].end_kind;

    return statistics_has_ended(statistics, process) && end_kind && strcmp(end_kind, "exec") == 0;
}

static int add_leak(struct counting *counting, uint32_t process, uint32_t id,
                    const struct stack_totals *stack, struct error *err)
{
    struct site_leak *leak;

    if (stack->leaked_blocks == 0 || ended_in_exec(counting->statistics, process))
        return 0;
    const struct place place = {.process = process,
                                .site = counting->sites->ids[id],
                                .other = stack_rules_find(counting->rules, process, id)};
    leak = sums_of(&counting->all, &place, sizeof *leak, err);
    if (!leak)
        return ERROR_NOMEM;
    if (leak->n_stacks++ == 0 || stack->leaked_first_ns < leak->first_ns)
        leak->first_ns = stack->leaked_first_ns;
    if (stack->leaked_last_ns > leak->last_ns)
        leak->last_ns = stack->leaked_last_ns;
    saturating_grow(&leak->allocated_blocks,
                    (int64_t)(stack->allocated_blocks + stack->elided_blocks));
    saturating_grow(&leak->blocks, (int64_t)stack->leaked_blocks);
    saturating_grow(&leak->bytes, (int64_t)stack->leaked_bytes);
    if (stack->variances) {
        add_square(&leak->blocks_squares, stack->variances->leaked.blocks);
        add_square(&leak->bytes_squares, stack->variances->leaked.bytes);
    }
    return 0;
}

static const char leaks_sql[] =
    "INSERT INTO site_leaks(process_id, call_site_id, rule_id, stacks, allocated_blocks, leaked_blocks, leaked_bytes,"
    " leaked_first_ns, leaked_last_ns, leaked_blocks_margin, leaked_bytes_margin, pattern)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, iif(?6 = 1, 'once', 'burst'))";
/* Same result as the view _site_leaks. In one statement and materialized: SQLite builds an index
 * once per statement. */
static const char patterns_sql[] =
    "WITH shapes AS MATERIALIZED (SELECT process_id, coalesce(call_site_id, -1) AS site,"
    " coalesce(rule_id, -1) AS rule, pattern FROM site_shapes WHERE curve = 'leaks')"
    " UPDATE site_leaks AS t SET pattern = s.pattern FROM shapes AS s WHERE t.leaked_blocks > 1"
    " AND s.process_id = t.process_id AND s.site = coalesce(t.call_site_id, -1)"
    " AND s.rule = coalesce(t.rule_id, -1)";

int site_totals_write_leaks(sqlite3 *db, const struct statistics *statistics,
                            const struct site_of_stack *sites, const struct stack_rules *rules,
                            struct error *err)
{
    struct counting counting = {.statistics = statistics, .sites = sites, .rules = rules};
    const struct site_leak *leaks;
    sqlite3_stmt *insert = NULL;
    int code = each_stack(&counting, add_leak, err);

    if (code == 0)
        code = database_prepare(db, leaks_sql, &insert, err);
    sort(&counting.all, sizeof *leaks);
    leaks = counting.all.elements;
    for (size_t i = 0; code == 0 && i < counting.all.n; i++) {
        const struct site_leak *leak = &leaks[i];
        code = database_insert(insert, err, "uzziiiiuuss", (uint64_t)leak->place.process,
                               (uint64_t)leak->place.site, (uint64_t)leak->place.other,
                               leak->n_stacks, leak->allocated_blocks, leak->blocks, leak->bytes,
                               leak->first_ns, leak->last_ns, margin_of(&leak->blocks_squares),
                               margin_of(&leak->bytes_squares));
    }
    sqlite3_finalize(insert);
    if (code == 0)
        code = database_execute(db, patterns_sql, err);
    hash_map_done(&counting.all);
    return code;
}
