/* SPDX-License-Identifier: MIT */
/*
 * control_client: 'mtrace-record --ctl PID VERB': finds the mtrace-record that records the process, and tells it what to do.
 *
 * Model:   PID is of a recorded process or of mtrace-record itself. The kernel's list of sockets (/proc/net/unix) names all that run in this
 *          network namespace; each of this user's is asked until one says that the process is its own.
 * Failure: ERROR_NOT_FOUND: nobody records the process. Nothing waits for ever; who has no log of a process that is to be left is waited for two seconds.
 */
#ifndef MTRACE_RECORDER_CONTROL_CLIENT_H
#define MTRACE_RECORDER_CONTROL_CLIENT_H

#include "lib/base/error.h"
#include "recorder/session/control_message.h"

enum {
    CONTROL_CLIENT_LATER = 3 /* exit status */
};

/* Prints the answer. *ret_status: 0, or CONTROL_CLIENT_LATER. */
int control_client_run(const struct control_request *request, int *ret_status, struct error *err);

#endif
