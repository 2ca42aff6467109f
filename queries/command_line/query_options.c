/* SPDX-License-Identifier: MIT */
#include "queries/command_line/query_options.h"

#include "queries/command_line/command_help.h"
#include "queries/command_line/query_names.h"
#include "queries/export/cmd_export.h"
#include "queries/library/commands.h"
#include "queries/question/query.h"
#include "support/error.h"
#include "support/units.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
    KEY_COUNT = 'n',
    KEY_OUTPUT = 'o',
    KEY_FORCE = 'f',
    KEY_WIDE = 'w',
    KEY_HELP = 'h',
    KEY_VERSION = 'V',
    KEY_FORMAT = 0x100,
    KEY_SKIP,
    KEY_SORT_BY,
    KEY_ORDER,
    KEY_PROCESS,
    KEY_SITE,
    KEY_SHOW_SQL,
    KEY_FAIL_IF,
    KEY_SUPPRESSIONS,
    KEY_MEASURE,
    KEY_BY,
    KEY_INVERT,
    KEY_MIN_SHARE,
    KEY_USAGE,
    KEY_JSON,
    KEY_CSV,
    KEY_FILTER = 0x1000, /* and the parameter's index */
};

enum {
    MAX_NAMES = 8,
    MAX_OPTIONS = 128,
    OPTION_NAME_BYTES = 48,
    GROUP_FILTERS = 5 /* in help */
};

struct parser {
    struct query_options *options;
    const char *names[MAX_NAMES]; /* what is no option */
    int n_names;
    bool is_help;
    int rc;
    struct error *err;
};

static const struct argp_option option_table[] = {
    {"process", KEY_PROCESS, "ID", 0, "only this process", 1},
    {"site", KEY_SITE, "ID", 0, "only this call site", 1},
    {"sort-by", KEY_SORT_BY, "COLUMN", 0, "sort by a column of the answer", 2},
    {"order", KEY_ORDER, "asc|dsc", 0, "direction [dsc for sizes, counts and intervals, else asc]",
     2},
    {"count", KEY_COUNT, "N", 0, "rows to print, 0 for all [20 for tables, else all]", 2},
    {"skip", KEY_SKIP, "N", 0, "rows to leave out first", 2},
    {"measure", KEY_MEASURE, "MEASURE", 0,
     "what stacks weigh: peak, leaked, allocated, freed, temporary, live [live with --at, else peak]",
     2},
    {"by", KEY_BY, "bytes|blocks", 0, "and in what [bytes]", 2},
    {"bottom-up", KEY_INVERT, NULL, 0, "trees and flame graphs begin with the innermost function",
     2},
    {"invert", 0, NULL, OPTION_ALIAS, NULL, 2},
    {"min-share", KEY_MIN_SHARE, "N%", 0,
     "fold what is smaller [1% in trees, 0.05% in flame graphs]", 2},
    {"suppressions", KEY_SUPPRESSIONS, "FILE", 0, "leaks to leave out, in LeakSanitizer's syntax",
     3},
    {"fail-if", KEY_FAIL_IF, "EXPRESSION", 0,
     "print only rows for which it holds, and exit 3 if there are any", 3},
    {"json", KEY_JSON, NULL, 0, "the same as --format json", 4},
    {"csv", KEY_CSV, NULL, 0, "the same as --format csv", 4},
    {"format", KEY_FORMAT, "table|json|csv", 0,
     "json and csv have raw numbers: bytes and nanoseconds [table]", 4},
    {"output", KEY_OUTPUT, "FILE", 0, "write there instead of to stdout", 4},
    {"force", KEY_FORCE, NULL, 0, "overwrite FILE", 4},
    {"wide", KEY_WIDE, NULL, 0, "names, paths and columns in full", 4},
    {"show-sql", KEY_SHOW_SQL, NULL, 0, "print the statement instead of its answer", 4},
    {"help", KEY_HELP, NULL, 0, "print this and exit", -1},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short and exit", -1},
    {"version", KEY_VERSION, NULL, 0, "print the version and exit", -1},
    {0},
};

/* The options above, those of the filter table, and the end. */
struct option_list {
    struct argp_option options[MAX_OPTIONS];
    char names[MAX_OPTIONS][OPTION_NAME_BYTES];
    size_t n;
};

