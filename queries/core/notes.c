/* SPDX-License-Identifier: MIT */
#include "queries/core/notes.h"

#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "lib/logfile/unreached.h"
#include "queries/core/command.h"
#include "queries/core/query.h"

#include <stdbool.h>
#include <string.h>

/* ---- damage ---- */

enum {
    NOTE_BYTES = 768
};

static const char damage_sql[] =
    "SELECT m.value, (SELECT value FROM meta WHERE key = 'log.lost_bytes'),"
    " (SELECT value FROM meta WHERE key = 'log.damage.node'),"
    " (SELECT value FROM meta WHERE key = 'log.bytes'),"
    " EXISTS (SELECT 1 FROM meta WHERE key = 'log.damage.truncated'),"
    " (SELECT value FROM meta WHERE key = 'log.damage.time'),"
    " EXISTS (SELECT 1 FROM meta WHERE key GLOB 'log.damage.*' AND key <> 'log.damage.time')"
    " FROM meta AS m WHERE m.key = 'log.damage'";

/* The log is complete. */
static void format_late(int64_t n_late, char *text, size_t size)
{
    char events[UNITS_TEXT_BYTES];

    (void)snprintf(
        text, size,
        "%s arrived out of order, because a thread was delayed while it wrote, and %s the later time: "
        "nothing is lost, but lifetimes and peaks near there may be off",
        units_format_counted(n_late, "event", events), n_late == 1 ? "has" : "have");
}

static void format_damage(struct sqlite3_stmt *row, char *text, size_t size)
{
    const char *kinds = rundb_text(row, 0);
    int64_t lost_bytes = sqlite3_column_int64(row, 1);
    int64_t n_without_stack = sqlite3_column_int64(row, 2);
    bool is_cut = sqlite3_column_int(row, 4) != 0;
    char bytes[UNITS_TEXT_BYTES];
    char all[UNITS_TEXT_BYTES];
    char events[UNITS_TEXT_BYTES];

    if (!lost_bytes && !sqlite3_column_int(row, 6) && sqlite3_column_int64(row, 5)) {
        format_late(sqlite3_column_int64(row, 5), text, size);
        return;
    }
    (void)units_format_bytes(lost_bytes, bytes);
    (void)units_format_bytes(sqlite3_column_int64(row, 3), all);
    if (lost_bytes)
        (void)snprintf(text, size, "log damaged: %s of %s cannot be read%s; first %.*s", bytes, all,
                       is_cut ? "; how much is missing after that is unknown" : "",
                       (int)strcspn(kinds, "\n"), kinds);
    else if (is_cut)
        (void)snprintf(text, size,
                       "the log is incomplete: %s were read, and everything after "
                       "that is missing",
                       all);
    else
        (void)snprintf(text, size, "log damaged: %.*s", (int)strcspn(kinds, "\n"), kinds);
    if (n_without_stack)
        (void)snprintf(text + strlen(text), size - strlen(text), "; %s without their stack",
                       units_format_counted(n_without_stack, "event", events));
    (void)snprintf(text + strlen(text), size - strlen(text),
                   "; totals are lower bounds, leaks may be too many: %s",
                   lost_bytes || !is_cut
                       ? "import a whole copy, or record again"
                       : "where it was recorded 'mtrace-record --pack LOG', then send or import it "
                         "again");
}

