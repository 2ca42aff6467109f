/* SPDX-License-Identifier: MIT */
#include "server/api/api_meta.h"

#include "lib/base/json_text.h"
#include "queries/api/queries.h"
#include "queries/core/stack_weights.h"
#include "queries/filter/filter.h"
#include "server/api/values.h"
#include "server/core/recordings.h"
#include "server/core/request.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static void print_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "\"%s\":", name);
    if (text)
        json_text_put(out, text);
    else
        (void)fputs("null", out);
}

static void print_flag(FILE *out, const char *name, bool value)
{
    (void)fprintf(out, "\"%s\":%s,", name, value ? "true" : "false");
}

static void print_number(FILE *out, const char *name, int64_t value)
{
    (void)fprintf(out, "\"%s\":", name);
    if (value == RECORDINGS_NO_PEAK)
        (void)fputs("null", out);
    else
        (void)fprintf(out, "%" PRId64, value);
}

/* The process that a page shows first, so that it needs no query to find it. */
static void print_process(FILE *out, const struct recording_process *process)
{
    (void)fputs("\"largest_process\":{", out);
    print_number(out, "process_id", process->process_id);
    (void)fputc(',', out);
    print_number(out, "start_unix_ns", process->start_unix_ns);
    (void)fputc(',', out);
    print_number(out, "start_ns", process->start_ns);
    (void)fputc(',', out);
    print_number(out, "duration_ns", process->duration_ns);
    (void)fputc(',', out);
    print_number(out, "peak_ns", process->peak_ns);
    (void)fputc(',', out);
    print_number(out, "peak_bytes", process->peak_bytes);
    (void)fputc('}', out);
}

static void print_recording(FILE *out, const struct recording *recording, bool is_confidential)
{
    bool is_growing = recording_is_growing(recording);
    struct recording now;

    recordings_read_again(recording, &now);
    (void)fprintf(out, "{\"id\":\"%s\",", recording->id);
    print_text(out, "name", recording->name);
    (void)fputc(',', out);
    print_text(out, "executable", is_confidential ? NULL : recording->executable);
    (void)fputc(',', out);
    print_flag(out, "is_growing", is_growing);
    (void)fprintf(
        out, "\"start_unix_ns\":%" PRId64 ",\"duration_ns\":%" PRId64 ",\"processes\":%" PRId64 ",",
        recording->start_unix_ns, now.duration_ns, now.n_processes);
    print_process(out, &now.largest);
    (void)fputc('}', out);
    recordings_read_done(&now);
}

static void print_recordings(FILE *out, const struct recordings *recordings, bool is_confidential)
{
    (void)fputs("\"recordings\":[", out);
    for (size_t i = 0; i < recordings->n_items; i++) {
        (void)fputs(i > 0 ? ",\n" : "", out);
        print_recording(out, &recordings->items[i], is_confidential);
    }
    (void)fputs("],\n", out);
}

/* "a, b" as an array. */
static void print_columns(FILE *out, const char *columns)
{
    const char *separator = "";

    (void)fputs("\"columns\":", out);
    (void)fputs(columns ? "[" : "null", out);
    while (columns && *columns) {
        size_t length = strcspn(columns, ", ");

        if (length > 0)
            (void)fprintf(out, "%s\"%.*s\"", separator, (int)length, columns);
        separator = ",";
        columns += length + (columns[length] != '\0');
        columns += strspn(columns, " ");
    }
    (void)fputs(columns ? "]" : "", out);
}

static void print_commands(FILE *out)
{
    static const char *const filters[] = {
        [COMMAND_FILTERS_NONE] = "none",
        [COMMAND_FILTERS_STACKS] = "stacks",
        [COMMAND_FILTERS_ALL] = "all",
        [COMMAND_FILTERS_ROWS] = "rows",
    };

    (void)fputs("\"commands\":[", out);
    for (const struct command *command = queries_commands; command->name; command++) {
        (void)fputs(command == queries_commands ? "{" : ",\n{", out);
        print_text(out, "name", command->name);
        (void)fputc(',', out);
        print_text(out, "help", command->help);
        (void)fputc(',', out);
        print_text(out, "argument", command->argument);
        (void)fputc(',', out);
        print_flag(out, "has_measure", command->has_measure);
        print_flag(out, "has_tree", command->has_tree);
        print_flag(out, "has_instant", command->has_instant);
        print_flag(out, "needs_rows", command->needs_rows);
        print_flag(out, "takes_samples", !command->why_unsampled);
        (void)fprintf(out, "\"filters\":\"%s\",", filters[command->filters]);
        print_text(out, "rare_column", command->rare_column);
        (void)fputc(',', out);
        print_columns(out, command->columns);
        (void)fputc('}', out);
    }
    (void)fputs("],\n", out);
}

