/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/random_query.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    MAX_VALUES = 14,
    OTHER_FORMATS = 6
};

static const struct {
    const char *wanted; /* struct queries_parameter's value */
    const char *values[MAX_VALUES];
} kinds[] = {
    {"TIME", {"0", "1ms", "50%", "98%", "100%", "0.1%", "9223372036854775807", "3h"}},
    {"TIME or instant", {"peak", "end", "50%", "60ms", "99%", "100%", "0"}},
    {"WORD",
     {"all", "only_leaked", "only_chain_leaked", "only_not_deallocated_in_current_range",
      "only_deallocated_in_current_range", "only_temporary", "only_whole_group_leaked"}},
    {"SIZE", {"0", "1", "10", "100", "1KiB", "4KiB", "1GiB", "9223372036854775807"}},
    {"DURATION", {"0", "1ns", "1ms", "10ms", "1h", "9223372036854775807"}},
    {"DURATION|N%", {"0", "1ms", "1h", "10%", "100%"}},
    {"N", {"0", "1", "2", "3", "10", "1000", "9223372036854775807"}},
    {"N|N%", {"0", "1", "5", "10%", "100%"}},
    {"N%", {"0%", "1%", "10%", "100%"}},
    {"ID", {"0", "1", "2", "3", "4", "8", "11", "70000", "9223372036854775807"}},
    {"ADDRESS", {"0", "0x10010", "0x11400", "0x30010", "0x7f0010", "0xffffffffffffffff"}},
    {"NAME", {"malloc", "calloc", "realloc", "aligned_alloc", "nothing"}},
    {"yes|no", {"yes", "no"}},
    {"main|non_main", {"main", "non_main"}},
    {"THREAD", {"1", "2", "3", "main", "812", "worker"}},
    {"MARKER", {"1", "loaded"}},
    {"PHASE", {"1", "2", "start", "request"}},
    {"GROUP", {"0", "1", "2", "request"}},
    {"KEY=VALUE", {"tenant", "tenant=a", "=", "x=y"}},
    {"REGEX", {"e", "main|worker", "^Session::", "", "cache\\.c$", "lib", "(e+)+$", "^$", "."}},
    {"rwx", {"r", "rw", "x", "none"}},
    {"COLUMN",
     {"process_id", "leaked_bytes", "allocated_bytes", "size_bytes", "function", "source",
      "backtrace_id", "call_site_id", "allocation_id", "lifetime_ns", "peak_bytes"}},
    {"asc|dsc", {"asc", "dsc"}},
    {"MEASURE", {"peak", "leaked", "allocated", "freed", "temporary", "live"}},
    {"bytes|blocks", {"bytes", "blocks"}},
    {"EXPRESSION",
     {"leaked_bytes > 0", "allocated_bytes > 100", "size_bytes > 10", "process_id = 1", "1", "0",
      "function LIKE '%e%'", "leaked_bytes + allocated_bytes > 9e18"}},
    {"table|json|csv", {"table", "json", "csv"}},
    {"a format", {"flamegraph.pl", "heaptrack", "pprof", "speedscope", "dhat", "massif", "json"}},
    {"an argument: ADDRESS", {"0x10010", "0x30040", "0x7f0010", "1", "0xffffffffffffffff"}},
    {"an argument: FUNCTION", {"main", "worker", "Session::clone", "nothing", ""}},
    {"an argument: FILE", {"cache.c", "main.c", "session.c", "/opt/server/src/main.c", "x"}},
    {"an argument: ID", {"1", "4", "8", "10", "11", "0", "-1", "70000"}},
    {"an argument: NAME", {"leaks", "allocations", "backtraces", "nothing"}},
    {"an argument: STATEMENT",
     {"SELECT * FROM stack_frames LIMIT 1000", "SELECT * FROM allocations LIMIT 1000",
      "SELECT * FROM live_blocks WHERE at_ns = 60000000 LIMIT 1000", "SELECT * FROM phases",
      "SELECT * FROM stack_texts LIMIT 1000", "SELECT * FROM leaks, groups LIMIT 1000",
      "SELECT * FROM summary", "SELECT * FROM sites, timeline LIMIT 1000",
      "SELECT * FROM mapping_levels LIMIT 1000"}},
};

unsigned word_list_split(struct word_list *list)
{
    char *rest = list->n ? NULL : strdup(list->text);

    while (rest)
        list->at[list->n++] = strsep(&rest, "|");
    return list->n;
}

struct drawn_dice drawn_dice_of(const uint8_t *bytes, size_t size)
{
    return (struct drawn_dice){XXH3_64bits(bytes, size)};
}

static unsigned draw(struct drawn_dice *dice, unsigned n)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return n ? (unsigned)((dice->state >> 33) % n) : 0;
}

const char *random_query_value(unsigned which, const char *wanted)
{
    size_t n_kinds = sizeof(kinds) / sizeof(kinds[0]);
    size_t kind = 0;
    unsigned n = 0;

    while (kind < n_kinds && strcmp(kinds[kind].wanted, wanted) != 0)
        kind++;
    if (kind == n_kinds)
        return NULL;
    while (n < MAX_VALUES && kinds[kind].values[n])
        n++;
    return kinds[kind].values[which % n];
}