/* The text of the only row for the process, 0: for all; "" when there is none. */
static int format_one(const struct query *query, int64_t process_id, const char *sql,
                      void (*format)(struct sqlite3_stmt *row, char *text, size_t size),
                      char *ret_text, size_t size, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, sql, &stmt, err);

    ret_text[0] = '\0';
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":process"),
                       process_id); /* at 0, of one without it, nothing is bound */
    rc = rundb_step(&query->database, stmt, err);
    if (rc == 1 && sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
        format(stmt, ret_text, size);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* ---- events that were dropped ---- */

static const char dropped_sql[] =
    "SELECT CAST(sum(events_dropped) AS TEXT), sum(events_dropped), sum(events + events_dropped)"
    " FROM processes WHERE :process IN (0, process_id) HAVING sum(events_dropped) > 0";

/* A missing allocation makes totals too low, a missing free too high. */
static void format_dropped(struct sqlite3_stmt *row, char *text, size_t size)
{
    int64_t n_dropped = sqlite3_column_int64(row, 1);
    int64_t n_all = sqlite3_column_int64(row, 2);
    char dropped[UNITS_TEXT_BYTES];
    char all[UNITS_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];

    (void)snprintf(
        text, size,
        "%s of %s (%s) %s dropped: allocations and frees are missing, so numbers from the first "
        "drop on are inexact (reasons: meta, events.dropped.*)",
        units_format_count(n_dropped, dropped), units_format_counted(n_all, "event", all),
        units_format_share((double)n_dropped / (double)n_all, share),
        n_dropped == 1 ? "was" : "were");
}

/* ---- an allocator that was not seen ---- */

/* Up to three executables, in the order of their first processes. Older imports have no rows
 * 'unseen_process.N': then all processes of the executable count. */
static const char unseen_sql[] =
    "WITH unseen AS (SELECT printf('%s inside ''%s''', value, substr(key, 8)) AS text,"
    " (SELECT printf(' (%s)', value) FROM meta AS why"
    "  WHERE why.key = 'unseen_why.' || substr(m.key, 8)) AS why,"
    " coalesce((SELECT min(process_id) FROM processes AS p WHERE coalesce(executable, '?') = substr(m.key, 8)"
    "  AND :process IN (0, process_id) AND (EXISTS (SELECT 1 FROM meta WHERE key = 'unseen_process.' ||"
    "  p.process_id) OR NOT EXISTS (SELECT 1 FROM meta WHERE key GLOB 'unseen_process.*'))), iif(:process = 0, 1e18, NULL)) AS first"
    " FROM meta AS m WHERE key GLOB 'unseen.*') "
    "SELECT group_concat(text, ', '),"
    " (SELECT count(*) - 3 FROM unseen WHERE first IS NOT NULL),"
    " (SELECT iif(count(DISTINCT why) > 1, ' (reasons: meta, unseen_why.*)', max(why))"
    "  FROM unseen WHERE first IS NOT NULL) "
    "FROM (SELECT text FROM unseen WHERE first IS NOT NULL ORDER BY first LIMIT 3)";

static void format_unseen(struct sqlite3_stmt *row, char *text, size_t size)
{
    const int most_name_bytes = NOTE_BYTES / 2;
    int64_t n_others = sqlite3_column_int64(row, 1);
    const unsigned char *why = sqlite3_column_text(row, 2);
    char others[UNITS_TEXT_BYTES];

    (void)snprintf(text, size, "blocks of %.*s", most_name_bytes, rundb_text(row, 0));
    if (n_others > 0)
        (void)snprintf(text + strlen(text), size - strlen(text), " and inside %s",
                       units_format_counted(n_others, "other executable", others));
    (void)snprintf(text + strlen(text), size - strlen(text),
                   " are not recorded%s and not included in any number",
                   why ? (const char *)why : "");
}

/* ---- modules that were not told apart ---- */

/* Of the selected process, or the sum. Older imports have only the sum, which then stands for each
 * process. */
#define FLAWS_SQL(key_)                                                                     \
    "SELECT CAST(value AS TEXT) FROM meta WHERE value > 0 AND key = '" key_ "' ||"          \
    " iif(:process = 0 OR NOT EXISTS (SELECT 1 FROM meta WHERE key GLOB '" key_ ".*'), ''," \
    " '.' || :process)"

static const char unreported_sql[] = FLAWS_SQL("modules.unnamed");

static void format_unreported(struct sqlite3_stmt *row, char *text, size_t size)
{
    char modules[UNITS_TEXT_BYTES];

    (void)snprintf(text, size, "too many libraries were loaded at the same time: %s without names",
                   units_format_counted(sqlite3_column_int64(row, 0), "module", modules));
}

/* ---- calls that were not recorded ---- */

#define UNREACHED_SQL(key_)                                      \
    "(SELECT total(value) FROM meta WHERE key GLOB '" key_ ".*'" \
    " AND :process IN (0, CAST(substr(key, length('" key_ "') + 2) AS INTEGER)))"

static const char unreached_sql[] =
    "SELECT '', " UNREACHED_SQL("unreached.deepbound") ", " UNREACHED_SQL("unreached.foreign") ", " UNREACHED_SQL(
        "unreached.elsewhere") ", " UNREACHED_SQL("unreached.pointers");

static void format_unreached(struct sqlite3_stmt *row, char *text, size_t size)
{
    const struct unreached unreached = {
        (uint64_t)sqlite3_column_int64(row, 1), (uint64_t)sqlite3_column_int64(row, 2),
        (uint64_t)sqlite3_column_int64(row, 3), (uint64_t)sqlite3_column_int64(row, 4)};

    unreached_format(&unreached, text, size);
}

/* Of all processes: the counts are the recording's. */
static const char missed_sql[] =
    "SELECT CAST(value AS TEXT) FROM meta WHERE key = 'anomaly.double_allocation' AND value > 0";

static void format_missed(struct sqlite3_stmt *row, char *text, size_t size)
{
    int64_t n = sqlite3_column_int64(row, 0);
    char frees[UNITS_TEXT_BYTES];

    (void)snprintf(text, size,
                   "%s %s missed: blocks were allocated where others were still live, so leaks and "
                   "live bytes are too high",
                   units_format_counted(n, "free", frees), n == 1 ? "was" : "were");
}

/* ---- times that were not recorded ---- */

static const char partial_sql[] = FLAWS_SQL("processes.partial");

static void format_partial(struct sqlite3_stmt *row, char *text, size_t size)
{
    char processes[UNITS_TEXT_BYTES];

    (void)snprintf(
        text, size,
        "%s recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new",
        units_format_counted(sqlite3_column_int64(row, 0), "process", processes));
}

/* Frees and windows beyond the limit are merged into others and remain in sums; rows of the other
 * kinds are missing. */
static const char bounded_sql[] =
    "WITH kind(name, words) AS (VALUES"
    " ('frees_by_stack', 'frees by stacks that share a row'),"
    " ('frees_by_thread', 'frees by threads that share a row'),"
    " ('windows', 'windows that share a row with the last one'),"
    " ('pool_blocks', 'blocks of pools'),"
    " ('extents', 'extents of heaps'), ('samples', 'samples of memory'), ('walks', 'walks over objects'),"
    " ('events', 'events that are rows of their own'))"
    " SELECT group_concat(value || ' ' || coalesce(words, substr(key, 20)), ', ') FROM"
    " (SELECT * FROM meta LEFT JOIN kind ON name = substr(key, 20) WHERE key GLOB 'aggregate.left_out.*' ORDER BY key)";

static void format_bounded(struct sqlite3_stmt *row, char *text, size_t size)
{
    (void)snprintf(text, size, "the log (--aggregate) had no room for a row for each of these: %s",
                   rundb_text(row, 0));
}

static const char joined_sql[] =
    "SELECT CAST(sum(value) AS TEXT) FROM meta WHERE key GLOB 'threads.joined.*'"
    " AND :process IN (0, CAST(substr(key, 16) AS INTEGER))";

static void format_joined(struct sqlite3_stmt *row, char *text, size_t size)
{
    char threads[UNITS_TEXT_BYTES];

    (void)snprintf(text, size,
                   "%s share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' "
                   "stands for several, one after the other",
                   units_format_counted(sqlite3_column_int64(row, 0), "thread", threads));
}

static const char until_sql[] =
    "SELECT CAST(value AS TEXT), key = 'import.until_marker' FROM meta"
    " WHERE key IN ('import.until_marker', 'import.until_ns') ORDER BY key LIMIT 1";

static void format_until(struct sqlite3_stmt *row, char *text, size_t size)
{
    static const char missing[] =
        "later events are in no number; blocks that were live then count as live, not leaked";
    char time[UNITS_TEXT_BYTES];

    if (sqlite3_column_int(row, 1))
        (void)snprintf(text, size, "imported up to the marker '%.200s' only: %s",
                       rundb_text(row, 0), missing);
    else
        (void)snprintf(text, size, "imported up to %s only: %s",
                       units_format_duration(sqlite3_column_int64(row, 0), time), missing);
}

/* ---- processes that were not recorded ---- */

static const char started_sql[] =
    "SELECT CAST(sum(value) AS TEXT), sum(value) FROM meta WHERE key GLOB 'processes.started.*'"
    " AND :process IN (0, CAST(substr(key, 19) AS INTEGER))"
    " AND (SELECT value FROM meta WHERE key = 'setting.MTRACE_FOLLOW_CHILDREN') = '0'";

static void format_started(struct sqlite3_stmt *row, char *text, size_t size)
{
    int64_t n = sqlite3_column_int64(row, 1);
    char processes[UNITS_TEXT_BYTES];

    (void)snprintf(
        text, size,
        "%s that it started %s not recorded: mtrace-record --follow-children records %s, too",
        units_format_counted(n, "process", processes), n == 1 ? "is" : "are",
        n == 1 ? "it" : "them");
}

/* Only below a screen or a verdict: in each table the note would be noise. */
static bool is_verdict(const struct query *query)
{
    const struct command *command = query->options->command;

    return command->has_headline || query->options->fail_if || strcmp(command->name, "diff") == 0
           || strcmp(command->name, "report") == 0;
}

/* ---- nothing ---- */

/* meta's allocations exclude elided blocks. */
static const char empty_sql[] =
    "SELECT CAST(value AS TEXT) FROM meta WHERE key = 'allocations' AND value = 0"
    " AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'elided.most_live_bytes')";

static void format_empty(struct sqlite3_stmt *row, char *text, size_t size)
{
    (void)row;
    (void)snprintf(
        text, size,
        "no allocation was recorded: the program allocated nothing while it was recorded, "
        "or has a built-in allocator; see docs/troubleshooting.md");
}

/* ---- samples ---- */

/* 1.96 standard deviations. A sum of S bytes has a variance of at most S times the sampling
 * interval, which sums of small blocks nearly reach. */
static const char sampled_sql[] =
    "SELECT CAST(max(sample_bytes) AS TEXT), max(sample_bytes),"
    " 1.959964 * sqrt(104857600.0 * max(sample_bytes)) FROM processes WHERE :process IN (0, process_id)";

static void format_sampled(struct sqlite3_stmt *row, char *text, size_t size)
{
    char mean[UNITS_TEXT_BYTES];
    char margin[UNITS_TEXT_BYTES];
    char unseen[UNITS_TEXT_BYTES];

    units_format_bytes(sqlite3_column_int64(row, 1), mean);
    (void)snprintf(
        text, size,
        "estimates from samples, one for each %s allocated: the 95 %% interval of a sum of S "
        "bytes is at most S ± 2√(S × %s), of 100 MiB ± %s (columns *_margin); a difference A - B "
        "has at most the margin of A + B; a call site without any sample may have up to %s",
        mean, mean, units_format_bytes((int64_t)sqlite3_column_double(row, 2), margin),
        units_format_bytes(saturating_multiply(3, sqlite3_column_int64(row, 1)), unseen));
}

/* ---- another recorder ---- */

static const char no_threads[] =
    "heaptrack records no threads: every block seems to be one thread's";
static const char no_chains[] = "heaptrack records a realloc as a free and an allocation: it has "
                                "no chains";

static const char no_addresses[] =
    "this recording has no addresses, so heaps are unknown; 'heaptrack --raw' keeps them";
static const char no_parts[] =
    "heaptrack records no usable sizes and no heaps: slack, overhead and top are unknown";

static const struct note {
    const char *command;
    const char *text;
    bool is_about_addresses; /* holds only where blocks have none */
} notes[] = {
    {"threads", no_threads, false},
    {"flows", no_threads, false},
    {"temporary",
     "heaptrack records no threads: other threads' allocations hide temporary blocks here", false},
    {"mmaps", "heaptrack records no mappings", false},
    {"mallopts", "heaptrack records no mallopt calls", false},
    {"allocation-failures", "heaptrack records no failed calls", false},
    {"reallocs", no_chains, false},
    {"realloc-chains", no_chains, false},
    {"fragmentation", no_addresses, true},
    {"fragmentation", no_parts, false},
    {"pinning", no_addresses, true},
    {"holes", no_addresses, true},
    {"holes", no_parts, false},
    {"heap-map", no_addresses, true},
    {"heap-map", no_parts, false},
    {"block", "this recording has no addresses; 'heaptrack --raw' keeps them", true},
};

static const struct note *find_note(const char *command, bool has_addresses)
{
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        if (strcmp(notes[i].command, command) == 0
            && !(notes[i].is_about_addresses && has_addresses))
            return &notes[i];
    }
    return NULL;
}

