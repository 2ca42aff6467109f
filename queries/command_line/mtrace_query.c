/* SPDX-License-Identifier: MIT */
/* mtrace-query: answers questions about a recording. */
#include "queries/command_line/query_options.h"
#include "queries/library/import_first.h"
#include "queries/library/queries.h"
#include "support/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct queries *question; /* a signal handler has no other way to it */

static void handle_interrupt(int signal_number)
{
    (void)signal_number;
    queries_interrupt(question);
}

static void watch_interrupts(void)
{
    struct sigaction action = {.sa_handler = handle_interrupt, .sa_flags = (int)SA_RESETHAND};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
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

static int open_output(const struct command_line *line, FILE **ret_out, struct error *err)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (line->is_forced ? O_TRUNC : O_EXCL);
    int fd;

    *ret_out = stdout;
    if (!line->output_path)
        return 0;
    fd = open(line->output_path, flags, 0666);
    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERROR_EXISTS, "'%s' exists; --force overwrites it",
                         line->output_path);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot write '%s'", line->output_path);
    *ret_out = fdopen(fd, "w");
    if (*ret_out)
        return 0;
    (void)close(fd);
    return error_set(err, ERROR_NOMEM, "no memory to write '%s'", line->output_path);
}

/* A file that is not whole is removed. */
static int close_output(const struct command_line *line, FILE *out, int rc, struct error *err)
{
    errno = 0;
    if (!line->output_path)
        return rc;
    if (fclose(out) != 0 && rc == 0)
        rc = error_set_errno(err, errno ? errno : EIO, "cannot write '%s'", line->output_path);
    if (rc != 0 && !line->is_forced)
        (void)unlink(line->output_path);
    return rc;
}

static int ask(const struct command_line *line, struct error *err)
{
    const char *no_colour = getenv("NO_COLOR");
    FILE *out;
    int rc = open_output(line, &out, err);
    bool is_terminal = rc == 0 && isatty(fileno(out));
    const struct queries_output output = {
        .out = out,
        .name = line->output_path,
        .is_terminal = is_terminal,
        .is_coloured = is_terminal && !(no_colour && *no_colour),
        .width = rc == 0 ? terminal_width(fileno(out)) : 0,
    };

    if (rc != 0)
        return rc;
    watch_interrupts();
    rc = queries_ask(question, &output, err);
    return close_output(line, out, rc, err);
}

static int set_database(const char *name, struct error *err)
{
    char path[PATH_MAX];
    bool is_current;
    int rc;

    if (!import_first_is_log(name))
        return queries_set_database(question, name, err);
    rc = import_first_find(name, path, sizeof(path), &is_current, err);
    if (rc == 0 && !is_current) {
        (void)fprintf(stderr, "importing %s to %s\n", name, path);
        rc = import_first_run(name, path, err);
    }
    return rc == 0 ? queries_set_database(question, path, err) : rc;
}

static int set_names(const struct query_names *names, struct error *err)
{
    int rc = 0;

    queries_set_command(question, names->command);
    for (int i = 0; rc == 0 && i < names->n_arguments; i++)
        rc = queries_add_argument(question, names->arguments[i], err);
    return rc == 0 ? queries_check(question, err) : rc;
}

static int run(int argc, char **argv, struct error *err)
{
    struct command_line line;
    int rc = query_options_parse(argc, argv, question, &line, err);

    if (rc == 0)
        rc = set_names(&line.names, err);
    if (rc == 0 && line.names.database)
        rc = set_database(line.names.database, err);
    return rc == 0 ? ask(&line, err) : rc;
}

static void print_remark(void *context, const char *text)
{
    (void)context;
    (void)fprintf(stderr, "mtrace-query: note: %s\n", text);
}

static int report(const struct error *err)
{
    (void)fprintf(stderr, "mtrace-query: %s\n", err->text);
    if (err->code == ERROR_USAGE)
        (void)fputs("Try 'mtrace-query --help'.\n", stderr);
    return error_exit_status(err->code);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int rc;
    int status;

    (void)setlocale(LC_CTYPE, "");
    question = queries_new(print_remark, NULL);
    rc =
        question ? run(argc, argv, &err) : error_set(&err, ERROR_NOMEM, "no memory for a question");
    status = rc != 0                        ? report(&err)
             : queries_has_failed(question) ? QUERIES_EXIT_FAIL_IF
                                            : EXIT_SUCCESS;
    queries_free(question);
    return status;
}
