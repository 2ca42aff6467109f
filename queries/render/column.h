/* SPDX-License-Identifier: MIT */
/*
 * column: the meaning of a value, from the name of its column.
 *
 * All names in the database carry their units (…_bytes, …_ns, …_share, …_address, …_id), so tables
 * need no other description of their columns. Values in tables have their own unit ("12 MiB", "3
 * s"), so headings have none: peak_ns is "peak at", leaked_bytes is "leaked".
 */
#ifndef MTRACE_QUERIES_COLUMN_H
#define MTRACE_QUERIES_COLUMN_H

#include "queries/render/table.h"

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

enum {
    COLUMN_HEADING_BYTES = 128
};

/* The heading for people; cut to the size of ret_text. Returns ret_text. */
const char *column_heading(const char *name, char ret_text[COLUMN_HEADING_BYTES]);

/* The rank of a column in a narrow table (table.h). */
enum table_rank column_rank(const char *name);

/* True for sizes, counts and durations, which sort largest first. Times, addresses, names and ids
 * sort ascending. */
bool column_is_largest_first(const char *name);

/* Formats a value of a row for people, cut to `size` bytes. NULL becomes "-". is_wide: names and
 * paths are not shortened. */
void column_format(struct sqlite3_stmt *row, int column, enum column_unit unit, bool is_wide,
                   char *ret_text, size_t size);

#endif