static int note_recorder(const struct query *query, struct error *err)
{
    const struct rundb *database = &query->database;
    const struct note *note;
    int64_t is_heaptrack = 0;
    int64_t has_addresses = 0;
    int rc = rundb_get_int64(
        database, "SELECT count(*) FROM meta WHERE key = 'recorder' AND value = 'heaptrack'",
        &is_heaptrack, err);

    if (rc != 0 || !is_heaptrack)
        return rc;
    rc = rundb_get_int64(database,
                         "SELECT count(*) FROM meta WHERE key = 'pairing' AND value = 'address'",
                         &has_addresses, err);
    note = rc == 0 ? find_note(query->options->command->name, has_addresses != 0) : NULL;
    if (note)
        query_note(query, "%s", note->text);
    return rc;
}

/* An SQL aggregate over the rows of a table for the selected process, or for all: "sum(bytes)",
 * "heaps". */
static int get_of_process(const struct query *query, const char *number, const char *table,
                          int64_t *ret_n, struct error *err)
{
    char sql[160];

    sqlite3_snprintf(sizeof(sql), sql, "SELECT %s FROM %s WHERE %lld IN (0, process_id)", number,
                     table, (long long)query->options->process_id);
    return rundb_get_int64(&query->database, sql, ret_n, err);
}

