/* SPDX-License-Identifier: MIT */
#include "server/core/statement.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/units.h"
#include "queries/api/queries.h"
#include "server/core/query_watchdog.h"
#include "server/http/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_PAIR = 5, /* program, flag, kind, time limit, database */
    MAX_PAIRS = EXCHANGE_MAX_PARAMETERS + 8,
    BUFFER_BYTES = 64 * 1024,
    MORE_SECONDS = 1
};

static const char of_notes[] = "notes";
static const char of_rows[] = "rows";

/* ---- the server's side ---- */

struct child {
    _Atomic pid_t pid; /* 0: not started */
    int answer, error; /* ends of pipes */
};

static void kill_child(void *context)
{
    struct child *child = context;
    pid_t pid = child->pid;

    if (pid > 0)
        (void)kill(pid, SIGKILL);
}

static int spawn(char *const argv[], const int answer[2], const int error[2], pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    int rc;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, error[1], STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawn(ret_pid, argv[0], &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static void close_both(const int fds[2])
{
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static int start(struct child *child, char *const argv[], struct error *err)
{
    int answer[2];
    int error[2];
    pid_t pid = 0;
    int rc;

    if (pipe2(answer, O_CLOEXEC) != 0)
        return error_set_errno(err, errno, "cannot run a statement");
    if (pipe2(error, O_CLOEXEC) != 0) {
        rc = errno;
        close_both(answer);
        return error_set_errno(err, rc, "cannot run a statement");
    }
    rc = spawn(argv, answer, error, &pid);
    if (rc != 0) {
        close_both(answer);
        close_both(error);
        if (rc == E2BIG) /* the statement is an argument of the process */
            return error_set(err, ERROR_USAGE, "the statement or its parameters are too long");
        return error_set_errno(err, rc, "cannot run a statement");
    }
    (void)close(answer[1]);
    (void)close(error[1]);
    child->answer = answer[0];
    child->error = error[0];
    child->pid = pid;
    return 0;
}

static size_t read_some(int fd, char *buffer, size_t size)
{
    ssize_t n;

    do
        n = read(fd, buffer, size);
    while (n < 0 && errno == EINTR);
    return n > 0 ? (size_t)n : 0;
}

/* Until the child has closed its end, or the client has gone. */
static void pass_on(struct child *child, struct exchange *exchange)
{
    char *buffer = malloc(BUFFER_BYTES);
    size_t n;

    while (buffer && (n = read_some(child->answer, buffer, BUFFER_BYTES)) > 0)
        if (exchange->is_abandoned(exchange->client) || fwrite(buffer, 1, n, exchange->out) != n)
            break;
    free(buffer);
}

/* The child's error: its code, then its text. A child that ends by a signal exceeded a limit. */
static int read_error(const struct child *child, int status, struct error *err)
{
    char text[ERROR_TEXT_BYTES + 32];
    size_t used = 0;
    size_t n;
    char *end;
    long code;

    while ((n = read_some(child->error, text + used, sizeof(text) - 1 - used)) > 0)
        used += n;
    text[used] = '\0';
    code = strtol(text, &end, 10);
    if (WIFEXITED(status) && code < 0 && *end == ' ')
        return error_set(err, (enum error_code)code, "%s", end + 1);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU))
        return error_set(err, ERROR_INTERRUPTED,
                         "the statement took longer than the time limit allows");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return error_set(err, ERROR_INTERRUPTED, "the statement was stopped");
    return error_set(err, ERROR_NOMEM, "the process that ran the statement has failed");
}

static int finish(struct child *child, struct error *err)
{
    int status = 0;
    int rc = 0;

    (void)close(child->answer); /* a child that still writes ends */
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        rc = read_error(child, status, err);
    (void)close(child->error);
    return rc;
}

int statement_run(struct query_watchdog *watch, const struct statement *statement,
                  struct exchange *exchange, struct error *err)
{
    const char *argv[FIRST_PAIR + 2 * MAX_PAIRS + 1] = {statement->program, STATEMENT_FLAG,
                                                        statement->is_of_notes ? of_notes : of_rows,
                                                        statement->time_limit, statement->database};
    struct child child = {0};
    struct watched watched = query_watchdog_entry(exchange, kill_child, &child);
    int rc;

    if (!statement->program || statement->n_pairs > MAX_PAIRS)
        return error_set(err, ERROR_USAGE, "statements are not answered here");
    for (size_t i = 0; i < 2 * statement->n_pairs; i++)
        argv[FIRST_PAIR + i] = statement->pairs[i];
    watched.is_statement = true;
    if (!query_watchdog_begin(watch, &watched))
        return error_set(err, ERROR_INTERRUPTED, "the client has closed the connection");
    rc = start(&child, (char *const *)(uintptr_t)argv, err);
    if (rc == 0)
        pass_on(&child, exchange);
    query_watchdog_end(watch, &watched);
    return rc == 0 ? finish(&child, err) : rc;
}

/* ---- the child ---- */

void statement_add_note(void *context, const char *text)
{
    struct statement_notes *notes = context;

    (void)fprintf(notes->out, "%s{\"note\":", notes->separator);
    json_text_put(notes->out, text);
    (void)fputc('}', notes->out);
    notes->separator = ",\n";
}

void statement_end_notes(struct statement_notes *notes)
{
    (void)fputs(*notes->separator == '[' ? "[]\n" : "]\n", notes->out);
}

static void set_limit(__rlimit_resource_t resource, rlim_t value)
{
    const struct rlimit limit = {value, value};

    (void)setrlimit(resource, &limit);
}

static void limit_process(uint64_t limit_ns)
{
    uint64_t seconds = limit_ns / 1000000000 + MORE_SECONDS;
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(seconds < INT32_MAX ? seconds : INT32_MAX),
                     .tv_usec = (suseconds_t)(limit_ns / 1000 % 1000000)}};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    set_limit(RLIMIT_CPU, seconds + MORE_SECONDS);
    set_limit(RLIMIT_FSIZE, (rlim_t)1 << 30);
    set_limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    set_limit(RLIMIT_AS, (rlim_t)1 << 30); /* sanitizers reserve terabytes */
