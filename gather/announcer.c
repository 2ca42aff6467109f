/* SPDX-License-Identifier: MIT */
#include "gather/announcer.h"

#include "support/error.h"
#include "transfer/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = UINT64_C(1000000000);
static const uint64_t minute = UINT64_C(60000000000);

static uint16_t port_of(const struct sockaddr *bound)
{
    return ntohs(bound->sa_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)bound)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)bound)->sin_port);
}

static int bind_to(struct announcer *announcer, bool is_local, struct error *err)
{
    const struct sockaddr_in where = {.sin_family = AF_INET,
                                      .sin_port = htons(announcer->port),
                                      .sin_addr.s_addr =
                                          htonl(is_local ? INADDR_LOOPBACK : INADDR_ANY)};

    announcer->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (announcer->fd >= 0
        && bind(announcer->fd, (const struct sockaddr *)&where, sizeof(where)) == 0)
        return 0;
    return error_set_errno(err, errno, "cannot hear who looks for us at UDP port %u",
                           announcer->port);
}

int announcer_open(const struct security *security, const struct sockaddr *bound,
                   struct announcer *ret_announcer, struct error *err)
{
    struct announcer announcer = {.security = security, .fd = -1, .port = port_of(bound)};
    int code = 0;

    if (security->n_keys == 0)
        return error_set(err, ERROR_USAGE, "--announce needs --psk-file, whose keys sign it");
    announcer.memory = calloc(1, sizeof(*announcer.memory));
    if (!announcer.memory)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    else if (gnutls_rnd(GNUTLS_RND_NONCE, &announcer.receiver, sizeof(announcer.receiver)) < 0)
        code = error_set(err, ERROR_IO, "there are no random numbers");
    else
        code = bind_to(&announcer, address_is_local(bound), err);
    *ret_announcer = announcer;
    if (code)
        announcer_close(ret_announcer);
    return code;
}

void announcer_close(struct announcer *announcer)
{
    if (announcer->fd >= 0)
        close(announcer->fd);
    announcer->fd = -1;
    free(announcer->memory);
    announcer->memory = NULL;
}

/* Who takes no answer misses it. */
static void answer_one(struct announcer *announcer, const void *bytes, size_t n_bytes,
                       const struct sockaddr *from, socklen_t n_from)
{
    struct announcement answer;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (announcer->n_answers >= ANNOUNCER_AT_ONCE
        || !announcement_answer(announcer->security, announcer->memory, bytes, n_bytes,
                                (uint64_t)now.tv_sec * second + (uint64_t)now.tv_nsec,
                                announcer->receiver, announcer->port, &answer)) {
        announcer->n_ignored++;
        return;
    }
    announcer->n_answers++;
    (void)sendto(announcer->fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT, from, n_from);
}

void announcer_step(struct announcer *announcer, uint64_t now_ns)
{
    uint8_t bytes[sizeof(struct announcement) + 1]; /* a longer one is none */
    struct sockaddr_storage from;

    if (now_ns - announcer->second_ns > second) {
        announcer->second_ns = now_ns;
        announcer->n_answers = 0;
    }
    for (int i = 0; i < ANNOUNCER_AT_ONCE; i++) {
        socklen_t n_from = sizeof(from);
        ssize_t n =
            recvfrom(announcer->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &n_from);
        if (n < 0)
            return;
        answer_one(announcer, bytes, (size_t)n, (const struct sockaddr *)&from, n_from);
    }
}

uint64_t announcer_ignored(struct announcer *announcer, uint64_t now_ns)
{
    uint64_t n = announcer->n_ignored - announcer->n_said;

    if (n == 0 || (announcer->said_ns && now_ns - announcer->said_ns < minute))
        return 0;
    announcer->said_ns = now_ns;
    announcer->n_said = announcer->n_ignored;
    return n;
}