/* ---- heaps with blocks that have no row ---- */

static int note_unseen_heaps(const struct query *query, struct error *err)
{
    char heaps[UNITS_TEXT_BYTES];
    int64_t n = 0;
    int rc;

    if (!query->options->command->has_instant)
        return 0;
    rc = get_of_process(query, "count(unseen_blocks)", "heaps", &n, err);
    if (rc == 0 && n > 0)
        query_note(
            query,
            "%s with blocks that were not recorded (heaps.unseen_blocks: from before a fork or an attach, or"
            " allocated untraced): what is free or pinned there is unknown",
            units_format_counted(n, "heap", heaps));
    return rc;
}

/* ---- small objects of CPython ---- */

/* Tables of call sites lack what lies in arenas. */
static int note_python(const struct query *query, struct error *err)
{
    static const char *const commands[] = {"peak", "leaks", "growth"};
    int64_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(query->options->command->name, commands[i]) == 0)
            rc = get_of_process(query, "count(*)", "_python_arenas", &n, err);
    if (rc == 0 && n > 0)
        query_note(query, "%s", NOTES_OF_PYTHON);
    return rc;
}

/* ---- pools ---- */

/* All pool blocks were recorded but few malloc blocks, so for most pool blocks the containing
 * malloc block is unknown. */
