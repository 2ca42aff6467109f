/* SPDX-License-Identifier: MIT */
#include "lib/base/units.h"

#include "lib/base/error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"k", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"kB", UINT64_C(1000)},
    {"KB", UINT64_C(1000)},
    {"MB", UINT64_C(1000000)},
    {"GB", UINT64_C(1000000000)},
    {"TB", UINT64_C(1000000000000)},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"d", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},
    {"min", UINT64_C(60000000000)},
    {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},
    {"\xc2\xb5s", UINT64_C(1000)}, /* micro sign */
    {"ns", 1},
    {NULL, 0},
};

/* ---- formatting ---- */

/* One decimal below 100, none above: four digits at most. */
static void format_scaled(double value, const char *unit, char *text)
{
    (void)snprintf(text, UNITS_TEXT_BYTES, value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
}

static const char *with_sign(bool negative, char *text)
{
    if (negative) {
        memmove(text + 1, text, strnlen(text, UNITS_TEXT_BYTES - 2) + 1);
        text[0] = '-';
        text[UNITS_TEXT_BYTES - 1] = '\0';
    }
    return text;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

const char *units_format_bytes(int64_t size_bytes, char *ret_text)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)magnitude(size_bytes);
    size_t i = 0;

    if (value < 1024) {
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "%" PRIu64 " B", magnitude(size_bytes));
        return with_sign(size_bytes < 0, ret_text);
    }
    /* 1023.95 rounds to the next unit's 1.0 */
    for (value /= 1024; value >= 1023.5 && i < 5; i++)
        value /= 1024;
    format_scaled(value, names[i], ret_text);
    return with_sign(size_bytes < 0, ret_text);
}

const char *units_format_rate(double bytes_per_s, char *ret_text)
{
    bool is_slow = bytes_per_s < 1;
    double bytes = is_slow ? 3600 * bytes_per_s : bytes_per_s;

    /* the value may be NaN, or any number of another's database */
    units_format_bytes(bytes > 0 && bytes < 0x1p63 ? (int64_t)bytes
                       : bytes > 0                 ? INT64_MAX
                                                   : 0,
                       ret_text);
    return strcat(ret_text, is_slow && bytes > 0 ? "/h" : "/s");
}

static void format_long_duration(uint64_t seconds, char *text)
{
    uint64_t days = seconds / 86400;
    uint64_t hours = seconds / 3600 % 24;
    uint64_t minutes = seconds / 60 % 60;

    if (days)
        (void)snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "d%02" PRIu64 "h%02" PRIu64 "m", days,
                       hours, minutes);
    else if (hours)
        (void)snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "h%02" PRIu64 "m%02" PRIu64 "s", hours,
                       minutes, seconds % 60);
    else
        (void)snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", minutes, seconds % 60);
}

const char *units_format_duration(int64_t time_ns, char *ret_text)
{
    uint64_t ns = magnitude(time_ns);

    if (ns == 0)
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "0 s");
    else if (ns < 1000)
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "%" PRIu64 " ns", ns);
    else if (ns < 999950)
        format_scaled((double)ns / 1e3, "us", ret_text);
    else if (ns < 999950000)
        format_scaled((double)ns / 1e6, "ms", ret_text);
    else if (ns < UINT64_C(59950000000))
        format_scaled((double)ns / 1e9, "s", ret_text);
    else
        format_long_duration((ns + 500000000) / 1000000000, ret_text);
    return with_sign(time_ns < 0, ret_text);
}

const char *units_format_count(int64_t count, char *ret_text)
{
    char digits[UNITS_TEXT_BYTES];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude(count));
    char *out = ret_text;

    if (count < 0)
        *out++ = '-';
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return ret_text;
}

const char *units_format_counted(int64_t count, const char *noun, char *ret_text)
{
    size_t used = strlen(units_format_count(count, ret_text));

    bool hisses = *noun && noun[strlen(noun) - 1] == 's'; /* processes */

    (void)snprintf(ret_text + used, UNITS_TEXT_BYTES - used, " %s%s", noun,
                   count == 1 ? ""
                   : hisses   ? "es"
                              : "s");
    return ret_text;
}

