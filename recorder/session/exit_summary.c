/* SPDX-License-Identifier: MIT */
#include "recorder/session/exit_summary.h"

#include "lib/base/shell_quote.h"
#include "lib/base/utf8.h"
#include "recorder/session/program.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

MTRACE_PRINTF(1, 0) static void report(const char *format, va_list args)
{
    char line[2048];

    (void)vsnprintf(line, sizeof(line), format, args);
    utf8_clean(line);
    (void)fprintf(stderr, "mtrace-record: %s\n", line);
}

void exit_summary_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(format, args);
    va_end(args);
}

void exit_summary_print(bool is_quiet, const char *format, ...)
{
    va_list args;

    if (is_quiet)
        return;
    va_start(args, format);
    report(format, args);
    va_end(args);
}

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t value, char *text, size_t n_bytes)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    size_t used = 0;

    for (int i = 0; i < n && used + 2 < n_bytes; i++) {
        if (i && (n - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static const char *human_bytes(uint64_t value, char *text, size_t n_bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double shown = (double)value;
    size_t unit = 0;

    for (; shown >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        shown /= 1024;
    (void)snprintf(text, n_bytes, unit ? "%.1f %s" : "%.0f %s", shown, units[unit]);
    return text;
}

/* For a process that should have been recorded. */
static const char no_log_text[] =
    "it has no permission to create a log next to FILE (other user or root directory): use -o "
    "with a folder where it has; or the file system there had no inode left, see 'df -i'; or its "
    "program loads no collector: static, set-uid, 32-bit, musl; or a signal handler forked it in "
    "the middle of a heap call, and did not return";

static const char no_room_text[] =
    "there was no room for its log, neither beside FILE nor in shared memory: make room, or record "
    "onto another disk, with -o; see 'ulimit -f', too";

static const char left_text[] =
    "it was idle: with its next allocation the log FILE.PID.N.live ends, and "
    "'mtrace-record --pack' packs it afterwards";

static const char no_access_text[] =
    " (the program changed its user or root directory, or its live log was removed, and could not "
    "enlarge it any more: record it as the user that it becomes)";

static const char too_fast_text[] =
    " (events came faster than they were taken in: see --aggregate, and --max-live)";

static const char disk_full_text[] =
    " (the disk was full for a time: make room where the log is, or record onto another one)";

/* For a bounded log that reached its limit. */
static const char *hint_of_limit(const struct exit_summary *exit_summary)
{
    return exit_summary->was_disk_full ? disk_full_text : too_fast_text;
}

/* What to do about the first reason for which events were dropped; "" if none were. */
static const char *hint_of_drops(const struct exit_summary *exit_summary)
{
    static const char *const hints[LOG_DROP_REASONS] = {
        [LOG_DROP_NO_SPACE] = " (no room for the live log: make room, or see 'ulimit -f')",
        [LOG_DROP_LIMIT] = " (the live log reached its limit: see --max-live, and --max-local)",
        [LOG_DROP_NESTED] = " (in signal handlers and ending threads)",
        [LOG_DROP_NO_MEMORY] = " (no memory for the collector: see 'ulimit -v')",
        [LOG_DROP_NO_ACCESS] = no_access_text,
        [LOG_DROP_ABANDONED] = " (a signal handler left by siglongjmp what was being recorded)",
    };

    for (int i = 0; i < LOG_DROP_REASONS; i++)
        if (exit_summary->totals.dropped[i] || exit_summary->children.dropped[i])
            return i == LOG_DROP_LIMIT && exit_summary->is_bounded ? hint_of_limit(exit_summary)
                   : hints[i]                                      ? hints[i]
                                                                   : "";
    return "";
}

/* How many blocks were elided. */
static void describe_elided(const struct exit_summary *exit_summary, char *text, size_t n_bytes)
{
    uint64_t n_elided = exit_summary->totals.n_elided + exit_summary->children.n_elided;
    char elided[32];

    text[0] = '\0';
    if (exit_summary->is_eliding)
        (void)snprintf(text, n_bytes, ", %s block%s elided",
                       grouped(n_elided, elided, sizeof(elided)), n_elided == 1 ? "" : "s");
}

/* Often a wrapper or script ends in exec, and the interesting program comes after it. */
static void describe_missed(const struct exit_summary *exit_summary, char *text, size_t n_bytes)
{
    uint32_t n_started = exit_summary->follows_children
                             ? 0
                             : exit_summary->totals.n_started + exit_summary->children.n_started;
    bool is_one = n_started == 1;

    text[0] = '\0';
    if (exit_summary->totals.flags & LOG_FLAG_FOREIGN_NEW)
        (void)snprintf(text, n_bytes,
                       "; blocks of operator new are missing: its allocator has one of its own; "
                       "set MTRACE_LIBRARY to the path of libmtrace-new.so");
    else if (n_started > 0)
        (void)snprintf(text, n_bytes,
                       "; it started %" PRIu32 " process%s that %s not recorded: "
                       "--follow-children records %s, too",
                       n_started, is_one ? "" : "es", is_one ? "is" : "are",
                       is_one ? "that" : "those");
}

/* The totals have no information on exec successors and children. */
static bool was_never_on(const struct exit_summary *exit_summary)
{
    return (exit_summary->totals.flags & LOG_FLAG_STARTED_OFF)
           && !exit_summary->totals.has_allocations && exit_summary->n_children == 0;
}

static bool has_allocations(const struct exit_summary *exit_summary)
{
    return exit_summary->totals.has_allocations || exit_summary->children.has_allocations;
}

/* If the reason is known, another line reports it. */
static void report_that_all_is_missing(const struct exit_summary *exit_summary)
{
    bool is_known =
        was_never_on(exit_summary) || exit_summary->totals.unseen[0]
        || exit_summary->children.unseen[0]
        || (exit_summary->totals.flags & (LOG_FLAG_FOREIGN_MALLOC | LOG_FLAG_TRUNCATED));

    if (is_known || has_allocations(exit_summary))
        return;
    if (exit_summary->earlier_children && exit_summary->earlier_children[0])
        exit_summary_print(exit_summary->is_quiet,
                           "no allocation of '%s' was recorded: its children that ran already are "
                           "not recorded: attach to each (%s)",
                           exit_summary->program, exit_summary->earlier_children);
    else
        exit_summary_print(
            exit_summary->is_quiet,
            "no allocation of '%s' was recorded: it allocated nothing while it was recorded, "
            "or has a built-in allocator; see docs/troubleshooting.md",
            exit_summary->program);
}

/* One line for each part of the program that is not in the log, with the reason. */
static void report_what_is_partial(const struct exit_summary *exit_summary)
{
    static const struct {
        uint32_t flag;
        const char *what;
    } parts[] = {
        {LOG_FLAG_FOREIGN_MALLOC,
         "it defines its own malloc: only calls that this malloc forwards are recorded"},
        {LOG_FLAG_STARTED_OFF,
         "recording was off at first: blocks from before it was switched on are missing"},
        {LOG_FLAG_TRACING_WAS_OFF,
         "recording was switched off at times: blocks allocated then are missing"},
        {LOG_FLAG_TRUNCATED,
         "its live log was truncated while it ran: later events are missing; only "
         "mtrace-record may remove or empty files named *.live"},
    };

    uint32_t flags = exit_summary->totals.flags;

    if (was_never_on(exit_summary)) {
        exit_summary_warn(
            "nothing was recorded of '%s': %s", exit_summary->program,
            exit_summary->starts_by_itself
                ? exit_summary->totals.end_kind == LOG_END_DETACHED
                      ? "mtrace-record detached before the time of --start-after or the size of "
                        "--start-at-rss was reached"
                      : "it ended before the time of --start-after or the size of --start-at-rss "
                        "was reached"
                : "recording was not switched on while it allocated; 'mtrace-record --ctl PID "
                  "start' switches it on");
        return;
    }
    if (exit_summary->totals.unseen[0]) /* report_what_is_unseen explains it */
        flags &= ~(uint32_t)LOG_FLAG_FOREIGN_MALLOC;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (flags & parts[i].flag)
            exit_summary_print(exit_summary->is_quiet, "'%s' is recorded in part: %s",
                               exit_summary->program, parts[i].what);
}

static void report_what_is_unseen(const struct exit_summary *exit_summary)
{
    const char *own = exit_summary->totals.unseen;
    const char *of_child = exit_summary->children.unseen;
    const char *const whats[] = {own, strcmp(own, of_child) != 0 ? of_child : ""};

    for (size_t i = 0; i < sizeof(whats) / sizeof(*whats); i++)
        if (*whats[i])
            exit_summary_print(exit_summary->is_quiet,
                               "blocks of %s: build it with the system's allocator (Rust: "
                               "without #[global_allocator]), or link that one as a shared library "
                               "without a prefix",
                               whats[i]);
}

/* One line for each reason why processes are missing or incomplete, with a hint. */
static void report_who_is_missing(const struct exit_summary *exit_summary)
{
    static const struct {
        enum process_tree_status status;
        const char *what;
        const char *why;
    } reasons[] = {
        {PROCESS_TREE_NO_LOG, "not recorded", no_log_text},
        {PROCESS_TREE_WENT_ON, "recorded only up to an exec: what followed is not", no_log_text},
        {PROCESS_TREE_NO_ROOM, "not recorded", no_room_text},
        {PROCESS_TREE_PART_ROOM, "not recorded wholly", no_room_text},
        {PROCESS_TREE_INCOMPLETE, "not recorded wholly", "it dropped events, see below"},
        {PROCESS_TREE_RUNNING, "still running",
         "the log FILE.PID.N.live grows on; --wait waits, and "
         "'mtrace-record --pack' packs it afterwards"},
    };

    char who[512];

    if (!exit_summary->process_tree)
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (reasons[i].status == PROCESS_TREE_INCOMPLETE && exit_summary->n_children == 0)
            continue; /* there is one process, which the last line covers */
        if (process_tree_list(exit_summary->process_tree, reasons[i].status, who, sizeof(who)))
            exit_summary_print(exit_summary->is_quiet, "%s: %s (%s)", reasons[i].what, who,
                               reasons[i].status == PROCESS_TREE_RUNNING && exit_summary->was_left
                                   ? left_text
                                   : reasons[i].why);
    }
}

static void report_what_is_raw(const struct exit_summary *exit_summary)
{
    bool is_one = exit_summary->n_unpacked == 1;

    if (exit_summary->n_unpacked)
        exit_summary_print(
            exit_summary->is_quiet,
            "%" PRIu32 " log%s of other processes %s not packed: %s; what is in FILE.PID.N.live "
            "is imported as it is, and 'mtrace-record --pack %s' packs it where there is room",
            exit_summary->n_unpacked, is_one ? "" : "s", is_one ? "is" : "are",
            exit_summary->unpacked_err.text, exit_summary->name);
}

void exit_summary_sum_up(const struct exit_summary *exit_summary)
{
    char elided[96];
    char size[32];
    char events[32];
    char number[32];
    char dropped[48] = "";
    char others[96] = "";
    char missed[192];
    char next_name[1024] = "";
    const char *next = exit_summary->is_beginning_given ? "; next: mtrace-record --send "
                       : exit_summary->is_elsewhere     ? ""
                                                        : "; next: mtrace-query ";

    uint64_t n_events = exit_summary->totals.n_events + exit_summary->children.n_events;
    uint64_t n_dropped = exit_summary->totals.n_dropped + exit_summary->children.n_dropped;

    if (n_dropped)
        (void)snprintf(dropped, sizeof(dropped), ", %s dropped",
                       grouped(n_dropped, number, sizeof(number)));
    report_what_is_partial(exit_summary);
    report_that_all_is_missing(exit_summary);
    report_what_is_unseen(exit_summary);
    report_who_is_missing(exit_summary);
    report_what_is_raw(exit_summary);
    if (exit_summary->n_children)
        (void)snprintf(others, sizeof(others), " and %" PRIu32 " log%s of %s",
                       exit_summary->n_children, exit_summary->n_children == 1 ? "" : "s",
                       exit_summary->follows_children ? "child processes" : "what it executed");
    describe_elided(exit_summary, elided, sizeof(elided));
    describe_missed(exit_summary, missed, sizeof(missed));
    if (exit_summary->is_log_deleted) {
        exit_summary_warn(
            "'%s' is missing: it or its folder was removed or renamed during the run; %s recorded "
            "event%s cannot be found",
            exit_summary->name, grouped(n_events, events, sizeof(events)),
            n_events == 1 ? "" : "s");
        return;
    }
    if (*next)
        shell_quote(exit_summary->name, next_name, sizeof(next_name));
    exit_summary_print(
        exit_summary->is_quiet, "%s%s: %s, %s event%s%s%s%s%s%s%s%s%s%s", exit_summary->name,
        others,
        human_bytes(exit_summary->totals.file_bytes + exit_summary->children.file_bytes, size,
                    sizeof(size)),
        grouped(n_events, events, sizeof(events)), n_events == 1 ? "" : "s",
        exit_summary->is_beginning_given ? " of those still here" : "", elided, dropped,
        hint_of_drops(exit_summary), missed, exit_summary->reports, next, next_name,
        exit_summary->is_beginning_given ? " --no-local --to HOST:PORT, which has its beginning"
                                         : "");
}

void exit_summary_explain(const struct exit_summary *exit_summary)
{
    const char *reason = program_explain(exit_summary->program);
    char unseen[PACKING_UNSEEN_BYTES + 16];

    (void)snprintf(unseen, sizeof(unseen), "blocks of %s", exit_summary->totals.unseen);
    if (exit_summary->totals.flags & LOG_FLAG_TRUNCATED)
        reason = "its live log was truncated before any of it was read";
    else if (exit_summary->totals.unseen[0])
        reason = unseen;
    else if (exit_summary->totals.flags & LOG_FLAG_FOREIGN_MALLOC)
        reason = "it has a malloc of its own, which a preloaded library cannot see";
    if (!reason)
        reason = "the collector did not run in it; LD_DEBUG=libs shows what was loaded";
    exit_summary_warn("nothing was recorded of '%s': %s", exit_summary->program, reason);
}

/* Runs another mtrace program; false if it could not start or failed. */
static bool run(const char *path, char *const *argv)
{
    int status;
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        execv(path, argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
           && WEXITSTATUS(status) == 0;
}

void exit_summary_report(const char *path)
{
    char *import = program_find_sibling("mtrace-import");
    char *query = program_find_sibling("mtrace-query");
    size_t n = strlen(path);
    char *database = NULL;
    char quoted[1024] = "";

    shell_quote(path, quoted, sizeof(quoted));
    if (n > 4 && strcmp(path + n - 4, ".dat") == 0)
        n -= 4;
    if (!import || !query) {
        exit_summary_warn("no report: mtrace-import and mtrace-query are not in the folder of "
                          "mtrace-record; install them there");
    } else if (asprintf(&database, "%.*s.db", (int)n, path) >= 0) {
        char *const import_argv[] = {import, (char[]){"--force"}, (char *)(uintptr_t)path, database,
                                     NULL};
        char *const query_argv[] = {query, (char[]){"summary"}, database, NULL};
        if (!run(import, import_argv) || !run(query, query_argv))
            exit_summary_warn("the report failed, but the log is complete: run mtrace-import %s",
                              quoted);
    }
    free(database);
    free(query);
    free(import);
}
