/* SPDX-License-Identifier: MIT */
#include "recorder/cli/collector_options.h"

#include "lib/abi/log_format.h"
#include "lib/abi/settings.h"
#include "lib/base/option_value.h"
#include "recorder/session/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOUNDED_THREADS "4096" /* limit of distinguished threads in a bounded log */

enum key {
    KEY_FOLLOW = 256,
    KEY_WAIT,
    KEY_DISABLED,
    KEY_SIGNAL,
    KEY_START_AFTER,
    KEY_START_AT_RSS,
    KEY_STOP_AFTER,
    KEY_NO_MMAPS,
    KEY_ZERO,
    KEY_PATCH,
    KEY_NO_PATCH,
    KEY_SAMPLE,
    KEY_SAMPLE_BYTES,
    KEY_NO_FREE_BACKTRACES,
    KEY_UNWINDER,
    KEY_MAX_DEPTH,
    KEY_LOG,
    KEY_LOGFILE,
    KEY_KEEP_SYMBOLS,
    KEY_HEAP_IMAGE,
};

static const struct argp_option option_table[] = {
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

    {"keep-symbols", KEY_KEEP_SYMBOLS, "SIZE", 0,
     "Copy at most SIZE of symbol tables of plugins, and of files that are replaced during the run, into the log; "
     "0 = none [64MiB]",
     0},

    {"heap-image", KEY_HEAP_IMAGE, "exit", 0,
     "At the program's exit, note which blocks it can still reach, for 'mtrace-query lost'", 0},

    {NULL, 0, NULL, 0, "Stacks:", 4},
    {"no-free-backtraces", KEY_NO_FREE_BACKTRACES, NULL, 0, "Take no stack for frees", 0},
    {"unwinder", KEY_UNWINDER, "NAME", 0,
     "fast, libunwind, frame-pointer, none, or check (fast, compared with libunwind) [fast]", 0},
    {"max-depth", KEY_MAX_DEPTH, "N", 0, "Keep the innermost N frames [all]", 0},

    {NULL, 0, NULL, 0, "Diagnostics:", 7},
    {"log-level", KEY_LOG, "LEVEL", 0,
     "Messages of the collector: trace, debug, info, warn, error [none]", 0},
    {"log-file", KEY_LOGFILE, "FILE", 0, "Where they go [stderr]", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void add_setting(struct argp_state *state, const char *name, const char *value)
{
    struct options *options = state->input;
    size_t used = strlen(options->settings);
    size_t n = strlen(name) + strlen(value) + 2;

    if (used + n >= sizeof(options->settings))
        argp_error(state, "the options are too long");
    else
        (void)snprintf(options->settings + used, sizeof(options->settings) - used, "%s=%s\n", name,
                       value);
}

/* In bytes: the collector knows fewer units than the command line. */
static void add_max_live(struct argp_state *state)
{
    const struct options *options = state->input;
    char bytes[24];

    if (options->max_live_bytes == OPTIONS_MAX_LIVE_BYTES || options->max_live_bytes == UINT64_MAX)
        return;
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, options->max_live_bytes);
    add_setting(state, "MTRACE_MAX_LIVE", bytes);
}

/* Each thread has a permanent definition, even if nothing else is kept of it. */
static void add_max_threads(struct argp_state *state)
{
    const struct options *options = state->input;

    if (options->is_aggregate && !getenv("MTRACE_MAX_THREADS"))
        add_setting(state, "MTRACE_MAX_THREADS", BOUNDED_THREADS);
}

/* The collector only learns that recording starts late; except for the signal, this uses nothing in
 * the program. */
static void add_windows(struct argp_state *state)
{
    const struct options *options = state->input;
    const struct own_windows *windows = &options->windows;

    if (windows->start_rss_bytes && options->sample_ms == 0)
        argp_error(state, "--start-at-rss needs --sample-memory");
    if (windows->start_after_ns || windows->start_rss_bytes)
        add_setting(state, "MTRACE_WINDOW_CLOSED", "1");
}

void collector_options_add_settings(struct argp_state *state)
{
    add_max_live(state);
    add_max_threads(state);
    add_windows(state);
}

/* In bytes, for readers that know no units. */
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

static void set_keep_symbols(struct argp_state *state, const char *text)
{
    struct options *options = state->input;
    uint64_t size = option_value_size(state, "--keep-symbols", text);
    char bytes[24];

    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, size < UINT64_MAX / 2 ? size : UINT64_MAX / 2);
    options->keep_symbols_bytes = size;
    add_setting(state, "MTRACE_KEEP_SYMBOLS", bytes);
}

static void check_choice(struct argp_state *state, const char *what, const char *text,
                         const char *choices)
{
    size_t n = strlen(text);

    for (const char *at = choices; *at; at += strcspn(at, " ") + (strchr(at, ' ') != NULL))
        if (strcspn(at, " ") == n && memcmp(at, text, n) == 0)
            return;
    argp_error(state, "%s: '%s' is not one of: %s", what, text, choices);
}

