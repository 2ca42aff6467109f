/* SPDX-License-Identifier: MIT */
/*
 * sender_settings: the command line of a sender (sender.h).
 *
 * Threads: any; read-only.
 */
#ifndef MTRACE_REMOTE_SENDER_SETTINGS_H
#define MTRACE_REMOTE_SENDER_SETTINGS_H

#include "remote/wire/address.h"
#include "remote/wire/security.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
