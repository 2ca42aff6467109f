/* SPDX-License-Identifier: MIT */
/*
 * sender_settings: what a sender (sender.h) is to do, as its command line says.
 *
 * Threads: any; nothing of it is changed.
 */
#ifndef MTRACE_REMOTE_SENDER_SETTINGS_H
#define MTRACE_REMOTE_SENDER_SETTINGS_H

#include "remote/wire/address.h"
#include "remote/wire/security.h"

#include <stdbool.h>
#include <stdint.h>

struct sender_settings {
    const char *log;  /* the run's first; others lie beside it */
    const char *to;   /* as the user wrote it */
    const char *same; /* options that say where to, for who wants to send it later */
    struct address address;
    bool is_discovering; /* the address is looked for whenever a connection is made */
    uint16_t discovery_port;
    const struct security *security;
    uint64_t timeout_ns;
    int end_pipe; /* -1: nobody records */
    bool is_quiet;
    bool gives_back; /* --no-local */
};

#endif