static const char *draw_value(struct drawn_dice *dice, const char *wanted)
{
    return random_query_value(draw(dice, 1U << 31), wanted);
}

struct choice {
    const struct command *command;
    const char *argument;
    const char *names[RANDOM_QUERY_PARAMETERS];
    const char *values[RANDOM_QUERY_PARAMETERS];
    size_t n;
};

static void add(struct choice *choice, const char *name, const char *value)
{
    choice->names[choice->n] = name;
    choice->values[choice->n++] = value;
}

static void add_parameter(struct drawn_dice *dice, struct choice *choice,
                          const struct drawn_place *place)
{
    struct queries_parameter parameter;
    size_t n = 0;
    size_t n_options = 0;
    bool is_filter = choice->command->filters != COMMAND_FILTERS_NONE && draw(dice, 4) > 0;

    for (; queries_parameter_at(n, &parameter); n++)
        n_options += parameter.group != QUERIES_FILTER;
    n = is_filter ? n_options + draw(dice, (unsigned)(n - n_options))
                  : draw(dice, (unsigned)n_options);
    (void)queries_parameter_at(n, &parameter);
    if (strcmp(parameter.name, "suppressions") == 0)
        add(choice, parameter.name, place->suppressions);
    else if (strcmp(parameter.name, "time_limit") != 0) /* which would hide endless queries */
        add(choice, parameter.name,
            draw_value(dice, strcmp(parameter.name, "alive_at") == 0 ? "TIME or instant"
                             : parameter.value                       ? parameter.value
                                                                     : "yes|no"));
}

static struct choice draw_choice(struct drawn_dice *dice, const struct drawn_place *place)
{
    struct choice choice = {.n = 0};
    unsigned n_commands = 0;
    char wanted[64];

    while (queries_commands[n_commands].name)
        n_commands++;
    /* export is seven commands. */
    if (draw(dice, n_commands + OTHER_FORMATS) >= n_commands)
        (void)queries_find_command("export", &choice.command, &(struct error){0});
    else
        choice.command = &queries_commands[draw(dice, n_commands)];
    if (choice.command->argument && (!choice.command->is_argument_optional || draw(dice, 2))) {
        (void)snprintf(wanted, sizeof(wanted), "an argument: %s", choice.command->argument);
        choice.argument = draw_value(dice, wanted);
        if (!choice.argument)
            choice.argument = place->path;
    } else if (choice.command->argument) {
        add(&choice, "alive_at", draw_value(dice, "TIME or instant"));
        add(&choice, "alive_at", draw_value(dice, "TIME or instant"));
    }
    if (choice.command->has_format)
        add(&choice, "to", draw_value(dice, "a format"));
    if (draw(dice, 3) == 0)
        add(&choice, "process", draw(dice, 2) ? "1" : "2");
    if (choice.command->needs_instant)
        add(&choice, "alive_at", draw_value(dice, "TIME or instant"));
    for (unsigned n = draw(dice, RANDOM_QUERY_PARAMETERS + 1);
         n > 0 && choice.n < RANDOM_QUERY_PARAMETERS; n--)
        add_parameter(dice, &choice, place);
    return choice;
}

/* With the first n parameters; NULL: such a query is impossible. */
static struct query_request *try(const struct choice *choice, size_t n,
                                 const struct drawn_place *place)
{
    struct query_request *query = queries_new(place->note, NULL);
    struct error err = {0};
    int rc = 0;

    queries_set_command(query, choice->command);
    if (choice->command->needs_database)
        rc = queries_set_database(query, place->path, &err);
    if (rc == 0 && choice->argument)
        rc = queries_add_argument(query, choice->argument, &err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = queries_set(query, choice->names[i], choice->values[i], &err);
    if (rc == 0)
        rc = queries_check(query, &err);
    if (rc == 0)
        return query;
    queries_free(query);
    return NULL;
}

static void print(const struct choice *choice, size_t n, char *text)
{
    size_t used = (size_t)snprintf(text, RANDOM_QUERY_TEXT_BYTES, "%s", choice->command->name);

    if (choice->argument)
        used += (size_t)snprintf(text + used, RANDOM_QUERY_TEXT_BYTES - used, " '%.60s'",
                                 choice->argument);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, RANDOM_QUERY_TEXT_BYTES - used, " %s='%.60s'",
                                 choice->names[i], choice->values[i]);
}

struct random_query random_query_make(struct drawn_dice *dice, const struct drawn_place *place)
{
    static const char *const names[] = {NULL, NULL, "drawn.svg", "drawn.html"};
    struct choice choice = draw_choice(dice, place);
    struct random_query drawn = {.width = (int)draw(dice, 3) * 60};
    size_t n = choice.n;

    do
        drawn.query = try(&choice, n, place);
    while (!drawn.query && n-- > 0);
    print(&choice, drawn.query ? n : 0, drawn.text);
    if (choice.command->can_draw || choice.command->draws)
        drawn.output_name = names[draw(dice, sizeof(names) / sizeof(names[0]))];
    if (strcmp(choice.command->name, "report") == 0) /* which is nothing but a page */
        drawn.output_name = "drawn.html";
    return drawn;
}
