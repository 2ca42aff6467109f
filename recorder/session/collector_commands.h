/* SPDX-License-Identifier: MIT */
/*
 * orders: what a recorded process is told to do: begin or end a window, mark an instant.
 *
 * Model:   given through the header page of the live log (struct log_control of log_format.h). Whether a window is wanted may be said anew before the
 *          program did what was wanted last; of instants to be marked one is given at a time, and later ones wait here.
 *          So that a busy program obeys with its next event, and at no cost to all others, one byte of its memory is set
 *          through /proc/PID/mem. Where the kernel refuses that (another user, an image that may not be dumped, ptrace_scope 3),
 *          the program finds the order when one of its threads needs a segment, or allocates outside of windows.
 * Invariants
 *   OD-1 Nothing is written into a process unless the 8 bytes before are the run_id of its log, read through the same descriptor,
 *        which is bound to the memory of one image: neither another process of this pid nor a later image is touched.
 *   OD-2 Whatever the program writes into the page, giving orders to it ends, and harms nobody else.
 *   OD-3 Of orders to begin and end windows the program does the last one that it had when it looks, whatever waits.
 * Threads: one. Failure: an order that nobody obeys stays given; the caller stops to wait.
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

struct order {
    enum log_order order;
    enum log_switch reason;
    char name[LOG_CONTROL_NAME_BYTES]; /* of LOG_ORDER_MARK */
};

/* All zero: none. */
struct collector_commands {
    struct order marks[COLLECTOR_COMMANDS_MOST_WAITING]; /* a ring */
    struct order wanted;                                 /* the last one */
    uint32_t n_marks, n_marks_given;                     /* since the beginning */
    uint32_t n_wanted, n_wanted_given;
    uint32_t n_given, marked_at; /* of log_control; the latter by the mark given last */
    bool is_nudged;              /* of what was given last */
};

/* False: too many instants wait to be marked. Of windows the last order counts. */
bool collector_commands_ask(struct collector_commands *commands, const struct order *order);

/* Of a log that another recorder, which is gone, may have given some: what it gave and was not done is replaced by what is asked next. */
void collector_commands_resume(struct collector_commands *commands, const struct live_log *live);

/* Was any asked for? */
bool collector_commands_are_any(const struct collector_commands *commands);

/* Does what can be done now; pid: of the process whose log it is. */
void collector_commands_step(struct collector_commands *commands, const struct live_log *live,
                             pid_t pid);

/* All were obeyed. */
bool collector_commands_is_idle(const struct collector_commands *commands,
                                const struct live_log *live);

/* By the program's own word; 0: none is open, else another number for each. */
uint32_t collector_commands_window(const struct live_log *live);

/* The same. */
bool collector_commands_is_window_open(const struct live_log *live);

#endif