const char *units_format_share(double share, char *ret_text)
{
    double percent = 100 * share;

    /* Never "100 %" or "0 %" unless it is all or nothing. */
    if (share > 0 && percent < 0.1)
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "<0.1 %%");
    else if (share < 1 && percent >= 99.95)
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "99.9 %%");
    else if (percent < 9.95 || (percent > 99 && share < 1))
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "%.1f %%", percent);
    else
        (void)snprintf(ret_text, UNITS_TEXT_BYTES, "%.0f %%", percent);
    return ret_text;
}

/* ---- parsing ---- */

struct number {
    uint64_t whole;
    double fraction; /* in [0, 1) */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "12", "12.5" or ".5"; returns its end, or NULL if there is no number or it is too large. */
static const char *read_number(const char *text, struct number *ret)
{
    const char *at = text;
    double scale = 0.1;
    bool any = false;

    ret->whole = 0;
    ret->fraction = 0;
    for (; is_digit(*at); at++, any = true) {
        if (__builtin_mul_overflow(ret->whole, 10u, &ret->whole)
            || __builtin_add_overflow(ret->whole, (uint64_t)(*at - '0'), &ret->whole))
            return NULL;
    }
    if (*at == '.') {
        for (at++; is_digit(*at); at++, any = true) {
            ret->fraction += scale * (*at - '0');
            scale /= 10;
        }
    }
    return any ? at : NULL;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

/* The longest unit name that `at` starts with. */
static const struct unit *read_unit(const char *at, const struct unit *units)
{
    const struct unit *best = NULL;

    for (const struct unit *u = units; u->name; u++) {
        size_t length = strlen(u->name);
        if (strncmp(at, u->name, length) == 0 && (!best || length > strlen(best->name)))
            best = u;
    }
    return best;
}

/* number × factor, rounded to the nearest integer; false if it does not fit into a signed
 * column. */
static bool scale_number(const struct number *number, uint64_t factor, uint64_t *ret)
{
    uint64_t value;

    if (__builtin_mul_overflow(number->whole, factor, &value)
        || __builtin_add_overflow(value, (uint64_t)(number->fraction * (double)factor + 0.5),
                                  &value)
        || value > INT64_MAX)
        return false;
    *ret = value;
    return true;
}

int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct error *err)
{
    struct number number;
    const char *at = read_number(text, &number);
    const struct unit *unit;

    if (at) {
        at = skip_blanks(at);
        unit = read_unit(at, size_units);
        if (at[strlen(unit->name)] == '\0' && scale_number(&number, unit->factor, ret_bytes))
            return 0;
    }
    return error_set(err, ERROR_USAGE,
                     "'%s' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB",
                     text);
}

static bool parse_duration_parts(const char *at, uint64_t *ret_ns)
{
    uint64_t total = 0;

    do {
        struct number number;
        uint64_t part;
        const struct unit *unit;

        at = read_number(at, &number);
        if (!at)
            return false;
        at = skip_blanks(at);
        unit = read_unit(at, time_units);
        if (!unit && (*at != '\0' || total))
            return false; /* only a lone number may go without a unit */
        if (!scale_number(&number, unit ? unit->factor : UINT64_C(1000000000), &part)
            || __builtin_add_overflow(total, part, &total) || total > INT64_MAX)
            return false;
        at = skip_blanks(at + (unit ? strlen(unit->name) : 0));
    } while (*at != '\0');
    *ret_ns = total;
    return true;
}

int units_parse_duration(const char *text, uint64_t *ret_ns, struct error *err)
{
    if (parse_duration_parts(text, ret_ns))
        return 0;
    return error_set(
        err, ERROR_USAGE,
        "'%s' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s",
        text);
}

int units_parse_count(const char *text, uint64_t *ret_count, struct error *err)
{
    struct number number;
    const char *at = read_number(text, &number);

    if (!at || *at != '\0' || strchr(text, '.') || number.whole > INT64_MAX)
        return error_set(err, ERROR_USAGE, "'%s' is not a whole number", text);
    *ret_count = number.whole;
    return 0;
}

int units_parse_percent(const char *text, double *ret_share, struct error *err)
{
    struct number number;
    const char *at = read_number(text, &number);
    double percent = at ? (double)number.whole + number.fraction : -1;

    if (at)
        at = skip_blanks(at);
    if (!at || strcmp(at, "%") != 0 || percent > 100)
        return error_set(err, ERROR_USAGE,
                         "'%s' is not a percentage; write a number from 0 to 100 with %%", text);
    *ret_share = percent / 100;
    return 0;
}
