/* SPDX-License-Identifier: MIT */
/*
 * channel: a bidirectional connection, with TLS or plain (security.h). Nothing here blocks.
 *
 * Output goes into a buffer, which channel_flush empties as far as the socket accepts data.
 *
 * Invariants
 *   CN-1 No data is sent or returned before channel_shake returned 0.
 *
 * Threads: one. Errors: after one, only channel_close may be called.
 */
#ifndef MTRACE_REMOTE_CHANNEL_H
#define MTRACE_REMOTE_CHANNEL_H

#include "remote/wire/security.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct channel {
    gnutls_session_t session; /* NULL: plain */
    int fd;
    uint8_t *out; /* owned; n_out bytes from out_begin on are unsent */
    size_t out_begin, n_out, out_capacity;
    size_t n_promised;  /* bytes that TLS has taken; the call must be repeated */
    uint64_t n_flushed; /* total bytes sent */
};

/* Takes over fd, a non-blocking socket, also on failure. `host` as for security_start. */
int channel_open(int fd, const struct security *security, bool is_server, const char *host,
                 struct channel *ret_channel, struct error *err);
void channel_close(struct channel *channel);

/* 0: both sides are authenticated; 1: call again when the socket is ready (channel_events). */
int channel_shake(struct channel *channel, struct error *err);

/* The poll events that the socket must be ready for. */
short channel_events(const struct channel *channel, bool is_shaking);

/* Adds a message with head.n_bytes of payload to the buffer. */
int channel_put(struct channel *channel, const struct wire_head *head, const void *payload,
                struct error *err);

/* Sends what the socket accepts. 0 also if data remains: channel_waits. */
int channel_flush(struct channel *channel, struct error *err);
size_t channel_waits(const struct channel *channel);

/* Bytes read, 0 if there are none now; ERROR_IO: the peer has closed, or the connection broke. */
ssize_t channel_get(struct channel *channel, void *bytes, size_t n_bytes, struct error *err);

#endif
