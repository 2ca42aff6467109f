/* SPDX-License-Identifier: MIT */
/*
 * session_parts: the inside of a session, shared with the code that starts the program or attaches
 * to it.
 */
#ifndef MTRACE_RECORDER_SESSION_PARTS_H
#define MTRACE_RECORDER_SESSION_PARTS_H

#include "recorder/patch/allocator.h"
#include "recorder/session/attachment.h"
#include "recorder/session/children.h"
#include "recorder/session/control_handler.h"
#include "recorder/session/options.h"
#include "recorder/session/periodic_reports.h"
#include "recorder/session/program.h"
#include "recorder/session/recording.h"
#include "remote/sender/sender_process.h"

#include <signal.h>

struct session {
    const struct options *options;
    struct program program;
    struct attachment attachment; /* pid 0: the program is our child */
    struct program_state state;
    struct recording *recording;
    struct children *children;
    struct process_tree *process_tree;
    struct module_files *module_files;
    char *name; /* as the user wrote it */
    char *path; /* absolute */
    sigset_t signals;
    uint64_t sleep_ns;
    uint64_t fork_bytes; /* upper bound for our fork, its first image */
    struct allocator_use allocator;
    struct recording_end end;
    struct recording_totals totals; /* valid with has_totals, once `recording` is finished */
    struct error finish_err;
    int finish_code;
    bool has_totals;
    bool has_ended; /* the program */
    uint64_t look_due_ns;
    struct report_service_programs programs; /* owned */
    struct periodic_reports reports;
    struct own_windows windows;
    struct control_server control;
    struct control_handler control_handler;
    uint64_t leave_due_ns; /* --for; 0: never, or it was tried */
    bool is_trying;        /* detaching is being tried, and a message said so */
    bool is_complaining;   /* packing failed, and a message said so */
    bool has_said_full;    /* a message said that --max-local is reached */
    struct sender_process sender;
    struct follower_process follower; /* of a bounded run */
    char *sender_program;             /* owned; NULL: nothing is sent, or it is not installed */
};

/* Starts the program, recorded from its first call on. The session owns what was begun, also on
 * failure. */
int session_start(struct session *session, struct error *err);

/* Attaches to the process that the options name. Ownership as in session_start. */
int session_attach(struct session *session, struct error *err);

#endif
