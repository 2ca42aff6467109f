/* SPDX-License-Identifier: MIT */
/*
 * announcement: how an mtrace-gather is found in the local network by who has a key of it.
 *
 * Model:   who looks for one asks all (UDP, broadcast): a question with a nonce, the time, and the name of a key. Who gathers answers him alone,
 *          with the same nonce, its port, and a number that it drew when it began. Both are signed: HMAC-SHA256 by a key that is
 *          made of the one that has that name (security.h). Question and answer are equally long, so that nobody is flooded by answers to
 *          questions that were asked in his name.
 * Invariants
 *   AN-1 What is not signed, is signed by another key, is of another time (more than DISCOVERY_MESSAGE_AGE_NS away), or came before,
 *        is neither answered nor believed; it is counted.
 *   AN-2 An answer is believed only to the question that it names: an old one fits none.
 *   AN-3 No more than DISCOVERY_MESSAGE_SEEN questions are remembered; when so many came within their time, no other is answered.
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
    DISCOVERY_MESSAGE_QUESTION = 1,
    DISCOVERY_MESSAGE_ANSWER = 2,
};

/* A datagram, little-endian. */
struct discovery_message {
    char magic[8];
    uint32_t version;
    uint32_t kind;                                /* enum discovery_message_kind */
    uint64_t unix_ns;                             /* of who sends it */
    uint64_t receiver;                            /* of an answer: drawn when it began */
    uint8_t nonce[DISCOVERY_MESSAGE_NONCE_BYTES]; /* drawn for the question */
    uint32_t port;                                /* of an answer: where logs are taken, by TCP */
    uint32_t reserved;
    char key_name[SECURITY_NAME_BYTES]; /* NUL-padded */
    uint8_t mac[DISCOVERY_MESSAGE_MAC_BYTES];
};

/* Questions that came within their time. */
struct discovery_message_memory {
    struct {
        uint64_t unix_ns;
        uint8_t nonce[DISCOVERY_MESSAGE_NONCE_BYTES];
    } seen[DISCOVERY_MESSAGE_SEEN];
};

/* By the first key; false: no random bytes. */
bool discovery_message_ask(const struct security *security, uint64_t unix_ns,
                           struct discovery_message *ret_question);

/* Shall these bytes be answered? The answer then. */
bool discovery_message_answer(const struct security *security,
                              struct discovery_message_memory *memory, const void *bytes,
                              size_t n_bytes, uint64_t unix_ns, uint64_t receiver, uint16_t port,
                              struct discovery_message *ret_answer);

/* Are these bytes an answer to the question? */
bool discovery_message_is_answer(const struct security *security,
                                 const struct discovery_message *question, const void *bytes,
                                 size_t n_bytes, struct discovery_message *ret_answer);

#endif
