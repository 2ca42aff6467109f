/* SPDX-License-Identifier: MIT */
#include "recorder/command/options.h"

#include "common/log_format.h"
#include "support/error.h"
#include "support/option_value.h"
#include "support/units.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_WRONG_USAGE = 2
};

static const uint64_t DEFAULT_MAX_LIVE_BYTES = (uint64_t)4 << 30; /* as in the collector */
static const uint64_t LEAST_LOCAL_BYTES = (uint64_t)64 << 20;
static const uint64_t LEAST_REPORT_NS = 100000000;

enum key {
    KEY_OUTPUT = 'o',
    KEY_FORCE = 'f',
    KEY_QUIET = 'q',
    KEY_HELP = 'h',
    KEY_PACK = 256,
    KEY_FOLLOW,
    KEY_REPORT,
    KEY_REPORT_EVERY,
    KEY_REPORT_SIGNAL,
    KEY_WAIT,
    KEY_CULL,
    KEY_NO_COMPRESS,
    KEY_SAMPLE,
    KEY_DISABLED,
    KEY_SIGNAL,
    KEY_START_AFTER,
    KEY_START_AT_RSS,
    KEY_STOP_AFTER,
    KEY_CTL,
    KEY_NO_FREE_BACKTRACES,
    KEY_UNWINDER,
    KEY_MAX_DEPTH,
    KEY_MAX_LIVE,
    KEY_SAMPLE_BYTES,
    KEY_ZERO,
    KEY_NO_MMAPS,
    KEY_LOG,
    KEY_LOGFILE,
    KEY_PATCH,
    KEY_NO_PATCH,
    KEY_TO,
    KEY_PSK,
    KEY_CERTIFICATE,
    KEY_KEY,
    KEY_CA,
    KEY_INSECURE,
    KEY_SEND_TIMEOUT,
    KEY_NO_LOCAL,
    KEY_MAX_LOCAL,
    KEY_SEND,
    KEY_ATTACH,
    KEY_DETACH,
};

const char *argp_program_version = "mtrace-record " MTRACE_VERSION;

