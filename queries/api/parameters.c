/* SPDX-License-Identifier: MIT */
#include "queries/api/parameters.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/process/output_file.h"
#include "queries/core/command.h"
#include "queries/export/cmd_export.h"

#include <string.h>
#include <strings.h>

#define MAX_ROWS (INT64_MAX / 4)

/* ---- values ---- */

static int set_number(const char *option, const char *text, int64_t *ret_value, struct error *err)
{
    uint64_t value;

    if (units_parse_count(text, &value, NULL) != 0)
        return error_set(err, ERROR_USAGE, "%s '%s': a whole number is expected", option, text);
    *ret_value = (int64_t)value;
    return 0;
}

/* An id. 0 would mean any. */
static int set_id(const char *option, const char *text, int64_t *ret_id, struct error *err)
{
    int64_t id = 0;
    int rc = set_number(option, text, &id, err);

    if (rc == 0 && id == 0)
        return error_set(err, ERROR_USAGE, "%s '%s': an id is expected; the first is 1", option,
                         text);
    if (rc == 0)
        *ret_id = id;
    return rc;
}

/* A number of rows. No table has MAX_ROWS, and sums of a few such numbers do not overflow. */
static int set_rows(const char *option, const char *text, int64_t *ret_rows, struct error *err)
{
    int rc = set_number(option, text, ret_rows, err);

    if (*ret_rows > MAX_ROWS)
        *ret_rows = MAX_ROWS;
    return rc;
}

static int set_count(struct query_options *options, const char *text, struct error *err)
{
    return set_rows("count", text, &options->count, err);
}

static int set_skip(struct query_options *options, const char *text, struct error *err)
{
    return set_rows("skip", text, &options->skip, err);
}

static int set_after(struct query_options *options, const char *text, struct error *err)
{
    return set_number("after", text, &options->after_id, err);
}

static int set_process(struct query_options *options, const char *text, struct error *err)
{
    return set_id("process", text, &options->process_id, err);
}

static int set_site(struct query_options *options, const char *text, struct error *err)
{
    return set_id("site", text, &options->site_id, err);
}

static int set_order(struct query_options *options, const char *text, struct error *err)
{
    if (strcmp(text, "asc") != 0 && strcmp(text, "dsc") != 0)
        return error_set(err, ERROR_USAGE, "order '%s': asc or dsc is expected", text);
    options->order = *text == 'a' ? ORDER_ASC : ORDER_DSC;
    return 0;
}

static int set_format(struct query_options *options, const char *text, struct error *err)
{
    if (render_format_parse(text, &options->format, NULL) != 0)
        return error_set(err, ERROR_USAGE, "format '%s': table, json or csv is expected", text);
    return 0;
}

static int set_by(struct query_options *options, const char *text, struct error *err)
{
    if (strcmp(text, "bytes") != 0 && strcmp(text, "blocks") != 0)
        return error_set(err, ERROR_USAGE, "by '%s': bytes or blocks is expected", text);
    options->is_by_blocks = strcmp(text, "blocks") == 0;
    return 0;
}

static int set_min_share(struct query_options *options, const char *text, struct error *err)
{
    if (units_parse_percent(text, &options->min_share, NULL) != 0)
        return error_set(err, ERROR_USAGE, "min_share '%s': a percentage is expected, as 0.5%%",
                         text);
    return 0;
}

static int set_flag(const char *option, const char *text, bool *ret_flag, struct error *err)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return error_set(err, ERROR_USAGE, "%s '%s': yes or no is expected", option, text);
    *ret_flag = *text == 'y';
    return 0;
}

static int set_bottom_up(struct query_options *options, const char *text, struct error *err)
{
    return set_flag("bottom_up", text, &options->is_inverted, err);
}

static int set_wide(struct query_options *options, const char *text, struct error *err)
{
    return set_flag("wide", text, &options->is_wide, err);
}

static int set_confidential(struct query_options *options, const char *text, struct error *err)
{
    return set_flag("confidential", text, &options->is_confidential, err);
}

static int set_stacks(struct query_options *options, const char *text, struct error *err)
{
    return set_flag("stacks", text, &options->has_stacks, err);
}

static int set_show_sql(struct query_options *options, const char *text, struct error *err)
{
    return set_flag("show_sql", text, &options->is_sql_shown, err);
}

static int set_sort_by(struct query_options *options, const char *text, struct error *err)
{
    (void)err;
    options->sort_by = text;
    return 0;
}

static int set_protection(struct query_options *options, const char *text, struct error *err)
{
    if (strcmp(text, "none") != 0 && text[strspn(text, "rwx-")] != '\0')
        return error_set(err, ERROR_USAGE, "protection '%s': letters of rwx are expected, or none",
                         text);
    options->protection = text;
    return 0;
}

