/* SPDX-License-Identifier: MIT */
#include "queries/export/cmd_export.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"
#include "queries/export/export_job.h"

#include <stdlib.h>
#include <string.h>

static const struct export_format {
    const char *name;
    int (*run)(struct export_job *job, struct error *err);
    bool reads_rows;
    bool is_of_one_process; /* the format has one clock and one address space */
    bool is_binary;
    bool is_of_blocks; /* counts blocks one by one: no weights */
    bool has_measure;  /* one number per stack, chosen by --measure */
} formats[] = {
    {"flamegraph.pl", export_collapsed_run, .has_measure = true},
    {"heaptrack", export_heaptrack_run, .reads_rows = true, .is_of_one_process = true,
     .is_of_blocks = true},
    {"pprof", export_pprof_run, .is_binary = true},
    {"speedscope", export_speedscope_run, .reads_rows = false},
    {"dhat", export_dhat_run, .reads_rows = true, .is_of_one_process = true, .is_of_blocks = true},
    {"massif", export_massif_run, .reads_rows = true, .is_of_one_process = true,
     .is_of_blocks = true},
    {"json", export_json_run, .reads_rows = true},
};

enum {
    N_FORMATS = sizeof(formats) / sizeof(formats[0])
};

enum {
    FORMAT_LIST_BYTES = 256
};

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; name && i < N_FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

/* "flamegraph.pl, heaptrack or json" */
static const char *list_formats(char text[FORMAT_LIST_BYTES])
{
    size_t n = 0;

    for (size_t i = 0; i < N_FORMATS && n < FORMAT_LIST_BYTES; i++)
        n += (size_t)snprintf(text + n, FORMAT_LIST_BYTES - n, "%s%s",
                              i == 0              ? ""
                              : i + 1 < N_FORMATS ? ", "
                                                  : " or ",
                              formats[i].name);
    return text;
}

bool cmd_export_has_format(const char *name)
{
    return find_format(name) != NULL;
}

int cmd_export_install(struct query *query, struct error *err)
{
    const struct export_format *format = find_format(query->options->export_format);

    return format && format->reads_rows ? 0 : query_install_filters(query, err);
}

static int check_format(const struct query *query, const struct export_format **ret_format,
                        struct error *err)
{
    const struct query_options *options = query->options;
    const struct export_format *format = find_format(options->export_format);
    char list[FORMAT_LIST_BYTES];

    *ret_format = format;
    if (!options->export_format)
        return error_set(err, ERROR_USAGE, "export needs to=FORMAT: %s", list_formats(list));
    if (!format)
        return error_set(err, ERROR_USAGE, "to '%.100s': %s is expected", options->export_format,
                         list_formats(list));
    if ((options->measure || options->is_by_blocks) && !format->has_measure)
        return error_set(err, ERROR_USAGE,
                         "--%s is for flamegraph.pl only; %s always has "
                         "everything",
                         options->measure ? "measure" : "by", format->name);
    if (format->is_binary && query->style.is_terminal)
        return error_set(err, ERROR_USAGE, "%s is not text; write it to a file with -o FILE",
                         format->name);
    return 0;
}

static int choose_process(struct export_job *job, const struct export_format *format,
                          struct error *err)
{
    const struct rundb *database = &job->query->database;
    int64_t n = 0;
    int64_t first = 0;
    int rc = rundb_get_int64(database, "SELECT count(*) FROM processes", &n, err);

    if (rc == 0)
        rc = rundb_get_int64(database, "SELECT min(process_id) FROM processes", &first, err);
    job->process_id = job->query->options->process_id;
    if (rc != 0 || job->process_id != 0)
        return rc;
    if (n == 1)
        job->process_id = first;
    if (n > 1 && format->is_of_one_process)
        return error_set(err, ERROR_USAGE,
                         "'%s' has %lld processes and %s can hold one; choose it with process=ID",
                         job->query->options->database_path, (long long)n, format->name);
    return 0;
}

/* The number of blocks without a row: the elided ones, or in a bounded log all freed ones. */
static int note_without_row(struct export_job *job, const struct export_format *format,
                            struct error *err)
{
    const struct rundb *database = &job->query->database;
    char sql[128];
    int64_t n = 0;
    int rc;

    sqlite3_snprintf(sizeof(sql), sql,
                     "SELECT sum(%s_blocks) FROM backtrace_totals WHERE %lld IN (0, process_id)",
                     database->is_aggregate ? "freed" : "elided", (long long)job->process_id);
    rc = rundb_get_int64(database, sql, &n, err);
    if (rc == 0 && n > 0)
        query_note(job->query, "%lld %s have no row and are missing in %s; totals include them",
                   (long long)n, database->is_aggregate ? "freed blocks" : "elided blocks",
                   format->name);
    return rc;
}

/* A slim import (--slim) has no rows. */
static int check_rows(struct export_job *job, const struct export_format *format, struct error *err)
{
    int rc = query_need_rows(job->query, err);

    job->query->is_elided_noted = true;
    if (rc == 0 && format->is_of_blocks)
        rc = query_need_every_block(
            job->query,
            "this format counts single blocks, but each sample stands for many; flamegraph.pl, "
            "pprof and speedscope have estimates",
            err);
    return rc == 0 ? note_without_row(job, format, err) : rc;
}

/* For formats that are made of totals; others print the statements that they read. */
static int show_totals(const struct export_job *job, struct error *err)
{
    struct export_totals totals;
    int rc = export_totals_open(&totals, job, err);

    if (rc == 0)
        (void)query_show_sql(job->query, totals.stmt);
    export_totals_close(&totals);
    return rc;
}

static int run_format(struct export_job *job, const struct export_format *format, struct error *err)
{
    enum stack_measure measure = STACK_MEASURE_ALLOCATED;
    char suppressed[UNITS_TEXT_BYTES];
    int rc = choose_process(job, format, err);

    if (rc == 0)
        rc = export_job_read_process(job, err);
    if (rc == 0 && job->query->options->is_sql_shown && !format->reads_rows)
        return show_totals(job, err);
    if (rc == 0 && format->reads_rows)
        rc = check_rows(job, format, err);
    if (rc == 0 && format->has_measure)
        rc = stack_measure_of(job->query, &measure, err);
    if (rc == 0)
        rc = stack_weights_load(&job->stacks, job->query, job->process_id, measure, err);
    for (size_t i = 0; rc == 0 && i < job->stacks.n_names; i++)
        utf8_clean(job->stacks.names[i]);
    if (rc == 0 && job->stacks.suppressed_bytes > 0)
        query_note(job->query, "%s leaked and suppressed are omitted",
                   units_format_bytes(job->stacks.suppressed_bytes, suppressed));
    return rc == 0 ? format->run(job, err) : rc;
}

int cmd_export_run(struct query *query, struct error *err)
{
    const struct export_format *format;
    struct export_job job = {.query = query, .out = query->out};
    int rc = check_format(query, &format, err);

    if (rc == 0) {
        rc = run_format(&job, format, err);
        stack_weights_done(&job.stacks);
    }
    free(job.command_line);
    free(job.executable);
    return rc;
}