static const char doc[] =
    "Run a program and record every allocation it makes, with stacks, in a log for mtrace-import.\v"
    "The exit status is the program's, 128+N when signal N killed it; 2 for wrong usage, 125 when "
    "mtrace-record itself failed, 126 when the program cannot be executed, 127 when it is not found.\n\n"
    "FILE may have %e (program), %t (unix seconds), %p (pid), %n (first free number) and %%. Each "
    "option has an environment variable MTRACE_*, so 'LD_PRELOAD=libmtrace.so program' can do the "
    "same; see mtrace-record(1).";

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Where the log goes:", 1},
    {"output", KEY_OUTPUT, "FILE", 0, "Write the log here [mtrace_%e_%t_%p.dat]", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace an existing FILE", 0},
    {"report", KEY_REPORT, NULL, 0, "Import the log at the end and print the summary", 0},
    {"report-every", KEY_REPORT_EVERY, "TIME", 0,
     "While the program runs, write a report to FILE.report.N.txt so often", 0},
    {"report-signal", KEY_REPORT_SIGNAL, "SIGNAL", 0,
     "And one whenever mtrace-record gets SIGUSR1 or SIGUSR2, which is not handed on then", 0},
    {"quiet", KEY_QUIET, NULL, 0, "Say nothing but errors", 0},

    {NULL, 0, NULL, 0, "Sending it to another machine, where mtrace-gather takes it:", 2},
    {"to", KEY_TO, "HOST:PORT", 0,
     "Also send the log there, while it grows; 'discover': to the mtrace-gather --announce of this network that has our key",
     0},
    {"psk-file", KEY_PSK, "FILE", 0,
     "Prove who we are by a key that both sides have: 'name:key', as psktool makes", 0},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Or by this certificate", 0},
    {"key", KEY_KEY, "FILE", 0, "Its private key", 0},
    {"ca", KEY_CA, "FILE", 0, "What signs the certificate of the other side, which must name HOST",
     0},
    {"insecure", KEY_INSECURE, NULL, 0, "Or not at all, within this machine", 0},
    {"no-local", KEY_NO_LOCAL, NULL, 0,
     "Give back the space of what the other side has on its disk, and remove the log here when that is all of it",
     0},
    {"max-local", KEY_MAX_LOCAL, "SIZE", 0,
     "With --no-local: how much of a log may be here; then events are dropped, and counted [any]",
     0},
    {"send-timeout", KEY_SEND_TIMEOUT, "TIME", 0,
     "How long to go on sending when the program has ended [30s]", 0},
    {"send", KEY_SEND, "LOG", 0, "Run nothing: send LOG, or the rest of it", 0},

    {NULL, 0, NULL, 0, "What is recorded:", 3},
    {"follow-children", KEY_FOLLOW, NULL, 0,
     "Also record child processes, each in a log FILE.PID.N", 0},
    {"wait", KEY_WAIT, NULL, 0,
     "With --follow-children: wait for children that outlive the program", 0},
    {"start-disabled", KEY_DISABLED, NULL, 0, "Record nothing until the toggle signal comes", 0},
    {"toggle-signal", KEY_SIGNAL, "SIGNAL", 0,
     "Signal that starts and stops recording [SIGUSR1 with --start-disabled, else none]", 0},
    {"start-after", KEY_START_AFTER, "TIME", 0, "Record nothing for so long", 0},
    {"start-at-rss", KEY_START_AT_RSS, "SIZE", 0,
     "Record nothing until the program has SIZE of resident memory, as --sample-memory sees it", 0},
    {"stop-after", KEY_STOP_AFTER, "TIME", 0, "Stop recording once it has gone on for so long", 0},
    {"no-mmaps", KEY_NO_MMAPS, NULL, 0, "Do not record mmap, munmap, mremap, brk", 0},
    {"zero-memory", KEY_ZERO, NULL, 0, "malloc returns zeroed memory", 0},
    {"patch", KEY_PATCH, NULL, 0,
     "Redirect the functions of any allocator inside the program, by their names alone [only jemalloc's and tcmalloc's]",
     0},
    {"no-patch", KEY_NO_PATCH, NULL, 0,
     "Leave the code of an allocator inside the program as it is: it is not recorded then", 0},
    {"sample-memory", KEY_SAMPLE, "MS", 0,
     "Sample the memory of the process every MS milliseconds, 0 = never [100]", 0},
    {"sample-bytes", KEY_SAMPLE_BYTES, "SIZE", 0,
     "Record about one block for each SIZE bytes that are allocated, drawn by chance: answers are "
     "estimates then, with their 95 % intervals",
     0},

    {NULL, 0, NULL, 0, "Stacks:", 4},
    {"no-free-backtraces", KEY_NO_FREE_BACKTRACES, NULL, 0, "Take no stack for frees", 0},
    {"unwinder", KEY_UNWINDER, "NAME", 0,
     "fast, libunwind, frame-pointer, none, or check (fast, compared with libunwind) [fast]", 0},
    {"max-depth", KEY_MAX_DEPTH, "N", 0, "Keep the innermost N frames [all]", 0},

    {NULL, 0, NULL, 0, "Size of the log:", 5},
    {"cull-temporary", KEY_CULL, "MS", 0,
     "Leave out blocks that a thread frees within MS milliseconds; what was allocated, freed and "
     "leaked stays exact, a peak is a lower bound, what was temporary an estimate",
     0},
    {"no-compress", KEY_NO_COMPRESS, NULL, 0, "Store events as they are", 0},
    {"max-live", KEY_MAX_LIVE, "SIZE", 0,
     "How large the live log may grow when packing falls behind [4GiB]", 0},
    {"pack", KEY_PACK, "LOG", 0,
     "Run nothing: pack LOG, left by a bare LD_PRELOAD or an interrupted recording", 0},

    {NULL, 0, NULL, 0, "A program that runs already:", 6},
    {"attach", KEY_ATTACH, "PID", 0,
     "Run nothing: record process PID from now on, until it ends, or ^C or --detach; then it goes on as before",
     0},
    {"detach", KEY_DETACH, "PID", 0,
     "Tell the mtrace-record that is attached to PID to let it go, or do it where that one is gone",
     0},
    {"ctl", KEY_CTL, "PID", 0,
     "Run nothing: tell the mtrace-record that records PID, or has that pid, to start, stop, mark a snapshot, or write a report",
     0},

    {NULL, 0, NULL, 0, "Diagnostics:", 7},
    {"log-level", KEY_LOG, "LEVEL", 0,
     "Messages of the collector: trace, debug, info, warn, error [none]", 0},
    {"log-file", KEY_LOGFILE, "FILE", 0, "Where they go [stderr]", 0},
    {NULL, 0, NULL, 0, NULL, -1},
    {NULL, KEY_HELP, NULL, OPTION_HIDDEN, NULL, -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void add_setting(struct argp_state *state, const char *name, const char *value)
{
    struct options *options = state->input;
    size_t used = strlen(options->settings);
    size_t n = strlen(name) + strlen(value) + 2;

    if (strchr(value, '\n'))
        argp_error(state, "'%s' has a line break", value);
    if (used + n >= sizeof(options->settings))
        argp_error(state, "the options are too long");
    else
        (void)snprintf(options->settings + used, sizeof(options->settings) - used, "%s=%s\n", name,
                       value);
}

static uint64_t parse_number(struct argp_state *state, const char *what, const char *text,
                             uint64_t most)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value > most) {
        argp_error(state, "%s: '%s' is not a number from 0 to %llu", what, text,
                   (unsigned long long)most);
        return 0;
    }
    return value;
}