static int set_peak_rss_min(struct query_options *options, const char *text, struct error *err)
{
    uint64_t bytes;

    if (units_parse_bytes(text, &bytes, NULL) != 0 || bytes > INT64_MAX)
        return error_set(err, ERROR_USAGE, "peak_rss_min '%s': a size is expected, as 4KiB", text);
    options->peak_rss_min = (int64_t)bytes;
    return 0;
}

static int set_blame_past(struct query_options *options, const char *text, struct error *err)
{
    (void)err;
    options->blame_past = text;
    return 0;
}

static int set_measure(struct query_options *options, const char *text, struct error *err)
{
    (void)err;
    options->measure = text;
    return 0;
}

static int set_suppressions(struct query_options *options, const char *text, struct error *err)
{
    (void)err;
    options->suppressions_path = text;
    return 0;
}

static int set_fail_if(struct query_options *options, const char *text, struct error *err)
{
    (void)err;
    options->fail_if = text;
    return 0;
}

static int set_time_limit(struct query_options *options, const char *text, struct error *err)
{
    uint64_t limit_ns;

    if (units_parse_duration(text, &limit_ns, NULL) != 0 || limit_ns == 0
        || limit_ns > INT64_MAX / 2)
        return error_set(err, ERROR_USAGE, "time_limit '%s': a time is expected, as 500ms or 10s",
                         text);
    options->time_limit_ns = (int64_t)limit_ns;
    return 0;
}

/* ---- the table ---- */

static const struct parameter {
    struct queries_parameter shown;
    int (*set)(struct query_options *options, const char *text, struct error *err);
} parameters[] = {
    {{"process", NULL, "ID", "only this process", QUERIES_WHOSE}, set_process},
    {{"site", NULL, "ID", "only this call site", QUERIES_WHOSE}, set_site},
    {{"protection", NULL, "rwx", "of mmaps: those mapped to allow all of these, or none",
      QUERIES_WHOSE},
     set_protection},
    {{"peak_rss_min", NULL, "SIZE", "of mmaps: at least so much of it was resident", QUERIES_WHOSE},
     set_peak_rss_min},
    {{"blame_past", NULL, "REGEX",
      "functions or libraries that only pass memory on, as pools: call sites are their callers",
      QUERIES_WHOSE},
     set_blame_past},
    {{"sort_by", NULL, "COLUMN", "sort by a column of the answer", QUERIES_ROWS}, set_sort_by},
    {{"order", NULL, "asc|dsc", "direction [dsc for sizes, counts and intervals, else asc]",
      QUERIES_ROWS},
     set_order},
    {{"count", NULL, "N", "rows to print, 0 for all [20 for tables, else all]", QUERIES_ROWS},
     set_count},
    {{"skip", NULL, "N", "rows to leave out first", QUERIES_ROWS}, set_skip},
    {{"after", NULL, "ID", "begin behind this allocation, the last one of a page", QUERIES_ROWS},
     set_after},
    {{"measure", NULL, "MEASURE",
      "what stacks weigh: peak, leaked, allocated, freed, temporary, live [live with --at, leaked in diff, else peak]",
      QUERIES_ROWS},
     set_measure},
    {{"by", NULL, "bytes|blocks", "and in what [bytes]", QUERIES_ROWS}, set_by},
    {{"bottom_up", "invert", NULL, "trees and flame graphs begin with the innermost function",
      QUERIES_ROWS},
     set_bottom_up},
    {{"min_share", NULL, "N%", "fold what is smaller [1% in trees, 0.05% in flame graphs]",
      QUERIES_ROWS},
     set_min_share},
    {{"suppressions", NULL, "FILE", "leaks to leave out, in LeakSanitizer's syntax", QUERIES_GATE},
     set_suppressions},
    {{"fail_if", NULL, "EXPRESSION",
      "print only rows for which it holds, and exit 3 if there are any", QUERIES_GATE},
     set_fail_if},
    {{"time_limit", NULL, "DURATION", "give up when the answer takes longer", QUERIES_LOOK},
     set_time_limit},
    {{"format", NULL, "table|json|csv",
      "json and csv have raw numbers: bytes and nanoseconds [table]", QUERIES_LOOK},
     set_format},
    {{"wide", NULL, NULL, "names, paths and columns in full", QUERIES_LOOK}, set_wide},
    {{"confidential", NULL, NULL, "leave out folders and command lines", QUERIES_LOOK},
     set_confidential},
    {{"stacks", NULL, NULL, "the stack of each row, too; of a call site the heaviest",
      QUERIES_LOOK},
     set_stacks},
    {{"show_sql", NULL, NULL, "print the statement instead of its answer", QUERIES_LOOK},
     set_show_sql},
};