/* A setting that is passed to the collector. */
struct setting {
    int key;
    const char *option;
    const char *variable;
    const char *value;   /* for an option without argument */
    const char *choices; /* allowed arguments, separated by spaces */
    const char *prefix;  /* of all choices; the argument may omit it */
    uint64_t most;       /* maximum of a number; 0: any text */
};

static const struct setting settings[] = {
    {KEY_DISABLED, "--start-disabled", "MTRACE_DISABLE_BY_DEFAULT", .value = "1"},
    {KEY_FOLLOW, "--follow-children", "MTRACE_FOLLOW_CHILDREN", .value = "1"},
    {KEY_NO_FREE_BACKTRACES, "--no-free-backtraces", "MTRACE_BACKTRACES_ON_FREE", .value = "0"},
    {KEY_HEAP_IMAGE, "--heap-image", "MTRACE_HEAP_IMAGE", .choices = "exit"},
    {KEY_ZERO, "--zero-memory", "MTRACE_ZERO_MEMORY", .value = "1"},
    {KEY_NO_MMAPS, "--no-mmaps", "MTRACE_GATHER_MMAPS", .value = "0"},
    {KEY_SIGNAL, "--toggle-signal", "MTRACE_SIGNAL_TOGGLE",
     .choices = "SIGUSR1 SIGUSR2 SIGHUP SIGQUIT SIGPROF", .prefix = "SIG"},
    {KEY_UNWINDER, "--unwinder", "MTRACE_UNWINDER",
     .choices = "fast libunwind frame-pointer none check"},
    {KEY_LOG, "--log-level", "MTRACE_LOG", .choices = "trace debug info warn error"},
    {KEY_MAX_DEPTH, "--max-depth", "MTRACE_MAX_DEPTH", .most = UINT32_MAX},
    {KEY_LOGFILE, "--log-file", "MTRACE_LOGFILE", .most = 0},
};

/* Returns arg, or `whole` with the prefix added. */
static const char *add_prefix(const char *prefix, const char *arg, char *whole, size_t n_bytes)
{
    bool is_whole = !prefix || strncmp(arg, prefix, strlen(prefix)) == 0
                    || snprintf(whole, n_bytes, "%s%s", prefix, arg) >= (int)n_bytes;

    return is_whole ? arg : whole;
}

static error_t parse_setting(int key, const char *arg, struct argp_state *state)
{
    char whole[32];

    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const struct setting *setting = &settings[i];
        if (setting->key != key)
            continue;
        if (setting->value) {
            add_setting(state, setting->variable, setting->value);
            return 0;
        }
        arg = add_prefix(setting->prefix, arg, whole, sizeof(whole));
        if (setting->choices)
            check_choice(state, setting->option, arg, setting->choices);
        if (setting->most)
            (void)option_value_number(state, setting->option, arg, setting->most);
        if (!settings_can_hold(arg))
            argp_error(state, "%s: the name has a line break or a unit separator (0x1f)",
                       setting->option);
        add_setting(state, setting->variable, arg);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

#define PLACE(member) offsetof(struct options, member)

static const struct option_place places[] = {
    {KEY_WAIT, OPTION_PLACE_FLAG, PLACE(waits_for_children), NULL, 0},
    {KEY_START_AFTER, OPTION_PLACE_DURATION, PLACE(windows.start_after_ns), "--start-after", 0},
    {KEY_STOP_AFTER, OPTION_PLACE_DURATION, PLACE(windows.stop_after_ns), "--stop-after", 0},
    {KEY_SAMPLE, OPTION_PLACE_NUMBER, PLACE(sample_ms), "--sample-memory", 86400000},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    if (option_place_put(places, sizeof(places) / sizeof(*places), key, arg, state))
        return 0;
    switch (key) {
    case KEY_FOLLOW:
        options->follows_children = true;
        return parse_setting(key, arg, state);
    case KEY_PATCH:
        options->patch = ALLOCATOR_PLAN_ANY;
        return 0;
    case KEY_NO_PATCH:
        options->patch = ALLOCATOR_LET_BE;
        return 0;
    case KEY_START_AT_RSS:
        options->windows.start_rss_bytes = option_value_size(state, "--start-at-rss", arg);
        if (options->windows.start_rss_bytes == 0)
            argp_error(state, "--start-at-rss: '%s' is not a size", arg);
        return 0;
    case KEY_HEAP_IMAGE:
        options->takes_exit_image = true;
        return parse_setting(key, arg, state);
    case KEY_KEEP_SYMBOLS:
        set_keep_symbols(state, arg);
        return 0;
    case KEY_SAMPLE_BYTES:
        set_sample_bytes(state, arg);
        return 0;
    default:
        return parse_setting(key, arg, state);
    }
}

const struct argp collector_options = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};
