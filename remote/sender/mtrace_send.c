/* SPDX-License-Identifier: MIT */
/*
 * mtrace-send: sends logs for mtrace-record. A separate process keeps network and TLS code out of
 * the recorder.
 *
 *     mtrace-send --to HOST:PORT [--psk-file F | --certificate F --key F --ca F | --insecure]
 *                 [--timeout NS] [--quiet] [--no-local] --check | [--live] LOG
 *
 * --check only checks the options. --live: standard input reports the end of the recording
 * (sender.h).
 */
#include "lib/base/error.h"
#include "remote/sender/log_tail.h"
#include "remote/sender/sender.h"
#include "remote/sender/sender_state.h"
#include "remote/wire/discovery.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SAME_BYTES = 4096
};

struct arguments {
    struct sender_settings sender;
    struct security_options security;
    char same[SAME_BYTES];
    bool is_check;
};

/* For use in any folder: files with absolute paths. */
static void keep(struct arguments *arguments, const char *option, const char *value, bool is_file)
{
    size_t used = strlen(arguments->same);
    char path[PATH_MAX];

    if (is_file && realpath(value, path))
        value = path;

    (void)snprintf(arguments->same + used, sizeof(arguments->same) - used, "%s--%s%s%s%s",
                   used ? " " : "", option, value ? " '" : "", value ? value : "",
                   value ? "'" : "");
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {{"to", required_argument, NULL, 't'},
                                            {"psk-file", required_argument, NULL, 'p'},
                                            {"certificate", required_argument, NULL, 'c'},
                                            {"key", required_argument, NULL, 'k'},
                                            {"ca", required_argument, NULL, 'a'},
                                            {"insecure", no_argument, NULL, 'i'},
                                            {"timeout", required_argument, NULL, 'n'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"check", no_argument, NULL, 'C'},
                                            {"live", no_argument, NULL, 'l'},
                                            {"no-local", no_argument, NULL, 'L'},
                                            {NULL, 0, NULL, 0}};
    const char **texts[128] = {['t'] = &arguments->sender.to,
                               ['p'] = &arguments->security.psk_file,
                               ['c'] = &arguments->security.certificate,
                               ['k'] = &arguments->security.key,
                               ['a'] = &arguments->security.ca};
    int at = 0;
    int key;

    while ((key = getopt_long(argc, argv, "", options, &at)) != -1) {
        if (key == '?')
            return ERROR_USAGE;
        if (texts[key] || key == 'i' || key == 'L')
            keep(arguments, options[at].name, optarg, optarg && key != 't');
        if (texts[key])
            *texts[key] = optarg;
        arguments->security.is_insecure |= key == 'i';
        arguments->sender.is_quiet |= key == 'q';
        arguments->is_check |= key == 'C';
        arguments->sender.gives_back |= key == 'L';
        if (key == 'l')
            arguments->sender.end_pipe = STDIN_FILENO;
        if (key == 'n')
            arguments->sender.timeout_ns = strtoull(optarg, NULL, 10);
    }
    arguments->sender.log = argv[optind];
    return arguments->sender.to && (arguments->is_check || argv[optind]) ? 0 : ERROR_USAGE;
}

/* The receiver is looked up again for each connection; here only to check that there is one. */
static int find_receiver(struct arguments *arguments, const struct security *security,
                         struct error *err)
{
    struct sender_settings *sender = &arguments->sender;

    sender->is_discovering = discovery_is_wanted(sender->to, &sender->discovery_port);
    if (!sender->is_discovering)
        return address_parse(sender->to, &sender->address, err);
    return arguments->is_check || security->n_keys == 0
               ? discovery_find_one(security, sender->discovery_port, &sender->address, err)
               : 0;
}

/* Checks that an existing log can be sent. */
static int check_log(const char *path, struct error *err)
{
    uint8_t page[LOG_FILE_HEADER_BYTES];
    struct log_tail tail;
    int code = log_tail_open(path, &tail, err);

    if (code)
        return code;
    if (!log_tail_read_header(&tail, page))
        code = error_set(err, ERROR_FORMAT,
                         "'%s' is not a packed log; one that a bare LD_PRELOAD left is packed by "
                         "'mtrace-record --pack'",
                         path);
    log_tail_close(&tail);
    return code;
}

/* Only the recorder ends us early: Ctrl-C is meant for the program. */
static void prepare(const struct sender_settings *settings)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (settings->end_pipe >= 0)
        (void)fcntl(settings->end_pipe, F_SETFL, O_NONBLOCK);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.sender.end_pipe = -1,
                                  .sender.timeout_ns = UINT64_C(30000000000)};
    struct security security = {0};
    struct error err = {0};
    int code = parse(argc, argv, &arguments);

    if (code)
        code = error_set(&err, ERROR_USAGE, "mtrace-send is started by mtrace-record --to");
    if (code == 0)
        code = security_open(&arguments.security, false, &security, &err);
    if (code == 0)
        code = find_receiver(&arguments, &security, &err);
    if (code == 0 && security.is_insecure)
        code = address_check_local(&arguments.sender.address, &err);
    if (code == 0 && !arguments.is_check && arguments.sender.end_pipe < 0)
        code = check_log(arguments.sender.log, &err);
    if (code) {
        (void)fprintf(stderr, "mtrace-record: %s\n", err.text);
        security_close(&security);
        return error_exit_status(code);
    }
    arguments.sender.security = &security;
    arguments.sender.same = arguments.same;
    prepare(&arguments.sender);
    if (!arguments.is_check && !sender_run(&arguments.sender))
        code = EXIT_FAILURE;
    security_close(&security);
    return code;
}
