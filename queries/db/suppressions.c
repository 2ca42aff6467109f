/* SPDX-License-Identifier: MIT */
#include "queries/db/suppressions.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct glob {
    char *text;
    size_t used;
    size_t size;
};

static void put(struct glob *glob, const char *text)
{
    for (; *text; text++) {
        if (glob->used < glob->size)
            glob->text[glob->used] = *text;
        glob->used++;
    }
}

int suppressions_to_glob(const char *pattern, char *ret_glob, size_t size, struct error *err)
{
    struct glob glob = {ret_glob, 0, size};
    const char *from = pattern;
    size_t length = strlen(pattern);
    bool is_tied_to_start = length > 0 && pattern[0] == '^';
    bool is_tied_to_end = length > (is_tied_to_start ? 1u : 0u) && pattern[length - 1] == '$';

    from += is_tied_to_start;
    length -= (size_t)is_tied_to_start + (size_t)is_tied_to_end;
    if (strspn(from, "*") >= length)
        return error_set(err, ERROR_USAGE, "an empty pattern would suppress every leak");
    put(&glob, is_tied_to_start ? "" : "*");
    for (size_t i = 0; i < length; i++) {
        const char letter[2] = {from[i], '\0'};
        /* GLOB's other special characters stand for themselves in a class of their own. */
        put(&glob, from[i] == '[' ? "[[]" : from[i] == '?' ? "[?]" : letter);
    }
    put(&glob, is_tied_to_end ? "" : "*");
    if (glob.used >= size)
        return error_set(err, ERROR_USAGE, "the pattern is longer than %zu bytes", size / 2);
    ret_glob[glob.used] = '\0';
    return 0;
}

static char *trim(char *line)
{
    size_t length;

    line += strspn(line, " \t");
    length = strlen(line);
    while (length > 0 && strchr(" \t\r\n", line[length - 1]))
        line[--length] = '\0';
    return line;
}

static int add_rule(struct sqlite3_stmt *insert, const char *rule, struct error *err)
{
    static const char kind[] = "leak:";
    char glob[SUPPRESSIONS_PATTERN_BYTES];
    int rc;

    if (strncmp(rule, kind, strlen(kind)) != 0)
        return error_set(err, ERROR_USAGE, "'%s' is not a rule; write leak:PATTERN", rule);
    rc = suppressions_to_glob(rule + strlen(kind), glob, sizeof(glob), err);
    if (rc != 0)
        return rc;
    sqlite3_bind_text(insert, 1, rule, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(insert, 2, glob, -1, SQLITE_TRANSIENT);
    rc = sqlite3_step(insert) == SQLITE_DONE
             ? 0
             : error_set(err, ERROR_NOMEM, "no memory for rule '%s'", rule);
    sqlite3_reset(insert);
    return rc;
}

static int read_rules(FILE *in, const char *path, struct sqlite3_stmt *insert, struct error *err)
{
    char *line = NULL;
    size_t size = 0;
    unsigned long number = 0;
    int rc = 0;

    while (rc == 0 && getline(&line, &size, in) >= 0) {
        struct error cause;
        char *rule = trim(line);

        number++;
        if (*rule == '\0' || *rule == '#')
            continue;
        rc = add_rule(insert, rule, &cause);
        if (rc != 0)
            error_set(err, (enum error_code)rc, "'%s' line %lu: %.300s", path, number, cause.text);
    }
    if (rc == 0 && ferror(in))
        rc = error_set_errno(err, errno, "cannot read '%s'", path);
    free(line);
    return rc;
}

/* Loaded over the view of the same name in the file. */
static const char setup_sql[] =
    "CREATE TEMP TABLE user_suppressions (rule_id INTEGER PRIMARY KEY, rule TEXT, pattern TEXT);"
    "DROP VIEW temp.suppressions;"
    "CREATE TEMP VIEW suppressions(rule_id, rule, pattern) AS "
    "SELECT rule_id, rule, pattern FROM user_suppressions UNION ALL "
    "SELECT rule_id + (SELECT count(*) FROM user_suppressions), rule, pattern FROM"
    " (SELECT * FROM _recorded_suppressions UNION ALL SELECT * FROM _builtin_suppressions)";

int suppressions_load(struct rundb *database, const char *path, struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    FILE *in = fopen(path, "re");
    int rc;

    if (!in)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    rc = rundb_run(database, setup_sql, err);
    if (rc == 0)
        rc = rundb_prepare(database, "INSERT INTO user_suppressions(rule, pattern) VALUES (?1, ?2)",
                           &insert, err);
    if (rc == 0)
        rc = read_rules(in, path, insert, err);
    sqlite3_finalize(insert);
    (void)fclose(in);
    if (rc == 0)
        rc = rundb_compute(database, RUNDB_SUPPRESSED_STACKS | RUNDB_SITE_LEAKS, err);
    return rc;
}
