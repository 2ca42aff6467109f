/* SPDX-License-Identifier: MIT */
#include "queries/filter/filter.h"

#include "lib/base/error.h"
#include "lib/base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FREE_NS                "a.alloc_ns + a.lifetime_ns"
#define LIFETIME               "coalesce(a.lifetime_ns, p.end_ns - a.alloc_ns)"
#define IN_CHAIN(chain, alone) "iif(c.chain_id IS NULL, " alone ", " chain ")"
#define CHAIN_LIFETIME         IN_CHAIN("coalesce(k.end_ns, p.end_ns) - k.start_ns", LIFETIME)

static const struct filter_word lifetimes[] = {
    {"all", "1", FILTER_SCOPE_STACK, 0, NULL},
    {"only_leaked", "a.ended_by = 0", FILTER_SCOPE_ROW, 0, "w.unended > 0"},
    {"only_chain_leaked",
     IN_CHAIN("k.end_ns IS NULL AND p.end_kind IS NOT 'exec'", "a.ended_by = 0"), FILTER_SCOPE_ROW,
     FILTER_NEEDS_CHAIN | FILTER_NEEDS_PROCESS, NULL},
    {"only_not_deallocated_in_current_range",
     "(a.lifetime_ns IS NULL OR " FREE_NS " NOT BETWEEN $FROM AND $TO)", FILTER_SCOPE_ROW, 0, NULL},
    {"only_deallocated_in_current_range", FREE_NS " BETWEEN $FROM AND $TO", FILTER_SCOPE_ROW, 0,
     NULL},
    {"only_temporary", "a.lifetime_ns IS NOT NULL", FILTER_SCOPE_ROW, 0, NULL},
    {"only_whole_group_leaked", "(g.chains_started > 0 AND g.chains_leaked = g.chains_started)",
     FILTER_SCOPE_GROUP, FILTER_NEEDS_TOTALS, NULL},
    {NULL, NULL, FILTER_SCOPE_STACK, 0, NULL},
};

static const struct filter_word yes_or_no[] = {
    {"yes", "a.heap_id IS NULL", FILTER_SCOPE_ROW, 0, NULL},
    {"no", "a.heap_id IS NOT NULL", FILTER_SCOPE_ROW, 0, NULL},
    {NULL, NULL, FILTER_SCOPE_STACK, 0, NULL},
};

static const struct filter_word arenas[] = {
    {"main", "a.heap_id IN (SELECT heap_id FROM heaps WHERE kind = 'brk')", FILTER_SCOPE_ROW, 0,
     NULL},
    {"non_main", "a.heap_id IN (SELECT heap_id FROM heaps WHERE kind = 'arena')", FILTER_SCOPE_ROW,
     0, NULL},
    {NULL, NULL, FILTER_SCOPE_STACK, 0, NULL},
};

/* What the macro makes are members and pasted strings, which take no parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define ROW .scope = FILTER_SCOPE_ROW
#define RANGE(stem, value_name, value_type, value_scope, value_needs, expression, what)     \
    {.name = stem "_min",                                                                   \
     .value = value_name,                                                                   \
     .type = value_type,                                                                    \
     .scope = value_scope,                                                                  \
     .needs = value_needs,                                                                  \
     .sql = expression " >= @",                                                             \
     .help = what ", at least"},                                                            \
    {                                                                                       \
        .name = stem "_max", .value = value_name, .type = value_type, .scope = value_scope, \
        .needs = value_needs, .sql = expression " <= @", .help = what ", at most"           \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Ids are in time order: filter_sql.c turns `from` and `to` into a range of ids. */
