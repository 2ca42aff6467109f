/* SPDX-License-Identifier: MIT */
#include "queries/reports/timely_functions.h"

#include "lib/base/error.h"
#include "lib/sqlite/database_guard.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ARGUMENTS = 127, /* maximum number of arguments: SQLite's own limit until 3.48 */
};

/* Product of the lengths of both texts: about ten milliseconds of comparing names. */
#define PATCH_PRODUCT (INT64_C(1) << 32)

/* Shared by all functions of a connection; freed with the last one. */
struct timely {
    const struct database_stop *stop;
    int64_t length; /* of the longest value */
    int64_t pattern_length;
    struct sqlite3 *plain; /* its functions are SQLite's own */
    int n_users;
};

struct function {
    struct timely *timely;
    const char *name;
    struct sqlite3_stmt *calls[MAX_ARGUMENTS + 1]; /* of `plain`, by the number of arguments */
};

static const struct timely *timely_of(struct sqlite3_context *context)
{
    return ((const struct function *)sqlite3_user_data(context))->timely;
}

static bool is_stopped(struct sqlite3_context *context)
{
    if (!database_stop_is_due(timely_of(context)->stop))
        return false;
    sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    return true;
}

/* ---- as SQLite does it ---- */

static struct sqlite3_stmt *prepare_call(struct function *function, int n)
{
    struct sqlite3_str *sql = sqlite3_str_new(function->timely->plain);
    char *text;

    sqlite3_str_appendf(sql, "SELECT %s(", function->name);
    for (int i = 1; i <= n; i++)
        sqlite3_str_appendf(sql, i > 1 ? ",?%d" : "?%d", i);
    sqlite3_str_appendall(sql, ")");
    text = sqlite3_str_finish(sql);
    if (text)
        (void)sqlite3_prepare_v3(function->timely->plain, text, -1, SQLITE_PREPARE_PERSISTENT,
                                 &function->calls[n], NULL);
    sqlite3_free(text);
    return function->calls[n];
}

static void call(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    struct function *function = sqlite3_user_data(context);
    struct sqlite3 *plain = function->timely->plain;
    struct sqlite3_stmt *stmt = function->calls[n] ? function->calls[n] : prepare_call(function, n);

    for (int i = 0; stmt && i < n; i++)
        (void)sqlite3_bind_value(stmt, i + 1, values[i]);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        sqlite3_result_value(context, sqlite3_column_value(stmt, 0));
    } else {
        sqlite3_result_error(context, sqlite3_errmsg(plain), -1);
        sqlite3_result_error_code(context, sqlite3_errcode(plain));
    }
    if (stmt) {
        (void)sqlite3_reset(stmt);
        (void)sqlite3_clear_bindings(stmt);
    }
}

/* ---- printf ---- */

/* A format string and the position in it. */
struct reading {
    const char *at, *end;
    struct sqlite3_value **values;
    int n, next;
};

static struct sqlite3_value *next_value(struct reading *reading)
{
    return reading->next < reading->n ? reading->values[reading->next++] : NULL;
}

/* A width or precision: SQLite keeps 31 bits and uses the absolute value of a negative one. */
static int64_t read_number(struct reading *reading)
{
    int64_t number = 0;

    if (*reading->at == '*') {
        struct sqlite3_value *value = next_value(reading);

        reading->at++;
        number = value ? (int32_t)(uint32_t)sqlite3_value_int64(value) : 0;
        return number < 0 ? -number : number;
    }
    while (reading->at < reading->end && isdigit((unsigned char)*reading->at))
        number = (number * 10 + (*reading->at++ - '0')) & INT32_MAX;
    return number;
}

/* The padding or digits that the conversion adds to its value. A precision only cuts texts. Too
 * long integers end the statement. */
static int64_t read_conversion(struct reading *reading)
{
    int64_t n = 0;

    while (reading->at < reading->end && strchr("-+ #!0,.l*123456789", *reading->at)) {
        if (*reading->at == '*' || (isdigit((unsigned char)*reading->at) && *reading->at != '0'))
            n += read_number(reading);
        else
            reading->at++;
    }
    if (reading->at == reading->end)
        return 0;
    if (!strchr("%n", *reading->at))
        (void)next_value(reading);
    return strchr("cfeEgG", *reading->at++) ? n : 0;
}

