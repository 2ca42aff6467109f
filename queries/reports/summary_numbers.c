/* SPDX-License-Identifier: MIT */
#include "queries/reports/summary_numbers.h"

#include "lib/base/utf8.h"
#include "queries/core/query.h"

#include <stdio.h>
#include <string.h>

int summary_numbers_read(const struct query *query, int64_t process_id,
                         struct summary_numbers *numbers, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database,
                           "SELECT name, value, unit FROM summary WHERE process_id = :process",
                           &stmt, err);

    if (rc != 0)
        return rc;
    numbers->n = 0;
    sqlite3_bind_int64(stmt, 1, process_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1
           && numbers->n < SUMMARY_MAX_NUMBERS) {
        struct summary_number *number = &numbers->list[numbers->n++];

        (void)snprintf(number->name, sizeof(number->name), "%s", rundb_text(stmt, 0));
        (void)snprintf(number->text, sizeof(number->text), "%s", rundb_text(stmt, 1));
        utf8_clean(number->text);
        (void)snprintf(number->unit, sizeof(number->unit), "%s", rundb_text(stmt, 2));
        number->value = sqlite3_column_int64(stmt, 1);
        number->share = sqlite3_column_double(stmt, 1);
        number->is_known = sqlite3_column_type(stmt, 1) != SQLITE_NULL;
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

const struct summary_number *summary_numbers_find(const struct summary_numbers *numbers,
                                                  const char *name)
{
    for (size_t i = 0; i < numbers->n; i++)
        if (strcmp(numbers->list[i].name, name) == 0)
            return &numbers->list[i];
    return NULL;
}

int64_t summary_number(const struct summary_numbers *numbers, const char *name)
{
    const struct summary_number *number = summary_numbers_find(numbers, name);

    return number ? number->value : 0;
}

double summary_share(const struct summary_numbers *numbers, const char *name)
{
    const struct summary_number *number = summary_numbers_find(numbers, name);

    return number ? number->share : 0;
}

const char *summary_text(const struct summary_numbers *numbers, const char *name)
{
    const struct summary_number *number = summary_numbers_find(numbers, name);

    return number ? number->text : "";
}

bool summary_is_known(const struct summary_numbers *numbers, const char *name)
{
    const struct summary_number *number = summary_numbers_find(numbers, name);

    return number && number->is_known;
}

double summary_margin(const struct summary_numbers *numbers, const char *name)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s_margin", name);
    return summary_is_known(numbers, text) ? summary_share(numbers, text) : -1;
}

const char *summary_other_allocator(const struct summary_numbers *numbers)
{
    const char *allocator = summary_text(numbers, "allocator");

    return *allocator && strcmp(allocator, "glibc") != 0 ? allocator : NULL;
}
