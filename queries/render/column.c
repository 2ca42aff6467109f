/* SPDX-License-Identifier: MIT */
#include "queries/render/column.h"

#include "lib/base/units.h"
#include "queries/db/rundb.h"
#include "queries/render/shorten.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LONGEST_REAL = 1000 /* from here on counts have no fraction */
};

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t m = strlen(suffix);

    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* Suffixes are compared, so "bytes" stands for itself and for every "…_bytes". */
static const struct {
    const char *suffix;
    enum column_unit unit;
} suffixes[] = {
    {"bytes_per_s", COLUMN_BYTES_PER_S},
    {"bytes", COLUMN_BYTES},
    {"bytes_margin", COLUMN_BYTES},
    {"length_bytes", COLUMN_BYTES},
    {"_unix_ns", COLUMN_WALL_CLOCK},
    {"_ns", COLUMN_TIME},
    {"share", COLUMN_SHARE},
    {"share_of_site", COLUMN_SHARE},
    {"share_of_live", COLUMN_SHARE},
    {"share_unused", COLUMN_SHARE},
    {"fit", COLUMN_SHARE},
    {"address", COLUMN_ADDRESS},
    {"object_offset", COLUMN_ADDRESS},
    {"_id", COLUMN_ID},
    {"source", COLUMN_PATH},
    {"module", COLUMN_PATH},
    {"path", COLUMN_PATH},
};

static const char *const id_names[] = {"pid",  "tid",   "line",          "fd",
                                       "prot", "flags", "column_number", NULL};
static const char *const text_names[] = {
    "kind",   "name",    "thread",           "free_thread",   "status", "at",
    "reason", "pattern", "usually_freed_in", "suppressed_by", NULL};
static const char *const function_names[] = {"function", "usually_freed_in", "raw_name", NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

enum column_unit column_unit_of(const char *name)
{
    if (is_one_of(name, function_names))
        return COLUMN_FUNCTION;
    if (is_one_of(name, text_names))
        return COLUMN_TEXT;
    if (is_one_of(name, id_names))
        return COLUMN_ID;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (ends_with(name, suffixes[i].suffix))
            return suffixes[i].unit;
    }
    return COLUMN_COUNT;
}

/* Headings that the rules of column_heading do not make. */
static const struct {
    const char *name;
    const char *heading;
} headings[] = {
    {"alloc_ns", "allocated at"},
    {"at_ns", "time"},
    {"bytes_per_s", "rate"},
    {"command_line", "command"},
    {"end_kind", "ended by"},
    {"end_value", "status"},
    {"errno_name", "error"},
    {"extent_bytes", "size"},
    {"first_ns", "first at"},
    {"first_path", "first claimed by"},
    {"flag_names", "flags"},
    {"free_thread", "its name"},
    {"free_thread_id", "freed by thread"},
    {"grown_bytes", "growth"},
    {"growth_bytes", "growth"},
    {"growth_objects", "more objects"},
    {"hole_bytes", "holes"},
    {"holes", "number"},
    {"inline_level", "inlined"},
    {"interval_ns", "first to last"},
    {"last_ns", "last at"},
    {"length_bytes", "size"},
    {"free_page_bytes", "free pages"},
    {"live_end_bytes", "live at end"},
    {"mapped_ns", "mapped at"},
    {"object_offset", "offset"},
    {"own_peak_ns", "own peak at"},
    {"parameter_name", "name"},
    {"peak_ns", "peak at"},
    {"peak_rss_bytes", "peak RSS"},
    {"seen_ns", "first seen"},
    {"self_bytes", "own"},
    {"share_of_site", "never freed"},
    {"signal_name", "signal"},
    {"size_bytes", "size"},
    {"slack_bytes", "rounding"},
    {"stack_bytes", "stack size"},
    {"start_ns", "start"},
    {"thread", "name"},
    {"top_bytes", "free at top"},
    {"turnover", "times reused"},
    {"unused_share", "not live"},
    {"usable_bytes", "held by blocks"},
    {"would_free_bytes", "would free"},
};

/* Parts of names, and what headings have instead. */
static const struct {
    const char *part;
    const char *instead;
} parts[] = {
    {"_bytes_margin", " ±"},    {"_blocks_margin", " blocks ±"}, {"inclusive_", "total "},
    {"self_", "own "},          {"backtrace", "stack"},          {"call_site", "site"},
    {"allocation_id", "block"},
};

static void replace_part(char *text, const char *part, const char *instead)
{
    char rest[COLUMN_HEADING_BYTES];
    char *at = strstr(text, part);

    if (!at)
        return;
    (void)snprintf(rest, sizeof(rest), "%s", at + strlen(part));
    (void)snprintf(at, COLUMN_HEADING_BYTES - (size_t)(at - text), "%s%s", instead, rest);
}

const char *column_heading(const char *name, char ret_text[COLUMN_HEADING_BYTES])
{
    static const char *const units[] = {"_bytes", "_ns", "_id"};
    size_t length;

    for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++) {
        if (strcmp(name, headings[i].name) == 0) {
            name = headings[i].heading;
            break;
        }
    }
    (void)snprintf(ret_text, COLUMN_HEADING_BYTES, "%s", name);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        replace_part(ret_text, parts[i].part, parts[i].instead);
    length = strlen(ret_text);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (ends_with(ret_text, units[i]))
            ret_text[length - strlen(units[i])] = '\0';
    }
    for (char *at = ret_text; *at; at++) {
        if (*at == '_')
            *at = ' ';
    }
    return ret_text;
}

