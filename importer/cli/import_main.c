/* SPDX-License-Identifier: MIT */
/* mtrace-import: the command line. */
#include "importer/cli/bounded_import.h"
#include "importer/cli/follow.h"
#include "importer/cli/follower.h"
#include "importer/cli/import.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/file_io.h"
#include "lib/base/option_value.h"
#include "lib/base/shell_quote.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "lib/process/output_file.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

const char *argp_program_version = "mtrace-import " MTRACE_VERSION;

enum option_key {
    KEY_ONLY = 256,
    KEY_NO_SYMBOLS,
    KEY_RESYMBOLIZE,
    KEY_FOLLOW,
    KEY_KEEP,
    KEY_KEEP_STATE,
    KEY_DEBUG_DIR,
    KEY_SYSROOT,
    KEY_SLIM,
    KEY_INDEX,
    KEY_THREADS,
    KEY_UNTIL,
    KEY_UNTIL_MARKER,
    KEY_CORE,
    KEY_IGNORE_LINK,
};

static const struct argp_option argp_options[] = {
    {"output", 'o', "FILE", 0, "The database, when it is not the last argument", 0},
    {"force", 'f', 0, 0, "Overwrite an existing database of mtrace", 0},
    {"only", KEY_ONLY, 0, 0, "Do not look for the logs of children", 0},
    {"until", KEY_UNTIL, "TIME", 0, "Only what happened up to this time of the run", 0},
    {"until-marker", KEY_UNTIL_MARKER, "NAME", 0,
     "Only what happened up to the first marker of this name", 0},
    {"slim", KEY_SLIM, 0, 0,
     "Keep totals, snapshots and heap pages, but no row for each allocation", 0},
    {"index", KEY_INDEX, 0, 0, "Also list the allocations of each stack, sorted", 0},
    {"core", KEY_CORE, "FILE", 0,
     "Find what the blocks of a crashed program were held by, in its core (also of gcore)", 0},
    {"ignore-link", KEY_IGNORE_LINK, "SITE:OFFSET", 0,
     "In heap images, blocks of this call site hold nothing by the word at this offset; repeatable",
     0},
    {"no-symbols", KEY_NO_SYMBOLS, 0, 0, "Leave functions and lines out", 0},
    {"follow", KEY_FOLLOW, 0, 0,
     "Keep up with a log that is still written: totals every few seconds, rows at its end or at "
     "Ctrl-C",
     0},
    {"keep", KEY_KEEP, 0, OPTION_HIDDEN, 0, 0}, /* used by mtrace-record (follower.h) */
    {"keep-state", KEY_KEEP_STATE, 0, OPTION_HIDDEN, 0, 0},
    {"resymbolize", KEY_RESYMBOLIZE, 0, 0,
     "Look up functions and lines again in an existing database", 0},
    {"debug-dir", KEY_DEBUG_DIR, "DIR", 0,
     "Look for programs, libraries and debug files there, too, by build-id or name; repeatable", 0},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "The machine that recorded has its files below DIR", 0},
    {"threads", KEY_THREADS, "N", 0, "How many threads to use", 0},
    {0},
};

struct arguments {
    char **positional; /* points into argv */
    size_t n_positional;
    const char *output;
    const char **debug_dirs; /* ends with NULL */
    size_t n_debug_dirs, debug_dirs_capacity;
    struct ignored_link *ignored;
    size_t n_ignored, ignored_capacity;
    bool resymbolize;
    bool follow;
    bool keep;
    bool keep_state;
    struct import_options import;
};

static int add_debug_dir(struct arguments *arguments, const char *folder)
{
    const char **dirs =
        dynamic_array_reserve(arguments->debug_dirs, &arguments->debug_dirs_capacity,
                              arguments->n_debug_dirs + 2, sizeof(*dirs));

    if (!dirs)
        return ENOMEM;
    arguments->debug_dirs = dirs;
    dirs[arguments->n_debug_dirs++] = folder;
    return 0;
}

/* SITE:OFFSET */
static int add_ignored_link(struct arguments *arguments, const char *text, struct argp_state *state)
{
    struct ignored_link *links = dynamic_array_reserve(
        arguments->ignored, &arguments->ignored_capacity, arguments->n_ignored + 1, sizeof(*links));
    unsigned site;
    unsigned long offset;
    int length = 0;

    if (!links)
        return ENOMEM;
    arguments->ignored = links;
    if (sscanf(text, "%9u:%9lu%n", &site, &offset, &length) != 2 || text[length] || site == 0)
        argp_error(state,
                   "--ignore-link is '%s', but must be the ID of a call site and the offset of a "
                   "word in its blocks, as 12:8",
                   text);
    links[arguments->n_ignored++] = (struct ignored_link){site, offset};
    return 0;
}

