/* SPDX-License-Identifier: MIT */
/*
 * diff A.db B.db: how two runs differ. diff run.db --at A --at B (or --from A --to B): how two
 * times of one run differ. What changed most comes first.
 *
 * Each side is a query of its own. Call sites are matched by function and file name, because lines,
 * addresses and folders move between builds. The line of a row is the one that changed most, if
 * lines are comparable; folder and module are those of this line. A function that is only in the
 * first recording, and another one with its name or file, and its bytes and blocks, that is only in
 * the second, are one that was renamed or moved.
 *
 * Samples: two recordings sample independently, so the variances of both sides add up. Blocks live
 * at both times of one recording are the same samples with the same weights and cancel out of the
 * difference. Both sides contain their variance, so it is subtracted twice.
 */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/shell_quote.h"
#include "lib/base/units.h"
#include "queries/core/command.h"
#include "queries/core/computed_rows.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"
#include "queries/core/stack_weights.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"
#include "queries/reports/reports.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 256 /* of a function in a note */
};

struct place {
    char *function, *source, *module; /* NULL: unknown */
    int64_t line;
    bool is_new; /* of the second recording */
};

/* The weights of one call site on both sides. */
struct entry {
    struct place place;
    int64_t bytes[2], blocks[2];        /* before, after */
    double bytes_square, blocks_square; /* squared margins of the changes if they are estimates */
};

/* The measures that are summed above the table if none is chosen. */
static const enum stack_measure summed[] = {STACK_MEASURE_LEAKED, STACK_MEASURE_PEAK,
                                            STACK_MEASURE_ALLOCATED, STACK_MEASURE_TEMPORARY};

enum {
    N_SUMMED = sizeof(summed) / sizeof(summed[0])
};

struct sum {
    int64_t bytes[2];
    double squares[2]; /* squared margins of estimates */
};

struct diff {
    struct entry *list;
    size_t n, capacity;
    int64_t sample_bytes; /* of either side; 0: exact */
    bool has_sums;
    struct sum sums[N_SUMMED];
};

/* The two recordings, or times, that are compared. */
enum side {
    BEFORE,
    AFTER,
    BOTH /* blocks live at both times of one recording, which cancel out of the change */
};

/* ---- one side ---- */

static char *copy_column(struct sqlite3_stmt *row, int column, bool *is_failed)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    char *copy = text ? strdup(text) : NULL;

    *is_failed = *is_failed || (text && !copy);
    return copy;
}

static int add_entry(struct diff *diff, struct sqlite3_stmt *row, int side, struct error *err)
{
    struct entry *list =
        dynamic_array_reserve(diff->list, &diff->capacity, diff->n + 1, sizeof(*list));
    struct entry *entry;
    bool is_failed = false;

    if (!list)
        return error_set(err, ERROR_NOMEM, "no memory for %zu call sites", diff->n + 1);
    diff->list = list;
    entry = &list[diff->n++];
    *entry =
        (struct entry){.place = {.line = sqlite3_column_int64(row, 2), .is_new = side == AFTER}};
    entry->place.function = copy_column(row, 0, &is_failed);
    entry->place.source = copy_column(row, 1, &is_failed);
    entry->place.module = copy_column(row, 3, &is_failed);
    entry->bytes_square = (side == BOTH ? -2 : 1) * sqlite3_column_double(row, 6);
    entry->blocks_square = (side == BOTH ? -2 : 1) * sqlite3_column_double(row, 7);
    if (side != BOTH) {
        entry->bytes[side] = sqlite3_column_int64(row, 4);
        entry->blocks[side] = sqlite3_column_int64(row, 5);
    }
    return is_failed ? error_set(err, ERROR_NOMEM, "no memory for a call site") : 0;
}

/* Counts leaks like the view leaks. */
static const char *rows_of(enum stack_measure measure)
{
    return measure == STACK_MEASURE_LEAKED ? "(SELECT * FROM _leaked_stacks WHERE rule_id IS NULL)"
                                           : "backtrace_totals";
}

/* Prepares sums of one measure, of the stacks that the options select: bytes, blocks and their
 * squares. place: columns of _sites, with a comma, for one row per call site; "": one row in
 * all. */
