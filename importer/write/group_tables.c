/* SPDX-License-Identifier: MIT */
/* group_tables: writes totals of groups, tags and phases. */
#include "importer/totals/facts_parts.h"
#include "importer/write/database.h"
#include "importer/write/total_tables.h"
#include "lib/abi/log_format.h"
#include "lib/totals/sample_weight.h"

#include <stdlib.h>

/* ---- groups ---- */

static bool has_account(const struct group_totals *totals, uint32_t number)
{
    const struct group_account *accounts = totals->groups.elements;

    for (size_t i = 0; i < totals->groups.n; i++)
        if (accounts[i].of == number
            && !totals->definitions->processes[accounts[i].process].is_left_out)
            return true;
    return false;
}

static bool is_used(const struct group_totals *totals, uint32_t number)
{
    const struct definitions_group *group = &totals->definitions->groups[number];
    bool is_certain = !group->is_lost && !group->is_left_out && !totals->definitions->is_cut;

    return is_certain || has_account(totals, number);
}

static int write_groups(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct definitions *definitions = totals->definitions;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO allocation_groups VALUES (?, ?)", &insert, err);

    if (code == 0)
        code = database_insert(insert, err, "ut", (uint64_t)LOG_GROUP_ROOT, "root");
    for (uint32_t i = 1; code == 0 && i <= definitions->n_groups; i++) {
        const struct definitions_group *group = &definitions->groups[i];
        if (is_used(totals, i))
            code = database_insert(insert, err, "ut", (uint64_t)group->id, group->name);
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_tags(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct definitions *definitions = totals->definitions;
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO allocation_group_tags VALUES (?, ?, ?)", &insert, err);

    for (uint32_t i = 1; code == 0 && i <= definitions->n_groups; i++) {
        const struct definitions_group *group = &definitions->groups[i];
        uint32_t n_tags = is_used(totals, i) ? group->n_tags : 0;
        for (uint32_t k = 0; code == 0 && k < n_tags; k++) {
            const struct definitions_tag *tag =
                &definitions->tags[definitions->group_tags[group->first_tag + k]];
            code = database_insert(insert, err, "utt", (uint64_t)group->id, tag->key, tag->value);
        }
    }
    sqlite3_finalize(insert);
    return code;
}

/* ---- totals ---- */

#define ACCOUNT_TYPES "uuuuuuuuuuuuumsss"
#define ACCOUNT_VALUES(a)                                                                          \
    (a)->allocated_blocks, (a)->allocated_bytes, (a)->freed_blocks, (a)->freed_bytes,              \
        (a)->freed_elsewhere_blocks, (a)->freed_elsewhere_bytes, (a)->moved_in_blocks,             \
        (a)->moved_in_bytes, (a)->moved_out_blocks, (a)->moved_out_bytes, (a)->leaked_blocks,      \
        (a)->leaked_bytes, (a)->peak_bytes, (a)->peak_bytes ? (a)->peak_ns : TOTALS_NEVER,         \
        margin_of(totals, a, (a)->allocated_variance), margin_of(totals, a, (a)->leaked_variance), \
        margin_of(totals, a, (a)->peak_variance)

/* Negative: exact. */
static double margin_of(const struct group_totals *totals, const struct group_account *account,
                        double variance)
{
    return totals->definitions->processes[account->process].sample_bytes
               ? sample_weight_margin(variance)
               : -1;
}

static int write_group_totals(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct group_account *accounts = totals->groups.elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db,
        "INSERT INTO group_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (size_t i = 0; code == 0 && i < totals->groups.n; i++) {
        const struct group_account *account = &accounts[i];
        code = database_insert(insert, err, "uu" ACCOUNT_TYPES, (uint64_t)account->process,
                               (uint64_t)definitions_group_id(totals->definitions, account->of),
                               ACCOUNT_VALUES(account));
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_tag_totals(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct group_account *accounts = totals->tags.elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db,
        "INSERT INTO tag_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (size_t i = 0; code == 0 && i < totals->tags.n; i++) {
        const struct group_account *account = &accounts[i];
        const struct definitions_tag *tag = &totals->definitions->tags[account->of];
        code = database_insert(insert, err, "utt" ACCOUNT_TYPES, (uint64_t)account->process,
                               tag->key, tag->value, ACCOUNT_VALUES(account));
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_flows(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct pair_totals_entry *flows = totals->flows.elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO group_flows VALUES (?, ?, ?, ?, ?)", &insert, err);

    for (size_t i = 0; code == 0 && i < totals->flows.n; i++)
        code = database_insert(insert, err, "uuuuu", (uint64_t)flows[i].process,
                               (uint64_t)definitions_group_id(totals->definitions, flows[i].from),
                               (uint64_t)definitions_group_id(totals->definitions, flows[i].to),
                               flows[i].blocks, flows[i].bytes);
    sqlite3_finalize(insert);
    return code;
}

/* ---- phases ---- */

static uint64_t depth_of(const struct phases *phases, const struct phase *phase)
{
    uint64_t depth = 1;

    for (; phase->parent; phase = &phases->list[phase->parent - 1])
        depth++;
    return depth;
}

static int write_phase(sqlite3_stmt *insert, const struct phases *phases, uint32_t process,
                       const struct phase *phase, uint64_t first_id, struct error *err)
{
    bool has_allocations = phase->first_allocation <= phase->last_allocation;

    return database_insert(
        insert, err, "uuzzutumuuuuuuuuumm", first_id + (uint64_t)(phase - phases->list),
        (uint64_t)process, (uint64_t)phase->thread,
        phase->parent ? first_id + phase->parent - 1 : 0, depth_of(phases, phase), phase->name,
        phase->start_ns, phase->is_open ? UINT64_MAX : phase->end_ns, phase->in_it.allocated_blocks,
        phase->in_it.allocated_bytes, phase->in_it.freed_blocks, phase->in_it.freed_bytes,
        phase->at_start.live_bytes, phase->in_it.live_bytes, phase->peak_bytes,
        phase->leaked_blocks, phase->leaked_bytes,
        has_allocations ? phase->first_allocation : UINT64_MAX,
        has_allocations ? phase->last_allocation : UINT64_MAX);
}

static int write_phases(sqlite3 *db, const struct statistics *facts, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    uint64_t first_id = 1;
    int code = database_prepare(
        db, "INSERT INTO phases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++) {
        const struct phases *phases = &facts->processes[id].phases;
        for (size_t i = 0; code == 0 && i < phases->n; i++)
            code = write_phase(insert, phases, id, &phases->list[i], first_id, err);
        first_id += phases->n;
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_phase_totals(sqlite3 *db, const struct statistics *facts, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO phase_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                &insert, err);

    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++) {
        const struct phases *phases = &facts->processes[id].phases;
        for (size_t i = 0; code == 0 && i < phases->n_names; i++) {
            const struct phase_name *name = &phases->names[i];
            code = database_insert(insert, err, "utuuuuuuu", (uint64_t)id, phases_name(phases, i),
                                   name->phases, name->ended_ns, name->allocated_blocks,
                                   name->allocated_bytes, name->freed_blocks, name->freed_bytes,
                                   name->peak_bytes);
        }
    }
    sqlite3_finalize(insert);
    return code;
}

int group_tables_write(sqlite3 *db, const struct statistics *facts, struct error *err)
{
    int (*const writers[])(sqlite3 *, const struct group_totals *, struct error *) = {
        write_groups, write_tags, write_group_totals, write_tag_totals, write_flows};
    int code = write_phases(db, facts, err);

    if (code == 0)
        code = write_phase_totals(db, facts, err);
    for (size_t i = 0; facts->groups && code == 0 && i < sizeof writers / sizeof writers[0]; i++)
        code = writers[i](db, facts->groups, err);
    return code;
}