static void note_sampled_pools(const struct query *query)
{
    if (query->database.sample_bytes && strcmp(query->options->command->name, "by-pool") == 0)
        query_note(
            query,
            "pools are recorded in full: what they gave out is exact; what they took of malloc "
            "(taken_*, held_bytes, spare_bytes) is not known from samples");
}

/* ---- all ---- */

struct missing {
    const char *sql; /* :process is the selected process, 0: all */
    void (*format)(struct sqlite3_stmt *row, char *text, size_t size);
};

static int report_missing(const struct query *query, int64_t process_id,
                          const struct missing *missing,
                          void (*report)(const struct query *query, const char *text),
                          struct error *err)
{
    char text[NOTE_BYTES];
    int rc = format_one(query, process_id, missing->sql, missing->format, text, sizeof(text), err);

    if (rc == 0 && text[0]) {
        utf8_clean(text);
        report(query, text);
    }
    return rc;
}

int notes_below_headline(const struct query *query, int64_t process_id,
                         void (*report)(const struct query *query, const char *text),
                         struct error *err)
{
    static const struct missing missing[] = {
        {damage_sql, format_damage},         {unseen_sql, format_unseen},
        {unreported_sql, format_unreported}, {partial_sql, format_partial},
        {until_sql, format_until},           {sampled_sql, format_sampled},
        {bounded_sql, format_bounded},       {joined_sql, format_joined},
        {empty_sql, format_empty},           {unreached_sql, format_unreached},
        {missed_sql, format_missed}};
    static const struct missing started = {started_sql, format_started};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(missing) / sizeof(missing[0]); i++)
        rc = report_missing(query, process_id, &missing[i], report, err);
    return rc == 0 && is_verdict(query) ? report_missing(query, process_id, &started, report, err)
                                        : rc;
}