const struct filter_parameter filter_parameters[] = {
    {.name = "from",
     .value = "TIME",
     .type = FILTER_TIME,
     ROW,
     .sql = "a.alloc_ns >= @",
     .help = "allocated at this time or later"},
    {.name = "to",
     .value = "TIME",
     .type = FILTER_TIME,
     ROW,
     .sql = "a.alloc_ns <= @",
     .help = "allocated at this time or earlier; of export: the format that is written"},
    {.name = "freed_from",
     .value = "TIME",
     .type = FILTER_TIME,
     ROW,
     .sql = "(a.ended_by IN (1, 2, 3) AND " FREE_NS " >= @)",
     .help = "freed at this time or later"},
    {.name = "freed_to",
     .value = "TIME",
     .type = FILTER_TIME,
     ROW,
     .sql = "(a.ended_by IN (1, 2, 3) AND " FREE_NS " <= @)",
     .help = "freed at this time or earlier"},
    {.name = "lifetime",
     .value = "WORD",
     .type = FILTER_WORD,
     .words = lifetimes,
     .help =
         "all, only_leaked, only_chain_leaked, only_temporary (bytehound's name: freed before the end), …"},
    {.name = "alive_at",
     .alias = "at",
     .value = "TIME",
     .type = FILTER_INSTANT,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .is_conjunctive = true,
     .sql = "(a.alloc_ns <= @ AND coalesce(" FREE_NS " > @, 1))",
     .help = "live at this time, peak or end; repeated: live at all of them"},
    {.name = "size_min",
     .value = "SIZE",
     .type = FILTER_BYTES,
     ROW,
     .sql = "a.size_bytes >= @",
     .range_sql = "w.max_size_bytes >= @",
     .help = "requested bytes, at least"},
    {.name = "size_max",
     .value = "SIZE",
     .type = FILTER_BYTES,
     ROW,
     .sql = "a.size_bytes <= @",
     .range_sql = "w.min_size_bytes <= @",
     .help = "requested bytes, at most"},
    RANGE("first_size", "SIZE", FILTER_BYTES, FILTER_SCOPE_ROW, FILTER_NEEDS_CHAIN,
          "coalesce(k.first_size_bytes, a.size_bytes)", "bytes of the chain's first block"),
    RANGE("last_size", "SIZE", FILTER_BYTES, FILTER_SCOPE_ROW, FILTER_NEEDS_CHAIN,
          "coalesce(k.last_size_bytes, a.size_bytes)", "bytes of the chain's last block"),
    {.name = "lifetime_min",
     .value = "DURATION",
     .type = FILTER_DURATION,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .sql = LIFETIME " >= @",
     .range_sql = "(w.unended > 0 OR w.max_lifetime_ns >= @)",
     .help = "lifetime, to the end for leaks, at least"},
    {.name = "lifetime_max",
     .value = "DURATION",
     .type = FILTER_DURATION,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .sql = LIFETIME " <= @",
     .help = "lifetime, to the end for leaks, at most"},
    RANGE("chain_lifetime", "DURATION", FILTER_DURATION, FILTER_SCOPE_ROW,
          FILTER_NEEDS_PROCESS | FILTER_NEEDS_CHAIN, CHAIN_LIFETIME, "lifetime of the chain"),
    RANGE("chain_length", "N", FILTER_COUNT, FILTER_SCOPE_ROW, FILTER_NEEDS_CHAIN,
          "coalesce(k.length, 1)", "blocks of the chain"),
    RANGE("position_in_chain", "N", FILTER_COUNT, FILTER_SCOPE_ROW, FILTER_NEEDS_CHAIN,
          "coalesce(c.chain_position, 1)", "place in the chain, from 1"),
    {.name = "address_min",
     .value = "ADDRESS",
     .type = FILTER_ADDRESS,
     ROW,
     .sql = "a.address >= @",
     .range_sql = "w.max_address >= @",
     .help = "address, at least"},
    {.name = "address_max",
     .value = "ADDRESS",
     .type = FILTER_ADDRESS,
     ROW,
     .sql = "a.address <= @",
     .range_sql = "w.min_address <= @",
     .help = "address, at most"},
    {.name = "kind",
     .value = "NAME",
     .type = FILTER_TEXT,
     ROW,
     .sql = "(a.call_code & 31) IN (SELECT kind FROM kinds WHERE name = @)",
     .names_sql = "SELECT name FROM kinds",
     .help = "malloc, calloc, realloc, …"},
    {.name = "mmaped",
     .value = "yes|no",
     .type = FILTER_WORD,
     .words = yes_or_no,
     .help = "has a mapping of its own"},
    {.name = "arena",
     .value = "main|non_main",
     .type = FILTER_WORD,
     .words = arenas,
     .help = "heap it lives in"},
    {.name = "thread",
     .value = "THREAD",
     .type = FILTER_TEXT,
     ROW,
     .sql =
         "a.thread_id IN (SELECT thread_id FROM threads WHERE @ IN (thread_id || '', tid || '', name))",
     .names_sql = "SELECT thread_id || '' FROM threads UNION ALL SELECT tid || '' FROM threads"
                  " UNION ALL SELECT name FROM threads WHERE name IS NOT NULL",
     .help = "allocated by this thread: id, tid or name"},
    {.name = "marker",
     .value = "MARKER",
     .type = FILTER_TEXT,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .names_sql = "SELECT name FROM markers UNION ALL SELECT marker_id || '' FROM markers",
     .help = "allocated after this marker (id or name) and before the next"},
    {.name = "phase",
     .value = "PHASE",
     .type = FILTER_TEXT,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .names_sql = "SELECT name FROM phases UNION SELECT phase_id || '' FROM phases",
     .help = "allocated in this phase of the program: id, or name of any number of them"},
    {.name = "window",
     .value = "WINDOW",
     .type = FILTER_TEXT,
     ROW,
     .needs = FILTER_NEEDS_PROCESS,
     .names_sql = "SELECT window_id || '' FROM windows",
     .help = "allocated in this window of recording: id"},
    {.name = "group",
     .value = "GROUP",
     .type = FILTER_TEXT,
     ROW,
     .names_sql = "SELECT name FROM allocation_groups UNION SELECT group_id || '' FROM"
                  " allocation_groups",
     .help = "charged to this group of the program: id, or name of any number of them"},
    {.name = "tag",
     .value = "KEY=VALUE",
     .type = FILTER_TEXT,
     ROW,
     .is_conjunctive = true,
     .sql = "a.allocation_id IN (SELECT r.allocation_id FROM group_rows AS r WHERE r.group_id IN"
            " (SELECT group_id FROM allocation_group_tags WHERE @ IN (key, key || '=' || value)))",
     .names_sql = "SELECT DISTINCT key || '=' || value FROM allocation_group_tags UNION ALL"
                  " SELECT DISTINCT key FROM allocation_group_tags",
     .help = "charged to a group with this tag, or with this key; repeated: with all of them"},
    {.name = "intervening_max",
     .value = "N",
     .type = FILTER_COUNT,
     ROW,
     .sql = "a.intervening_allocations <= @",
     .help = "freed before its thread made more other allocations"},
    {.name = "deallocation_backtrace",
     .value = "ID",
     .type = FILTER_COUNT,
     ROW,
     .sql = "a.free_backtrace_id = @",
     .help = "freed with this stack"},
    {.name = "backtrace",
     .value = "ID",
     .type = FILTER_COUNT,
     .scope = FILTER_SCOPE_STACK,
     .sql = "b.backtrace_id = @",
     .help = "allocated with this stack"},
    RANGE("backtrace_depth", "N", FILTER_COUNT, FILTER_SCOPE_STACK, 0, "b.depth",
          "frames of the stack"),
    {.name = "function_regex",
     .value = "REGEX",
     .type = FILTER_REGEX,
     .alias = "focus",
     .help = "some function of the stack matches; with --source-regex on one frame"},
    {.name = "source_regex",
     .value = "REGEX",
     .type = FILTER_REGEX,
     .help = "some source file of the stack matches"},
    {.name = "library_regex",
     .value = "REGEX",
     .type = FILTER_REGEX,
     .help = "some executable or library of the stack matches"},
    {.name = "negative_function_regex",
     .value = "REGEX",
     .type = FILTER_REGEX,
     .alias = "ignore",
     .is_conjunctive = true,
     .help = "no function of the stack matches"},
    {.name = "negative_source_regex",
     .value = "REGEX",
     .type = FILTER_REGEX,
     .is_conjunctive = true,
     .help = "no source file of the stack matches"},
    RANGE("group_allocations", "N", FILTER_COUNT, FILTER_SCOPE_GROUP, FILTER_NEEDS_TOTALS,
          "g.allocated_blocks", "blocks of the whole group"),
    {.name = "group_leaked_allocations_min",
     .value = "N|N%",
     .type = FILTER_COUNT_OR_SHARE,
     .scope = FILTER_SCOPE_GROUP,
     .needs = FILTER_NEEDS_TOTALS,
     .sql = "g.leaked_blocks >= @",
     .share_sql = "g.leaked_blocks >= @ * g.allocated_blocks",
     .help = "leaked blocks of the whole group, at least"},
    {.name = "group_leaked_allocations_max",
     .value = "N|N%",
     .type = FILTER_COUNT_OR_SHARE,
     .scope = FILTER_SCOPE_GROUP,
     .needs = FILTER_NEEDS_TOTALS,
     .sql = "g.leaked_blocks <= @",
     .share_sql = "g.leaked_blocks <= @ * g.allocated_blocks",
     .help = "leaked blocks of the whole group, at most"},
    RANGE("group_interval", "DURATION|N%", FILTER_DURATION_OR_SHARE, FILTER_SCOPE_GROUP,
          FILTER_NEEDS_TOTALS, "g.last_ns - g.first_ns",
          "time between the group's first and last allocation"),
    {.name = NULL},
};

