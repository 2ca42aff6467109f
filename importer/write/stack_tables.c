/* SPDX-License-Identifier: MIT */
/* stack_tables: writes totals of stacks. There may be many thousands with many columns: as
 * pages. */
#include "importer/totals/statistics.h"
#include "importer/write/table_pages.h"
#include "importer/write/total_tables.h"

#include <stdlib.h>

/* ---- totals ---- */

/* Sorts by id, the order of the key. */
static int compare_stacks(const void *left, const void *right)
{
    const struct stack_totals *a = *(const struct stack_totals *const *)left;
    const struct stack_totals *b = *(const struct stack_totals *const *)right;

    return (a->backtrace > b->backtrace) - (a->backtrace < b->backtrace);
}

/* A stack with only elided blocks of unknown sizes has none: use their mean. */
static uint64_t min_size(const struct stack_totals *stack)
{
    if (stack->min_size != UINT64_MAX)
        return stack->min_size;
    return stack->elided_blocks ? stack->elided_bytes / stack->elided_blocks : 0;
}

enum {
    STACK_LIFETIMES = 21, /* number of the column */
    STACK_MARGINS = 28,   /* of the first of them */
    STACK_COLUMNS = 34
};

static void put_margins(struct page_row *row, const struct stack_variances *variances)
{
    const double values[] = {variances->allocated.blocks, variances->allocated.bytes,
                             variances->leaked.blocks,    variances->leaked.bytes,
                             variances->peak.blocks,      variances->peak.bytes};

    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        page_row_put_real(row, STACK_MARGINS + i, sample_weight_margin(values[i]));
}

static int write_stack(struct page_table *table, uint32_t process, const struct stack_totals *stack,
                       struct error *err)
{
    const uint64_t values[] = {
        process,
        stack->backtrace,
        stack->allocated_blocks + stack->elided_blocks,
        stack->allocated_bytes + stack->elided_bytes,
        stack->allocated_blocks + stack->elided_blocks - stack->live_blocks,
        stack->allocated_bytes + stack->elided_bytes - stack->live_bytes,
        stack->leaked_blocks,
        stack->leaked_bytes,
        stack->leaked_first_ns,
        stack->leaked_last_ns,
        stack->temporary_blocks,
        stack->temporary_bytes,
        stack->peak_blocks,
        stack->peak_bytes,
        stack->own_peak_bytes,
        stack->own_peak_bytes ? stack->own_peak_ns : stack->first_ns,
        stack->first_ns,
        stack->last_ns,
        min_size(stack),
        stack->max_size ? stack->max_size : min_size(stack),
        stack->slack_bytes,
        0, /* STACK_LIFETIMES */
        stack->chains_started,
        stack->chains_leaked,
        stack->realloc_count,
        stack->realloc_copied_bytes,
        stack->elided_blocks,
        stack->elided_bytes,
    };
    struct page_row row = {.nulls = stack->variances ? 0
                                                     : ((UINT64_C(1) << STACK_COLUMNS) - 1)
                                                           & ~((UINT64_C(1) << STACK_MARGINS) - 1)};

    for (unsigned i = 0; i < STACK_MARGINS; i++)
        page_row_put(&row, i, values[i], TOTALS_NEVER);
    page_row_put_real(&row, STACK_LIFETIMES, stack->lifetime_sum_ns);
    if (stack->variances)
        put_margins(&row, stack->variances);
    return table_pages_add(table, &row, err);
}

static int write_stacks(struct page_table *table, const struct statistics *statistics,
                        uint32_t process_id, struct error *err)
{
    const struct process_totals *process = &statistics->totals->processes[process_id];
    const struct stack_totals **stacks = malloc((process->n_stacks + 1) * sizeof *stacks);
    int code = 0;

    if (!stacks)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of stacks");
    for (uint32_t i = 0; i < process->n_stacks; i++)
        stacks[i] = totals_stack(process, i);
    qsort(stacks, process->n_stacks, sizeof *stacks, compare_stacks);
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++)
        code = write_stack(table, process_id, stacks[i], err);
    free(stacks);
    return code;
}

static int write_totals(struct table_pages *pages, struct statistics *statistics, struct error *err)
{
    struct page_table *table;
    int code = table_pages_open_keyed(pages, "backtrace_totals", STACK_COLUMNS, 2, &table, err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++)
        code = write_stacks(table, statistics, id, err);
    return code;
}

/* ---- tallies and chains ---- */

static int write_tally(struct table_pages *pages, const char *name, struct hash_map *tally,
                       struct error *err)
{
    struct page_table *table;
    int code = table_pages_open_keyed(pages, name, 5, 3, &table, err);

    pair_totals_sort(tally);
    for (size_t i = 0; code == 0 && i < tally->n; i++) {
        const struct pair_totals_entry *entry =
            (const struct pair_totals_entry *)tally->elements + i;
        const struct page_row row = {.values = {entry->process, entry->from, entry->to,
                                                (int64_t)entry->blocks, (int64_t)entry->bytes}};
        code = table_pages_add(table, &row, err);
    }
    return code;
}

static int write_chains(struct table_pages *pages, struct statistics *statistics, struct error *err)
{
    struct page_table *table;
    int code = table_pages_open_keyed(pages, "chain_totals", 10, 2, &table, err);

    chain_totals_sort(&statistics->chains);
    for (size_t i = 0; code == 0 && i < statistics->chains.n; i++) {
        const struct chain_totals_entry *entry =
            (const struct chain_totals_entry *)statistics->chains.elements + i;
        const struct page_row row = {
            .values = {entry->process, entry->first_backtrace, (int64_t)entry->chains,
                       (int64_t)entry->reallocs, (int64_t)entry->moves,
                       (int64_t)entry->copied_bytes, (int64_t)entry->longest,
                       (int64_t)entry->first_bytes, (int64_t)entry->last_bytes,
                       (int64_t)entry->leaked_chains}};
        code = table_pages_add(table, &row, err);
    }
    return code;
}

int stack_tables_write(sqlite3 *db, struct statistics *statistics, enum left_out left_out,
                       struct error *err)
{
    struct table_pages *pages;
    int code = table_pages_begin(db, &pages, err);

    if (code)
        return code;
    code = write_totals(pages, statistics, err);
    if (code == 0)
        code = write_tally(pages, "free_sites", &statistics->totals->free_sites, err);
    if (code == 0 && left_out < LEFT_OUT_MOMENTS)
        code =
            write_tally(pages, "leaked_allocations", &statistics->totals->leaked_allocations, err);
    if (code == 0)
        code = write_chains(pages, statistics, err);
    if (code == 0)
        code = table_pages_end(pages, err);
    table_pages_free(pages);
    return code;
}
