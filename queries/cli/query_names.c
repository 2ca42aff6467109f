/* SPDX-License-Identifier: MIT */
#include "queries/cli/query_names.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"

#include <string.h>
#include <unistd.h>

static bool is_file(const char *name)
{
    return access(name, F_OK) == 0;
}

static bool looks_like_path(const char *name)
{
    return strpbrk(name, "./") != NULL;
}

static bool is_named_as_ours(const char *name)
{
    size_t length = strlen(name);

    return length > 3
           && (strcmp(name + length - 3, ".db") == 0
               || (length > 4 && strcmp(name + length - 4, ".dat") == 0));
}

/* Chooses the database: the first file with a database's name, else the first file, else the first
 * name that looks like a database. */
static int find_database(const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (is_named_as_ours(names[i]) && is_file(names[i]))
            return i;
    }
    for (int i = 0; i < n; i++) {
        if (is_file(names[i]))
            return i;
    }
    for (int i = 0; i < n; i++) {
        if (looks_like_path(names[i]) && !strchr(names[i], ' '))
            return i;
    }
    return 0;
}

static const struct command *find(const char *name)
{
    const struct command *command;

    return queries_find_command(name, &command, NULL) == 0 ? command : NULL;
}

/* "run.db leaks" means "leaks run.db". */
static void put_command_first(const char **names, int n_names)
{
    if (n_names > 1 && !find(names[0]) && is_file(names[0]) && find(names[1])) {
        const char *database = names[0];
        names[0] = names[1];
        names[1] = database;
    }
}

static int find_command(const char *const *names, int n_names, const struct command **ret_command,
                        int *ret_used, struct error *err)
{
    const char *first = n_names > 0 ? names[0] : NULL;

    *ret_used = 0;
    if (!first)
        return error_set(err, ERROR_USAGE, "no database is named");
    *ret_command = find(first);
    if (*ret_command) {
        *ret_used = 1;
        return 0;
    }
    if (n_names > 1 && strcmp(first, "help") == 0)
        return queries_find_command(names[1], ret_command, err);
    if (!is_file(first) && (n_names > 1 || !looks_like_path(first)))
        return queries_find_command(first, ret_command, err);
    return queries_find_command("summary", ret_command, err);
}

/* views and describe need no database but accept one */
static bool is_needless(const struct command *command, const char *name)
{
    return !command->needs_database && is_named_as_ours(name) && is_file(name);
}

int query_names_assign(const char **names, int n_names, struct query_names *ret, struct error *err)
{
    int used;
    int database = -1;
    int rc;

    *ret = (struct query_names){.n_arguments = 0};
    put_command_first(names, n_names);
    rc = find_command(names, n_names, &ret->command, &used, err);
    if (rc != 0)
        return rc;
    if (ret->command->needs_database) {
        if (used == n_names)
            return error_set(err, ERROR_USAGE, "%s needs a database", ret->command->name);
        database = used + find_database(names + used, n_names - used);
        ret->database = names[database];
    }
    for (int i = used; i < n_names && ret->n_arguments < QUERY_MAX_NAMES; i++) {
        if (i != database && !is_needless(ret->command, names[i]))
            ret->arguments[ret->n_arguments++] = names[i];
    }
    return 0;
}

int query_names_assign_sealed(const char *database, const char *const *names, int n_names,
                              struct query_names *ret, struct error *err)
{
    int rc = queries_find_command(n_names > 0 ? names[0] : "summary", &ret->command, err);

    ret->n_arguments = 0;
    ret->database = rc == 0 && ret->command->needs_database ? database : NULL;
    for (int i = 1; rc == 0 && i < n_names && ret->n_arguments < QUERY_MAX_NAMES; i++)
        ret->arguments[ret->n_arguments++] = names[i];
    return rc;
}
