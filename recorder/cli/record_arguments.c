/* SPDX-License-Identifier: MIT */
#include "recorder/cli/record_arguments.h"

#include "lib/abi/log_format.h"
#include "lib/base/option_value.h"
#include "lib/base/units.h"
#include "recorder/cli/collector_options.h"
#include "recorder/session/options.h"

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sending ---- */

static const uint64_t MIN_LOCAL_BYTES = (uint64_t)64 << 20;

enum sending_key {
    KEY_TO = 256,
    KEY_PSK,
    KEY_CERTIFICATE,
    KEY_KEY,
    KEY_CA,
    KEY_INSECURE,
    KEY_NO_LOCAL,
    KEY_MAX_LOCAL,
    KEY_SEND_TIMEOUT,
    KEY_SEND,
};

static const struct argp_option sending_table[] = {
    {NULL, 0, NULL, 0, "Sending it to another machine, where mtrace-gather takes it:", 6},
    {"to", KEY_TO, "HOST:PORT", 0,
     "Also send the log there, while it grows; 'discover': to the mtrace-gather --announce of this network that has our key",
     0},
    {"psk-file", KEY_PSK, "FILE", 0,
     "Authenticate with a key that both sides have: 'name:key', as psktool makes", 0},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Or by this certificate", 0},
    {"key", KEY_KEY, "FILE", 0, "Its private key", 0},
    {"ca", KEY_CA, "FILE", 0, "Certificates that sign the receiver's, which must name HOST", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "Or not at all, within this machine", 0},
    {"no-local", KEY_NO_LOCAL, NULL, 0,
     "Remove what the other side has on its disk, and the log here when that is all of it", 0},
    {"max-local", KEY_MAX_LOCAL, "SIZE", 0,
     "With --no-local: how much of a log may be here; then events are dropped, and counted [any]",
     0},
    {"send-timeout", KEY_SEND_TIMEOUT, "TIME", 0,
     "How long to go on sending when the program has ended [30s]", 0},
    {"send", KEY_SEND, "LOG", 0, "Run nothing: send LOG, or the rest of it", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Half of the limit may be packed; a quarter is for the live log, and a quarter for its packed form
 * at the end. */
static void set_max_local(struct argp_state *state, const char *text)
{
    struct options *options = state->input;

    options->max_local_bytes = option_value_size(state, "--max-local", text);
    if (options->max_local_bytes < MIN_LOCAL_BYTES)
        argp_error(state, "--max-local is '%s', but must be 64MiB or more", text);
}

/* Checks --no-local and --max-local against the other options, and limits the live log. A reader of
 * the log on this machine needs the whole file. Call after parsing. */
static void sending_options_check(struct argp_state *state)
{
    struct options *options = state->input;

    if (options->max_local_bytes && !options->gives_back)
        argp_error(state, "--max-local needs --no-local");
    if (options->gives_back
        && (options->has_report || options->report_every_ns || options->report_signal))
        argp_error(state, "--no-local leaves no log here, which reports need");
    if (options->max_local_bytes && options->max_live_bytes > options->max_local_bytes / 4)
        options->max_live_bytes = options->max_local_bytes / 4;
}

struct sending_option {
    int key;
    const char *word;
};

/* Options that mtrace-send gets unchanged. */
static error_t parse_sending_option(int key, char *arg, struct argp_state *state)
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
        sending->timeout_ns = option_value_duration(state, "--send-timeout", arg);
    else if (key == KEY_MAX_LOCAL)
        set_max_local(state, arg);
    else if (key == KEY_SEND)
        options->sent = arg;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp sending_options = {
    sending_table, parse_sending_option, NULL, NULL, NULL, NULL, NULL};

/* ---- what to do ---- */

enum task_key {
    KEY_ATTACH = 256,
    KEY_DETACH,
    KEY_CTL,
    KEY_FOR,
};

static const struct argp_option task_table[] = {
    {NULL, 0, NULL, 0, "A program that runs already:", 2},
    {"attach", KEY_ATTACH, "PID|NAME", 0,
     "Run nothing: record process PID, or the one process of that name, until it ends, or ^C, --for or --detach; then it goes on as before",
     0},
    {"for", KEY_FOR, "TIME", 0, "With --attach: detach after so long, for example 10s", 0},
    {"detach", KEY_DETACH, "PID", 0,
     "Detach the mtrace-record that is attached to PID; if it was killed, end the recording of PID",
     0},
    {"ctl", KEY_CTL, "PID", 0,
     "Run nothing: have process PID, which is recorded, start, stop, mark a snapshot or take a heap-image: that one alone, not its children; or report, which is of all processes of its recording. PID of mtrace-record itself: all that it records",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Parses the words after --ctl PID. */
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
        argp_error(state, "--ctl: start, stop, snapshot, report or heap-image?");
    else if (!control_message_find_verb(words[0], &request->verb))
        argp_error(state, "--ctl: '%s' is none of: start stop snapshot report heap-image",
                   words[0]);
    else if (words[1] && (!control_message_takes_name(request->verb) || words[2]))
        argp_error(state, "--ctl: unexpected argument '%s'",
                   words[control_message_takes_name(request->verb) ? 2 : 1]);
    else if (words[1] && (!*words[1] || strlen(words[1]) >= sizeof(request->name)))
        argp_error(state, "--ctl: the name of a snapshot or image has 1 to %zu bytes",
                   sizeof(request->name) - 1);
    else if (words[1])
        (void)snprintf(request->name, sizeof(request->name), "%s", words[1]);
}

static void check_task(struct argp_state *state)
{
    const struct options *options = state->input;
    const char *task = options->input      ? "--pack"
                       : options->sent     ? "--send"
                       : options->attached ? "--attach"
                                           : NULL;

    if (options->input && options->sent)
        argp_error(state, "--pack and --send are two tasks");
    if (options->attached_for_ns && !options->attached)
        argp_error(state, "--for needs --attach; to stop recording a program that is started, use "
                          "--stop-after");
    if (task && options->argv)
        argp_error(state, "%s runs no program, but '%s' is given", task, options->argv[0]);
    if (options->attached && options->patch == ALLOCATOR_PLAN_ANY)
        argp_error(
            state,
            "--patch (or MTRACE_PATCH=1) is for a program that is started: functions inside an executable can be redirected before main only");
    if (!task && !options->argv)
        argp_error(state, "no program given");
    if (!options->has_receiver && (options->sent || options->sending.n_words))
        argp_error(state, "--to HOST:PORT must name the receiver");
}

/* Checks that there is one task with what it needs; call after parsing. False: the task creates and
 * keeps no log (--ctl, --detach). */
static bool task_options_check(struct argp_state *state)
{
    const struct options *options = state->input;

    if (options->control.pid)
        parse_control(state);
    else
        check_task(state);
    return !options->control.pid;
}

static pid_t parse_process(struct argp_state *state, const char *what, const char *text)
{
    pid_t pid = (pid_t)option_value_number(state, what, text, INT32_MAX);

    if (pid == 0)
        argp_error(state, "%s: '%s' is not a process ID", what, text);
    return pid;
}

static void parse_attached(struct argp_state *state, const char *text)
{
    struct options *options = state->input;

    options->attached_name = NULL;
    if (text[strspn(text, "0123456789")] == '\0')
        options->attached = parse_process(state, "--attach", text);
    else {
        options->attached = -1;
        options->attached_name = text;
    }
}

static error_t parse_task_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_CTL:
        options->control.pid = parse_process(state, "--ctl", arg);
        return 0;
    case KEY_ATTACH:
        parse_attached(state, arg);
        return 0;
    case KEY_FOR:
        options->attached_for_ns = option_value_duration(state, "--for", arg);
        if (options->attached_for_ns == 0)
            argp_error(state, "--for is '%s', but must be more than 0", arg);
        return 0;
    case KEY_DETACH:
        options->control.pid = parse_process(state, "--detach", arg);
        options->control.verb = CONTROL_DETACH;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp task_options = {task_table, parse_task_option, NULL, NULL, NULL, NULL,
                                         NULL};

/* ---- the log, and all parts ---- */

enum {
    EXIT_WRONG_USAGE = 2
};

static const uint64_t MIN_REPORT_NS = 100000000;

enum key {
    KEY_OUTPUT = 'o',
    KEY_FORCE = 'f',
    KEY_QUIET = 'q',
    KEY_HELP = 'h',
    KEY_REPORT = 256,
    KEY_REPORT_EVERY,
    KEY_REPORT_SIGNAL,
    KEY_ELIDE,
    KEY_NO_COMPRESS,
    KEY_MAX_LIVE,
    KEY_PACK,
    KEY_AGGREGATE,
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
    {"quiet", KEY_QUIET, NULL, 0, "Print errors only", 0},

    {NULL, 0, NULL, 0, "Size of the log:", 5},
    {"cull-temporary", KEY_ELIDE, "MS", 0,
     "Leave out blocks that a thread frees within MS milliseconds; totals stay exact, peaks "
     "are lower bounds",
     0},
    {"aggregate", KEY_AGGREGATE, NULL, 0,
     "Keep what events amount to, and blocks that are live, but not each block that once was: the log does not "
     "grow with the time that the program runs",
     0},
    {"no-compress", KEY_NO_COMPRESS, NULL, 0, "Store events as they are", 0},
    {"max-live", KEY_MAX_LIVE, "SIZE", 0,
     "How large the live log may grow when packing falls behind or mtrace-record was killed [4GiB; 256MiB with --aggregate]",
     0},
    {"pack", KEY_PACK, "LOG", 0,
     "Run nothing: pack LOG of a bare LD_PRELOAD or a killed mtrace-record, and the other logs of its run",
     0},

    {NULL, 0, NULL, 0, NULL, -1},
    {NULL, KEY_HELP, NULL, OPTION_HIDDEN, NULL, -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

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

static const struct argp_child parts[] = {{&collector_options, 0, NULL, 0},
                                          {&sending_options, 0, NULL, 0},
                                          {&task_options, 0, NULL, 0},
                                          {NULL, 0, NULL, 0}};

/* Rejects options that need a complete log or count elided blocks in another way. */
static void check_aggregate(const struct argp_state *state)
{
    const struct options *options = state->input;
    const char *other = options->has_receiver ? "--to"
                        : options->attached   ? "--attach"
                        : options->elide_ms   ? "--cull-temporary"
                        : options->input      ? "--pack"
                        : options->sent       ? "--send"
                                              : NULL;

    if (options->is_aggregate && other)
        argp_error(state, "--aggregate cannot be used with %s", other);
}

/* A block holds others only as far as all blocks are known. */
static void check_image(const struct argp_state *state)
{
    const struct options *options = state->input;

    if ((options->takes_exit_image || options->image_rss_bytes)
        && (options->sample_bytes || options->is_aggregate))
        argp_error(state, "--heap-image cannot be used with %s",
                   options->sample_bytes ? "--sample-bytes" : "--aggregate");
    if (options->image_rss_bytes && options->sample_ms == 0)
        argp_error(state, "--heap-image-at-rss needs --sample-memory");
}

static error_t parse_arguments(int key, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        option_value_quote_plainly(state);
        for (size_t i = 0; parts[i].argp; i++)
            state->child_inputs[i] = options;
        return 0;
    case ARGP_KEY_ARGS:
        options->argv = state->argv + state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (options->max_live_bytes == OPTIONS_MAX_LIVE_UNREPORTED)
            options->max_live_bytes =
                options->is_aggregate ? OPTIONS_MAX_LIVE_BOUNDED_BYTES : OPTIONS_MAX_LIVE_BYTES;
        if (!task_options_check(state))
            return 0;
        if (options->waits_for_children && !options->follows_children)
            argp_error(state, "--wait needs --follow-children");
        if ((options->argv || options->attached) && options->sample_bytes && options->elide_ms)
            argp_error(
                state,
                "--cull-temporary counts all blocks, and --sample-bytes (or MTRACE_SAMPLE_BYTES) records few");
        if (options->input && options->elide_ms)
            argp_error(state, "--cull-temporary works while recording, not with --pack");
        check_aggregate(state);
        check_image(state);
        sending_options_check(state);
        collector_options_add_settings(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define PLACE(member) offsetof(struct options, member)

static const struct option_place places[] = {
    {KEY_FORCE, OPTION_PLACE_FLAG, PLACE(force), NULL, 0},
    {KEY_REPORT, OPTION_PLACE_FLAG, PLACE(has_report), NULL, 0},
    {KEY_PACK, OPTION_PLACE_TEXT, PLACE(input), NULL, 0},
    {KEY_ELIDE, OPTION_PLACE_NUMBER, PLACE(elide_ms), "--cull-temporary", 1000000},
    {KEY_MAX_LIVE, OPTION_PLACE_SIZE, PLACE(max_live_bytes), "--max-live", 0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    if (option_place_put(places, sizeof(places) / sizeof(*places), key, arg, state))
        return 0;
    switch (key) {
    case KEY_OUTPUT:
        options->output = arg;
        options->has_output = true;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        options->sending.is_quiet = true;
        return 0;
    case KEY_REPORT_EVERY:
        options->report_every_ns = option_value_duration(state, "--report-every", arg);
        if (options->report_every_ns < MIN_REPORT_NS)
            argp_error(state, "--report-every is '%s', but must be 100ms or more", arg);
        return 0;
    case KEY_REPORT_SIGNAL:
        options->report_signal = parse_signal(state, arg);
        return 0;
    case KEY_AGGREGATE:
        options->is_aggregate = true;
        return 0;
    case KEY_NO_COMPRESS:
        options->is_compressed = false;
        return 0;
    case KEY_HELP:
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return parse_arguments(key, state);
    }
}

/* Variables that the recorder itself uses. Invalid values leave the default. */
static void read_environment(struct options *options)
{
    const char *sample_ms = getenv("MTRACE_SAMPLE_MEMORY_MS");
    const char *follow = getenv("MTRACE_FOLLOW_CHILDREN");
    const char *patch = getenv("MTRACE_PATCH");
    const char *max_live = getenv("MTRACE_MAX_LIVE");
    const char *sample_bytes = getenv("MTRACE_SAMPLE_BYTES");

    /* invalid for the recorder: perhaps only the collector understands it */
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

void record_arguments_parse(int argc, char **argv, struct options *ret_options)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "[--] PROGRAM [ARGUMENT...]\n--pack LOG\n--send LOG --to HOST:PORT\n--attach PID|NAME [--for TIME]\n--detach PID\n--ctl PID start|stop|report|snapshot [NAME]",
        doc,
        parts,
        NULL,
        NULL};

    *ret_options = (struct options){.sample_ms = 100,
                                    .is_compressed = true,
                                    .keep_symbols_bytes = OPTIONS_KEEP_SYMBOLS_BYTES,
                                    .max_live_bytes = OPTIONS_MAX_LIVE_UNREPORTED,
                                    .sending.timeout_ns = SENDER_PROCESS_TIMEOUT_NS};
    read_environment(ret_options);
    argp_err_exit_status = EXIT_WRONG_USAGE;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, ret_options);
}