static int prepare_sums(const struct query *query, enum stack_measure measure, const char *place,
                        struct sqlite3_stmt **ret_stmt, struct error *err)
{
    const struct stack_measure_columns *columns = stack_measure_columns(measure);
    char *sql = sqlite3_mprintf(
        "SELECT %s sum(%s), sum(%s), sum(%s), sum(%s) FROM %s AS t"
        " JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id"
        " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id"
        " WHERE :process IN (0, t.process_id) AND :site IN (0, b.call_site_id)%s",
        place, columns->bytes, columns->blocks, columns->bytes_square, columns->blocks_square,
        rows_of(measure), *place ? " GROUP BY b.call_site_id" : "");
    int rc = sql ? rundb_prepare(&query->database, sql, ret_stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(*ret_stmt, 1, query->options->process_id);
    sqlite3_bind_int64(*ret_stmt, 2, query->options->site_id);
    return 0;
}

static int read_entries(const struct query *query, enum stack_measure measure, int side,
                        struct diff *diff, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare_sums(query, measure, "s.function, s.source, s.line, s.module,", &stmt, err);

    while (rc == 0 && (rc = rundb_step(&query->database, stmt, err)) == 1)
        rc = add_entry(diff, stmt, side, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int read_sum(const struct query *query, size_t i, int side, struct diff *diff,
                    struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare_sums(query, summed[i], "", &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(&query->database, stmt, err);
    diff->sums[i].bytes[side] = sqlite3_column_int64(stmt, 0);
    diff->sums[i].squares[side] = sqlite3_column_double(stmt, 2);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static int read_side(const struct query *asked, const struct query_options *options,
                     enum stack_measure measure, int side, struct diff *diff, struct error *err)
{
    /* The notes of the first database were given when it was opened. */
    bool is_other = options->database_path != asked->options->database_path;
    struct query query = {.options = options,
                          .note = is_other ? asked->note : NULL,
                          .note_context = asked->note_context,
                          .stop = asked->stop,
                          .commands = asked->commands};
    int rc = query_open(&query, err);

    if (rc == 0)
        rc = read_entries(&query, measure, side, diff, err);
    for (size_t i = 0; rc == 0 && diff->has_sums && i < N_SUMMED; i++)
        rc = read_sum(&query, i, side, diff, err);
    if (query.database.sample_bytes)
        diff->sample_bytes = query.database.sample_bytes;
    rundb_close(&query.database);
    return rc;
}

/* ---- both ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* The name of the source file, or else of the module. */
static const char *file_of(const struct entry *entry)
{
    const char *path = entry->place.source ? entry->place.source : entry->place.module;

    return path ? shorten_path(path) : "";
}

static int compare_places(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int functions = compare_text(a->place.function, b->place.function);

    return functions ? functions : strcmp(file_of(a), file_of(b));
}

static int64_t change_bytes(const struct entry *entry)
{
    return saturating_subtract(entry->bytes[1], entry->bytes[0]);
}

static int64_t change_blocks(const struct entry *entry)
{
    return saturating_subtract(entry->blocks[1], entry->blocks[0]);
}

static int compare_magnitudes(int64_t a, int64_t b)
{
    uint64_t size_a = a < 0 ? -(uint64_t)a : (uint64_t)a;
    uint64_t size_b = b < 0 ? -(uint64_t)b : (uint64_t)b;

    if (size_a != size_b)
        return size_a > size_b ? -1 : 1;
    return a == b ? 0 : a > b ? -1 : 1;
}

static int compare_changes(const void *left, const void *right, void *by_blocks)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int bytes = compare_magnitudes(change_bytes(a), change_bytes(b));
    int blocks = compare_magnitudes(change_blocks(a), change_blocks(b));
    bool is_by_blocks = *(const bool *)by_blocks;
    int first = is_by_blocks ? blocks : bytes;
    int second = is_by_blocks ? bytes : blocks;

    return first ? first : second ? second : compare_places(left, right);
}

static void free_entry(struct entry *entry)
{
    free(entry->place.function);
    free(entry->place.source);
    free(entry->place.module);
}

static int compare_lines(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int places = compare_places(a, b);

    return places ? places : (a->place.line > b->place.line) - (a->place.line < b->place.line);
}

static void add(struct entry *sum, const struct entry *part)
{
    for (int side = 0; side < 2; side++) {
        saturating_grow(&sum->bytes[side], part->bytes[side]);
        saturating_grow(&sum->blocks[side], part->blocks[side]);
    }
    sum->bytes_square += part->bytes_square;
    sum->blocks_square += part->blocks_square;
}

static void swap_places(struct entry *a, struct entry *b)
{
    const struct place place = a->place;

    a->place = b->place;
    b->place = place;
}

/* Lines of one place move between builds. They are comparable if one side has all lines of the
 * other. */
static bool are_comparable(const struct entry *lines, size_t n)
{
    bool has_alone[2] = {false, false};

    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < 2; side++)
            has_alone[side] = has_alone[side] || lines[i].blocks[!side] == 0;
    return !has_alone[0] || !has_alone[1];
}

/* The line that contributed most to the change of the place. */
static size_t max_changed_line(const struct entry *lines, size_t n, const struct entry *sum,
                               bool by_blocks)
{
    int64_t whole = by_blocks ? change_blocks(sum) : change_bytes(sum);
    int64_t most = INT64_MIN;
    size_t line = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t change = by_blocks ? change_blocks(&lines[i]) : change_bytes(&lines[i]);
        if (whole < 0)
            change = saturating_subtract(0, change);
        if (change > most) {
            most = change;
            line = i;
        }
    }
    return line;
}

/* The line with the most bytes afterwards, or else before. */
static size_t largest_line(const struct entry *lines, size_t n)
{
    size_t largest = n;

    for (int side = 1; side >= 0 && largest == n; side--)
        for (size_t i = 0; i < n; i++)
            if (lines[i].blocks[side] != 0
                && (largest == n || lines[i].bytes[side] > lines[largest].bytes[side]))
                largest = i;
    return largest < n ? largest : 0;
}

/* Merges the lines of a place into the first one. */
static void sum_place(struct entry *lines, size_t n, bool are_of_one_build, bool by_blocks)
{
    struct entry sum = lines[0];

    for (size_t i = 1; i < n; i++)
        add(&sum, &lines[i]);
    swap_places(&sum, &lines[are_of_one_build || are_comparable(lines, n)
                                 ? max_changed_line(lines, n, &sum, by_blocks)
                                 : largest_line(lines, n)]);
    for (size_t i = 1; i < n; i++)
        free_entry(&lines[i]);
    lines[0] = sum;
}

static void sum_lines(struct diff *diff)
{
    size_t n = 0;

    if (diff->n > 0)
        qsort(diff->list, diff->n, sizeof(*diff->list), compare_lines);
    for (size_t i = 0; i < diff->n; i++) {
        if (n == 0 || compare_lines(&diff->list[n - 1], &diff->list[i]) != 0) {
            diff->list[n++] = diff->list[i];
            continue;
        }
        add(&diff->list[n - 1], &diff->list[i]);
        if (diff->list[i].place.is_new)
            swap_places(&diff->list[n - 1], &diff->list[i]);
        free_entry(&diff->list[i]);
    }
    diff->n = n;
}

/* Entries of one place become one. */
static void merge(struct diff *diff, bool are_of_one_build, bool by_blocks)
{
    size_t n_places = 0;
    size_t n;

    sum_lines(diff);
    for (size_t i = 0; i < diff->n; i += n) {
        for (n = 1; i + n < diff->n && compare_places(&diff->list[i], &diff->list[i + n]) == 0;)
            n++;
        sum_place(&diff->list[i], n, are_of_one_build, by_blocks);
        diff->list[n_places++] = diff->list[i];
    }
    diff->n = n_places;
}

/* Only on this side, with some bytes or blocks. */
static bool is_alone(const struct entry *entry, int side)
{
    return entry->bytes[!side] == 0 && entry->blocks[!side] == 0
           && (entry->bytes[side] != 0 || entry->blocks[side] != 0);
}

/* The same function in another file, or another function in the same file. */
static bool are_related(const struct entry *a, const struct entry *b)
{
    return strcmp(file_of(a), file_of(b)) == 0
           || (a->place.function && compare_text(a->place.function, b->place.function) == 0);
}

/* The function of the second recording that has this one's bytes and blocks; NULL: none. */
static struct entry *find_renamed(const struct diff *diff, const struct entry *gone)
{
    for (size_t i = 0; is_alone(gone, BEFORE) && i < diff->n; i++) {
        struct entry *entry = &diff->list[i];

        if (is_alone(entry, AFTER) && gone->bytes[BEFORE] == entry->bytes[AFTER]
            && gone->blocks[BEFORE] == entry->blocks[AFTER] && are_related(gone, entry))
            return entry;
    }
    return NULL;
}

/* "function in file", or the file. */
static const char *name_of(const struct entry *entry, char ret_text[NAME_BYTES])
{
    size_t used;

    ret_text[0] = '\0';
    shorten_function(entry->place.function ? entry->place.function : "", ret_text, NAME_BYTES / 2);
    used = strlen(ret_text);
    (void)snprintf(ret_text + used, NAME_BYTES - used, "%s%s", used ? " in " : "", file_of(entry));
    return ret_text;
}

/* The two entries of a function that was renamed become one, which did not change. */
static void merge_renamed(const struct query *query, struct diff *diff)
{
    size_t n_renamed = 0;
    char names[2][NAME_BYTES];
    char more[UNITS_TEXT_BYTES];
    char note[2 * NAME_BYTES + 64] = "";

    for (size_t i = 0; i < diff->n;) {
        struct entry *gone = &diff->list[i];
        struct entry *entry = find_renamed(diff, gone);

        if (!entry) {
            i++;
            continue;
        }
        if (n_renamed++ == 0)
            (void)snprintf(note, sizeof(note), "%s is now %s (same bytes and blocks)",
                           name_of(gone, names[0]), name_of(entry, names[1]));
        add(entry, gone);
        free_entry(gone);
        *gone = diff->list[--diff->n];
    }
    if (n_renamed > 1)
        query_note(query, "taken for renamed: %s, and %s", note,
                   units_format_counted((int64_t)n_renamed - 1, "more function", more));
    else if (n_renamed > 0)
        query_note(query, "taken for renamed: %s", note);
}

/* ---- the answer ---- */

static void print_title(const struct query *query, const struct query_options *sides,
                        enum stack_measure measure, const struct diff *diff)
{
    const bool is_estimate = diff->sample_bytes != 0;
    bool is_of_instants = sides[0].database_path == sides[1].database_path;
    struct entry all = {0};
    struct entry parts[2] = {{.place = {.line = 0}}}; /* what fell, what rose */
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[ESTIMATE_TEXT_BYTES];
    char texts[2][UNITS_TEXT_BYTES];

    for (size_t i = 0; i < diff->n; i++) {
        add(&all, &diff->list[i]);
        add(&parts[change_bytes(&diff->list[i]) > 0], &diff->list[i]);
    }
    (void)fprintf(
        query->out, "%s, from %s to %s: %s%s in %s%s %s", stack_measure_title(query, measure),
        is_of_instants ? sides[0].filter.values[sides[0].filter.n_values - 1].text
                       : sides[0].database_path,
        is_of_instants ? sides[1].filter.values[sides[1].filter.n_values - 1].text
                       : sides[1].database_path,
        change_bytes(&all) > 0 ? "+" : "",
        estimate_format_bytes(change_bytes(&all), estimate_margin(is_estimate, all.bytes_square),
                              bytes),
        change_blocks(&all) > 0 ? "+" : "",
        estimate_format_count(change_blocks(&all), estimate_margin(is_estimate, all.blocks_square),
                              blocks),
        !is_estimate && (change_blocks(&all) == 1 || change_blocks(&all) == -1) ? "block"
                                                                                : "blocks");
    if (change_bytes(&parts[0]) < 0 && change_bytes(&parts[1]) > 0)
        (void)fprintf(query->out, " (+%s and %s)",
                      units_format_bytes(change_bytes(&parts[1]), texts[1]),
                      units_format_bytes(change_bytes(&parts[0]), texts[0]));
    (void)fputs("\n", query->out);
}

/* Samples do not show temporary blocks. */
static void print_sums(const struct query *query, const struct diff *diff)
{
    const bool is_estimate = diff->sample_bytes != 0;
    char texts[3][ESTIMATE_TEXT_BYTES];

    for (size_t i = 0; i < N_SUMMED; i++) {
        const struct sum *sum = &diff->sums[i];
        int64_t change = saturating_subtract(sum->bytes[1], sum->bytes[0]);
        if (is_estimate && summed[i] == STACK_MEASURE_TEMPORARY)
            continue;
        for (int side = 0; side < 2; side++)
            estimate_format_bytes(sum->bytes[side],
                                  estimate_margin(is_estimate, sum->squares[side]), texts[side]);
        estimate_format_bytes(
            change, estimate_margin(is_estimate, sum->squares[0] + sum->squares[1]), texts[2]);
        (void)fprintf(query->out, "%s: %s before, %s after, change %s%s\n",
                      stack_measure_title(query, summed[i]), texts[0], texts[1],
                      change > 0 ? "+" : "", texts[2]);
    }
}

/* The table is about leaks: leads to the measure that rose most. */
static void advise_measure(const struct query *query, const struct query_options *sides,
                           const struct diff *diff)
{
    char after[QUERY_SHELL_PATH_BYTES] = "";
    int64_t most = 0;
    size_t best = 0;

    for (size_t i = 0; i < N_SUMMED; i++) {
        int64_t change = saturating_subtract(diff->sums[i].bytes[1], diff->sums[i].bytes[0]);
        if (summed[i] == STACK_MEASURE_LEAKED || change <= most
            || (diff->sample_bytes && summed[i] == STACK_MEASURE_TEMPORARY))
            continue;
        most = change;
        best = i;
    }
    if (most == 0 || query->options->filter.n_values > 0)
        return;
    shell_quote(sides[1].database_path, after, sizeof(after));
    query_advise(query, "diff %s %s --measure %s", query->shell_path, after,
                 stack_measure_name(summed[best]));
}

static void add_row(struct computed_rows *rows, const struct entry *entry, bool is_estimate)
{
    computed_rows_begin(rows);
    computed_rows_add_int64(rows, change_bytes(entry));
    computed_rows_add_int64(rows, change_blocks(entry));
    for (int side = 0; side < 2; side++)
        computed_rows_add_int64(rows, entry->bytes[side]);
    for (int side = 0; side < 2; side++)
        computed_rows_add_int64(rows, entry->blocks[side]);
    computed_rows_add_text(rows, entry->place.function);
    computed_rows_add_text(rows, entry->place.source);
    if (entry->place.line > 0)
        computed_rows_add_int64(rows, entry->place.line);
    else
        computed_rows_add_null(rows);
    computed_rows_add_text(rows, entry->place.module);
    if (is_estimate) {
        computed_rows_add_share(rows, estimate_margin(true, entry->bytes_square));
        computed_rows_add_share(rows, estimate_margin(true, entry->blocks_square));
    } else {
        computed_rows_add_null(rows);
        computed_rows_add_null(rows);
    }
    computed_rows_end(rows);
}

static int show(struct query *query, struct diff *diff, struct error *err)
{
    bool is_by_blocks = query->options->is_by_blocks;
    struct computed_rows rows;
    int rc;

    if (diff->n > 0)
        qsort_r(diff->list, diff->n, sizeof(*diff->list), compare_changes, &is_by_blocks);
    computed_rows_init(&rows, "change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,"
                              "after_blocks,function,source,line,module,change_bytes_margin,"
                              "change_blocks_margin");
    for (size_t i = 0; i < diff->n; i++) {
        const struct entry *entry = &diff->list[i];
        if (change_bytes(entry) != 0 || change_blocks(entry) != 0)
            add_row(&rows, entry, diff->sample_bytes != 0);
    }
    query->database.sample_bytes = diff->sample_bytes; /* if not 0, tables print margins */
    rc = computed_rows_show(&rows, query, err);
    computed_rows_done(&rows);
    return rc;
}

/* ---- the command ---- */

/* Takes the two times out of the filters: --at twice, or --from and --to. */
static size_t take_instants(struct filter *filter, const char *texts[2])
{
    static const char *const names[] = {"alive_at", "from", "to"};
    size_t n_kept = 0;
    size_t n_taken = 0;

    for (size_t i = 0; i < filter->n_values; i++) {
        const char *name = filter->values[i].parameter->name;
        bool is_instant = false;

        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            is_instant = is_instant || strcmp(name, names[k]) == 0;
        if (!is_instant) {
            filter->values[n_kept++] = filter->values[i];
            continue;
        }
        if (strcmp(name, "from") == 0 && n_taken == 1)
            texts[1] = texts[0]; /* --to B --from A */
        if (n_taken < 2)
            texts[strcmp(name, "from") == 0 ? 0 : n_taken] = filter->values[i].text;
        n_taken++;
    }
    filter->n_values = n_kept;
    return n_taken;
}

static int prepare_instants(const struct query *query, struct query_options *sides,
                            enum stack_measure *ret_measure, struct error *err)
{
    const struct filter_parameter *instant = filter_find("alive_at", strlen("alive_at"));
    const char *texts[2] = {NULL, NULL};
    int rc;

    if (take_instants(&sides[0].filter, texts) != 2)
        return error_set(err, ERROR_USAGE, "diff needs two databases, or two times: at=A at=B");
    if (query->options->measure && strcmp(query->options->measure, "live") != 0)
        return error_set(err, ERROR_USAGE, "diff of two times counts live blocks, not %s ones",
                         query->options->measure);
    sides[1].filter = sides[0].filter;
    *ret_measure = STACK_MEASURE_LIVE;
    rc = filter_add(&sides[0].filter, instant, texts[0], err);
    sides[BOTH].filter = sides[0].filter;
    if (rc == 0)
        rc = filter_add(&sides[1].filter, instant, texts[1], err);
    return rc == 0 ? filter_add(&sides[BOTH].filter, instant, texts[1], err) : rc;
}

static int prepare_runs(const struct query *query, struct query_options *sides,
                        enum stack_measure *ret_measure, struct error *err)
{
    int rc = stack_measure_of(query, ret_measure, err);

    if (rc == 0 && query->options->is_untrusted)
        return error_set(
            err, ERROR_USAGE,
            "diff: this kind of query cannot name files; it can name two times: at=A at=B");
    if (rc == 0 && !query->options->measure && *ret_measure != STACK_MEASURE_LIVE)
        *ret_measure = STACK_MEASURE_LEAKED; /* allocations minus frees */
    sides[1].database_path = query->options->arguments[0];
    return rc;
}

static int read_sides(const struct query *query, struct query_options *sides,
                      enum stack_measure measure, struct diff *diff, struct error *err)
{
    static const struct command side_command = {
        .name = "diff", .filters = COMMAND_FILTERS_ALL, .needs_database = true};
    const bool is_of_instants = query->options->n_arguments == 0;
    int rc = 0;

    for (int side = BEFORE; rc == 0 && side <= BOTH; side++) {
        if (side == BOTH && !(is_of_instants && diff->sample_bytes))
            break;
        sides[side].command = &side_command;
        sides[side].is_sql_shown = false;
        rc = read_side(query, &sides[side], measure, side, diff, err);
    }
    return rc;
}

int cmd_diff_run(struct query *query, struct error *err)
{
    struct query_options sides[] = {*query->options, *query->options, *query->options};
    struct diff diff = {0};
    enum stack_measure measure = STACK_MEASURE_LEAKED;
    bool is_text = query->style.format == RENDER_TABLE && !query->options->is_sql_shown;
    int rc = query->options->n_arguments == 0 ? prepare_instants(query, sides, &measure, err)
                                              : prepare_runs(query, sides, &measure, err);

    diff.has_sums = query->options->n_arguments > 0 && !query->options->measure
                    && measure == STACK_MEASURE_LEAKED;
    if (rc == 0)
        rc = read_sides(query, sides, measure, &diff, err);
    if (rc == 0) {
        merge(&diff, query->options->n_arguments == 0, query->options->is_by_blocks);
        if (query->options->n_arguments > 0)
            merge_renamed(query, &diff);
        if (diff.has_sums && is_text)
            print_sums(query, &diff);
        if (is_text)
            print_title(query, sides, measure, &diff);
        rc = show(query, &diff, err);
        if (rc == 0 && diff.has_sums && is_text)
            advise_measure(query, sides, &diff);
    }
    for (size_t i = 0; i < diff.n; i++)
        free_entry(&diff.list[i]);
    free(diff.list);
    return rc;
}
