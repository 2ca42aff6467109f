/* SPDX-License-Identifier: MIT */
/*
 * discovery_message: the datagrams by which senders find an mtrace-gather whose key they have.
 *
 * The sender broadcasts a UDP request with a nonce, the time, and the name of a key. The receiver
 * answers only the sender, with the same nonce, its port, and its random number. Both are signed
 * with HMAC-SHA256 by a key derived from the named one (security.h). Request and answer have the
 * same size, so forged requests cannot amplify a flood.
 *
 * Invariants
 *   AN-1 Messages that are unsigned, signed with another key, more than DISCOVERY_MESSAGE_AGE_NS
 *        off, or replayed are ignored and counted.
 *   AN-2 An answer is accepted only for the request whose nonce it has, so old ones do not match.
 *   AN-3 At most DISCOVERY_MESSAGE_SEEN requests are remembered; if so many arrived within their
 *        time, further ones are not answered.
 *
 * Threads: one for each discovery_message_memory.
 */
#ifndef MTRACE_REMOTE_DISCOVERY_MESSAGE_H
#define MTRACE_REMOTE_DISCOVERY_MESSAGE_H

#include "remote/wire/security.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DISCOVERY_MESSAGE_NONCE_BYTES = 16,
    DISCOVERY_MESSAGE_MAC_BYTES = 32,
    DISCOVERY_MESSAGE_SEEN = 1024,
};

#define DISCOVERY_MESSAGE_AGE_NS UINT64_C(60000000000)

enum discovery_message_kind {
    DISCOVERY_MESSAGE_REQUEST = 1,
    DISCOVERY_MESSAGE_ANSWER = 2,
};

/* A datagram, little-endian. */
struct discovery_message {
    char magic[8];
    uint32_t version;
    uint32_t kind;                                /* enum discovery_message_kind */
    uint64_t unix_ns;                             /* the sender's clock */
    uint64_t receiver;                            /* of an answer: the receiver's random number */
    uint8_t nonce[DISCOVERY_MESSAGE_NONCE_BYTES]; /* random, for each request */
    uint32_t port;                                /* of an answer: TCP port for logs */
    uint32_t reserved;
    char key_name[SECURITY_NAME_BYTES]; /* NUL-padded */
    uint8_t mac[DISCOVERY_MESSAGE_MAC_BYTES];
};

/* Requests that arrived within their time. */
struct discovery_message_memory {
    struct {
        uint64_t unix_ns;
        uint8_t nonce[DISCOVERY_MESSAGE_NONCE_BYTES];
    } seen[DISCOVERY_MESSAGE_SEEN];
};

/* Makes a request with the first key; false: no random bytes. */
bool discovery_message_request(const struct security *security, uint64_t unix_ns,
                               struct discovery_message *ret_request);

/* Checks a request and makes the answer. False: do not answer. */
bool discovery_message_answer(const struct security *security,
                              struct discovery_message_memory *memory, const void *bytes,
                              size_t n_bytes, uint64_t unix_ns, uint64_t receiver, uint16_t port,
                              struct discovery_message *ret_answer);

/* These bytes are an answer to the request. */
bool discovery_message_is_answer(const struct security *security,
                                 const struct discovery_message *request, const void *bytes,
                                 size_t n_bytes, struct discovery_message *ret_answer);

#endif