/* ---- parameters ---- */

/* "asc|dsc" in help are the words themselves. */
static void print_words_of_help(FILE *out, const char *value)
{
    const char *separator = "";

    (void)fputc('[', out);
    while (*value) {
        size_t length = strcspn(value, "|");

        (void)fprintf(out, "%s\"%.*s\"", separator, (int)length, value);
        separator = ",";
        value += length + (value[length] == '|');
    }
    (void)fputc(']', out);
}

static void print_words(FILE *out, const struct queries_parameter *parameter,
                        const struct filter_parameter *filter)
{
    const struct filter_word *word = filter ? filter->words : NULL;
    bool is_choice = parameter->value && islower((unsigned char)*parameter->value)
                     && strchr(parameter->value, '|');

    (void)fputs("\"words\":", out);
    if (strcmp(parameter->name, "measure") == 0) {
        for (int i = STACK_MEASURE_PEAK; i <= STACK_MEASURE_LIVE; i++)
            (void)fprintf(out, "%s\"%s\"", i == STACK_MEASURE_PEAK ? "[" : ",",
                          stack_measure_name((enum stack_measure)i));
        (void)fputc(']', out);
    } else if (!parameter->value) {
        (void)fputs("[\"yes\",\"no\"]", out);
    } else if (word) {
        for (const struct filter_word *at = word; at->name; at++)
            (void)fprintf(out, "%s\"%s\"", at == word ? "[" : ",", at->name);
        (void)fputc(']', out);
    } else if (is_choice) {
        print_words_of_help(out, parameter->value);
    } else {
        (void)fputs("null", out);
    }
}

static const char *type_name(const struct filter_parameter *filter)
{
    static const char *const names[] = {
        [FILTER_TIME] = "time",
        [FILTER_INSTANT] = "instant",
        [FILTER_DURATION] = "duration",
        [FILTER_DURATION_OR_SHARE] = "duration_or_share",
        [FILTER_BYTES] = "bytes",
        [FILTER_COUNT] = "count",
        [FILTER_COUNT_OR_SHARE] = "count_or_share",
        [FILTER_ADDRESS] = "address",
        [FILTER_WORD] = "word",
        [FILTER_TEXT] = "text",
        [FILTER_REGEX] = "regex",
    };

    return filter ? names[filter->type] : "option";
}

static void print_parameter(FILE *out, const struct queries_parameter *parameter)
{
    const struct filter_parameter *filter = filter_find(parameter->name, strlen(parameter->name));

    print_text(out, "name", parameter->name);
    (void)fputc(',', out);
    print_text(out, "value", parameter->value);
    (void)fputc(',', out);
    print_text(out, "help", parameter->help);
    (void)fputc(',', out);
    print_text(out, "alias", parameter->alias);
    (void)fputc(',', out);
    print_text(out, "type", type_name(filter));
    (void)fputc(',', out);
    print_flag(out, "has_values", values_has(parameter));
    print_words(out, parameter, filter);
}

/* Filters select rows; options say what is made of them. */
static void print_parameters(FILE *out, const char *title, bool is_filters)
{
    struct queries_parameter parameter;
    const char *separator = "";

    (void)fprintf(out, "\"%s\":[", title);
    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        bool is_filter = parameter.group == QUERIES_FILTER || parameter.group == QUERIES_WHOSE;

        if (is_filter != is_filters || !request_allows_parameter(parameter.name))
            continue;
        (void)fprintf(out, "%s{", separator);
        print_parameter(out, &parameter);
        (void)fputc('}', out);
        separator = ",\n";
    }
    (void)fputs("]", out);
}

void api_meta_print(FILE *out, const struct recordings *recordings, bool is_confidential)
{
    (void)fputc('{', out);
    print_text(out, "version", MTRACE_VERSION);
    (void)fputs(",\n", out);
    print_recordings(out, recordings, is_confidential);
    print_commands(out);
    print_parameters(out, "filters", true);
    (void)fputs(",\n", out);
    print_parameters(out, "options", false);
    (void)fputs("}\n", out);
}
