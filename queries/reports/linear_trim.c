/* SPDX-License-Identifier: MIT */
#include "queries/reports/linear_trim.h"

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODES = 0x200000, /* the range of four bytes of UTF-8 */
    LEFT = 1,
    RIGHT = 2
};

struct characters {
    bool ascii[128];
    uint8_t *others; /* bits by code; NULL: none */
};

static bool is_inside(const char *at)
{
    return ((unsigned char)*at & 0xc0) == 0x80;
}

/* The code of the character at `at`, which ends before `end`. */
static uint32_t read_code(const char *at, const char *end)
{
    uint32_t code = (unsigned char)*at;

    while (++at < end)
        code = (code << 6 | ((unsigned char)*at & 0x3f)) & (CODES - 1);
    return code;
}

static const char *next(const char *at, const char *end)
{
    at++;
    while (at < end && is_inside(at))
        at++;
    return at;
}

static bool put(struct characters *set, const char *at, const char *end)
{
    uint32_t code = read_code(at, end);

    if (end - at == 1 && code < 128) {
        set->ascii[code] = true;
        return true;
    }
    if (!set->others)
        set->others = calloc(CODES / 8, 1);
    if (set->others)
        set->others[code / 8] |= (uint8_t)(1 << code % 8);
    return set->others != NULL;
}

static bool has(const struct characters *set, const char *at, const char *end)
{
    uint32_t code = read_code(at, end);

    if (end - at == 1 && code < 128)
        return set->ascii[code];
    return set->others && (set->others[code / 8] >> code % 8 & 1);
}

static void cut(const struct characters *set, unsigned sides, const char **begin, const char **end)
{
    while (sides & LEFT && *begin < *end && has(set, *begin, next(*begin, *end)))
        *begin = next(*begin, *end);
    while (sides & RIGHT && *begin < *end) {
        const char *last = *end - 1;

        while (last > *begin && is_inside(last))
            last--;
        if (!has(set, last, *end))
            return;
        *end = last;
    }
}

static void trim(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    unsigned sides = (unsigned)(uintptr_t)sqlite3_user_data(context);
    const char *begin = (const char *)sqlite3_value_text(values[0]);
    const char *at = (const char *)sqlite3_value_text(values[1]);
    const char *end = begin ? begin + sqlite3_value_bytes(values[0]) : NULL;
    const char *last = at ? at + sqlite3_value_bytes(values[1]) : NULL;
    struct characters set = {.others = NULL};
    bool has_memory = true;

    (void)n_values;
    if (!begin || !at)
        return;
    for (; at < last && has_memory; at = next(at, last))
        has_memory = put(&set, at, next(at, last));
    if (has_memory) {
        cut(&set, sides, &begin, &end);
        sqlite3_result_text(context, begin, (int)(end - begin), SQLITE_TRANSIENT);
    } else {
        sqlite3_result_error_nomem(context);
    }
    free(set.others);
}

int linear_trim_put(struct sqlite3 *db, struct error *err)
{
    static const struct {
        const char *name;
        unsigned sides;
    } functions[] = {{"trim", LEFT | RIGHT}, {"ltrim", LEFT}, {"rtrim", RIGHT}};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (sqlite3_create_function(db, functions[i].name, 2,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                    (void *)(uintptr_t)functions[i].sides, trim, NULL, NULL)
            != SQLITE_OK)
            return error_set(err, ERROR_NOMEM, "no memory for a function");
    return 0;
}
