/* SPDX-License-Identifier: MIT */
/*
 * column: the meaning of a value, from the name of its column.
 *
 * All names in the database carry their units (…_bytes, …_ns, …_share, …_address, …_id), so tables
 * need no other description of their columns.
 */
#ifndef MTRACE_QUERIES_COLUMN_H
#define MTRACE_QUERIES_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

enum column_unit {
    COLUMN_TEXT,
    COLUMN_COUNT,
    COLUMN_BYTES,
    COLUMN_BYTES_PER_S,
    COLUMN_TIME,
    COLUMN_WALL_CLOCK, /* nanoseconds since 1970; in tables the local time */
    COLUMN_SHARE,
    COLUMN_ADDRESS,
    COLUMN_ID, /* a number that is a name: never grouped or scaled */
    COLUMN_FUNCTION,
    COLUMN_PATH,
};

struct sqlite3_stmt;

enum column_unit column_unit_of(const char *name);

bool column_is_number(enum column_unit unit);

/* True for sizes, counts and durations, which sort largest first. Times, addresses, names and ids
 * sort ascending. */
bool column_is_largest_first(const char *name);

/* Formats a value of a row for people, cut to `size` bytes. NULL becomes "-". is_wide: names and
 * paths are not shortened. */
void column_format(struct sqlite3_stmt *row, int column, enum column_unit unit, bool is_wide,
                   char *ret_text, size_t size);

#endif
