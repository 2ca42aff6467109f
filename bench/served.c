/* SPDX-License-Identifier: MIT */
/*
 * served N [none|tenants|requests]: N requests of five tenants, each of which SQLite answers from
 * memory: a row is written, and every other time some are read in order. They are not charged,
 * charged to a group for each tenant and kind, or to a new group for each request. This shows the
 * cost of groups in a program that does something, for a counter of instructions
 * (bench/instructions).
 */
#include "include/mtrace.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TENANTS = 5,
    SQL_BYTES = 256,
};

static sqlite3 *g_database;

static void run(const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(g_database, sql, NULL, NULL, &text) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, text);
        exit(1);
    }
}

static void answer(int number)
{
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql), "INSERT INTO t VALUES (%d, 't%d', '%040x')", number,
             number % N_TENANTS, (unsigned)number * 2654435761u);
    run(sql);
    if (number % 2 == 0)
        return;
    snprintf(sql, sizeof(sql),
             "SELECT id, text FROM t WHERE tenant = 't%d' AND id > %d ORDER BY text LIMIT 5",
             number % N_TENANTS, number - 50);
    run(sql);
}

static uint32_t group_of(int number, bool is_new)
{
    char tenant[16];
    const struct mtrace_tag tags[] = {{"tenant", tenant}, {"kind", number % 2 ? "read" : "write"}};

    snprintf(tenant, sizeof(tenant), "t%d", number % N_TENANTS);
    return is_new ? mtrace_group_register("request", tags, 2)
                  : mtrace_group_intern("request", tags, 2);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    const char *what = argc > 2 ? argv[2] : "none";
    const bool has_groups = strcmp(what, "none") != 0;

    if (sqlite3_open(":memory:", &g_database) != SQLITE_OK)
        return 1;
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, tenant TEXT, text TEXT);"
        "CREATE INDEX by_tenant ON t (tenant)");
    for (int i = 0; i < n; i++) {
        struct mtrace_scope scope = {0, 0, 0};
        if (has_groups)
            scope = mtrace_enter(group_of(i, strcmp(what, "requests") == 0));
        answer(i);
        if (has_groups)
            mtrace_exit(scope);
    }
    sqlite3_close(g_database);
    return 0;
}
