/* SPDX-License-Identifier: MIT */
/*
 * announcer: answers those who look for us and have a key of ours (announcement.h).
 *
 * Model:   a UDP socket on the number of the port where logs are taken: on all addresses, as a broadcast comes to none of them alone, unless
 *          only this machine is listened to.
 * Invariants
 *   AC-1 At most ANNOUNCER_AT_ONCE datagrams are looked at in a turn, and as many answers a second are given.
 *   AC-2 An answer comes from where logs are taken: who listens on one address answers from that one, and only what was asked on the
 *        interface that has it.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_ANNOUNCER_H
#define MTRACE_REMOTE_ANNOUNCER_H

#include "remote/wire/announcement.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

struct error;

enum {
    ANNOUNCER_AT_ONCE = 64
};

struct announcer {
    const struct security *security;
    struct announcement_memory *memory; /* owned */
    int fd;                             /* -1: nobody is answered */
    struct in_addr own;                 /* where logs are taken; any: on all addresses */
    uint16_t port;
    uint64_t receiver;  /* our number, drawn */
    uint64_t second_ns; /* when n_answers began to be counted */
    uint64_t n_answers;
    uint64_t n_ignored; /* forged, replayed or of another time */
    uint64_t n_said;    /* of n_ignored */
    uint64_t said_ns;
};

/* `bound` is where logs are taken. */
int announcer_open(const struct security *security, const struct sockaddr *bound,
                   struct announcer *ret_announcer, struct error *err);
void announcer_close(struct announcer *announcer);

/* What came since. */
void announcer_step(struct announcer *announcer, uint64_t now_ns);

/* How many more were ignored; 0 also when that was said less than a minute ago. */
uint64_t announcer_ignored(struct announcer *announcer, uint64_t now_ns);

#endif