enum {
    N_PARAMETERS = sizeof(parameters) / sizeof(parameters[0])
};

bool queries_parameter_at(size_t index, struct queries_parameter *ret_parameter)
{
    const struct filter_parameter *filter;

    if (index < N_PARAMETERS) {
        *ret_parameter = parameters[index].shown;
        return true;
    }
    filter = &filter_parameters[index - N_PARAMETERS];
    *ret_parameter = (struct queries_parameter){filter->name, filter->alias, filter->value,
                                                filter->help, QUERIES_FILTER};
    return filter->name != NULL;
}

long queries_find_parameter(const char *name, size_t length)
{
    const struct filter_parameter *filter = filter_find(name, length);

    for (long i = 0; i < N_PARAMETERS; i++) {
        if (filter_is_name(parameters[i].shown.name, name, length)
            || filter_is_name(parameters[i].shown.alias, name, length))
            return i;
    }
    return filter ? N_PARAMETERS + (filter - filter_parameters) : -1;
}

bool queries_names_file(const char *name)
{
    struct queries_parameter parameter;
    long index = queries_find_parameter(name, strlen(name));

    return index >= 0 && queries_parameter_at((size_t)index, &parameter) && parameter.value
           && strcmp(parameter.value, "FILE") == 0;
}

void parameters_init(struct query_options *options)
{
    *options = (struct query_options){.count = -1, .min_share = -1};
}

/* `to` is a filter and, of export, a format: no format begins like a time. */
static bool is_format(const struct filter_parameter *filter, const char *text)
{
    return strcmp(filter->name, "to") == 0 && !(*text >= '0' && *text <= '9');
}

int parameters_set(struct query_options *options, size_t index, const char *text, struct error *err)
{
    const struct filter_parameter *filter;

    if (index < N_PARAMETERS)
        return parameters[index].set(options, text, err);
    filter = &filter_parameters[index - N_PARAMETERS];
    if (!is_format(filter, text))
        return filter_add(&options->filter, filter, text, err);
    options->export_format = text;
    return 0;
}

/* ---- what a command takes ---- */

static int check_filters(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    int n_instants = 0;

    if (command->needs_instant && !filter_instant(&options->filter))
        return error_set(err, ERROR_USAGE,
                         "%s needs at=TIME: a time, a percentage of the run, peak or end",
                         command->name);
    for (size_t i = 0; i < options->filter.n_values; i++) {
        const struct filter_value *value = &options->filter.values[i];

        if (command->has_instant && value->parameter == filter_find("alive_at", 8)) {
            if (++n_instants > 1)
                return error_set(err, ERROR_USAGE, "%s shows one time, but at was given twice",
                                 command->name);
            continue;
        }
        if (command->filters == COMMAND_FILTERS_NONE)
            return error_set(err, ERROR_USAGE, "%s takes no filters, but %s was given%s%s",
                             command->name, value->parameter->name,
                             command->why_unfiltered ? ": " : "",
                             command->why_unfiltered ? command->why_unfiltered : "");
        if (command->filters == COMMAND_FILTERS_STACKS
            && filter_value_scope(value) == FILTER_SCOPE_ROW)
            return error_set(err, ERROR_USAGE,
                             "%s takes filters of stacks and groups only, but %s was given",
                             command->name, value->parameter->name);
    }
    return 0;
}

/* An invalid format is reported as an invalid time. */
static int fail_format(const struct query_options *options, struct error *err)
{
    struct filter filter = {.n_values = 0};

    if (!cmd_export_has_format(options->export_format))
        return filter_add(&filter, filter_find("to", 2), options->export_format, err);
    return error_set(err, ERROR_USAGE, "to %s is for export, not for %s", options->export_format,
                     options->command->name);
}

/* The first option that needs rows; NULL: none. */
static const char *row_option(const struct query_options *options)
{
    bool is_count_wrong = !options->command->has_count;

    return options->fail_if                        ? "fail_if"
           : options->sort_by                      ? "sort_by"
           : options->order                        ? "order"
           : options->count >= 0 && is_count_wrong ? "count"
           : options->skip > 0 && is_count_wrong   ? "skip"
                                                   : NULL;
}

/* A --fail-if that is not evaluated would never fail. */
static int check_rows(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    const char *option = row_option(options);

    if (command->has_no_rows && option)
        return error_set(err, ERROR_USAGE, "%s applies to rows, and %s has none", option,
                         command->name);
    if (options->after_id && (!command->has_after || options->fail_if))
        return error_set(err, ERROR_USAGE, "after is for pages of allocations, not for %s",
                         options->fail_if ? "fail_if" : command->name);
    if (options->fail_if && options->skip > 0)
        return error_set(err, ERROR_USAGE,
                         "skip cannot be used with fail_if, which tests all rows");
    return 0;
}