#endif
}

static int set_pairs(struct query_request *request, char **pairs, struct error *err)
{
    int rc = 0;

    for (; rc == 0 && pairs[0] && pairs[1]; pairs += 2)
        rc = strcmp(pairs[0], "argument") == 0 ? queries_add_argument(request, pairs[1], err)
                                               : queries_set(request, pairs[0], pairs[1], err);
    return rc;
}

static int run(struct query_request *request, char **argv, bool is_of_notes, struct error *err)
{
    const struct queries_output output = {.out = stdout};
    const struct command *command;
    uint64_t limit_ns = 0;
    int rc = units_parse_duration(argv[3], &limit_ns, err);

    limit_process(limit_ns);
    if (rc == 0)
        rc = queries_find_command("sql", &command, err);
    if (rc == 0)
        rc = queries_set_database(request, argv[4], err);
    if (rc != 0)
        return rc;
    queries_set_command(request, command);
    rc = queries_set(request, "time_limit", argv[3], err);
    if (rc == 0)
        rc = set_pairs(request, argv + FIRST_PAIR, err);
    if (rc == 0)
        rc = is_of_notes ? queries_run_notes(request, err) : queries_run(request, &output, err);
    return rc;
}

int statement_child(int argc, char **argv)
{
    struct statement_notes notes = {stdout, "["};
    struct error err = {0};
    struct query_request *request;
    bool is_of_notes;
    int rc;

    if (argc < FIRST_PAIR)
        return EXIT_FAILURE;
    is_of_notes = strcmp(argv[2], of_notes) == 0;
    request = queries_new(is_of_notes ? statement_add_note : NULL, &notes);
    rc = request ? run(request, argv, is_of_notes, &err)
                 : error_set(&err, ERROR_NOMEM, "no memory for a statement");
    queries_free(request);
    if (rc == 0 && is_of_notes)
        statement_end_notes(&notes);
    if (rc == 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "%d %s", rc ? rc : ERROR_IO, err.text);
    return EXIT_FAILURE;
}
