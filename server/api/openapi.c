/* SPDX-License-Identifier: MIT */
#include "server/api/openapi.h"

#include "lib/base/json_text.h"
#include "queries/api/queries.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <string.h>

static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"mtrace-serve\",\"version\":\"" MTRACE_VERSION
    "\",\"description\":\"Questions about recordings of heap events; docs/rest.md explains them.\"},\n"
    "\"servers\":[{\"url\":\"/api/v1\"}],\"security\":[{},{\"token\":[]}],\n"
    "\"paths\":{\n"
    "\"/\":{\"get\":{\"operationId\":\"list\",\"summary\":\"recordings, commands and filters\","
    "\"responses\":{\"200\":{\"description\":\"queries and parameters\",\"content\":{\"application/json\":"
    "{\"schema\":{\"type\":\"object\"}}}}}}}";

/* SQL's values under SQL's column names. */
static const char rows_schema[] =
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":"
    "{\"type\":[\"string\",\"number\",\"null\",\"array\"]}}}";

static const char responses_tail[] = ",\"400\":{\"$ref\":\"#/components/responses/error\"},"
                                     "\"404\":{\"$ref\":\"#/components/responses/error\"},"
                                     "\"503\":{\"$ref\":\"#/components/responses/error\"}}";

static const char recording_parameter[] =
    "{\"name\":\"recording\",\"in\":\"path\",\"required\":true,\"description\":\"an id of the list, "
    "or last\",\"schema\":{\"type\":\"string\"}}";

static const char error_response[] =
    "\"responses\":{\"error\":{\"description\":\"why not\",\"content\":{\"application/json\":{\"schema\":"
    "{\"type\":\"object\",\"properties\":{\"error\":{\"type\":\"object\",\"properties\":{\"code\":"
    "{\"type\":\"string\"},\"message\":{\"type\":\"string\"}},\"required\":[\"code\",\"message\"]}},"
    "\"required\":[\"error\"]}}}}}";

static const char security[] =
    "\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}";

static void print_responses(FILE *out, const struct command *command)
{
    (void)fputs("\"responses\":{\"200\":{\"description\":", out);
    json_text_put(out, command->help);
    (void)fputs(",\"content\":{", out);
    if (command->draws)
        (void)fputs("\"image/svg+xml\":{\"schema\":{\"type\":\"string\"}}", out);
    else
        (void)fprintf(out,
                      "\"application/json\":{\"schema\":%s},\"text/csv\":{\"schema\":"
                      "{\"type\":\"string\"}}",
                      rows_schema);
    (void)fprintf(out, "}}%s", responses_tail);
}

static void print_argument(FILE *out, const struct command *command)
{
    (void)fprintf(out,
                  ",{\"name\":\"argument\",\"in\":\"query\",\"required\":%s,\"description\":\"%s\","
                  "\"schema\":{\"type\":\"string\"}}",
                  command->is_argument_optional ? "false" : "true", command->argument);
}

/* All commands list all filters: a command refuses with the reason what it cannot take. */
static void print_parameters(FILE *out, const struct command *command)
{
    struct queries_parameter parameter;

    (void)fputs("\"parameters\":[", out);
    (void)fputs(recording_parameter, out);
    if (command->argument)
        print_argument(out, command);
    for (size_t i = 0; queries_parameter_at(i, &parameter); i++)
        if (request_allows_parameter(parameter.name)
            && (parameter.group != QUERIES_FILTER || command->filters != COMMAND_FILTERS_NONE))
            (void)fprintf(out, ",{\"$ref\":\"#/components/parameters/%s\"}", parameter.name);
    (void)fputc(']', out);
}

static void print_command(FILE *out, const struct command *command)
{
    (void)fprintf(out, ",\n\"/{recording}/%s\":{\"get\":{\"operationId\":\"%s\",\"summary\":",
                  command->name, command->name);
    json_text_put(out, command->help);
    (void)fputc(',', out);
    print_parameters(out, command);
    (void)fputc(',', out);
    print_responses(out, command);
    (void)fputs("}}", out);
}

static void print_sql(FILE *out, const struct command *command)
{
    (void)fprintf(
        out,
        ",\n\"/{recording}/sql\":{\"post\":{\"operationId\":\"sql\",\"summary\":\"one SELECT\","
        "\"parameters\":[%s],\"requestBody\":{\"description\":"
        "\"the statement; a value that it makes or reads has at most 256 KiB\","
        "\"required\":true,\"content\":{"
        "\"application/sql\":{\"schema\":{\"type\":\"string\",\"maxLength\":%d}}}},",
        recording_parameter, EXCHANGE_MAX_BODY_BYTES);
    print_responses(out, command);
    (void)fputs("}}", out);
}