static uint64_t parse_duration(struct argp_state *state, const char *what, const char *text)
{
    struct error err = {0};
    uint64_t ns = 0;

    if (units_parse_duration(text, &ns, &err) != 0)
        argp_error(state, "%s: %s", what, err.text);
    else if (ns == 0)
        argp_error(state, "%s: '%s' is no time", what, text);
    return ns;
}

/* With or without SIG. */
static int parse_signal(struct argp_state *state, const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;

    if (strcmp(name, "USR1") == 0)
        return SIGUSR1;
    if (strcmp(name, "USR2") != 0)
        argp_error(state, "--report-signal: '%s' is neither SIGUSR1 nor SIGUSR2", text);
    return SIGUSR2;
}

/* The collector gets bytes: it knows fewer units than a user may write. */
static void add_max_live(struct argp_state *state)
{
    const struct options *options = state->input;
    char bytes[24];

    if (options->max_live_bytes == DEFAULT_MAX_LIVE_BYTES || options->max_live_bytes == UINT64_MAX)
        return;
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, options->max_live_bytes);
    add_setting(state, "MTRACE_MAX_LIVE", bytes);
}

/* Whoever reads bytes alone has the right one, too. */
static void set_sample_bytes(struct argp_state *state, const char *text)
{
    struct options *options = state->input;
    char bytes[24];

    options->sample_bytes = option_value_size(state, "--sample-bytes", text);
    if (options->sample_bytes == 0 || options->sample_bytes > LOG_MAX_SAMPLE_BYTES)
        argp_error(state, "--sample-bytes is '%s', but must be from 1 to 1TiB", text);
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, options->sample_bytes);
    add_setting(state, "MTRACE_SAMPLE_BYTES", bytes);
}

static void check_choice(struct argp_state *state, const char *what, const char *text,
                         const char *choices)
{
    size_t n = strlen(text);

    for (const char *at = choices; *at; at += strcspn(at, " ") + (strchr(at, ' ') != NULL))
        if (strcspn(at, " ") == n && memcmp(at, text, n) == 0)
            return;
    argp_error(state, "%s: '%s' is none of: %s", what, text, choices);
}

/* What is handed on to the collector as a variable. */
struct setting {
    int key;
    const char *option;
    const char *variable;
    const char *value;   /* of an option without argument */
    const char *choices; /* the argument is one of these, separated by spaces */
    uint64_t most;       /* the argument is a number up to this; 0: any text */
};

