/* SPDX-License-Identifier: MIT */
/*
 * head: refuses requests that two HTTP parsers could read in two ways.
 *
 * libmicrohttpd ends a text at its first NUL and uses the first of several lengths. A proxy may do
 * otherwise, so such requests are refused. libmicrohttpd cuts the first line in place. So only NULs
 * and blanks stand between the original address and the version, unless the address had a NUL.
 *
 * Invariants
 *   HE-1 A request with a complaint is refused, whatever its route.
 */
#ifndef MTRACE_SERVER_HEAD_H
#define MTRACE_SERVER_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

/* Zeroed: no complaint so far. */
struct head {
    const char *complaint; /* a sentence for the client; NULL: none */
    bool is_bad_length;    /* the end of the request is unknown */
    /* while reading */
    unsigned n_hosts;
    const char *length; /* Content-Length */
    bool has_coding;    /* Transfer-Encoding */
};

/* address: as sent, with its parameters. */
void head_read_address(struct head *head, const char *address);

/* Call it when the head is complete. version: follows the address in the same line. */
void head_read_rest(struct head *head, struct MHD_Connection *connection, const char *address_end,
                    const char *version);

void head_read_body(struct head *head, const char *body, size_t size);

#endif
