/* SPDX-License-Identifier: MIT */
/*
 * discovery: finds mtrace-gather processes in the local network (discovery_message.h).
 *
 * It sends three requests to the broadcast addresses of all interfaces and to this machine, and
 * listens for DISCOVERY_MS, or until DISCOVERY_MORE_MS after the first answer.
 *
 * Threads: any. Without an answer it takes DISCOVERY_MS.
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
    DISCOVERY_MAX = 64, /* maximum number of receivers */
};

struct discovery {
    struct address found[DISCOVERY_MAX];
    size_t n_found;
    uint64_t n_ignored; /* datagrams that were no answer, or duplicates */
};

/* "discover" or "discover:PORT": the port for requests. */
bool discovery_is_wanted(const char *text, uint16_t *ret_port);

/* 0 also without an answer. */
int discovery_run(const struct security *security, uint16_t port, struct discovery *ret_discovery,
                  struct error *err);

/* Finds the only one; ERROR_IO: none, or more than one. */
int discovery_find_one(const struct security *security, uint16_t port, struct address *ret_address,
                       struct error *err);

#endif