static const struct setting settings[] = {
    {KEY_DISABLED, "--start-disabled", "MTRACE_DISABLE_BY_DEFAULT", .value = "1"},
    {KEY_FOLLOW, "--follow-children", "MTRACE_FOLLOW_CHILDREN", .value = "1"},
    {KEY_NO_FREE_BACKTRACES, "--no-free-backtraces", "MTRACE_BACKTRACES_ON_FREE", .value = "0"},
    {KEY_ZERO, "--zero-memory", "MTRACE_ZERO_MEMORY", .value = "1"},
    {KEY_NO_MMAPS, "--no-mmaps", "MTRACE_GATHER_MMAPS", .value = "0"},
    {KEY_SIGNAL, "--toggle-signal", "MTRACE_SIGNAL_TOGGLE",
     .choices = "SIGUSR1 SIGUSR2 SIGHUP SIGQUIT SIGPROF"},
    {KEY_UNWINDER, "--unwinder", "MTRACE_UNWINDER",
     .choices = "fast libunwind frame-pointer none check"},
    {KEY_LOG, "--log-level", "MTRACE_LOG", .choices = "trace debug info warn error"},
    {KEY_MAX_DEPTH, "--max-depth", "MTRACE_MAX_DEPTH", .most = UINT32_MAX},
    {KEY_LOGFILE, "--log-file", "MTRACE_LOGFILE", .most = 0},
};

static error_t parse_setting(int key, char *arg, struct argp_state *state)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const struct setting *setting = &settings[i];
        if (setting->key != key)
            continue;
        if (setting->choices)
            check_choice(state, setting->option, arg, setting->choices);
        if (setting->most)
            (void)parse_number(state, setting->option, arg, setting->most);
        add_setting(state, setting->variable, setting->value ? setting->value : arg);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* What follows --ctl PID. */
static void parse_control(struct argp_state *state)
{
    struct options *options = state->input;
    struct control_request *request = &options->control;
    char **words = options->argv;

    if (request->verb == CONTROL_DETACH) {
        if (words)
            argp_error(state, "--detach runs no program, but '%s' is given", words[0]);
        return;
    }
    if (options->input || options->sent)
        argp_error(state, "--ctl and %s cannot be given together",
                   options->input ? "--pack" : "--send");
    if (!words)
        argp_error(state, "--ctl: start, stop, snapshot or report?");
    else if (!control_message_find_verb(words[0], &request->verb))
        argp_error(state, "--ctl: '%s' is none of: start stop snapshot report", words[0]);
    else if (words[1] && (request->verb != CONTROL_SNAPSHOT || words[2]))
        argp_error(state, "--ctl: '%s' is too much",
                   words[request->verb == CONTROL_SNAPSHOT ? 2 : 1]);
    else if (words[1] && (!*words[1] || strlen(words[1]) >= sizeof(request->name)))
        argp_error(state, "--ctl: the name of a snapshot has 1 to %zu bytes",
                   sizeof(request->name) - 1);
    else if (words[1])
        (void)snprintf(request->name, sizeof(request->name), "%s", words[1]);
}

/* Of the ways to start late the collector knows only that there is one; but for the signal, nothing of the program is used for it. */
static void add_windows(struct argp_state *state)
{
    const struct options *options = state->input;
    const struct own_windows *windows = &options->windows;

    if (windows->start_rss_bytes && options->sample_ms == 0)
        argp_error(state, "--start-at-rss needs --sample-memory");
    if (windows->start_after_ns || windows->start_rss_bytes)
        add_setting(state, "MTRACE_WINDOW_CLOSED", "1");
}

/* Packed, it may be half of that; a quarter is for the live log, and as much for what it becomes when it is packed at the end. */
static void set_max_local(struct argp_state *state, const char *text)
{
    struct options *options = state->input;

    options->max_local_bytes = option_value_size(state, "--max-local", text);
    if (options->max_local_bytes < LEAST_LOCAL_BYTES)
        argp_error(state, "--max-local is '%s', but must be 64MiB or more", text);
}

/* Who wants to read the log here needs it. */
static void check_local(struct argp_state *state)
{
    struct options *options = state->input;

    if (options->max_local_bytes && !options->gives_back)
        argp_error(state, "--max-local needs --no-local");
    if (options->gives_back
        && (options->has_report || options->report_every_ns || options->report_signal))
        argp_error(state, "--no-local leaves no log to make reports of here");
    if (options->max_local_bytes && options->max_live_bytes > options->max_local_bytes / 4)
        options->max_live_bytes = options->max_local_bytes / 4;
}

