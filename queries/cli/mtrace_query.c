/* SPDX-License-Identifier: MIT */
/* mtrace-query: answers questions about a recording. */
#include "lib/base/error.h"
#include "lib/logfile/left_out.h"
#include "lib/process/output_file.h"
#include "queries/api/import_first.h"
#include "queries/api/queries.h"
#include "queries/cli/pager.h"
#include "queries/cli/query_help.h"
#include "queries/cli/query_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct query_request *request; /* global for the signal handler */

static volatile sig_atomic_t signal_taken;

static bool is_about_one_file; /* --about */
static bool has_client_left;   /* the client of --await has disconnected */

static void handle_signal(int number)
{
    signal_taken = number;
    queries_interrupt(request);
}

/* Each signal is handled once: the second one terminates the program. */
static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

static void end_late(int number)
{
    static const char message[] =
        "mtrace-query: this took longer than the time limit allows; narrow the query\n";

    (void)number;
    (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(is_about_one_file ? ERROR_EXIT_LATE : EXIT_FAILURE);
}

/* SQLite checks the time limit neither inside a function nor while it prepares a statement: one
 * second later the process ends. */
static void watch_time(void)
{
    const struct sigaction action = {.sa_handler = end_late};
    int64_t limit_us = queries_time_limit_ns(request) / 1000;
    const struct itimerval timer = {
        .it_value = {.tv_sec = limit_us / 1000000 + 1, .tv_usec = limit_us % 1000000}};

    if (limit_us > 0 && sigaction(SIGALRM, &action, NULL) == 0)
        (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static int terminal_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (width > 0 && width <= INT_MAX)
        return (int)width;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

/* Without a name writes to stdout. */
static int open_output(const struct command_line *line, struct output_file *file, FILE **ret_out,
                       struct error *err)
{
    int rc;

    *file = (struct output_file){.fd = -1};
    *ret_out = stdout;
    if (!line->output_path)
        return 0;
    rc = output_file_open(file, line->output_path, line->is_forced, 0666, err);
    if (rc != 0)
        return rc;
    *ret_out = fdopen(file->fd, "w");
    if (!*ret_out)
        return error_set(err, ERROR_NOMEM, "no memory to write '%s'", line->output_path);
    file->fd = -1; /* closed with the stream */
    return 0;
}

static int close_output(struct output_file *file, FILE *out, int rc, struct error *err)
{
    errno = 0;
    if (out && out != stdout && fclose(out) != 0 && rc == 0)
        rc = error_set_errno(err, errno ? errno : EIO, "cannot write '%s'", file->target);
    if (rc == 0 && file->target)
        rc = output_file_commit(file, err);
    output_file_close(file);
    return rc;
}

static bool has_colours(void)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0;
}

static int ask_to(FILE *out, const char *name, struct error *err)
{
    bool is_terminal = isatty(fileno(out));
    const struct queries_output output = {
        .out = out,
        .name = name,
        .is_terminal = is_terminal,
        .is_coloured = is_terminal && has_colours(),
        .width = terminal_width(fileno(out)),
    };

    if (is_terminal && out == stdout)
        pager_start();
    return queries_run(request, &output, err);
}

static int ask(const struct command_line *line, struct error *err)
{
    struct output_file file;
    FILE *out;
    int rc = open_output(line, &file, &out, err);

    if (rc == 0)
        rc = ask_to(out, line->output_path, err);
    return close_output(&file, out, rc, err);
}

/* ret_path: the name itself, or the database of the log, which is imported if need be. */
static int find_database(const char *name, char ret_path[PATH_MAX], struct error *err)
{
    char log_path[PATH_MAX];
    bool is_current;
    int rc;

    if (!import_first_is_log(name)) {
        (void)snprintf(ret_path, PATH_MAX, "%s", name);
        if (!is_about_one_file && import_first_find_newer(name, log_path, sizeof(log_path)))
            (void)fprintf(stderr, "mtrace-query: note: '%s' is newer than '%s': import it again\n",
                          log_path, name);
        return 0;
    }
    rc = import_first_find(name, ret_path, PATH_MAX, &is_current, err);
    if (rc == 0 && !is_current) {
        (void)fprintf(stderr, "importing %s to %s\n", name, ret_path);
        rc = import_first_run(name, ret_path, err);
    }
    return rc;
}

static int set_database(const char *name, struct error *err)
{
    char path[PATH_MAX];
    int rc = find_database(name, path, err);

    return rc == 0 ? queries_set_database(request, path, err) : rc;
}

static int set_names(const struct query_names *names, struct error *err)
{
    bool is_of_databases =
        !is_about_one_file && names->command && strcmp(names->command->name, "diff") == 0;
    char path[PATH_MAX];
    int rc = 0;

    queries_set_command(request, names->command);
    for (int i = 0; rc == 0 && i < names->n_arguments; i++) {
        rc = is_of_databases ? find_database(names->arguments[i], path, err) : 0;
        if (rc == 0)
            rc = queries_add_argument(request, is_of_databases ? path : names->arguments[i], err);
    }
    return rc == 0 ? queries_check(request, err) : rc;
}

/* For --await: sends the needs of the query and waits for the database. False: the client
 * disconnected. */
static bool wait_for_database(void)
{
    char byte = (char)queries_needs(request);

    return send(STDIN_FILENO, &byte, 1, MSG_NOSIGNAL) == 1 && recv(STDIN_FILENO, &byte, 1, 0) == 1;
}

static int run(int argc, char **argv, struct error *err)
{
    struct command_line line;
    int rc = query_options_parse(argc, argv, request, &line, err);

    is_about_one_file = rc == 0 && line.only_file;
    if (rc == 0)
        rc = set_names(&line.names, err);
    has_client_left = rc == 0 && line.is_to_wait && !wait_for_database();
    if (has_client_left)
        return 0;
    if (rc == 0 && line.output_path) /* the input may be a log, which the library never sees */
        rc = output_file_check_input(line.output_path, line.names.database, err);
    if (rc == 0 && line.names.database)
        rc = set_database(line.names.database, err);
    watch_signals();
    watch_time();
    return rc == 0 ? ask(&line, err) : rc;
}

static void print_note(void *context, const char *text)
{
    (void)context;
    (void)fprintf(stderr, "mtrace-query: note: %s\n", text);
}

static void print_option(const char *name, size_t length)
{
    char option[QUERY_OPTION_BYTES];

    query_option_name(name, length, option);
    (void)fprintf(stderr, "--%s", option);
}

/* True for name=PLACE_HOLDER in a message of the library, not for other words with '='. */
static bool is_wanted(const char *text, size_t length)
{
    size_t n_capitals =
        text[length] == '=' ? strspn(text + length + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;

    return n_capitals && !isalnum((unsigned char)text[length + 1 + n_capitals])
           && queries_find_parameter(text, length) >= 0;
}

/* The library's message begins with the name of a parameter and may mention others as NAME=VALUE:
 * print them as options. */
static void print_usage_error(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    size_t length = strspn(text, letters);

    (void)fputs("mtrace-query: ", stderr);
    if (text[length] != '-' && queries_find_parameter(text, length) >= 0) {
        print_option(text, length);
        text += length;
    }
    for (; *text; text++) {
        length = *text == ' ' ? strspn(text + 1, letters) : 0;
        (void)putc(*text, stderr);
        if (length == 0 || !is_wanted(text + 1, length))
            continue;
        print_option(text + 1, length);
        (void)putc(' ', stderr);
        text += length + 1;
    }
    (void)fputs("\nTry 'mtrace-query --help'.\n", stderr);
}

static int report(const struct error *err)
{
    if (err->code == ERROR_USAGE)
        print_usage_error(err->text);
    else
        (void)fprintf(stderr, "mtrace-query: %s\n", err->text);
    if (err->code == ERROR_LEFT_OUT && is_about_one_file)
        return LEFT_OUT_EXIT;
    if (err->code == ERROR_LEFT_OUT_ROWS && is_about_one_file)
        return LEFT_OUT_ROWS_EXIT;
    if (err->code == ERROR_INTERRUPTED && !signal_taken && is_about_one_file)
        return ERROR_EXIT_LATE;
    return err->code == ERROR_INTERRUPTED ? signal_taken ? 128 + signal_taken : EXIT_FAILURE
                                          : error_exit_status(err->code);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int rc;
    int status;

    (void)setlocale(LC_CTYPE, "");
    request = queries_new(print_note, NULL);
    rc = request ? run(argc, argv, &err) : error_set(&err, ERROR_NOMEM, "no memory for a request");
    status = rc != 0                       ? report(&err)
             : queries_has_failed(request) ? QUERIES_EXIT_FAIL_IF
             : has_client_left             ? EXIT_FAILURE
                                           : EXIT_SUCCESS;
    queries_free(request);
    pager_finish();
    return status;
}