static void parse_threads(const char *text, struct arguments *arguments, struct argp_state *state)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*text == '\0' || *end || n < 1 || n > 1024)
        argp_error(state, "--threads is '%s', but must be a number from 1 to 1024", text);
    arguments->import.symbols.n_threads = (unsigned)n;
}

static void parse_until(const char *text, struct arguments *arguments, struct argp_state *state)
{
    struct error err = {0};

    if (units_parse_duration(text, &arguments->import.until_ns, &err) != 0)
        argp_error(state, "--until: %s", err.text);
    if (arguments->import.until_ns == 0)
        argp_error(state, "--until is '%s', but must be later than the start", text);
}

#define PLACE(member) offsetof(struct arguments, member)

static const struct option_place places[] = {
    {'o', OPTION_PLACE_TEXT, PLACE(output), NULL, 0},
    {'f', OPTION_PLACE_FLAG, PLACE(import.force), NULL, 0},
    {KEY_CORE, OPTION_PLACE_TEXT, PLACE(import.images.core), NULL, 0},
    {KEY_ONLY, OPTION_PLACE_FLAG, PLACE(import.only), NULL, 0},
    {KEY_UNTIL_MARKER, OPTION_PLACE_TEXT, PLACE(import.until_marker), NULL, 0},
    {KEY_SLIM, OPTION_PLACE_FLAG, PLACE(import.slim), NULL, 0},
    {KEY_INDEX, OPTION_PLACE_FLAG, PLACE(import.index), NULL, 0},
    {KEY_NO_SYMBOLS, OPTION_PLACE_FLAG, PLACE(import.no_symbols), NULL, 0},
    {KEY_FOLLOW, OPTION_PLACE_FLAG, PLACE(follow), NULL, 0},
    {KEY_KEEP, OPTION_PLACE_FLAG, PLACE(keep), NULL, 0},
    {KEY_KEEP_STATE, OPTION_PLACE_FLAG, PLACE(keep_state), NULL, 0},
    {KEY_RESYMBOLIZE, OPTION_PLACE_FLAG, PLACE(resymbolize), NULL, 0},
    {KEY_SYSROOT, OPTION_PLACE_TEXT, PLACE(import.symbols.symbolizer.sysroot), NULL, 0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    if (option_place_put(places, sizeof(places) / sizeof(*places), key, value, state))
        return 0;
    switch (key) {
    case ARGP_KEY_INIT:
        option_value_quote_plainly(state);
        return 0;
    case KEY_UNTIL:
        parse_until(value, arguments, state);
        return 0;
    case KEY_DEBUG_DIR:
        return add_debug_dir(arguments, value);
    case KEY_IGNORE_LINK:
        return add_ignored_link(arguments, value, state);
    case KEY_THREADS:
        parse_threads(value, arguments, state);
        return 0;
    case ARGP_KEY_ARGS:
        arguments->positional = state->argv + state->next;
        arguments->n_positional = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no log was named");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    argp_options,
    parse_option,
    "run.dat... [run.db]\n--resymbolize run.db",
    "Turns the log of a run into one SQLite database.\v"
    "The database defaults to the name of the log with .db. It is written whole or not at all. "
    "Logs of children that the first log names are found by themselves.",
    NULL,
    NULL,
    NULL};

/* ---- names ---- */

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t suffix_length = strlen(suffix);

    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

/* The log's name with .db in place of .dat, or of heaptrack's endings; malloc'd. */
static char *default_target(const char *log)
{
    static const char *const endings[] = {".dat", ".zst", ".gz"};
    size_t length = strlen(log);
    char *target = NULL;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends_with(log, endings[i])) {
            length -= strlen(endings[i]);
            break;
        }
    }
    return asprintf(&target, "%.*s.db", (int)length, log) < 0 ? NULL : target;
}

/* Splits the positional arguments into logs and target; *ret_made is to be freed. */
static int name_files(struct arguments *arguments, char **ret_made, struct error *err)
{
    struct import_options *import = &arguments->import;

    import->logs = (const char *const *)arguments->positional;
    import->n_logs = arguments->n_positional;
    import->target = arguments->output;
    if (!import->target && import->n_logs > 1
        && ends_with(arguments->positional[import->n_logs - 1], ".db"))
        import->target = arguments->positional[--import->n_logs];
    if (!import->target)
        import->target = *ret_made = default_target(import->logs[0]);
    return import->target ? 0 : error_set(err, ERROR_NOMEM, "out of memory");
}

