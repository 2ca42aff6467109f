/* SPDX-License-Identifier: MIT */
/*
 * collector_commands: control commands to the collector: begin or end a window, mark a time.
 *
 * Commands are written into the mailbox in the header page of the live log (struct log_mailbox of
 * log_format.h). A new window command replaces one that the program has not handled yet. Marks are
 * given one at a time; later ones wait in a ring here. The program looks for commands, so nothing
 * is written into its memory, and programs of any user are commanded alike.
 *
 * Invariants
 *   OD-2 If the program corrupts the page, commands to it end, and no other process is affected.
 *   OD-3 The program executes the latest window command at the time when it looks.
 *
 * Threads: one. Errors: a command that is never handled stays posted; the caller stops waiting.
 */
#ifndef MTRACE_RECORDER_COLLECTOR_COMMANDS_H
#define MTRACE_RECORDER_COLLECTOR_COMMANDS_H

#include "lib/abi/log_format.h"
#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COLLECTOR_COMMANDS_MAX_WAITING = 16
};

struct command {
    enum log_command command;
    enum log_switch reason;
    char name[LOG_MAILBOX_NAME_BYTES]; /* of LOG_COMMAND_MARK */
};

/* All zero: none. */
struct collector_commands {
    struct command marks[COLLECTOR_COMMANDS_MAX_WAITING]; /* a ring */
    struct command wanted;                                /* the latest window command */
    uint32_t n_marks, n_marks_given;                      /* since the start */
    uint32_t n_wanted, n_wanted_given;
    uint32_t n_given, marked_at; /* of log_mailbox; marked_at: its value for the last mark given */
};

/* False: too many marks wait. Of window commands only the latest counts. */
bool collector_commands_ask(struct collector_commands *commands, const struct command *command);

/* Takes over a log from a recorder that has exited. Its unhandled commands are replaced by the next
 * ones. */
void collector_commands_resume(struct collector_commands *commands, const struct live_log *live);

/* Any command was requested. */
bool collector_commands_are_any(const struct collector_commands *commands);

/* Does what is possible now. */
void collector_commands_step(struct collector_commands *commands, const struct live_log *live);

/* All commands were handled. */
bool collector_commands_is_idle(const struct collector_commands *commands,
                                const struct live_log *live);

/* As the program reports it. 0: no window is open; else a different number for each window. */
uint32_t collector_commands_window(const struct live_log *live);

/* A window is open, as the program reports it. */
bool collector_commands_is_window_open(const struct live_log *live);

#endif
