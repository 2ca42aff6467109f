/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound_filter.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/http/exchange.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
    AS_IT_IS,
    TIME,
    TIME_TO,      /* includes all of the unit */
    INTERVAL,     /* h, m, s, ms, us in any case; blanks; seconds without a unit */
    PLACE_FROM_0, /* ours counts from 1 */
};

static const struct known {
    const char *name;
    const char *ours; /* NULL: the same name */
    enum value_kind kind;
} knowns[] = {
    {"from", NULL, TIME},
    {"to", NULL, TIME_TO},
    {"alive_at", NULL, TIME},
    {"alive_at_2", "alive_at", TIME},
    {"lifetime", NULL, AS_IT_IS},
    {"lifetime_min", NULL, INTERVAL},
    {"lifetime_max", NULL, INTERVAL},
    {"chain_lifetime_min", NULL, INTERVAL},
    {"chain_lifetime_max", NULL, INTERVAL},
    {"group_interval_min", NULL, INTERVAL},
    {"group_interval_max", NULL, INTERVAL},
    {"position_in_chain_min", NULL, PLACE_FROM_0},
    {"position_in_chain_max", NULL, PLACE_FROM_0},
    {"backtraces", "backtrace", AS_IT_IS},
    {"deallocation_backtraces", "deallocation_backtrace", AS_IT_IS},
    {"address_min", NULL, AS_IT_IS},
    {"address_max", NULL, AS_IT_IS},
    {"size_min", NULL, AS_IT_IS},
    {"size_max", NULL, AS_IT_IS},
    {"first_size_min", NULL, AS_IT_IS},
    {"first_size_max", NULL, AS_IT_IS},
    {"last_size_min", NULL, AS_IT_IS},
    {"last_size_max", NULL, AS_IT_IS},
    {"chain_length_min", NULL, AS_IT_IS},
    {"chain_length_max", NULL, AS_IT_IS},
    {"backtrace_depth_min", NULL, AS_IT_IS},
    {"backtrace_depth_max", NULL, AS_IT_IS},
    {"mmaped", NULL, AS_IT_IS},
    {"arena", NULL, AS_IT_IS},
    {"function_regex", NULL, AS_IT_IS},
    {"source_regex", NULL, AS_IT_IS},
    {"negative_function_regex", NULL, AS_IT_IS},
    {"negative_source_regex", NULL, AS_IT_IS},
    {"marker", NULL, AS_IT_IS},
    {"group_leaked_allocations_min", NULL, AS_IT_IS},
    {"group_leaked_allocations_max", NULL, AS_IT_IS},
    {"group_allocations_min", NULL, AS_IT_IS},
    {"group_allocations_max", NULL, AS_IT_IS},
};

#define MAX_SECONDS UINT64_C(100000000000)

/* ---- values ---- */

static int fail(const char *name, const char *value, const char *wanted, struct error *err)
{
    return error_set(err, ERROR_USAGE, "%s: '%.100s' is not %s", name, value, wanted);
}

static bool is_percent(const char *value)
{
    size_t length = strlen(value);

    return length > 1 && value[length - 1] == '%';
}

static int parse_time(const struct bytehound *self, const struct known *known, const char *value,
                      int64_t *ret_ns, struct error *err)
{
    uint64_t number;
    int64_t unit_ns;
    double share;

    if (is_percent(value)) {
        if (units_parse_percent(value, &share, NULL) != 0)
            return fail(known->name, value, "a percentage from 0 to 100", err);
        *ret_ns = (int64_t)(share * (double)self->end_ns);
        return 0;
    }
    if (units_parse_count(value, &number, NULL) != 0 || number > INT64_MAX)
        return fail(known->name, value,
                    "a time: seconds or milliseconds since the epoch, or a percentage", err);
    unit_ns = number < MAX_SECONDS ? 1000000000 : 1000000;
    *ret_ns = saturating_add(saturating_multiply((int64_t)number, unit_ns),
                             known->kind == TIME_TO ? unit_ns - 1 : 0);
    *ret_ns = saturating_subtract(*ret_ns, self->start_unix_ns);
    return 0;
}

static int parse_interval(const char *name, const char *value, int64_t *ret_ns, struct error *err)
{
    char lower[BYTEHOUND_TEXT_BYTES] = "";
    uint64_t ns;

    for (size_t i = 0; value[i] && i + 1 < sizeof(lower); i++)
        lower[i] = (char)tolower((unsigned char)value[i]);
    if (strlen(value) >= sizeof(lower) || units_parse_duration(lower, &ns, NULL) != 0)
        return fail(name, value, "an interval, as 4h3m2s or 100ms", err);
    *ret_ns = (int64_t)ns;
    return 0;
}

