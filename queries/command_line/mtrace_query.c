/* SPDX-License-Identifier: MIT */
/* mtrace-query: answers questions about a recording. */
#include "queries/command_line/import_first.h"
#include "queries/command_line/query_options.h"
#include "queries/library/commands.h"
#include "queries/question/query.h"
#include "queries/question/query_open.h"
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

static void handle_interrupt(int signal_number)
{
    (void)signal_number;
    rundb_interrupt();
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

static void choose_style(struct query *query)
{
    const char *no_colour = getenv("NO_COLOR");
    int fd = fileno(query->out);
    bool is_terminal = isatty(fd);

    query->style.format = query->options->format;
    query->style.is_wide = query->options->is_wide;
    query->style.is_coloured = is_terminal && !(no_colour && *no_colour);
    query->style.width = query->options->is_wide ? 0 : terminal_width(fd);
}

static int open_output(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (options->is_forced ? O_TRUNC : O_EXCL);
    int fd;

    query->out = stdout;
    if (!options->output_path)
        return 0;
    fd = open(options->output_path, flags, 0666);
    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERROR_EXISTS, "'%s' exists; --force overwrites it",
                         options->output_path);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot write '%s'", options->output_path);
    query->out = fdopen(fd, "w");
    if (!query->out) {
        (void)close(fd);
        query->out = stdout;
        return error_set(err, ERROR_NOMEM, "no memory to write '%s'", options->output_path);
    }
    return 0;
}

/* A failed write shows here at the latest; a file that is not whole is removed. */
static int close_output(struct query *query, int rc, struct error *err)
{
    const char *name = query->options->output_path ? query->options->output_path : "stdout";
    bool is_bad = ferror(query->out) != 0;

    errno = 0;
    if ((query->out == stdout ? fflush(stdout) : fclose(query->out)) != 0)
        is_bad = true;
    if (rc == 0 && is_bad)
        rc = error_set_errno(err, errno ? errno : EIO, "cannot write '%s'", name);
    if (rc != 0 && query->options->output_path && !query->options->is_forced
        && query->out != stdout)
        (void)unlink(query->options->output_path);
    return rc;
}

static int answer(struct query *query, struct error *err)
{
    int rc = open_output(query, err);

    if (rc != 0)
        return rc;
    choose_style(query);
    watch_interrupts();
    rc = query_open(query, err);
    if (rc == 0)
        rc = query->options->command->run(query, err);
    if (rc == 0)
        rc = query_note_culled(query, err);
    rc = close_output(query, rc, err);
    rundb_close(&query->database);
    return rc;
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
    struct query_options options;
    struct query query = {.options = &options, .commands = commands};
    char database_path[PATH_MAX];
    int rc;

    (void)setlocale(LC_CTYPE, "");
    rc = query_options_parse(argc, argv, &options, &err);
    if (rc == 0 && options.database_path && import_first_is_log(options.database_path)) {
        rc = import_first_run(options.database_path, database_path, sizeof(database_path), &err);
        options.database_path = database_path;
    }
    if (rc == 0)
        rc = answer(&query, &err);
    return rc == 0 ? query.exit_status : report(&err);
}