bool filter_is_name(const char *name, const char *text, size_t length)
{
    if (!name || strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (name[i] != (text[i] == '-' ? '_' : text[i]))
            return false;
    }
    return true;
}

const struct filter_parameter *filter_find(const char *name, size_t length)
{
    for (const struct filter_parameter *p = filter_parameters; p->name; p++) {
        if (filter_is_name(p->name, name, length) || filter_is_name(p->alias, name, length))
            return p;
    }
    return NULL;
}

const struct filter_value *filter_instant(const struct filter *filter)
{
    const struct filter_parameter *instant = filter_find("alive_at", strlen("alive_at"));

    for (size_t i = 0; i < filter->n_values; i++) {
        if (filter->values[i].parameter == instant)
            return &filter->values[i];
    }
    return NULL;
}

const char *filter_beyond_samples(const struct filter *filter)
{
    const struct filter_parameter *intervening =
        filter_find("intervening_max", strlen("intervening_max"));

    for (size_t i = 0; i < filter->n_values; i++) {
        if (filter_value_needs(&filter->values[i]) & FILTER_NEEDS_CHAIN)
            return "samples do not show which block realloc turned into which";
        if (filter->values[i].parameter == intervening)
            return "samples do not show how many allocations came between";
    }
    return NULL;
}