/* Options that only some commands understand. */
static int check_options(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    const char *option = options->measure ? "measure" : options->is_by_blocks ? "by" : NULL;

    if (!option && (options->is_inverted || options->min_share >= 0) && !command->has_tree)
        return error_set(err, ERROR_USAGE, "%s is for tree and flamegraph, not for %s",
                         options->is_inverted ? "bottom_up" : "min_share", command->name);
    if (option && !command->has_measure)
        return error_set(err, ERROR_USAGE, "%s cannot be used with %s", option, command->name);
    if ((options->protection || options->peak_rss_min) && !command->is_of_mappings)
        return error_set(err, ERROR_USAGE, "%s applies to mappings and cannot be used with %s",
                         options->protection ? "protection" : "peak_rss_min", command->name);
    if (options->blame_past && !command->has_sites)
        return error_set(err, ERROR_USAGE,
                         "blame_past applies to call sites, which %s does not show", command->name);
    if (options->has_stacks && !command->stacks_by)
        return error_set(err, ERROR_USAGE,
                         "stacks applies to rows of stacks or call sites, and %s has none",
                         command->name);
    return options->export_format && !command->has_format ? fail_format(options, err) : 0;
}

static int check_arguments(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    int wanted = command->argument ? 1 : 0;

    if (options->n_arguments < wanted && !command->is_argument_optional)
        return error_set(err, ERROR_USAGE, "%s needs %s", command->name, command->argument);
    if (options->n_arguments > wanted)
        return error_set(err, ERROR_USAGE, "unexpected argument '%s'", options->arguments[wanted]);
    return 0;
}

/* A picture shows all rows and has none that --fail-if could test. */
static int check_picture(const struct query_options *options, const char *output, struct error *err)
{
    const struct command *command = options->command;
    const char *option = options->fail_if        ? "fail_if"
                         : options->sort_by      ? "sort_by"
                         : options->count >= 0   ? "count"
                         : options->skip > 0     ? "skip"
                         : options->is_sql_shown ? "show_sql"
                                                 : NULL;

    if (!command->draws && !command->can_draw)
        return error_set(
            err, ERROR_USAGE,
            "'%s' names a picture, but %s prints text; flamegraph, heap-map, timeline, growth, "
            "size-histogram and lifetime-histogram draw pictures",
            output, command->name);
    if (command->can_draw && option)
        return error_set(err, ERROR_USAGE, "%s applies to rows, and the picture '%s' has none",
                         option, output);
    return 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t n = strlen(suffix);

    return length > n && strcasecmp(name + length - n, suffix) == 0;
}

/* Text in a file that other programs take for a picture or a page would be found out late. */
static int check_suffix(const struct query_options *options, const char *output, struct error *err)
{
    static const char *const unknown[] = {".png", ".jpg", ".jpeg", ".gif", ".webp",
                                          ".bmp", ".tif", ".pdf",  ".ps",  ".eps"};

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        if (has_suffix(output, unknown[i]))
            return error_set(err, ERROR_USAGE,
                             "'%s': %s is not written; name a file.svg for a picture, or a"
                             " file.html for the command report",
                             output, unknown[i] + 1);
    }
    if (has_suffix(output, ".html") && strcmp(options->command->name, "report") != 0)
        return error_set(err, ERROR_USAGE,
                         "'%s' would be no page: only the command report writes HTML; pictures"
                         " are written as .svg",
                         output);
    return 0;
}

int parameters_check_output(const struct query_options *options, const char *output,
                            struct error *err)
{
    int rc = output_file_check_input(output, options->database_path, err);

    if (rc == 0)
        rc = output_file_check_input(output, options->suppressions_path, err);
    for (int i = 0; rc == 0 && i < options->n_arguments; i++)
        rc = output_file_check_input(output, options->arguments[i], err);
    if (rc == 0)
        rc = check_suffix(options, output, err);
    if (rc == 0 && query_is_picture(output))
        rc = check_picture(options, output, err);
    return rc;
}

int parameters_check(const struct query_options *options, struct error *err)
{
    int rc = 0;

    if (!options->command)
        return error_set(err, ERROR_USAGE, "no command is named");
    rc = check_arguments(options, err);
    if (rc == 0)
        rc = check_options(options, err);
    if (rc == 0)
        rc = check_rows(options, err);
    return rc == 0 ? check_filters(options, err) : rc;
}
