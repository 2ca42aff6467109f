/* SPDX-License-Identifier: MIT */
/*
 * discovery_responder: answers discovery requests that are signed with one of our keys
 * (discovery_message.h).
 *
 * It uses a UDP socket with the port number of the receiver. The socket listens on all addresses,
 * because broadcasts do not reach a socket bound to one address, unless the receiver listens only
 * on this machine.
 *
 * Invariants
 *   AC-1 At most DISCOVERY_RESPONDER_AT_ONCE datagrams are handled in one step, and as many answers
 *        are sent per second.
 *   AC-2 If the receiver listens on one address, answers come from it, and only to requests that
 *        arrived on its interface.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_DISCOVERY_RESPONDER_H
#define MTRACE_REMOTE_DISCOVERY_RESPONDER_H

#include "remote/wire/discovery_message.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

struct error;

enum {
    DISCOVERY_RESPONDER_AT_ONCE = 64
};

struct discovery_responder {
    const struct security *security;
    struct discovery_message_memory *memory; /* owned */
    int fd;                                  /* -1: does not answer */
    struct in_addr own;                      /* the receiver's address; any: all addresses */
    uint16_t port;
    uint64_t receiver;  /* our random number */
    uint64_t second_ns; /* start of the second of n_answers */
    uint64_t n_answers;
    uint64_t n_ignored; /* forged, replayed or with a wrong time */
    uint64_t n_said;    /* reported ones of n_ignored */
    uint64_t said_ns;
};

/* `bound` is the receiver's address. */
int discovery_responder_open(const struct security *security, const struct sockaddr *bound,
                             struct discovery_responder *ret_announcer, struct error *err);
void discovery_responder_close(struct discovery_responder *announcer);

/* Handles arrived datagrams. */
void discovery_responder_step(struct discovery_responder *announcer, uint64_t now_ns);

/* The number of ignored requests to report now; 0 also if the last report is less than a minute
 * old. */
uint64_t discovery_responder_ignored(struct discovery_responder *announcer, uint64_t now_ns);

#endif
