/* SPDX-License-Identifier: MIT */
/*
 * orders: what a recorded process is told to do: begin or end a window, mark an instant.
 *
 * Model:   given one at a time through the header page of the live log (struct log_control of log_format.h); later ones wait here.
 *          So that a busy program obeys with its next event, and at no cost to all others, one byte of its memory is set
 *          through /proc/PID/mem. Where the kernel refuses that (another user, an image that may not be dumped, ptrace_scope 3),
 *          the program finds the order when one of its threads needs a segment, or allocates outside of windows.
 * Invariants
 *   OD-1 Nothing is written into a process unless the 8 bytes before are the run_id of its log, read through the same descriptor,
 *        which is bound to the memory of one image: neither another process of this pid nor a later image is touched.
 *   OD-2 Whatever the program writes into the page, giving orders to it ends, and harms nobody else.
 * Threads: one. Failure: an order that nobody obeys stays given; the caller stops to wait.
 */
#ifndef MTRACE_RECORDER_ORDERS_H
#define MTRACE_RECORDER_ORDERS_H

#include "common/log_format.h"
#include "recorder/live/live_log.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    ORDERS_MOST_WAITING = 16
};

struct order {
    enum log_order order;
    enum log_switch reason;
    char name[LOG_CONTROL_NAME_BYTES]; /* of LOG_ORDER_MARK */
};

/* All zero: none. */
struct orders {
    struct order waiting[ORDERS_MOST_WAITING]; /* a ring */
    uint32_t n_asked, n_given;                 /* since the beginning */
    bool is_nudged;                            /* of the one given last */
};

/* Returns its number, 0: too many wait. */
uint32_t orders_ask(struct orders *orders, const struct order *order);

/* Does what can be done now; pid: of the process whose log it is. */
void orders_step(struct orders *orders, const struct live_log *live, pid_t pid);

/* All were obeyed. */
bool orders_is_idle(const struct orders *orders, const struct live_log *live);

/* By the program's own word; 0: none is open, else another number for each. */
uint32_t orders_window(const struct live_log *live);

/* The same. */
bool orders_is_window_open(const struct live_log *live);

#endif
