/* SPDX-License-Identifier: MIT */
/*
 * collector_commands: control commands to the collector: begin or end a window, mark a time.
 *
 * Commands are written into the header page of the live log (struct log_control of log_format.h). A
 * new window command replaces one that the program has not handled yet. Marks are given one at
 * a time; later ones wait in a ring here. To make a busy program handle a command at its next
 * event, at no cost for other events, a wakeup flag in its memory is set through /proc/PID/mem. If
 * the kernel denies that (another user, a non-dumpable image, ptrace_scope 3), the program finds
 * the command when a thread needs a segment or allocates outside of windows.
 *
 * Invariants
 *   OD-1 Memory is written only if the 8 bytes before the flag are the log's run_id, read through
 *        the same descriptor.
 *   OD-2 If the program corrupts the page, commands to it end, and no other process is affected.
 *   OD-3 The program executes the latest window command at the time when it looks.
 *
 * Notes: OD-1: the descriptor is bound to the memory of one image, so neither another process with
 * this PID nor a later image is changed.
 *
 * Threads: one. Errors: a command that is never handled stays posted; the caller stops waiting.
 */
#ifndef MTRACE_RECORDER_COLLECTOR_COMMANDS_H
#define MTRACE_RECORDER_COLLECTOR_COMMANDS_H

#include "lib/abi/log_format.h"
#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    COLLECTOR_COMMANDS_MOST_WAITING = 16
};

struct command {
    enum log_command command;
    enum log_switch reason;
    char name[LOG_CONTROL_NAME_BYTES]; /* of LOG_COMMAND_MARK */
};

/* All zero: none. */
struct collector_commands {
    struct command marks[COLLECTOR_COMMANDS_MOST_WAITING]; /* a ring */
    struct command wanted;                                 /* the latest window command */
    uint32_t n_marks, n_marks_given;                       /* since the start */
    uint32_t n_wanted, n_wanted_given;
    uint32_t n_given, marked_at; /* of log_control; marked_at: its value for the last mark given */
    bool is_wakeup_set;          /* the wakeup flag was set for the last command */
};

/* False: too many marks wait. Of window commands only the latest counts. */
bool collector_commands_ask(struct collector_commands *commands, const struct command *command);

/* Takes over a log from a recorder that has exited. Its unhandled commands are replaced by the next
 * ones. */
void collector_commands_resume(struct collector_commands *commands, const struct live_log *live);

/* Any command was requested. */
bool collector_commands_are_any(const struct collector_commands *commands);

/* Does what is possible now. pid: the process that writes the log. */
void collector_commands_step(struct collector_commands *commands, const struct live_log *live,
                             pid_t pid);

/* All commands were handled. */
bool collector_commands_is_idle(const struct collector_commands *commands,
                                const struct live_log *live);

/* As the program reports it. 0: no window is open; else a different number for each window. */
uint32_t collector_commands_window(const struct live_log *live);

/* A window is open, as the program reports it. */
bool collector_commands_is_window_open(const struct live_log *live);

#endif
