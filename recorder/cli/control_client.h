/* SPDX-License-Identifier: MIT */
/*
 * control_client: 'mtrace-record --ctl PID VERB': sends a request to the mtrace-record that records
 * a process.
 *
 * PID is a recorded process or mtrace-record itself. The kernel's list of sockets (/proc/net/unix)
 * has all recorders in this network namespace; those of this user are asked until one says that it
 * records the process.
 *
 * Errors: ERROR_NOT_FOUND if the process is not recorded. All waits are bounded; when a process is
 * detached, the wait for a recorder that no longer has its log is 2 s.
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
