/* SPDX-License-Identifier: MIT */
/* mtrace-serve: recordings in a browser, and over HTTP. */
#include "lib/base/error.h"
#include "lib/base/option_value.h"
#include "lib/base/units.h"
#include "queries/api/import_first.h"
#include "server/cli/routes.h"
#include "server/core/query_watchdog.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/core/statement.h"
#include "server/http/http_server.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *argp_program_version = "mtrace-serve " MTRACE_VERSION;

enum option_key {
    KEY_LISTEN = 256,
    KEY_PORT,
    KEY_OPEN,
    KEY_SQL_TIMEOUT,
    KEY_FOLLOW,
    KEY_SOURCE_DIR,
    KEY_CONFIDENTIAL,
};

enum {
    ADDRESS_BYTES = 256,
    END_SECONDS = 2
};

static const struct argp_option argp_options[] = {
    {"port", KEY_PORT, "N", 0, "Listen on this port [8080, or the next free one]", 0},
    {"listen", KEY_LISTEN, "ADDRESS", 0,
     "Listen there instead of on 127.0.0.1; clients then need the token that is printed", 0},
    {"source-dir", KEY_SOURCE_DIR, "DIR", 0,
     "With --listen: show source files of the recording that are below DIR [none]", 0},
    {"confidential", KEY_CONFIDENTIAL, 0, 0, "Leave out folders, command lines and source files",
     0},
    {"open", KEY_OPEN, 0, 0, "Show the page in the browser", 0},
    {"sql-timeout", KEY_SQL_TIMEOUT, "TIME", 0, "End a statement of a client after so long [5s]",
     0},
    {"follow", KEY_FOLLOW, 0, 0, "Follow logs that are still written, and update pages", 0},
    {0},
};

struct arguments {
    char **paths; /* points into argv */
    size_t n_paths;
    struct http_server_options http;
    struct request_place place;
    bool is_opened;
    bool is_following;
};

static void parse_port(const char *text, struct arguments *arguments, struct argp_state *state)
{
    char *end;
    long port = strtol(text, &end, 10);

    if (*text == '\0' || *end || port < 1 || port > UINT16_MAX)
        argp_error(state, "--port is '%s', but must be a number from 1 to 65535", text);
    arguments->http.port = (uint16_t)port;
}

/* Time limit of a built-in report, which reads each row once or twice: 2 s for 10 million, 20 s for
 * 100 million. */
#define REPORT_NS    30000000000u
#define REPORT_LIMIT "30s"

static void parse_limit(const char *text, struct arguments *arguments, struct argp_state *state)
{
    uint64_t limit_ns;

    if (units_parse_duration(text, &limit_ns, NULL) != 0 || limit_ns == 0)
        argp_error(state, "--sql-timeout is '%s', but must be a time as 5s or 100ms", text);
    arguments->place.sql_limit = text;
    arguments->place.time_limit = limit_ns > REPORT_NS ? text : REPORT_LIMIT;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        option_value_quote_plainly(state);
        return 0;
    case KEY_PORT:
        parse_port(value, arguments, state);
        return 0;
    case KEY_LISTEN:
        arguments->http.address = value;
        arguments->place.is_open = true;
        return 0;
    case KEY_SOURCE_DIR:
        arguments->place.source_dir = realpath(value, NULL);
        if (!arguments->place.source_dir)
            argp_error(state, "--source-dir '%s': %s", value, strerror(errno));
        return 0;
    case KEY_CONFIDENTIAL:
        arguments->place.is_confidential = true;
        return 0;
    case KEY_OPEN:
        arguments->is_opened = true;
        return 0;
    case KEY_SQL_TIMEOUT:
        parse_limit(value, arguments, state);
        return 0;
    case KEY_FOLLOW:
        arguments->is_following = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->paths = state->argv + state->next;
        arguments->n_paths = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no recording was named");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    argp_options,
    parse_option,
    "run.db|run.dat|FOLDER...",
    "Shows recordings in a browser, and answers questions about them over HTTP.\v"
    "A log is imported first. Nothing is ever written to a database.",
    NULL,
    NULL,
    NULL};

/* ---- what is served ---- */

static int add_path(struct recordings *recordings, const char *path, bool is_following,
                    struct error *err)
{
    char database[PATH_MAX];
    bool is_current;
    int rc;

