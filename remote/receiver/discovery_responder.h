/* SPDX-License-Identifier: MIT */
/*
 * announcer: answers those who look for us and have a key of ours (discovery_message.h).
 *
 * Model:   a UDP socket on the number of the port where logs are taken: on all addresses, as a broadcast comes to none of them alone, unless
 *          only this machine is listened to.
 * Invariants
 *   AC-1 At most DISCOVERY_RESPONDER_AT_ONCE datagrams are looked at in a turn, and as many answers a second are given.
 *   AC-2 An answer comes from where logs are taken: who listens on one address answers from that one, and only what was asked on the
 *        interface that has it.
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
    int fd;                                  /* -1: nobody is answered */
    struct in_addr own;                      /* where logs are taken; any: on all addresses */
    uint16_t port;
    uint64_t receiver;  /* our number, drawn */
    uint64_t second_ns; /* when n_answers began to be counted */
    uint64_t n_answers;
    uint64_t n_ignored; /* forged, replayed or of another time */
    uint64_t n_said;    /* of n_ignored */
    uint64_t said_ns;
};

/* `bound` is where logs are taken. */
int discovery_responder_open(const struct security *security, const struct sockaddr *bound,
                             struct discovery_responder *ret_announcer, struct error *err);
void discovery_responder_close(struct discovery_responder *announcer);

/* What came since. */
void discovery_responder_step(struct discovery_responder *announcer, uint64_t now_ns);

/* How many more were ignored; 0 also when that was said less than a minute ago. */
uint64_t discovery_responder_ignored(struct discovery_responder *announcer, uint64_t now_ns);

#endif
