/* SPDX-License-Identifier: MIT */
#include "importer/symbols/site_allocations.h"

#include "importer/write/database.h"
#include "lib/base/saturating.h"
#include "lib/sqlite/database_guard.h"
#include "lib/totals/pair_totals.h"

#include <stdlib.h>

/* Leaked blocks of a call site, by rule and time bucket. */
struct part {
    uint32_t process, site, rule, number;
    int64_t blocks, bytes;
};

enum {
    KEY_BYTES = offsetof(struct part, blocks)
};

struct allocations {
    const uint32_t *site_of_stack;
    size_t n_stacks;
    const struct stack_rules *rules;
    struct hash_map parts;
};

/* Stacks without a row of backtraces are omitted. */
static int add(struct allocations *allocations, const struct pair_totals_entry *entry,
               struct error *err)
{
    if (entry->from == 0 || entry->from >= allocations->n_stacks)
        return 0;
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {
        entry->process, allocations->site_of_stack[entry->from],
        stack_rules_find(allocations->rules, entry->process, entry->from), entry->to};
    struct part *part = hash_map_get(&allocations->parts, key, KEY_BYTES, sizeof *part);

    if (!part)
        return error_set(err, ERROR_NOMEM, "out of memory for leaks of %zu parts of call sites",
                         allocations->parts.n);
    saturating_grow(&part->blocks, (int64_t)entry->blocks);
    saturating_grow(&part->bytes,
                    (int64_t)(entry->bytes > entry->blocks ? entry->bytes : entry->blocks));
    return 0;
}

static int add_row(struct allocations *allocations, sqlite3_stmt *row, struct error *err)
{
    const struct pair_totals_entry entry = {
        .process = (uint32_t)database_id(row, 0, UINT32_MAX),
        .from = (uint32_t)database_id(row, 1, allocations->n_stacks),
        .to = (uint32_t)database_id(row, 2, UINT32_MAX),
        .blocks = (uint64_t)sqlite3_column_int64(row, 3),
        .bytes = (uint64_t)sqlite3_column_int64(row, 4)};

    return add(allocations, &entry, err);
}

typedef int row_fn(struct allocations *allocations, sqlite3_stmt *row, struct error *err);

static int each_row(sqlite3 *db, const char *sql, row_fn *take, struct allocations *allocations,
                    struct error *err)
{
    sqlite3_stmt *rows = NULL;
    int step = SQLITE_DONE;
    int code = database_prepare(db, sql, &rows, err);

    while (code == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW)
        code = take(allocations, rows, err);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(db, err);
    sqlite3_finalize(rows);
    return code;
}

static int add_all(struct allocations *allocations, const struct hash_map *all, struct error *err)
{
    const struct pair_totals_entry *entries = all->elements;
    int code = 0;

    for (size_t i = 0; code == 0 && i < all->n; i++)
        code = add(allocations, &entries[i], err);
    return code;
}

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left;
    const struct part *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Writes rows in the order of the view. Processes that ended in exec have no leaks. */
static int write_parts(sqlite3 *db, struct allocations *allocations, struct error *err)
{
    struct part *parts = allocations->parts.elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db,
                                "INSERT INTO site_leak_times SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE"
                                " (SELECT end_kind FROM processes WHERE process_id = ?1)"
                                " IS NOT 'exec'",
                                &insert, err);

    if (allocations->parts.n)
        qsort(parts, allocations->parts.n, sizeof *parts, compare_parts);
    for (size_t i = 0; code == 0 && i < allocations->parts.n; i++)
        code = database_insert(insert, err, "uzzuii", (uint64_t)parts[i].process,
                               (uint64_t)parts[i].site, (uint64_t)parts[i].rule,
                               (uint64_t)parts[i].number, parts[i].blocks, parts[i].bytes);
    sqlite3_finalize(insert);
    return code;
}

int site_allocations_write(sqlite3 *db, const struct site_of_stack *sites,
                           const struct stack_rules *rules, const struct hash_map *all,
                           struct error *err)
{
    struct allocations allocations = {
        .site_of_stack = sites->ids, .n_stacks = sites->n_stacks, .rules = rules};
    int code = all ? add_all(&allocations, all, err)
                   : each_row(db,
                              "SELECT process_id, backtrace_id, part, blocks, bytes"
                              " FROM leaked_allocations",
                              add_row, &allocations, err);

    if (code == 0)
        code = write_parts(db, &allocations, err);
    hash_map_done(&allocations.parts);
    return code;
}
