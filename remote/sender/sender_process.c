/* SPDX-License-Identifier: MIT */
#include "remote/sender/sender_process.h"

#include "lib/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_NOT_RUN = 127
};

static const uint64_t pause_ns = 500 * UINT64_C(1000000);

struct command_line {
    const char *words[SENDER_PROCESS_WORDS + 8];
    char timeout[32];
};

static void make_command(struct command_line *line, const char *program,
                         const struct sending *sending, const char *mode, const char *log_path)
{
    size_t n = 0;

    line->words[n++] = program;
    for (size_t i = 0; i < sending->n_words; i++)
        line->words[n++] = sending->words[i];
    (void)snprintf(line->timeout, sizeof(line->timeout), "--timeout=%" PRIu64, sending->timeout_ns);
    line->words[n++] = line->timeout;
    if (sending->is_quiet)
        line->words[n++] = "--quiet";
    if (mode)
        line->words[n++] = mode;
    line->words[n++] = "--";
    line->words[n++] = log_path;
    line->words[n] = NULL;
}

static void run(const struct command_line *line)
{
    execv(line->words[0], (char *const *)(uintptr_t)line->words);
}

static int check_there(const char *program, struct error *err)
{
    return program ? 0
                   : error_set(err, ERROR_USAGE,
                               "cannot send: 'mtrace-send' is not there; mtrace was built without "
                               "GnuTLS (libgnutls28-dev)");
}

int sender_process_check(const char *program, const struct sending *sending, struct error *err)
{
    struct child_process child;
    struct command_line line;
    int code = check_there(program, err);
    int status = 0;
    pid_t pid;

    if (code)
        return code;
    make_command(&line, program, sending, "--check", NULL);
    pid = child_process_start(&child);
    if (pid == 0) {
        run(&line);
        _exit(EXIT_NOT_RUN);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)
        || WEXITSTATUS(status) == EXIT_NOT_RUN)
        return error_set(err, ERROR_IO, "cannot run '%s'", program);
    return WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, ERROR_USAGE, "nothing was recorded; see above");
}

/* Standard input so far is the program's; it is replaced by the pipe. */
static void launch(struct sender_process *sender)
{
    struct command_line line;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    make_command(&line, sender->program, sender->sending, "--live", sender->log_path);
    pid = child_process_start(&sender->child);
    if (pid == 0) {
        if (dup2(ends[0], STDIN_FILENO) >= 0)
            run(&line);
        _exit(EXIT_NOT_RUN);
    }
    close(ends[0]);
    sender->is_open = pid > 0;
    if (sender->is_open)
        sender->end = ends[1];
    else
        close(ends[1]); /* the next step tries again */
}

void sender_process_start(struct sender_process *sender, const char *program,
                          const struct sending *sending, const char *log_path)
{
    *sender = (struct sender_process){.program = program, .sending = sending, .log_path = log_path};
    launch(sender);
}

static void hang_up(struct sender_process *sender)
{
    if (sender->is_open)
        close(sender->end);
    sender->is_open = false;
}

static void emit_end(struct sender_process *sender)
{
    const char word = SENDER_PROCESS_FINISHED;

    if (sender->is_open)
        (void)!write(sender->end, &word, 1);
    hang_up(sender);
}

void sender_process_step(struct sender_process *sender, uint64_t now_ns)
{
    int status;

    if (!sender->program || sender->has_given_up)
        return;
    if (sender->child.pid > 0) {
        if (!child_process_has_ended(&sender->child, &status))
            return;
        hang_up(sender);
        sender->has_given_up = status != -1 && WIFEXITED(status);
        sender->retry_ns = now_ns + pause_ns;
        return;
    }
    if (now_ns >= sender->retry_ns) {
        launch(sender);
        sender->retry_ns = now_ns + pause_ns;
    }
}

void sender_process_note_end(struct sender_process *sender, pid_t pid)
{
    if (pid > 0 && sender->child.pid == pid) {
        sender->child = (struct child_process){.pid = 0};
        hang_up(sender);
    }
}

/* If it was just killed, it is restarted to report what was not sent. */
void sender_process_finish(struct sender_process *sender, bool is_whole, uint64_t now_ns)
{
    if (!sender->program)
        return;
    sender->retry_ns = 0;
    sender_process_step(sender, now_ns);
    sender->retry_ns = 0;
    sender_process_step(sender, now_ns);
    sender->due_ns = now_ns + sender->sending->timeout_ns + SENDER_PROCESS_GRACE_NS;
    if (is_whole)
        emit_end(sender);
    hang_up(sender);
}

/* It did not end by itself, so it has not reported what was sent (SP-2). */
static void report_unknown(const struct sender_process *sender)
{
    if (!sender->program || sender->has_given_up)
        return;
    (void)fprintf(
        stderr,
        "mtrace-record: the log may not have been sent, because mtrace-send was ended or could "
        "not be started; send the rest later: mtrace-record --send '%s'",
        sender->log_path);
    for (size_t i = 0; i < sender->sending->n_words; i++)
        (void)fprintf(stderr, " '%s'", sender->sending->words[i]);
    (void)fputc('\n', stderr);
}

bool sender_process_has_ended(struct sender_process *sender, uint64_t now_ns)
{
    int status = -1;
    bool has_ended;

    if (sender->child.pid > 0) {
        has_ended = child_process_has_ended(&sender->child, &status);
        if (!has_ended && now_ns >= sender->due_ns)
            has_ended = child_process_end(&sender->child);
        if (!has_ended)
            return false;
        sender->has_given_up = status != -1 && WIFEXITED(status);
    }
    report_unknown(sender);
    return true;
}

void sender_process_leave(struct sender_process *sender)
{
    report_unknown(sender);
    sender_process_abandon(sender);
}

void sender_process_abandon(struct sender_process *sender)
{
    if (!sender->program)
        return;
    child_process_end_now(&sender->child);
    hang_up(sender);
    sender->program = NULL;
}

int sender_process_become(const char *program, const struct sending *sending, const char *log_path,
                          struct error *err)
{
    struct command_line line;
    int code = check_there(program, err);

    if (code)
        return code;
    make_command(&line, program, sending, NULL, log_path);
    run(&line);
    return error_set_errno(err, errno, "cannot run '%s'", program);
}
