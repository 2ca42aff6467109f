/* SPDX-License-Identifier: MIT */
/*
 * channel: a connection on which bytes go both ways, by TLS or as they are (security.h). Nothing here waits.
 *
 * Model:   what shall go out is put into a buffer, which channel_flush empties as far as the socket takes it.
 * Invariants
 *   CN-1 Nothing is put out and nothing given in before channel_shake returned 0.
 * Threads: one.
 * Failure: after an error the channel is only good for channel_close.
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
    gnutls_session_t session; /* NULL: bytes as they are */
    int fd;
    uint8_t *out; /* owned; n_out bytes from out_begin on wait */
    size_t out_begin, n_out, out_capacity;
    size_t n_promised;  /* TLS has taken so many already, and wants to be called again */
    uint64_t n_flushed; /* bytes that ever went out */
};

/* Takes fd, a socket that does not block, also on failure. `host` as of security_start. */
int channel_open(int fd, const struct security *security, bool is_server, const char *host,
                 struct channel *ret_channel, struct error *err);
void channel_close(struct channel *channel);

/* 0: both sides know each other; 1: call again when the socket is ready (channel_events). */
int channel_shake(struct channel *channel, struct error *err);

/* As of poll: what the socket must be ready for. */
short channel_events(const struct channel *channel, bool is_shaking);

/* A message; head.n_bytes of payload. */
int channel_put(struct channel *channel, const struct wire_head *head, const void *payload,
                struct error *err);

/* Sends what it can. 0 also when something waits: channel_waits. */
int channel_flush(struct channel *channel, struct error *err);
size_t channel_waits(const struct channel *channel);

/* Bytes read, 0 when there are none now; ERROR_IO: the peer has closed, or it broke. */
ssize_t channel_get(struct channel *channel, void *bytes, size_t n_bytes, struct error *err);

#endif