static int64_t repeated(int n, struct sqlite3_value **values)
{
    const char *format = (const char *)sqlite3_value_text(values[0]);
    struct reading reading = {format, format, values, n, 1};
    int64_t sum = 0;

    if (!format)
        return 0;
    reading.end = format + strlen(format);
    while ((reading.at = memchr(reading.at, '%', (size_t)(reading.end - reading.at)))) {
        reading.at++;
        sum += read_conversion(&reading); /* 31 bits each, of at most 2^30 letters */
    }
    return sum;
}

static void print(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    if (is_stopped(context))
        return;
    if (n > 0 && repeated(n, values) > timely_of(context)->length)
        sqlite3_result_error_toobig(context);
    else
        call(context, n, values);
}

/* ---- texts ---- */

static void patch(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    const struct timely *timely = timely_of(context);
    int64_t product = (int64_t)sqlite3_value_bytes(values[0]) * sqlite3_value_bytes(values[1]);

    if (is_stopped(context))
        return;
    if (timely->stop && timely->stop->until_ns && product > PATCH_PRODUCT)
        sqlite3_result_error(context, "json_patch of texts that are both long takes too long", -1);
    else
        call(context, n, values);
}

static bool is_inside(char letter)
{
    return ((unsigned char)letter & 0xc0) == 0x80;
}

/* The position of the needle in bytes; -1: not found. In a text it must begin at a character. */
static int64_t find(const char *hay, int n_hay, const char *needle, int n_needle, bool is_text)
{
    const char *found;

    if (is_text && is_inside(*needle))
        return n_needle <= n_hay && memcmp(hay, needle, (size_t)n_needle) == 0 ? 0 : -1;
    found = memmem(hay, (size_t)n_hay, needle, (size_t)n_needle);
    return found ? found - hay : -1;
}

static int position(const char *hay, int64_t at, bool is_text)
{
    int n = 1;

    for (int64_t i = 1; i <= at; i++)
        n += !is_text || !is_inside(hay[i]);
    return at < 0 ? 0 : n;
}