static bool is_percent(const char *text)
{
    return strchr(text, '%') != NULL;
}

static int parse_share(const char *text, struct filter_value *value, struct error *err)
{
    value->is_share = true;
    return units_parse_percent(text, &value->share, err);
}

static int parse_uint(int (*parse)(const char *, uint64_t *, struct error *), const char *text,
                      struct filter_value *value, struct error *err)
{
    uint64_t number = 0;
    int rc = parse(text, &number, err);

    value->number = (int64_t)number;
    return rc;
}

static int parse_address(const char *text, struct filter_value *value, struct error *err)
{
    char *end;
    unsigned long long address;

    errno = 0;
    address = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        return error_set(err, ERROR_USAGE,
                         "'%s' is not an address; write it as 0x7f00 or in decimal", text);
    value->number = (int64_t)address;
    return 0;
}

static int parse_word(const char *text, struct filter_value *value, struct error *err)
{
    char list[256];
    size_t used = 0;

    for (const struct filter_word *word = value->parameter->words; word->name; word++) {
        if (filter_is_name(word->name, text, strlen(text))) {
            value->word = word;
            return 0;
        }
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     word->name);
    }
    return error_set(err, ERROR_USAGE, "'%s' is none of %s", text, list);
}

static int parse_time(const char *text, struct filter_value *value, struct error *err)
{
    bool may_be_named = value->parameter->type == FILTER_INSTANT;

    value->is_peak = may_be_named && strcmp(text, "peak") == 0;
    value->is_end = may_be_named && strcmp(text, "end") == 0;
    if (value->is_peak || value->is_end)
        return 0;
    return is_percent(text) ? parse_share(text, value, err)
                            : parse_uint(units_parse_duration, text, value, err);
}

static int parse_value(const char *text, struct filter_value *value, struct error *err)
{
    switch (value->parameter->type) {
    case FILTER_TIME:
    case FILTER_INSTANT:
    case FILTER_DURATION_OR_SHARE:
        return parse_time(text, value, err);
    case FILTER_DURATION:
        return parse_uint(units_parse_duration, text, value, err);
    case FILTER_BYTES:
        return parse_uint(units_parse_bytes, text, value, err);
    case FILTER_COUNT:
        return parse_uint(units_parse_count, text, value, err);
    case FILTER_COUNT_OR_SHARE:
        return is_percent(text) ? parse_share(text, value, err)
                                : parse_uint(units_parse_count, text, value, err);
    case FILTER_ADDRESS:
        return parse_address(text, value, err);
    case FILTER_WORD:
        return parse_word(text, value, err);
    default:
        return *text ? 0 : error_set(err, ERROR_USAGE, "'' is empty");
    }
}

int filter_add(struct filter *filter, const struct filter_parameter *parameter, const char *text,
               struct error *err)
{
    struct filter_value *value = &filter->values[filter->n_values];
    struct error cause = {0};

    if (filter->n_values == FILTER_MAX_VALUES)
        return error_set(err, ERROR_USAGE, "more than %d filters", FILTER_MAX_VALUES);
    *value = (struct filter_value){.parameter = parameter, .text = text};
    if (parse_value(text, value, &cause) != 0)
        return error_set(err, ERROR_USAGE, "%s: %.400s", parameter->name, cause.text);
    filter->n_values++;
    return 0;
}

enum filter_scope filter_value_scope(const struct filter_value *value)
{
    return value->word ? value->word->scope : value->parameter->scope;
}

unsigned filter_value_needs(const struct filter_value *value)
{
    return value->word ? value->word->needs : value->parameter->needs;
}

enum filter_scope filter_scope_of(const struct filter *filter)
{
    enum filter_scope scope = FILTER_SCOPE_STACK;

    for (size_t i = 0; i < filter->n_values; i++) {
        if (filter_value_scope(&filter->values[i]) > scope)
            scope = filter_value_scope(&filter->values[i]);
    }
    return scope;
}
