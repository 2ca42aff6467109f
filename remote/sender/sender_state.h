/* SPDX-License-Identifier: MIT */
/*
 * sender_state: shared state of the sender's parts: connection (sender.c), reception (sender_rx.h),
 * transmission (sender_tx.h) and summary (sent_summary.h).
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_STATE_H
#define MTRACE_REMOTE_SENDER_STATE_H

#include "lib/base/error.h"
#include "remote/sender/sender_settings.h"
#include "remote/sender/sent_logs.h"
#include "remote/sender/sent_objects.h"
#include "remote/wire/channel.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct sender {
    const struct sender_settings *settings;
    struct sent_logs logs;
    struct sent_objects objects;
    bool is_asked_for_objects; /* the last receiver used --fetch-objects */
    struct channel channel;
    struct wire_reader *reader;
    bool is_connected;
    bool has_greeted;
    bool is_over;     /* no process writes the logs any more */
    bool is_finished; /* and all files are complete */
    bool has_complained;
    bool has_no_holes; /* the logs' file system does not support them */
    uint64_t now_ns, over_ns, retry_ns, pause_ns, look_due_ns, find_due_ns;
    uint64_t received_ns, asked_ns; /* asked_ns: 0, or since when an answer is overdue */
    uint64_t put_ns;
    uint64_t progress_ns;       /* of the last acknowledgement */
    uint64_t said_ns;           /* 0, or time of the last message about a problem */
    char why[ERROR_TEXT_BYTES]; /* the problem */
};

#endif
