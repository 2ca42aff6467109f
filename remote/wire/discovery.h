/* SPDX-License-Identifier: MIT */
/*
 * discovery: looks for those in the local network who gather and answer (discovery_message.h).
 *
 * Model:   asks the broadcast addresses of all interfaces and this machine, thrice, and listens until DISCOVERY_MORE_MS after the first
 *          answer, or DISCOVERY_MS.
 * Threads: any. Failure: who asks in vain waits DISCOVERY_MS.
 */
#ifndef MTRACE_REMOTE_DISCOVERY_H
#define MTRACE_REMOTE_DISCOVERY_H

#include "remote/wire/address.h"
#include "remote/wire/security.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define DISCOVERY_WORD "discover"

enum {
    DISCOVERY_PORT = 7878,
    DISCOVERY_MS = 1500,
    DISCOVERY_MORE_MS = 300,
    DISCOVERY_MOST = 64, /* that are told apart */
};

struct discovery {
    struct address found[DISCOVERY_MOST];
    size_t n_found;
    uint64_t n_ignored; /* datagrams that were no answer, or came twice */
};

/* "discover" or "discover:PORT": the port to ask at. */
bool discovery_is_wanted(const char *text, uint16_t *ret_port);

/* 0 also when nobody answers. */
int discovery_run(const struct security *security, uint16_t port, struct discovery *ret_discovery,
                  struct error *err);

/* The only one; ERROR_IO: nobody, or more than one. */
int discovery_find_one(const struct security *security, uint16_t port, struct address *ret_address,
                       struct error *err);

#endif
