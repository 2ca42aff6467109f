/* SPDX-License-Identifier: MIT */
/*
 * sender_state: the settings of a sender (sender.h) and the shared state of its parts: connection
 * (sender.c), reception (sender_rx.h) and transmission (sender_tx.h).
 *
 * Threads: one; settings are read-only.
 */
#ifndef MTRACE_REMOTE_SENDER_STATE_H
#define MTRACE_REMOTE_SENDER_STATE_H

#include "lib/base/error.h"
#include "remote/sender/sent_logs.h"
#include "remote/wire/address.h"
#include "remote/wire/channel.h"
#include "remote/wire/security.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* The command line. */
struct sender_settings {
    const char *log;  /* the run's first log; others are beside it */
    const char *to;   /* as the user wrote it */
    const char *same; /* the destination as options, for a hint how to send it later */
    struct address address;
    bool is_discovering; /* look up the address for each connection */
    uint16_t discovery_port;
    const struct security *security;
    uint64_t timeout_ns;
    int end_pipe; /* -1: no recording */
    bool is_quiet;
    bool gives_back; /* --no-local */
};

struct sender {
    const struct sender_settings *settings;
    struct sent_logs logs;
    struct channel channel;
    struct wire_reader *reader;
    bool is_connected;
    bool has_greeted;
    bool is_over;     /* no process writes the logs any more */
    bool is_finished; /* and all files are complete */
    bool has_complained;
    uint64_t now_ns, over_ns, retry_ns, pause_ns, look_due_ns, find_due_ns;
    uint64_t received_ns, asked_ns; /* asked_ns: 0, or since when an answer is overdue */
    uint64_t put_ns;
    uint64_t progress_ns;       /* of the last acknowledgement */
    uint64_t said_ns;           /* 0, or time of the last message about a problem */
    char why[ERROR_TEXT_BYTES]; /* the problem */
};

#endif