static void check_task(struct argp_state *state, const struct options *options)
{
    const char *task = options->input      ? "--pack"
                       : options->sent     ? "--send"
                       : options->attached ? "--attach"
                                           : NULL;

    if (options->input && options->sent)
        argp_error(state, "--pack and --send are two tasks");
    if (task && options->argv)
        argp_error(state, "%s runs no program, but '%s' is given", task, options->argv[0]);
    if (!task && !options->argv)
        argp_error(state, "no program given");
    if (!options->has_receiver && (options->sent || options->sending.n_words))
        argp_error(state, "--to HOST:PORT must say where to send");
}

static error_t parse_arguments(int key, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case ARGP_KEY_ARGS:
        options->argv = state->argv + state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (options->control.pid) {
            parse_control(state);
            return 0;
        }
        check_task(state, options);
        if (options->waits_for_children && !options->follows_children)
            argp_error(state, "--wait needs --follow-children");
        if (options->argv && options->sample_bytes && options->cull_ms)
            argp_error(
                state,
                "--cull-temporary counts all blocks, and --sample-bytes (or MTRACE_SAMPLE_BYTES) records few");
        check_local(state);
        add_max_live(state);
        add_windows(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct sending_option {
    int key;
    const char *word;
};

/* What mtrace-send obeys, as it is. */
static error_t parse_sending(int key, char *arg, struct argp_state *state)
{
    static const struct sending_option words[] = {{KEY_TO, "--to"},
                                                  {KEY_PSK, "--psk-file"},
                                                  {KEY_CERTIFICATE, "--certificate"},
                                                  {KEY_KEY, "--key"},
                                                  {KEY_CA, "--ca"},
                                                  {KEY_INSECURE, "--insecure"},
                                                  {KEY_NO_LOCAL, "--no-local"}};
    struct options *options = state->input;
    struct sending *sending = &options->sending;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (words[i].key != key)
            continue;
        if (sending->n_words + 2 > SENDER_PROCESS_WORDS)
            argp_error(state, "%s is given too often", words[i].word);
        sending->words[sending->n_words++] = words[i].word;
        if (arg)
            sending->words[sending->n_words++] = arg;
        options->has_receiver = options->has_receiver || key == KEY_TO;
        options->gives_back = options->gives_back || key == KEY_NO_LOCAL;
        return 0;
    }
    if (key == KEY_SEND_TIMEOUT)
        sending->timeout_ns = parse_duration(state, "--send-timeout", arg);
    else if (key == KEY_MAX_LOCAL)
        set_max_local(state, arg);
    else if (key == KEY_SEND)
        options->sent = arg;
    else
        return parse_setting(key, arg, state);
    return 0;
}

static pid_t parse_process(struct argp_state *state, const char *what, const char *text)
{
    pid_t pid = (pid_t)parse_number(state, what, text, INT32_MAX);

    if (pid == 0)
        argp_error(state, "%s: '%s' is no process", what, text);
    return pid;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_OUTPUT:
        options->output = arg;
        options->has_output = true;
        return 0;
    case KEY_FORCE:
        options->force = true;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        options->sending.is_quiet = true;
        return 0;
    case KEY_FOLLOW:
        options->follows_children = true;
        return parse_setting(key, arg, state);
    case KEY_PATCH:
        options->patch = ALLOCATOR_PLAN_ANY;
        return 0;
    case KEY_NO_PATCH:
        options->patch = ALLOCATOR_LET_BE;
        return 0;
    case KEY_WAIT:
        options->waits_for_children = true;
        return 0;
    case KEY_REPORT:
        options->has_report = true;
        return 0;
    case KEY_REPORT_EVERY:
        options->report_every_ns = parse_duration(state, "--report-every", arg);
        if (options->report_every_ns < LEAST_REPORT_NS)
            argp_error(state, "--report-every is '%s', but must be 100ms or more", arg);
        return 0;
    case KEY_REPORT_SIGNAL:
        options->report_signal = parse_signal(state, arg);
        return 0;
    case KEY_START_AFTER:
        options->windows.start_after_ns = parse_duration(state, "--start-after", arg);
        return 0;
    case KEY_STOP_AFTER:
        options->windows.stop_after_ns = parse_duration(state, "--stop-after", arg);
        return 0;
    case KEY_START_AT_RSS:
        options->windows.start_rss_bytes = option_value_size(state, "--start-at-rss", arg);
        if (options->windows.start_rss_bytes == 0)
            argp_error(state, "--start-at-rss: '%s' is no size", arg);
        return 0;
    case KEY_CTL:
        options->control.pid = parse_process(state, "--ctl", arg);
        return 0;
    case KEY_ATTACH:
        options->attached = parse_process(state, "--attach", arg);
        return 0;
    case KEY_DETACH:
        options->control.pid = parse_process(state, "--detach", arg);
        options->control.verb = CONTROL_DETACH;
        return 0;
    case KEY_PACK:
        options->input = arg;
        return 0;
    case KEY_CULL:
        options->cull_ms = parse_number(state, "--cull-temporary", arg, 1000000);
        return 0;
    case KEY_NO_COMPRESS:
        options->is_compressed = false;
        return 0;
    case KEY_SAMPLE:
        options->sample_ms = parse_number(state, "--sample-memory", arg, 86400000);
        return 0;
    case KEY_SAMPLE_BYTES:
        set_sample_bytes(state, arg);
        return 0;
    case KEY_MAX_LIVE:
        options->max_live_bytes = option_value_size(state, "--max-live", arg);
        return 0;
    case KEY_HELP:
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARGS:
    case ARGP_KEY_END:
        return parse_arguments(key, state);
    default:
        return parse_sending(key, arg, state);
    }
}

