/* SPDX-License-Identifier: MIT */
#include "remote/wire/channel.h"

#include "lib/base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MIN_OUT_BYTES = 4096
};

int channel_open(int fd, const struct security *security, bool is_server, const char *host,
                 struct channel *ret_channel, struct error *err)
{
    *ret_channel = (struct channel){.fd = fd};
    if (security->is_insecure)
        return 0;
    if (security_start(security, is_server, host, &ret_channel->session, err) != 0) {
        ret_channel->session = NULL;
        channel_close(ret_channel);
        return ERROR_NOMEM;
    }
    gnutls_transport_set_int(ret_channel->session, fd);
    return 0;
}

void channel_close(struct channel *channel)
{
    if (channel->session) {
        (void)gnutls_bye(channel->session, GNUTLS_SHUT_WR);
        gnutls_deinit(channel->session);
    }
    if (channel->fd >= 0)
        close(channel->fd);
    free(channel->out);
    *channel = (struct channel){.fd = -1};
}

static bool is_passing(int status)
{
    return status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED
           || status == GNUTLS_E_WARNING_ALERT_RECEIVED;
}

/* A rejected peer learns the reason only from an alert, which for a key must not say more. */
static int set_failure(struct channel *channel, int status, struct error *err)
{
    if (status == GNUTLS_E_FATAL_ALERT_RECEIVED)
        return error_set(err, ERROR_IO, "the peer refuses the message (%s)",
                         gnutls_alert_get_name(gnutls_alert_get(channel->session)));
    if (status == GNUTLS_E_PREMATURE_TERMINATION || status == GNUTLS_E_PULL_ERROR
        || status == GNUTLS_E_PUSH_ERROR)
        return error_set(err, ERROR_IO, "the peer has closed the connection");
    return error_set(err, ERROR_IO, "%s", gnutls_strerror(status));
}

/* The result of our own check of the peer's certificate. */
static const char *explain_certificate(const struct channel *channel)
{
    unsigned found = gnutls_session_get_verify_cert_status(channel->session);

    if (found & GNUTLS_CERT_UNEXPECTED_OWNER)
        return "the certificate of the peer is not for the host that --to names";
    if (found & GNUTLS_CERT_EXPIRED)
        return "the certificate of the peer has expired";
    if (found & GNUTLS_CERT_NOT_ACTIVATED)
        return "the certificate of the peer is not valid yet; are both clocks right?";
    if (found & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA))
        return "the certificate of the peer is not signed by a certificate of --ca";
    return "the certificate of the peer is not valid";
}

/* In terms of the user's options, not of TLS. */
static const char *explain_refusal(const struct channel *channel, int status)
{
    static const char stranger[] =
        "the TLS handshake was refused; does the peer know this key or certificate?";
    static const char plain[] =
        "the peer does not use TLS; is it mtrace-gather or mtrace-record, and without --insecure?";

    switch (status) {
    case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
        return explain_certificate(channel);
    case GNUTLS_E_CERTIFICATE_REQUIRED:
    case GNUTLS_E_NO_CERTIFICATE_FOUND:
        return "the peer shows no certificate";
    case GNUTLS_E_UNEXPECTED_PACKET:
    case GNUTLS_E_UNEXPECTED_PACKET_LENGTH:
    case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
    case GNUTLS_E_RECORD_OVERFLOW:
        return plain;
    case GNUTLS_E_PREMATURE_TERMINATION:
    case GNUTLS_E_PULL_ERROR:
    case GNUTLS_E_PUSH_ERROR:
        return "the peer has closed the connection; does it know this key or certificate?";
    default:
        return stranger;
    }
}

int channel_shake(struct channel *channel, struct error *err)
{
    int status = channel->session ? gnutls_handshake(channel->session) : GNUTLS_E_SUCCESS;

    if (status == GNUTLS_E_SUCCESS)
        return 0;
    if (is_passing(status))
        return 1;
    (void)gnutls_alert_send_appropriate(channel->session, status);
    return error_set(err, ERROR_IO, "%s", explain_refusal(channel, status));
}

short channel_events(const struct channel *channel, bool is_shaking)
{
    if (is_shaking && channel->session)
        return gnutls_record_get_direction(channel->session) ? POLLOUT : POLLIN;
    return channel->n_out ? POLLIN | POLLOUT : POLLIN;
}

static int reserve(struct channel *channel, size_t n_bytes, struct error *err)
{
    size_t capacity = channel->out_capacity ? channel->out_capacity : MIN_OUT_BYTES;
    uint8_t *out;

    if (channel->out_begin > 0) {
        memmove(channel->out, channel->out + channel->out_begin, channel->n_out);
        channel->out_begin = 0;
    }
    while (capacity < channel->n_out + n_bytes)
        capacity *= 2;
    if (capacity == channel->out_capacity)
        return 0;
    out = realloc(channel->out, capacity);
    if (!out)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    channel->out = out;
    channel->out_capacity = capacity;
    return 0;
}

int channel_put(struct channel *channel, const struct wire_head *head, const void *payload,
                struct error *err)
{
    size_t n_bytes = sizeof(*head) + head->n_bytes;
    uint8_t *at;
    int code = 0;

    if (channel->out_begin + channel->n_out + n_bytes > channel->out_capacity)
        code = reserve(channel, n_bytes, err);
    if (code)
        return code;
    at = channel->out + channel->out_begin + channel->n_out;
    memcpy(at, head, sizeof(*head));
    if (head->n_bytes)
        memcpy(at + sizeof(*head), payload, head->n_bytes);
    channel->n_out += n_bytes;
    return 0;
}

/* After GNUTLS_E_AGAIN, TLS keeps the data and must be called again without it. */
static ssize_t send_secured(struct channel *channel)
{
    const uint8_t *bytes = channel->out + channel->out_begin;
    ssize_t n = channel->n_promised ? gnutls_record_send(channel->session, NULL, 0)
                                    : gnutls_record_send(channel->session, bytes, channel->n_out);

    channel->n_promised = n < 0 && is_passing((int)n) ? channel->n_out : 0;
    return n;
}

static ssize_t send_plain(struct channel *channel)
{
    ssize_t n = send(channel->fd, channel->out + channel->out_begin, channel->n_out, MSG_NOSIGNAL);

    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? GNUTLS_E_AGAIN : GNUTLS_E_PULL_ERROR;
}

int channel_flush(struct channel *channel, struct error *err)
{
    while (channel->n_out) {
        ssize_t n = channel->session ? send_secured(channel) : send_plain(channel);
        if (n < 0 && is_passing((int)n))
            return 0;
        if (n < 0)
            return set_failure(channel, (int)n, err);
        channel->out_begin += (size_t)n;
        channel->n_out -= (size_t)n;
        channel->n_flushed += (uint64_t)n;
    }
    channel->out_begin = 0;
    return 0;
}

size_t channel_waits(const struct channel *channel)
{
    return channel->n_out;
}

static ssize_t get_plain(struct channel *channel, void *bytes, size_t n_bytes)
{
    ssize_t n = recv(channel->fd, bytes, n_bytes, 0);

    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? GNUTLS_E_AGAIN : GNUTLS_E_PULL_ERROR;
}

ssize_t channel_get(struct channel *channel, void *bytes, size_t n_bytes, struct error *err)
{
    ssize_t n = channel->session ? gnutls_record_recv(channel->session, bytes, n_bytes)
                                 : get_plain(channel, bytes, n_bytes);

    if (n > 0)
        return n;
    if (n < 0 && is_passing((int)n))
        return 0;
    return set_failure(channel, n == 0 ? GNUTLS_E_PREMATURE_TERMINATION : (int)n, err);
}
