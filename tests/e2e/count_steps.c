/* SPDX-License-Identifier: MIT */
/*
 * count_steps DATABASE COMMAND [NAME=VALUE…]: runs a query, drops its answer, and prints how
 * many steps SQLite's virtual machine took for it: the same number on any machine, however busy.
 */
#include "lib/base/error.h"
#include "queries/api/queries.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t n_steps;

/* Called at the end of a statement, whose counter then starts again. */
static int add_steps(unsigned kind, void *context, void *stmt, void *time)
{
    (void)kind;
    (void)context;
    (void)time;
    n_steps += sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
}

/* SQLite calls it with each connection that is opened. */
static int watch(sqlite3 *db, const char **message, const void *api)
{
    (void)message;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, add_steps, NULL);
}

static int ask(char **arguments, struct query_request *request, FILE *out, struct error *err)
{
    const struct queries_output output = {.out = out};
    const struct command *command;
    int rc = queries_find_command(arguments[1], &command, err);

    if (rc == 0) {
        queries_set_command(request, command);
        rc = queries_set_database(request, arguments[0], err);
    }
    for (char **argument = arguments + 2; rc == 0 && *argument; argument++) {
        char *value = strchr(*argument, '=');

        if (value)
            *value++ = '\0';
        rc = queries_set(request, *argument, value, err);
    }
    return rc == 0 ? queries_run(request, &output, err) : rc;
}

int main(int argc, char **argv)
{
    struct query_request *request = queries_new(NULL, NULL);
    FILE *out = fopen("/dev/null", "w");
    struct error err = {0};

    if (argc < 3 || !request || !out
        || sqlite3_auto_extension((void (*)(void))(uintptr_t)watch) != SQLITE_OK) {
        (void)fprintf(stderr, "usage: count_steps DATABASE COMMAND [NAME=VALUE...]\n");
        return 2;
    }
    if (ask(argv + 1, request, out, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    queries_free(request);
    (void)fclose(out);
    printf("%lld\n", (long long)n_steps);
    return 0;
}