/* ---- messages ---- */

static void warn_of_missed_frees(const struct import_result *result)
{
    char frees[UNITS_TEXT_BYTES];

    if (result->n_missed_frees > 0)
        fprintf(
            stderr,
            "mtrace-import: warning: %s %s missed: blocks were allocated where others were still "
            "live, so leaks and live bytes are too high\n",
            units_format_counted((int64_t)result->n_missed_frees, "free", frees),
            result->n_missed_frees == 1 ? "was" : "were");
}

/* If an allocator is missing, another line explains that. */
static void warn_of_nothing(const struct import_result *result)
{
    if (result->n_unseen > 0)
        return;
    if (result->foreign_malloc && result->n_allocations > 0)
        fprintf(stderr, "mtrace-import: note: the program defines its own malloc: only calls that "
                        "this malloc forwards are recorded\n");
    else if (result->foreign_malloc)
        fprintf(stderr, "mtrace-import: warning: the program brought its own malloc, so that "
                        "nothing was recorded\n");
    else if (result->n_allocations == 0)
        fprintf(
            stderr,
            "mtrace-import: warning: the log has no allocations: the program allocated "
            "nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md\n");
}

static void warn(const struct import_result *result)
{
    char unreached[512];
    const char *line = result->damage_text;
    unsigned n_lines = 0;

    for (; *line && n_lines < 3; n_lines++) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "mtrace-import: warning: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (*line || result->damage.lost_bytes)
        fprintf(stderr,
                "mtrace-import: warning: %" PRIu64
                " bytes of the log could not be read; everything else was imported\n",
                result->damage.lost_bytes);
    if (result->is_growing)
        fprintf(stderr,
                "mtrace-import: the log is still being written; the database shows it as "
                "it was now%s\n",
                result->is_bounded
                    ? "; import it again whenever you want to know more: a log of --aggregate "
                      "cannot be followed"
                    : ", and the next query reads it again; 'mtrace-import --follow' or "
                      "'mtrace-serve --follow' keeps up with it");
    if (result->n_dropped)
        fprintf(stderr,
                "mtrace-import: warning: %" PRIu64
                " events were dropped while recording; see 'events.dropped' in table meta\n",
                result->n_dropped);
    if (result->n_partial > 0)
        fprintf(stderr,
                "mtrace-import: note: %" PRIu32 " of %" PRIu32
                " process%s not recorded from the start on or all the time: other blocks are "
                "missing\n",
                result->n_partial, result->n_processes,
                result->n_processes == 1 ? " was" : "es were");
    if (result->n_unseen > 0)
        fprintf(stderr, "mtrace-import: note: blocks of %s%s\n", result->unseen_text,
                result->n_unseen > 1
                    ? ", nor those of other processes with an allocator inside; see "
                      "'unseen.' in table meta"
                    : "");
    if (result->n_unreported > 0)
        fprintf(
            stderr,
            "mtrace-import: note: too many libraries were loaded at the same time: code of %" PRIu64
            " of them has no names\n",
            result->n_unreported);
    unreached_format(&result->unreached, unreached, sizeof(unreached));
    if (*unreached)
        fprintf(stderr, "mtrace-import: note: %s\n", unreached);
    if (result->images.n_refused > 0)
        fprintf(stderr, "mtrace-import: warning: %s%s\n", result->images.refusal,
                result->images.n_refused > 1 ? ", and so are others" : "");
    warn_of_missed_frees(result);
    if (result->n_nameless > 0)
        fprintf(stderr,
                "mtrace-import: note: the code of '%s'%s has no names, because the file is not "
                "here; 'mtrace-query summary' shows what to do\n",
                result->nameless_path, result->n_nameless > 1 ? " and other modules" : "");
    warn_of_nothing(result);
}

static void report_done(const struct import_options *options, const struct import_result *result)
{
    char size[UNITS_TEXT_BYTES];
    char allocations[UNITS_TEXT_BYTES];
    char events[UNITS_TEXT_BYTES];
    char seconds[UNITS_TEXT_BYTES];
    char target[PATH_MAX];
    char quoted[4 * PATH_MAX] = "";

    warn(result);
    (void)snprintf(target, sizeof(target), "%s", options->target);
    utf8_clean(target);
    shell_quote(target, quoted, sizeof(quoted));
    fprintf(stderr, "%s: %s, %s from %s, %u process%s, in %s; mtrace-query %s\n", target,
            units_format_bytes((int64_t)result->database_bytes, size),
            units_format_counted((int64_t)result->n_allocations, "allocation", allocations),
            units_format_counted((int64_t)result->n_events, "event", events), result->n_processes,
            result->n_processes == 1 ? "" : "es",
            units_format_duration((int64_t)(result->seconds * 1e9), seconds), quoted);
}