int notes_of_what_is_missing(const struct query *query,
                             void (*report)(const struct query *query, const char *text),
                             struct error *err)
{
    static const struct missing dropped = {dropped_sql, format_dropped};
    const int64_t process_id = query->options->process_id;
    int rc = report_missing(query, process_id, &dropped, report, err);

    return rc == 0 ? notes_below_headline(query, process_id, report, err) : rc;
}

/* A diff of two databases says which of them the note is about. */
static void note(const struct query *query, const char *text)
{
    const struct query_options *options = query->options;
    bool is_of_two = strcmp(options->command->name, "diff") == 0 && options->n_arguments > 0
                     && !options->is_untrusted;

    query_note(query, "%s%s%s", is_of_two ? options->database_path : "", is_of_two ? ": " : "",
               text);
}

int notes_before(const struct query *query, struct error *err)
{
    bool is_sql = query->options->command->has_headline && query->options->is_sql_shown;
    int rc = query_is_screen(query) || is_sql ? 0 : notes_of_what_is_missing(query, note, err);

    note_sampled_pools(query);
    if (query->options->suppressions_path && query->options->command->is_over_time)
        query_note(query, "suppressions leave out leaks; '%s' counts all blocks",
                   query->options->command->name);
    if (rc == 0)
        rc = note_unseen_heaps(query, err);
    if (rc == 0)
        rc = note_python(query, err);
    return rc == 0 ? note_recorder(query, err) : rc;
}

/* What elided blocks change in an answer that is not made of rows. */
static const struct {
    const char *command;
    const char *text;
} without_elided[] = {
    {"timeline",
     "inside a bucket the curve may have been higher by the elided blocks live at one time (meta: "
     "elided.most_live_bytes)"},
};

/* The answer is made of rows of allocations. */
static bool is_made_of_rows(const struct query_options *options)
{
    if (options->command->is_of_mappings)
        return false;
    return options->command->filters == COMMAND_FILTERS_ROWS
           || filter_scope_of(&options->filter) == FILTER_SCOPE_ROW
           || (options->command->remake && options->filter.n_values > 0);
}

/* NULL: the answer includes all elided blocks. */
static const char *without_elided_text(const struct query_options *options)
{
    if (options->command->stand_in) /* of pool blocks, which are never elided */
        return NULL;
    if (is_made_of_rows(options))
        return "totals include them, but this answer is made of rows and does not";
    for (size_t i = 0; i < sizeof(without_elided) / sizeof(without_elided[0]); i++) {
        if (strcmp(without_elided[i].command, options->command->name) == 0)
            return without_elided[i].text;
    }
    return NULL;
}

/* ---- functions without names ---- */

/* The module with most bytes of call sites without a symbol, if these have most bytes of all. */
static const char nameless_sql[] =
    "WITH sites AS (SELECT t.allocated_bytes AS bytes, c.object_id,"
    " c.function_id IS NULL OR f.name GLOB '*+0x*' AS is_nameless FROM site_totals AS t"
    " JOIN call_sites AS c USING (call_site_id) LEFT JOIN functions AS f USING (function_id)"
    " WHERE :process IN (0, t.process_id))"
    " SELECT o.debug_note, o.path, (SELECT sum(bytes) FILTER (WHERE is_nameless) / total(bytes) FROM sites)"
    " FROM sites JOIN objects AS o USING (object_id) WHERE is_nameless"
    " AND (SELECT 2 * sum(bytes) FILTER (WHERE is_nameless) > sum(bytes) FROM sites)"
    " GROUP BY object_id ORDER BY sum(bytes) DESC LIMIT 1";

static void format_nameless(struct sqlite3_stmt *row, char *text, size_t size)
{
    char share[UNITS_TEXT_BYTES];

    (void)snprintf(text, size,
                   "%s of the allocated bytes come from functions without names, most from '%s': "
                   "%s; then 'mtrace-import --resymbolize'",
                   units_format_share(sqlite3_column_double(row, 2), share), rundb_text(row, 1),
                   rundb_text(row, 0));
}

