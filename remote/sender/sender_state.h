/* SPDX-License-Identifier: MIT */
/*
 * sender_state: what the parts of a sender share: it connects and waits, hears (sender_rx.h), speaks (sender_tx.h) and sums up
 * (sent_summary.h).
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
    bool is_asked_for_objects; /* by the receiver, of --fetch-objects, when it was last heard */
    struct channel channel;
    struct wire_reader *reader;
    bool is_connected;
    bool has_greeted;
    bool is_over;     /* nobody writes any more */
    bool is_finished; /* and all files are whole */
    bool has_complained;
    bool has_no_holes; /* the file system of the logs */
    uint64_t now_ns, over_ns, retry_ns, pause_ns, look_due_ns, find_due_ns;
    uint64_t received_ns, asked_ns; /* asked_ns: 0, or since when an answer is due */
    uint64_t put_ns;
    uint64_t progress_ns;       /* something was acknowledged */
    uint64_t said_ns;           /* 0, or when it was last said that it does not go on */
    char why[ERROR_TEXT_BYTES]; /* it does not go on */
};

#endif