enum table_rank column_rank(const char *name)
{
    static const char *const kept[] = {"at",      "start_ns", "name",       "key", "value", "what",
                                       "library", "path",     "executable", "pid", "frame"};
    static const char *const minor[] = {"tid", "fd", "bucket", "inline_level"};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (strcmp(name, kept[i]) == 0)
            return TABLE_RANK_KEPT;
    }
    for (size_t i = 0; i < sizeof(minor) / sizeof(minor[0]); i++) {
        if (strcmp(name, minor[i]) == 0)
            return TABLE_RANK_ID;
    }
    if (strcmp(name, "process_id") == 0)
        return TABLE_RANK_KEPT; /* it is there only if there are several */
    switch (column_unit_of(name)) {
    case COLUMN_ID:
    case COLUMN_ADDRESS:
        return TABLE_RANK_ID;
    case COLUMN_FUNCTION:
    case COLUMN_PATH:
        return TABLE_RANK_KEPT;
    case COLUMN_TEXT:
        return TABLE_RANK_TEXT;
    case COLUMN_BYTES:
        return TABLE_RANK_BYTES;
    default:
        return TABLE_RANK_NUMBER;
    }
}

bool column_is_number(enum column_unit unit)
{
    return unit != COLUMN_TEXT && unit != COLUMN_FUNCTION && unit != COLUMN_PATH;
}

bool column_is_largest_first(const char *name)
{
    switch (column_unit_of(name)) {
    case COLUMN_COUNT:
    case COLUMN_BYTES:
    case COLUMN_BYTES_PER_S:
    case COLUMN_SHARE:
        return true;
    case COLUMN_TIME:
        return strstr(name, "interval") || strstr(name, "lifetime") || strstr(name, "duration");
    default:
        return false;
    }
}

static void format_wall_clock(int64_t unix_ns, char *text, size_t size)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm local;

    if (!localtime_r(&seconds, &local) || strftime(text, size, "%F %T", &local) == 0)
        (void)snprintf(text, size, "%" PRId64, unix_ns);
}

static void format_integer(int64_t value, enum column_unit unit, char *text, size_t size)
{
    char number[UNITS_TEXT_BYTES];

    switch (unit) {
    case COLUMN_BYTES:
        (void)snprintf(text, size, "%s", units_format_bytes(value, number));
        break;
    case COLUMN_BYTES_PER_S:
        (void)snprintf(text, size, "%s", units_format_rate((double)value, number));
        break;
    case COLUMN_TIME:
        (void)snprintf(text, size, "%s", units_format_duration(value, number));
        break;
    case COLUMN_WALL_CLOCK:
        format_wall_clock(value, text, size);
        break;
    case COLUMN_ADDRESS:
        (void)snprintf(text, size, "0x%" PRIx64, (uint64_t)value);
        break;
    case COLUMN_SHARE:
        (void)snprintf(text, size, "%s", units_format_share((double)value, number));
        break;
    case COLUMN_COUNT:
        (void)snprintf(text, size, "%s", units_format_count(value, number));
        break;
    default:
        (void)snprintf(text, size, "%" PRId64, value);
        break;
    }
}

/* The value clamped to int64_t; 0 for NaN, which databases of others may contain. */
static int64_t nearest_integer(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    if (value < -0x1p63)
        return INT64_MIN;
    return value == value ? (int64_t)value : 0;
}

static void format_real(double value, enum column_unit unit, char *text, size_t size)
{
    char number[UNITS_TEXT_BYTES];

    if (unit == COLUMN_SHARE)
        (void)snprintf(text, size, "%s", units_format_share(value, number));
    else if (unit == COLUMN_BYTES_PER_S)
        (void)snprintf(text, size, "%s", units_format_rate(value, number));
    else if (unit == COLUMN_BYTES || unit == COLUMN_TIME)
        format_integer(nearest_integer(value), unit, text, size);
    else if (value >= LONGEST_REAL && unit == COLUMN_COUNT)
        (void)snprintf(text, size, "%s", units_format_count(nearest_integer(value), number));
    else
        (void)snprintf(text, size, "%.4g", value);
}

/* "00FF", as the function hex says. */
static void format_blob(struct sqlite3_stmt *row, int column, char *text, size_t size)
{
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    size_t n = (size_t)sqlite3_column_bytes(row, column);

    text[0] = '\0';
    for (size_t i = 0; i < n && 2 * i + 3 <= size; i++)
        (void)snprintf(text + 2 * i, 3, "%02X", bytes[i]);
}

/* Like other control characters in tables. */
static void format_with_nuls(const char *source, size_t n_bytes, char *text, size_t size)
{
    size_t n = n_bytes < size ? n_bytes : size - 1;

    for (size_t i = 0; i < n; i++)
        text[i] = source[i] ? source[i] : '?';
    text[n] = '\0';
}

void column_format(struct sqlite3_stmt *row, int column, enum column_unit unit, bool is_wide,
                   char *ret_text, size_t size)
{
    const char *text;
    size_t n_bytes;

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        (void)snprintf(ret_text, size, "-");
        return;
    case SQLITE_INTEGER:
        format_integer(sqlite3_column_int64(row, column), unit, ret_text, size);
        return;
    case SQLITE_FLOAT:
        format_real(sqlite3_column_double(row, column), unit, ret_text, size);
        return;
    case SQLITE_BLOB:
        format_blob(row, column, ret_text, size);
        return;
    default:
        text = rundb_text_bytes(row, column, &n_bytes);
        break;
    }
    if (memchr(text, '\0', n_bytes))
        format_with_nuls(text, n_bytes, ret_text, size);
    else if (!is_wide && unit == COLUMN_FUNCTION)
        shorten_function(text, ret_text, size);
    else
        (void)snprintf(ret_text, size, "%s",
                       is_wide || unit != COLUMN_PATH ? text : shorten_path(text));
}