/* ---- running ---- */

enum {
    TIME_LIMIT_SECONDS = 1
};

static volatile sig_atomic_t may_end_at_once;

/* Most of an import checks `interrupted` every few milliseconds. A hostile log may keep the rest
 * busy for long. */
static void on_signal(int number)
{
    interrupted = number;
    if (may_end_at_once)
        (void)alarm(TIME_LIMIT_SECONDS);
}

static void end_at_once(int number)
{
    static const char text[] = "mtrace-import: interrupted\n";

    (void)number;
    if (!output_file_abandon()) /* NOLINT(bugprone-signal-handler): an atomic and unlink */
        return;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(128 + interrupted);
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};

    signal(SIGALRM, end_at_once);

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file size limit becomes an error of write, not a fatal signal */
}

static int resymbolize(struct arguments *arguments, struct progress *progress, struct error *err)
{
    if (arguments->n_positional != 1)
        return error_set(err, ERROR_USAGE, "--resymbolize takes one database");
    return import_resymbolize(arguments->positional[0], &arguments->import.symbols, progress, err);
}

static int import(struct arguments *arguments, struct progress *progress, struct error *err)
{
    struct import_result result;
    char *made = NULL;
    int code = name_files(arguments, &made, err);

    if (code == 0 && arguments->follow
        && (arguments->import.until_ns || arguments->import.until_marker))
        code = error_set(err, ERROR_USAGE, "--follow cannot be used with --until");

    if (code == 0 && arguments->import.images.core && (arguments->follow || arguments->import.slim))
        code =
            error_set(err, ERROR_USAGE, "--core needs the rows of all blocks, which %s leaves out",
                      arguments->follow ? "--follow" : "--slim");

    may_end_at_once = !arguments->follow; /* --follow still has a round to do */
    if (code == 0 && arguments->follow)
        code = bounded_import_check_follow(&arguments->import, err);
    if (code == 0 && arguments->follow)
        code = follow_run(&arguments->import, progress, &interrupted, &result, err);
    else if (code == 0)
        code = bounded_import_run(&arguments->import, progress, &result, err);
    may_end_at_once = false;
    (void)alarm(0);
    if (code == 0)
        report_done(&arguments->import, &result);
    free(made);
    return code;
}

static int keep(struct arguments *arguments, struct progress *progress, struct error *err)
{
    char *made = NULL;
    int code = name_files(arguments, &made, err);

    if (code == 0)
        code = follower_run(&arguments->import, arguments->keep_state, progress, err);
    free(made);
    return code;
}

/* A file without build id that is newer than the log is not the recorded one. */
static void note_time_of_log(struct arguments *arguments)
{
    struct stat log;

    if (!arguments->resymbolize && arguments->n_positional > 0
        && stat(arguments->positional[0], &log) == 0)
        arguments->import.symbols.symbolizer.recorded_ns = file_io_modified_ns(&log);
}

static int run(struct arguments *arguments, struct progress *progress, struct error *err)
{
    if (arguments->resymbolize)
        return resymbolize(arguments, progress, err);
    return arguments->keep || arguments->keep_state ? keep(arguments, progress, err)
                                                    : import(arguments, progress, err);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct progress progress;
    struct error err = {0};
    char *cache_dir;
    int code;

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return 2;
    catch_signals();
    progress_init(&progress, isatty(STDERR_FILENO) ? stderr : NULL, &interrupted);
    cache_dir = symbols_default_cache_dir();
    arguments.import.symbols.cache_dir = cache_dir;
    arguments.import.symbols.symbolizer.debug_dirs = arguments.debug_dirs;
    arguments.import.images.ignored = arguments.ignored;
    arguments.import.images.n_ignored = arguments.n_ignored;
    arguments.import.symbols.symbolizer.use_debuginfod = getenv("DEBUGINFOD_URLS") != NULL;
    note_time_of_log(&arguments);
    code = run(&arguments, &progress, &err);
    free(cache_dir);
    free(arguments.debug_dirs);
    free(arguments.ignored);
    if (code) {
        fprintf(stderr, "mtrace-import: %s\n", interrupted ? "interrupted" : err.text);
        if (code == ERROR_USAGE)
            fprintf(stderr, "Try 'mtrace-import --help' for more information.\n");
    }
    if (code && interrupted)
        return 128 + interrupted;
    return code && error_is_disk_full(&err) ? ERROR_EXIT_NO_ROOM : error_exit_status(code);
}
