/* SPDX-License-Identifier: MIT */
/*
 * control_site: the processes that a session records, and its reports, as clients of --ctl and the clock see them.
 *
 * Model:   an order goes to every process it is about that is recorded now; those to come inherit from who starts them
 *          whether a window is open; who began before that one had done what all were asked to is asked for itself.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_CONTROL_HANDLER_H
#define MTRACE_RECORDER_CONTROL_HANDLER_H

#include "recorder/session/children.h"
#include "recorder/session/control_server.h"
#include "recorder/session/own_windows.h"
#include "recorder/session/periodic_reports.h"
#include "recorder/session/recording.h"

#include <stdint.h>
#include <sys/types.h>

struct control_handler {
    struct recording *recording; /* of the first image; NULL: finished */
    struct children *children;
    struct periodic_reports *reports;
    const char *log_path;
    pid_t program_pid;
    unsigned n_snapshots;
    struct order last_order; /* to all, for who began before it was obeyed */
    uint64_t last_until_ns;  /* while such may come */
    uint32_t n_commands;     /* to begin or end a window, by clients */
    bool has_ended;          /* the program; its children may go on */
    bool is_attached;        /* it ran before */
    bool must_leave;         /* somebody asks to detach */
    uint32_t n_unheard;      /* that were to be left, and have not heard it yet */
    const char *
        leave_error; /* why that has not gone well yet, or, if nobody asks any more, at all; NULL: it did, or was not tried */
};

/* What control_server_step needs; lives as long as the site. */
struct control_target control_handler_target(struct control_handler *site);

/* Begins and ends windows that are due. */
void control_handler_step(struct control_handler *site, struct own_windows *windows,
                          uint64_t now_ns);

#endif