/* Variables that the recorder itself obeys. A senseless value leaves the default. */
static void read_environment(struct options *options)
{
    const char *sample_ms = getenv("MTRACE_SAMPLE_MEMORY_MS");
    const char *follow = getenv("MTRACE_FOLLOW_CHILDREN");
    const char *patch = getenv("MTRACE_PATCH");
    const char *max_live = getenv("MTRACE_MAX_LIVE");
    const char *sample_bytes = getenv("MTRACE_SAMPLE_BYTES");

    /* what only the collector understands, only the collector obeys */
    if (max_live && *max_live && units_parse_bytes(max_live, &options->max_live_bytes, NULL) != 0)
        options->max_live_bytes = UINT64_MAX;
    if (sample_bytes
        && (units_parse_bytes(sample_bytes, &options->sample_bytes, NULL) != 0
            || options->sample_bytes > LOG_MAX_SAMPLE_BYTES))
        options->sample_bytes = 0;
    options->output = getenv("MTRACE_OUTPUT");
    if (options->output && !*options->output)
        options->output = NULL;
    if (sample_ms && *sample_ms && strspn(sample_ms, "0123456789") == strlen(sample_ms))
        options->sample_ms = strtoull(sample_ms, NULL, 10);
    options->patch = !patch                    ? ALLOCATOR_PLAN_PROVEN
                     : strcmp(patch, "0") == 0 ? ALLOCATOR_LET_BE
                     : strcmp(patch, "1") == 0 ? ALLOCATOR_PLAN_ANY
                                               : ALLOCATOR_PLAN_PROVEN;
    options->follows_children = follow && strcmp(follow, "1") == 0;
}

void options_parse(int argc, char **argv, struct options *ret_options)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "[--] PROGRAM [ARGUMENT...]\n--pack LOG\n--send LOG --to HOST:PORT\n--attach PID\n--detach PID\n--ctl PID start|stop|report|snapshot [NAME]",
        doc,
        NULL,
        NULL,
        NULL};

    *ret_options = (struct options){.sample_ms = 100,
                                    .is_compressed = true,
                                    .max_live_bytes = DEFAULT_MAX_LIVE_BYTES,
                                    .sending.timeout_ns = SENDER_PROCESS_TIMEOUT_NS};
    read_environment(ret_options);
    argp_err_exit_status = EXIT_WRONG_USAGE;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, ret_options);
}