static int parse_number(const char *name, const char *value, int64_t *ret_number, struct error *err)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 0);

    if (!isdigit((unsigned char)*value) || *end || number > INT64_MAX)
        return fail(name, value, "a number", err);
    *ret_number = (int64_t)number;
    return 0;
}

/* ---- parameters ---- */

static int add(struct bytehound_filter *filter, const char *ours, const char *text,
               struct error *err)
{
    return filter_add(&filter->filter, filter_find(ours, strlen(ours)), text, err);
}

static int add_number(struct bytehound_filter *filter, const char *ours, int64_t number,
                      const char *unit, struct error *err)
{
    size_t at = filter->filter.n_values;

    if (at == FILTER_MAX_VALUES)
        return error_set(err, ERROR_USAGE, "more than %d filters", FILTER_MAX_VALUES);
    (void)snprintf(filter->texts[at], BYTEHOUND_TEXT_BYTES, "%" PRId64 "%s", number, unit);
    return add(filter, ours, filter->texts[at], err);
}

/* Before time 0 nothing happened: `from` passes everything, other times pass nothing, by a filter
 * on the time of frees that bytehound lacks. */
static int add_time(struct bytehound_filter *filter, const char *ours, int64_t at_ns,
                    struct error *err)
{
    if (at_ns >= 0)
        return add_number(filter, ours, at_ns, "ns", err);
    return strcmp(ours, "from") == 0 ? 0 : add_number(filter, "freed_to", 0, "ns", err);
}

static int add_known(struct bytehound_filter *filter, const struct bytehound *self,
                     const struct known *known, const char *value, struct error *err)
{
    const char *ours = known->ours ? known->ours : known->name;
    int64_t number = 0;
    int rc;

    switch (known->kind) {
    case TIME:
    case TIME_TO:
        rc = parse_time(self, known, value, &number, err);
        return rc == 0 ? add_time(filter, ours, number, err) : rc;
    case INTERVAL:
        if (is_percent(value))
            return add(filter, ours, value, err);
        rc = parse_interval(known->name, value, &number, err);
        return rc == 0 ? add_number(filter, ours, number, "ns", err) : rc;
    case PLACE_FROM_0:
        rc = parse_number(known->name, value, &number, err);
        return rc == 0 ? add_number(filter, ours, saturating_add(number, 1), "", err) : rc;
    default:
        return add(filter, ours, value, err);
    }
}

static int read_order(struct bytehound_filter *filter, const char *value, struct error *err)
{
    filter->is_descending = strcmp(value, "dsc") == 0;
    return filter->is_descending || strcmp(value, "asc") == 0
               ? 0
               : fail("order", value, "asc or dsc", err);
}

static int read_parameter(struct bytehound_filter *filter, const struct bytehound *self,
                          const char *name, const char *value, struct error *err)
{
    if (strcmp(name, "token") == 0)
        return 0;
    if (!self->endpoint->takes_filter)
        return error_set(err, ERROR_USAGE, "'%.100s' is no parameter of %s, which takes none", name,
                         self->endpoint->name);
    if (strcmp(name, "skip") == 0)
        return parse_number(name, value, &filter->skip, err);
    if (strcmp(name, "count") == 0)
        return parse_number(name, value, &filter->count, err);
    if (strcmp(name, "order") == 0)
        return read_order(filter, value, err);
    if (strcmp(name, "sort_by") == 0) {
        filter->sort_by = value;
        return 0;
    }
    for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++)
        if (strcmp(knowns[i].name, name) == 0)
            return add_known(filter, self, &knowns[i], value, err);
    return error_set(err, ERROR_USAGE,
                     "'%.100s' is no parameter of bytehound's filter that mtrace knows; "
                     "docs/rest.md lists them, and POST /api/v1/RECORDING/sql takes SQL",
                     name);
}

int bytehound_filter_read(struct bytehound_filter *filter, const struct bytehound *self,
                          struct error *err)
{
    int rc = 0;

    *filter = (struct bytehound_filter){.count = -1};
    for (size_t i = 0; i < self->exchange->n_parameters && rc == 0; i++)
        rc = read_parameter(filter, self, self->exchange->parameters[i].name,
                            self->exchange->parameters[i].value, err);
    return rc;
}