static void instr(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    bool is_text = sqlite3_value_type(values[0]) != SQLITE_BLOB
                   || sqlite3_value_type(values[1]) != SQLITE_BLOB;
    const char *texts[2];
    int sizes[2];

    if (is_stopped(context) || sqlite3_value_type(values[0]) == SQLITE_NULL
        || sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    for (int i = 0; i < n; i++) {
        texts[i] = is_text ? (const char *)sqlite3_value_text(values[i])
                           : (const char *)sqlite3_value_blob(values[i]);
        sizes[i] = sqlite3_value_bytes(values[i]);
        if (!texts[i] && sizes[i] > 0) {
            sqlite3_result_error_nomem(context);
            return;
        }
    }
    if (sizes[1] == 0 || sizes[0] == 0)
        sqlite3_result_int(context, sizes[1] == 0);
    else
        sqlite3_result_int(
            context,
            position(texts[0], find(texts[0], sizes[0], texts[1], sizes[1], is_text), is_text));
}

static void replace_all(struct sqlite3_str *out, const char *text, int n_text, const char *pattern,
                        int n_pattern, const char *by, int n_by)
{
    int64_t at;

    while (sqlite3_str_errcode(out) == SQLITE_OK
           && (at = find(text, n_text, pattern, n_pattern, false)) >= 0) {
        sqlite3_str_append(out, text, (int)at);
        sqlite3_str_append(out, by, n_by);
        text += at + n_pattern;
        n_text -= (int)at + n_pattern;
    }
    sqlite3_str_append(out, text, n_text);
}

static void replace(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    const char *texts[3];
    struct sqlite3_str *out;
    int code;
    int n_out;

    if (is_stopped(context))
        return;
    for (int i = 0; i < n; i++) {
        texts[i] = (const char *)sqlite3_value_text(values[i]);
        if (!texts[i])
            return;
        if (i == 1 && *texts[1] == '\0') {
            sqlite3_result_value(context, values[0]);
            return;
        }
    }
    out = sqlite3_str_new(sqlite3_context_db_handle(context));
    replace_all(out, texts[0], sqlite3_value_bytes(values[0]), texts[1],
                sqlite3_value_bytes(values[1]), texts[2], sqlite3_value_bytes(values[2]));
    code = sqlite3_str_errcode(out);
    n_out = sqlite3_str_length(out);
    char *text = sqlite3_str_finish(out);
    if (code != SQLITE_OK)
        sqlite3_result_error_code(context, code);
    else if (text)
        sqlite3_result_text(context, text, n_out, sqlite3_free);
    else
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

/* The pattern is the first argument. Whether a BLOB matches depends on how SQLite was built. */
static void match(struct sqlite3_context *context, int n, struct sqlite3_value **values,
                  bool is_glob)
{
    const char *pattern, *text;

    if (is_stopped(context))
        return;
    if (sqlite3_value_type(values[0]) == SQLITE_BLOB
        || sqlite3_value_type(values[1]) == SQLITE_BLOB) {
        call(context, n, values);
        return;
    }
    pattern = (const char *)sqlite3_value_text(values[0]);
    text = (const char *)sqlite3_value_text(values[1]);
    if (sqlite3_value_bytes(values[0]) > timely_of(context)->pattern_length)
        sqlite3_result_error(context, "LIKE or GLOB pattern too complex", -1);
    else if (pattern && text)
        sqlite3_result_int(
            context,
            (is_glob ? sqlite3_strglob(pattern, text) : sqlite3_strlike(pattern, text, 0)) == 0);
}

static void like(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    match(context, n, values, false);
}

static void glob(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    match(context, n, values, true);
}

static void like_escaped(struct sqlite3_context *context, int n, struct sqlite3_value **values)
{
    if (!is_stopped(context))
        call(context, n, values);
}

/* ---- put ---- */

static void leave(struct timely *timely)
{
    if (--timely->n_users > 0)
        return;
    (void)sqlite3_close(timely->plain);
    free(timely);
}

static void function_free(void *context)
{
    struct function *function = context;

    for (int i = 0; i <= MAX_ARGUMENTS; i++)
        (void)sqlite3_finalize(function->calls[i]);
    leave(function->timely);
    free(function);
}

static const struct made {
    const char *name;
    int n_arguments;
    void (*run)(struct sqlite3_context *context, int n, struct sqlite3_value **values);
} all[] = {
    {"printf", -1, print}, {"format", -1, print},     {"json_patch", 2, patch},
    {"instr", 2, instr},   {"replace", 3, replace},   {"like", 2, like},
    {"glob", 2, glob},     {"like", 3, like_escaped},
};

static bool put(struct timely *timely, struct sqlite3 *db, const struct made *made)
{
    struct function *function = calloc(1, sizeof(*function));

    if (!function)
        return false;
    *function = (struct function){.timely = timely, .name = made->name};
    timely->n_users++;
    /* It also frees the function after a failure. */
    return sqlite3_create_function_v2(db, made->name, made->n_arguments,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                      function, made->run, NULL, NULL, function_free)
           == SQLITE_OK;
}

static bool open_plain(struct timely *timely, struct sqlite3 *db)
{
    static const int limits[] = {SQLITE_LIMIT_LENGTH, SQLITE_LIMIT_LIKE_PATTERN_LENGTH};

    if (sqlite3_open_v2(":memory:", &timely->plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL)
        != SQLITE_OK)
        return false;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        (void)sqlite3_limit(timely->plain, limits[i], sqlite3_limit(db, limits[i], -1));
    return true;
}

int timely_functions_put(struct sqlite3 *db, const struct database_stop *stop, struct error *err)
{
    struct timely *timely = calloc(1, sizeof(*timely));
    bool is_put;

    if (!timely)
        return error_set(err, ERROR_NOMEM, "no memory for functions");
    *timely =
        (struct timely){.stop = stop,
                        .length = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1),
                        .pattern_length = sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1),
                        .n_users = 1};
    (void)sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, MAX_ARGUMENTS);
    is_put = open_plain(timely, db);
    for (size_t i = 0; is_put && i < sizeof(all) / sizeof(all[0]); i++)
        is_put = put(timely, db, &all[i]);
    leave(timely);
    return is_put ? 0 : error_set(err, ERROR_NOMEM, "no memory for functions");
}