static void add_filter_option(struct option_list *list, const struct filter_parameter *parameter,
                              const char *name, bool is_alias)
{
    size_t i = list->n++;

    for (size_t c = 0; name[c] && c + 1 < OPTION_NAME_BYTES; c++)
        list->names[i][c] = name[c] == '_' ? '-' : name[c];
    list->options[i] = (struct argp_option){
        .name = list->names[i],
        .key = is_alias ? 0 : KEY_FILTER + (int)(parameter - filter_parameters),
        .arg = is_alias ? NULL : parameter->value,
        .flags = is_alias ? OPTION_ALIAS : 0,
        .doc = is_alias ? NULL : parameter->help,
        .group = GROUP_FILTERS};
}

static void list_options(struct option_list *list)
{
    *list = (struct option_list){.n = 0};
    while (option_table[list->n].name) {
        list->options[list->n] = option_table[list->n];
        list->n++;
    }
    list->options[list->n++] = (struct argp_option){
        .doc =
            "Filters, also as name=value. TIME: seconds, 4m12s, 100ms or N% of the run; SIZE: bytes, 4KiB, 1MiB",
        .group = GROUP_FILTERS};
    for (const struct filter_parameter *p = filter_parameters; p->name && list->n + 3 < MAX_OPTIONS;
         p++) {
        add_filter_option(list, p, p->name, false);
        if (p->alias)
            add_filter_option(list, p, p->alias, true);
    }
}

static int parse_number(const char *option, const char *text, int64_t *ret_value, struct error *err)
{
    uint64_t value;

    if (units_parse_count(text, &value, NULL) != 0)
        return error_set(err, ERROR_USAGE, "--%s '%s': a whole number is expected", option, text);
    *ret_value = (int64_t)value;
    return 0;
}

static int parse_order(const char *text, enum query_order *ret_order, struct error *err)
{
    if (strcmp(text, "asc") != 0 && strcmp(text, "dsc") != 0)
        return error_set(err, ERROR_USAGE, "--order '%s': asc or dsc is expected", text);
    *ret_order = *text == 'a' ? ORDER_ASC : ORDER_DSC;
    return 0;
}

static int parse_format(const char *text, enum render_format *ret_format, struct error *err)
{
    if (render_format_parse(text, ret_format, NULL) != 0)
        return error_set(err, ERROR_USAGE, "--format '%s': table, json or csv is expected", text);
    return 0;
}

static int parse_by(const char *text, bool *ret_is_by_blocks, struct error *err)
{
    if (strcmp(text, "bytes") != 0 && strcmp(text, "blocks") != 0)
        return error_set(err, ERROR_USAGE, "--by '%s': bytes or blocks is expected", text);
    *ret_is_by_blocks = strcmp(text, "blocks") == 0;
    return 0;
}

static int parse_share(const char *text, double *ret_share, struct error *err)
{
    if (units_parse_percent(text, ret_share, NULL) != 0)
        return error_set(err, ERROR_USAGE, "--min-share '%s': a percentage is expected, as 0.5%%",
                         text);
    return 0;
}

static int parse_value(struct query_options *options, int key, const char *text, struct error *err)
{
    switch (key) {
    case KEY_COUNT:
        return parse_number("count", text, &options->count, err);
    case KEY_SKIP:
        return parse_number("skip", text, &options->skip, err);
    case KEY_PROCESS:
        return parse_number("process", text, &options->process_id, err);
    case KEY_SITE:
        return parse_number("site", text, &options->site_id, err);
    case KEY_ORDER:
        return parse_order(text, &options->order, err);
    case KEY_BY:
        return parse_by(text, &options->is_by_blocks, err);
    case KEY_MIN_SHARE:
        return parse_share(text, &options->min_share, err);
    default:
        return parse_format(text, &options->format, err);
    }
}

static void add_name(struct parser *parser, const char *name)
{
    const char *equals = strchr(name, '=');
    const struct filter_parameter *parameter =
        equals ? filter_find(name, (size_t)(equals - name)) : NULL;

    if (parameter) {
        if (parser->rc == 0)
            parser->rc = filter_add(&parser->options->filter, parameter, equals + 1, parser->err);
        return;
    }
    if (parser->n_names < MAX_NAMES)
        parser->names[parser->n_names++] = name;
    else
        parser->rc = error_set(parser->err, ERROR_USAGE, "'%s' is one name too many", name);
}