/* Routes that are not commands. */
static void print_resources(FILE *out)
{
    (void)fputs(
        ",\n\"/events\":{\"get\":{\"operationId\":\"events\",\"summary\":"
        "\"when answers have changed, as server-sent events: data, end\",\"responses\":"
        "{\"200\":{\"description\":\"an endless stream\",\"content\":{\"text/event-stream\":"
        "{\"schema\":{\"type\":\"string\"}}}}}}}",
        out);
    (void)fprintf(
        out,
        ",\n\"/{recording}/values\":{\"get\":{\"operationId\":\"values\",\"summary\":"
        "\"what a filter may be given, for completion\",\"parameters\":[%s,"
        "{\"name\":\"parameter\",\"in\":\"query\",\"required\":true,\"description\":"
        "\"of the list's filters, one with has_values\",\"schema\":{\"type\":\"string\"}},"
        "{\"name\":\"part\",\"in\":\"query\",\"description\":\"what values or labels have in them\","
        "\"schema\":{\"type\":\"string\"}},{\"$ref\":\"#/components/parameters/count\"},"
        "{\"$ref\":\"#/components/parameters/skip\"},"
        "{\"$ref\":\"#/components/parameters/format\"}],"
        "\"responses\":{\"200\":{\"description\":\"rows of value and label\",\"content\":"
        "{\"application/json\":{\"schema\":%s}}}%s}}",
        recording_parameter, rows_schema, responses_tail);
    (void)fprintf(
        out,
        ",\n\"/{recording}/notes\":{\"get\":{\"operationId\":\"notes\",\"summary\":"
        "\"what is missing from all numbers, or from the answer to a command\",\"parameters\":[%s,"
        "{\"name\":\"command\",\"in\":\"query\",\"description\":\"beside parameters of its own\","
        "\"schema\":{\"type\":\"string\"}}],"
        "\"responses\":{\"200\":{\"description\":\"rows of note\",\"content\":"
        "{\"application/json\":{\"schema\":%s}}}%s}}",
        recording_parameter, rows_schema, responses_tail);
    (void)fprintf(
        out,
        ",\n\"/{recording}/source\":{\"get\":{\"operationId\":\"source\",\"summary\":"
        "\"a source file and what its lines allocate\",\"parameters\":[%s,"
        "{\"name\":\"path\",\"in\":\"query\",\"required\":true,\"description\":\"as the recording has it\","
        "\"schema\":{\"type\":\"string\"}}],\"responses\":{\"200\":{\"description\":\"the file\","
        "\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\"},\"state\":{\"type\":\"string\",\"enum\":[\"unchanged\","
        "\"changed\",\"absent\",\"unreadable\"]},\"note\":{\"type\":\"string\"},"
        "\"modified_unix_ns\":{\"type\":[\"integer\",\"null\"]},\"lines\":%s,"
        "\"text\":{\"type\":[\"string\",\"null\"]}}}}}}%s}}",
        recording_parameter, rows_schema, responses_tail);
}

static void print_shared_parameters(FILE *out)
{
    struct queries_parameter parameter;
    const char *separator = "";

    (void)fputs("\"parameters\":{", out);
    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        if (!request_allows_parameter(parameter.name))
            continue;
        (void)fprintf(out,
                      "%s\n\"%s\":{\"name\":\"%s\",\"in\":\"query\",\"description\":", separator,
                      parameter.name, parameter.name);
        json_text_put(out, parameter.help);
        (void)fprintf(out, ",\"schema\":{\"type\":\"string\"%s}}",
                      parameter.value ? "" : ",\"enum\":[\"yes\",\"no\"]");
        separator = ",";
    }
    (void)fputs("},\n", out);
}

void openapi_print(FILE *out)
{
    (void)fputs(head, out);
    for (const struct command *command = queries_commands; command->name; command++)
        if (strcmp(command->name, "sql") == 0)
            print_sql(out, command);
        else
            print_command(out, command);
    print_resources(out);
    (void)fputs("},\n\"components\":{", out);
    print_shared_parameters(out);
    (void)fprintf(out, "%s,\n%s}}\n", error_response, security);
}
