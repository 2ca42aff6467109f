/* SPDX-License-Identifier: MIT */
#include "importer/symbols/stack_rules.h"

#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"
#include "lib/sqlite/database_guard.h"

#include <stdlib.h>

struct stack_rule {
    int64_t process, stack;
    uint32_t rule;
};

static int compare(const void *left, const void *right)
{
    const struct stack_rule *a = left;
    const struct stack_rule *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static int keep(struct stack_rules *rules, sqlite3_stmt *row, struct error *err)
{
    struct stack_rule *list =
        dynamic_array_reserve(rules->list, &rules->capacity, rules->n + 1, sizeof *list);

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for stacks that rules suppress");
    rules->list = list;
    list[rules->n++] = (struct stack_rule){.process = sqlite3_column_int64(row, 0),
                                           .stack = sqlite3_column_int64(row, 1),
                                           .rule = (uint32_t)database_id(row, 2, UINT32_MAX)};
    return 0;
}

int stack_rules_read(sqlite3 *db, struct stack_rules *rules, struct error *err)
{
    sqlite3_stmt *rows = NULL;
    int step = SQLITE_DONE;
    int code = database_prepare(db,
                                "SELECT process_id, backtrace_id, rule_id FROM suppressed_stacks"
                                " ORDER BY process_id, backtrace_id",
                                &rows, err);

    while (code == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW)
        code = keep(rules, rows, err);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(db, err);
    sqlite3_finalize(rows);
    return code;
}

void stack_rules_done(struct stack_rules *rules)
{
    free(rules->list);
    *rules = (struct stack_rules){.list = NULL};
}

uint32_t stack_rules_find(const struct stack_rules *rules, uint32_t process, uint32_t stack)
{
    const struct stack_rule sought = {.process = process, .stack = stack};
    const struct stack_rule *found =
        rules->n ? bsearch(&sought, rules->list, rules->n, sizeof sought, compare) : NULL;

    return found ? found->rule : 0;
}