    if (!import_first_is_log(path))
        return recordings_add(recordings, path, err);
    if (is_following)
        return recordings_follow(recordings, path, err);
    rc = import_first_find(path, database, sizeof(database), &is_current, err);
    if (rc == 0 && !is_current) {
        (void)fprintf(stderr, "importing %s to %s\n", path, database);
        rc = import_first_run(path, database, err);
    }
    return rc == 0 ? recordings_add(recordings, database, err) : rc;
}

static int answer(void *context, struct exchange *exchange, struct error *err)
{
    return routes_answer(context, exchange, err);
}

/* ---- start and end ---- */

static void print_address(const struct arguments *arguments, uint16_t port, char *ret_address)
{
    const char *address = arguments->http.address ? arguments->http.address : "127.0.0.1";
    bool is_ip6 = strchr(address, ':') != NULL;
    const char *token = arguments->http.guard.token;

    (void)snprintf(ret_address, ADDRESS_BYTES, "http://%s%s%s:%u/%s%s", is_ip6 ? "[" : "", address,
                   is_ip6 ? "]" : "", port, *token ? "?token=" : "", token);
}

/* The browser is no child of ours, so that it is no zombie when it has ended. */
static void open_browser(const char *address)
{
    pid_t pid = fork();

    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    if (pid == 0 && fork() != 0)
        _exit(EXIT_SUCCESS);
    if (pid == 0) {
        (void)execlp("xdg-open", "xdg-open", address, (char *)NULL);
        (void)fprintf(stderr, "mtrace-serve: xdg-open is not installed; open %s by hand\n",
                      address);
        _exit(EXIT_FAILURE);
    }
}

/* Signals are blocked in all threads started from here on, so that only main receives them. */
static void block_signals(sigset_t *ret_signals)
{
    (void)sigemptyset(ret_signals);
    (void)sigaddset(ret_signals, SIGINT);
    (void)sigaddset(ret_signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Return the memory of an answer to the system when it is done. glibc would keep tens of megabytes
 * in each of many arenas, and take larger ones with every large block that is freed. */
static void keep_little_memory(void)
{
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

static void end_at_once(int number)
{
    (void)number;
    _exit(EXIT_SUCCESS);
}

/* SQLite notices an interrupt late, and the user who stops the server must not wait for it. Exiting
 * is safe: the server writes nothing, and importers were told to exit. */
static void end_in_time(const struct arguments *arguments)
{
    const struct sigaction action = {.sa_handler = end_at_once};

    recordings_interrupt(arguments->place.recordings);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(END_SECONDS);
}

static int serve(struct arguments *arguments, struct error *err)
{
    struct http_server *server;
    char address[ADDRESS_BYTES];
    sigset_t signals;
    int signal_number;
    int rc = 0;

    if (arguments->http.address)
        rc = auth_make_token(&arguments->http.guard, err);
    arguments->http.answer = answer;
    arguments->http.context = &arguments->place;
    block_signals(&signals);
    if (rc == 0)
        rc = query_watchdog_start(&arguments->place.watch, err);
    if (rc == 0)
        rc = http_server_start(&arguments->http, &server, err);
    if (rc != 0)
        return rc;
    print_address(arguments, http_server_port(server), address);
    (void)printf("%s\n", address);
    (void)fflush(stdout);
    if (arguments->is_opened)
        open_browser(address);
    (void)sigwait(&signals, &signal_number);
    end_in_time(arguments);
    http_server_stop(server);
    query_watchdog_stop(arguments->place.watch);
    (void)alarm(0);
    return 0;
}

int main(int argc, char **argv)
{
    struct recordings recordings = {0};
    struct arguments arguments = {.place = {.recordings = &recordings,
                                            .time_limit = REPORT_LIMIT,
                                            .sql_limit = "5s",
                                            .program = "/proc/self/exe"}};
    struct error err = {0};
    int rc = 0;

    if (argc > 1 && strcmp(argv[1], STATEMENT_FLAG) == 0)
        return statement_child(argc, argv);
    argp_err_exit_status = 2;
    keep_little_memory();
    (void)argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    for (size_t i = 0; i < arguments.n_paths && rc == 0; i++)
        rc = add_path(&recordings, arguments.paths[i], arguments.is_following, &err);
    if (rc == 0)
        rc = serve(&arguments, &err);
    recordings_done(&recordings);
    free((char *)(uintptr_t)arguments.place.source_dir);
    if (rc == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "mtrace-serve: %s\n", err.text);
    return error_exit_status(err.code);
}
