/* SPDX-License-Identifier: MIT */
/*
 * head: what is wrong with a request before anybody looks at what it asks: what two readers could read in two ways.
 *
 * Model:   libmicrohttpd ends a text at its first NUL and takes the first of several lengths. Another program on the way may do
 *          otherwise, so neither is answered. It cuts the first line in place: what stands between the address as it
 *          was and the version behind it is nothing but the spaces it wrote over, unless a NUL came in the address.
 * Invariants
 *   HE-1 a request with a complaint is refused, whatever it asks.
 */
#ifndef MTRACE_SERVER_HEAD_H
#define MTRACE_SERVER_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

/* All zero: nothing is wrong so far. */
struct head {
    const char *complaint; /* a sentence for the client; NULL: none */
    bool is_bad_length;    /* where the request ends is not known */
    /* counted meanwhile */
    unsigned n_hosts;
    const char *length; /* Content-Length */
    bool has_coding;    /* Transfer-Encoding */
};

/* As it was sent, with its parameters. */
void head_read_address(struct head *head, const char *address);

/* The head is whole; version: behind the address, in the same line. */
void head_read_rest(struct head *head, struct MHD_Connection *connection, const char *address_end,
                    const char *version);

void head_read_body(struct head *head, const char *body, size_t size);

#endif
