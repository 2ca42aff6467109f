/* SPDX-License-Identifier: MIT */
#include "queries/filter/id_ranges.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/db/rundb.h"

#include <stdlib.h>

int id_ranges_first(const struct rundb *database, int64_t ns, int64_t *ret_id, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t low = 1;
    int64_t high = 0;
    int rc =
        rundb_get_int64(database, "SELECT max(allocation_id) + 1 FROM allocation_rows", &high, err);

    if (rc == 0)
        rc = rundb_prepare(database,
                           "SELECT alloc_ns FROM allocation_rows WHERE allocation_id >= ?1"
                           " ORDER BY allocation_id LIMIT 1",
                           &stmt, err);
    if (rc != 0)
        return rc;
    while (rc >= 0 && low < high) {
        int64_t middle = low + (high - low) / 2;

        sqlite3_bind_int64(stmt, 1, middle);
        rc = rundb_step(database, stmt, err);
        if (rc == 0 || (rc == 1 && sqlite3_column_int64(stmt, 0) >= ns))
            high = middle;
        else
            low = middle + 1;
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    *ret_id = low;
    return rc < 0 || rc > 1 ? rc : 0;
}

/* ---- markers ---- */

/* Blocks first..last - 1 of a process. */
struct range {
    int64_t process_id, first, last;
};

struct ranges {
    struct range *list; /* by process, then by id; disjoint */
    size_t n, capacity;
};

/* Extends the previous range if the new one overlaps or touches it. */
static bool add_range(struct ranges *ranges, struct range range)
{
    struct range *last = ranges->n ? &ranges->list[ranges->n - 1] : NULL;
    struct range *list;

    if (range.first >= range.last)
        return true;
    if (last && last->process_id == range.process_id && last->last >= range.first) {
        last->last = last->last > range.last ? last->last : range.last;
        return true;
    }
    list = dynamic_array_reserve(ranges->list, &ranges->capacity, ranges->n + 1, sizeof(*list));
    if (!list)
        return false;
    ranges->list = list;
    list[ranges->n++] = range;
    return true;
}

static int read_ranges(const struct rundb *database, const char *marker, struct ranges *ranges,
                       struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        database,
        "SELECT process_id, at_ns, ifnull(next_ns, 0x7fffffffffffffff) FROM (SELECT *,"
        " lead(at_ns) OVER (PARTITION BY process_id ORDER BY at_ns, marker_id) AS next_ns FROM markers)"
        " WHERE ?1 IN (marker_id || '', name) ORDER BY process_id, at_ns, marker_id",
        &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_text(stmt, 1, marker, -1, SQLITE_STATIC);
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        struct range range = {.process_id = sqlite3_column_int64(stmt, 0)};

        rc = id_ranges_first(database, sqlite3_column_int64(stmt, 1), &range.first, err);
        if (rc == 0)
            rc = id_ranges_first(database, sqlite3_column_int64(stmt, 2), &range.last, err);
        if (rc == 0 && !add_range(ranges, range))
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu markers", ranges->n);
        if (rc != 0)
            break;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Reads ranges of ids; `of` names them in an error. */
static int read_known(const struct rundb *database, const char *sql, const char *name,
                      const char *of, struct ranges *ranges, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        struct range range = {.process_id = sqlite3_column_int64(stmt, 0),
                              .first = sqlite3_column_int64(stmt, 1),
                              .last = saturating_add(sqlite3_column_int64(stmt, 2), 1)};

        if (!add_range(ranges, range)) {
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu %s", ranges->n, of);
            break;
        }
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int read_phases(const struct rundb *database, const char *phase, struct ranges *ranges,
                       struct error *err)
{
    return read_known(database,
                      "SELECT process_id, first_allocation_id, last_allocation_id FROM phases"
                      " WHERE ?1 IN (phase_id || '', name) AND first_allocation_id IS NOT NULL"
                      " ORDER BY process_id, first_allocation_id",
                      phase, "phases", ranges, err);
}

static int read_windows(const struct rundb *database, const char *window, struct ranges *ranges,
                        struct error *err)
{
    return read_known(database,
                      "SELECT process_id, first_allocation_id, last_allocation_id FROM windows"
                      " WHERE ?1 = window_id || '' AND first_allocation_id IS NOT NULL",
                      window, "windows", ranges, err);
}

/* A tree of comparisons, halved at each step: one range is its leaf. */
static void append_ranges(const struct range *list, size_t n, struct sqlite3_str *out)
{
    const struct range *middle = &list[n / 2];

    if (n == 0) {
        sqlite3_str_appendall(out, "0");
    } else if (n == 1) {
        sqlite3_str_appendf(out,
                            "(p.process_id = %lld AND a.allocation_id >= %lld AND"
                            " a.allocation_id < %lld)",
                            (long long)list->process_id, (long long)list->first,
                            (long long)list->last);
    } else {
        sqlite3_str_appendf(out, "iif((p.process_id, a.allocation_id) < (%lld, %lld), ",
                            (long long)middle->process_id, (long long)middle->first);
        append_ranges(list, n / 2, out);
        sqlite3_str_appendall(out, ", ");
        append_ranges(middle, n - n / 2, out);
        sqlite3_str_appendall(out, ")");
    }
}

typedef int read_fn(const struct rundb *database, const char *name, struct ranges *ret_ranges,
                    struct error *err);

static int append_read(const struct rundb *database, const char *name, read_fn *read,
                       struct sqlite3_str *out, struct error *err)
{
    struct ranges ranges = {.n = 0};
    int rc = read(database, name, &ranges, err);

    if (rc == 0)
        append_ranges(ranges.list, ranges.n, out);
    free(ranges.list);
    return rc;
}

int id_ranges_append_markers(const struct rundb *database, const char *marker,
                             struct sqlite3_str *out, struct error *err)
{
    return append_read(database, marker, read_ranges, out, err);
}

int id_ranges_append_phases(const struct rundb *database, const char *phase,
                            struct sqlite3_str *out, struct error *err)
{
    return append_read(database, phase, read_phases, out, err);
}

int id_ranges_append_windows(const struct rundb *database, const char *window,
                             struct sqlite3_str *out, struct error *err)
{
    return append_read(database, window, read_windows, out, err);
}