/* The summary has a line for each such module. */
static int note_nameless(const struct query *query, struct error *err)
{
    static const struct missing nameless = {nameless_sql, format_nameless};
    const struct command *command = query->options->command;
    bool has_names =
        command->has_tree || (command->has_sites && (command->view || command->stacks_by));

    if (!has_names || query->is_empty || query->style.format != RENDER_TABLE
        || query->options->is_untrusted || query->options->is_sql_shown
        || strcmp(command->name, "summary") == 0)
        return 0;
    return report_missing(query, query->options->process_id, &nameless, note, err);
}

/* ---- after the answer ---- */

/* Where the missing data is shown, or what the answer omits because of it. */
static const char *ended_tail(const struct query_options *options)
{
    const struct command *command = options->command;

    if (command->needs_instant)
        return "; 'peak' shows everything that was live at the peak";
    if (command->has_instant && !filter_instant(&options->filter))
        return "; so this shows the end, and 'fragmentation' shows free memory at the peak";
    return "";
}

static const char in_no_answer[] = "not in this answer, which is made of rows";
static const char elided_in_no_row[] = "totals include them, but tables of single blocks do not";
static const char in_no_rows[] = "not in tables of single blocks";

/* Notes the number of freed blocks of a bounded log, which includes the elided ones. */
static int note_ended(const struct query *query, const char *where, struct error *err)
{
    const char *table = "main.backtrace_totals";
    char ended[UNITS_TEXT_BYTES];
    char elided[UNITS_TEXT_BYTES];
    char of_these[UNITS_TEXT_BYTES + 32] = "";
    int64_t n_ended = 0;
    int64_t n_elided = 0;
    int rc = get_of_process(query, "sum(freed_blocks)", table, &n_ended, err);

    if (rc == 0)
        rc = get_of_process(query, "sum(elided_blocks)", table, &n_elided, err);
    if (rc != 0 || n_ended <= 0)
        return rc;
    if (n_elided > 0)
        (void)snprintf(of_these, sizeof(of_these), " (of these %s were elided)",
                       units_format_count(n_elided, elided));
    query_note(query,
               "%s that were freed%s are in totals, but %s: the log (--aggregate) has rows only "
               "of blocks that are live at the end%s",
               units_format_counted(n_ended, "block", ended), of_these, where,
               ended_tail(query->options));
    return 0;
}

static int note_elided(const struct query *query, const char *what, struct error *err)
{
    char text[UNITS_TEXT_BYTES];
    int64_t n_elided = 0;
    int rc = get_of_process(query, "sum(elided_blocks)", "main.backtrace_totals", &n_elided, err);

    if (rc == 0 && n_elided > 0)
        query_note(query, "%s were elided: %s", units_format_counted(n_elided, "block", text),
                   what);
    return rc;
}

/* Why the database has no rows of blocks; NULL: it has some. */
static const char *without_rows_text(const struct rundb *database)
{
    if (!database->is_slim || database->is_aggregate)
        return NULL;
    return database->is_early
               ? "tables of single blocks are empty until the recording, which is followed, has "
                 "ended"
               : "tables of single blocks are empty: the log was imported with --slim or --follow";
}

/* Preparing the statement finds out what it reads. If only notes are wanted, it has not been
 * prepared. */
static int look_at_statement(const struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = rundb_load_all_views(&query->database, err);

    if (rc == 0)
        rc = rundb_prepare(&query->database, query->options->arguments[0], &stmt, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* Only for SQL of the user: built-in commands refuse or report it themselves. */
static int note_statement(const struct query *query, struct error *err)
{
    const struct rundb *database = &query->database;
    int rc = query->is_of_notes ? look_at_statement(query, err) : 0;
    const char *why = without_rows_text(database);

    if (rc != 0)
        return rc;

    if (database->reads_rows && why) {
        query_note(query, "%s", why);
        return 0;
    }
    if (!database->reads_rows)
        return 0;
    return database->is_aggregate ? note_ended(query, in_no_rows, err)
                                  : note_elided(query, elided_in_no_row, err);
}

int notes_after(const struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    const char *what = without_elided_text(options);
    int rc = options->database_path ? note_nameless(query, err) : 0;

    if (rc != 0 || !options->database_path || query->is_elided_noted)
        return rc;
    if (strcmp(options->command->name, "sql") == 0)
        return note_statement(query, err);
    if (query->database.is_aggregate && (is_made_of_rows(options) || options->command->needs_rows))
        return note_ended(query, in_no_answer, err);
    return what ? note_elided(query, what, err) : 0;
}