/* --to is a filter and, with export, a format: no format begins like a time. */
static bool is_format(const struct parser *parser, const struct filter_parameter *parameter,
                      const char *text)
{
    if (strcmp(parameter->name, "to") != 0 || (*text >= '0' && *text <= '9'))
        return false;
    return cmd_export_has_format(text)
           || (parser->n_names > 0 && strcmp(parser->names[0], "export") == 0);
}

static error_t parse_filter(struct parser *parser, int key, const char *text)
{
    const struct filter_parameter *parameter;

    if (key < KEY_FILTER || key >= KEY_FILTER + MAX_OPTIONS)
        return ARGP_ERR_UNKNOWN;
    parameter = &filter_parameters[key - KEY_FILTER];
    if (is_format(parser, parameter, text))
        parser->options->export_format = text;
    else if (parser->rc == 0)
        parser->rc = filter_add(&parser->options->filter, parameter, text, parser->err);
    return 0;
}

/* Of the command that is named before or behind it, else of all; "help" is as good as --help. */
static void show_help(const struct parser *parser, struct argp_state *state)
{
    bool is_named_help = parser->n_names > 0 && strcmp(parser->names[0], "help") == 0;
    const struct command *command = parser->n_names > is_named_help
                                        ? command_find(commands, parser->names[is_named_help])
                                        : NULL;

    if (!parser->is_help && !(is_named_help && (command || parser->n_names == 1)))
        return;
    if (!command)
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    command_help_print(command, stdout);
    exit(EXIT_SUCCESS);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parser *parser = state->input;
    struct query_options *options = parser->options;

    switch (key) {
    case KEY_OUTPUT:
        options->output_path = text;
        break;
    case KEY_FORCE:
        options->is_forced = true;
        break;
    case KEY_WIDE:
        options->is_wide = true;
        break;
    case KEY_JSON:
        options->format = RENDER_JSON;
        break;
    case KEY_CSV:
        options->format = RENDER_CSV;
        break;
    case KEY_SORT_BY:
        options->sort_by = text;
        break;
    case KEY_SHOW_SQL:
        options->is_sql_shown = true;
        break;
    case KEY_FAIL_IF:
        options->fail_if = text;
        break;
    case KEY_MEASURE:
        options->measure = text;
        break;
    case KEY_INVERT:
        options->is_inverted = true;
        break;
    case KEY_SUPPRESSIONS:
        options->suppressions_path = text;
        break;
    case KEY_HELP:
        parser->is_help = true;
        break;
    case ARGP_KEY_END:
        show_help(parser, state);
        break;
    case KEY_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        break;
    case KEY_VERSION:
        (void)printf("mtrace-query %s\n", MTRACE_VERSION);
        exit(EXIT_SUCCESS);
    case ARGP_KEY_ARG:
        add_name(parser, text);
        break;
    case KEY_COUNT:
    case KEY_SKIP:
    case KEY_PROCESS:
    case KEY_SITE:
    case KEY_ORDER:
    case KEY_BY:
    case KEY_MIN_SHARE:
    case KEY_FORMAT:
        if (parser->rc == 0)
            parser->rc = parse_value(options, key, text, parser->err);
        break;
    default:
        return parse_filter(parser, key, text);
    }
    return 0;
}

int query_options_parse(int argc, char **argv, struct query_options *ret_options, struct error *err)
{
    struct option_list list;
    const struct argp argp = {
        .options = list.options,
        .parser = parse_option,
        .args_doc = "[COMMAND] run.db",
        .doc = "Answers questions about a recording. Without a command: summary.\v",
        .help_filter = command_help_list,
    };
    struct parser parser = {.options = ret_options, .err = err};

    list_options(&list);
    *ret_options = (struct query_options){.count = -1, .min_share = -1};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_IN_ORDER, NULL, &parser) != 0)
        return error_set(err, ERROR_USAGE, "the command line cannot be read");
    return parser.rc != 0 ? parser.rc
                          : query_names_assign(ret_options, parser.names, parser.n_names, err);
}
