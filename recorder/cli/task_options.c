/* SPDX-License-Identifier: MIT */
#include "recorder/cli/task_options.h"

#include "lib/base/option_value.h"
#include "recorder/session/options.h"

#include <stdio.h>
#include <string.h>

enum key {
    KEY_ATTACH = 256,
    KEY_DETACH,
    KEY_CTL,
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "A program that runs already:", 6},
    {"attach", KEY_ATTACH, "PID", 0,
     "Run nothing: record process PID from now on, until it ends, or ^C or --detach; then it goes on as before",
     0},
    {"detach", KEY_DETACH, "PID", 0,
     "Tell the mtrace-record that is attached to PID to let it go, or do it where that one is gone",
     0},
    {"ctl", KEY_CTL, "PID", 0,
     "Run nothing: have process PID, which is recorded, start, stop or mark a snapshot: that one alone, not its children; or report, which is of all processes of its recording. PID of mtrace-record itself: all that it records",
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

static void check_task(struct argp_state *state)
{
    const struct options *options = state->input;
    const char *task = options->input      ? "--pack"
                       : options->sent     ? "--send"
                       : options->attached ? "--attach"
                                           : NULL;

    if (options->input && options->sent)
        argp_error(state, "--pack and --send are two tasks");
    if (task && options->argv)
        argp_error(state, "%s runs no program, but '%s' is given", task, options->argv[0]);
    if (options->attached && options->patch == ALLOCATOR_PLAN_ANY)
        argp_error(
            state,
            "--patch (or MTRACE_PATCH=1) is for a program that is started: functions inside an executable can be redirected before main only");
    if (!task && !options->argv)
        argp_error(state, "no program given");
    if (!options->has_receiver && (options->sent || options->sending.n_words))
        argp_error(state, "--to HOST:PORT must say where to send");
}

bool task_options_check(struct argp_state *state)
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
        argp_error(state, "%s: '%s' is no process", what, text);
    return pid;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
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
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp task_options = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};
