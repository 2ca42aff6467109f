/* SPDX-License-Identifier: MIT */
#include "remote/receiver/discovery_responder.h"

#include "lib/base/error.h"
#include "remote/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = UINT64_C(1000000000);
static const uint64_t minute = UINT64_C(60000000000);

/* ERROR_USAGE: an IPv6 address cannot receive requests. */
static int learn_place(struct discovery_responder *announcer, const struct sockaddr *bound,
                       struct error *err)
{
    if (bound->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const void *)bound;
        announcer->port = ntohs(ip6->sin6_port);
        return IN6_IS_ADDR_UNSPECIFIED(&ip6->sin6_addr)
                   ? 0
                   : error_set(err, ERROR_USAGE,
                               "discovery uses IPv4: --announce needs a --listen with an "
                               "IPv4 address, or [::]");
    }
    announcer->port = ntohs(((const struct sockaddr_in *)(const void *)bound)->sin_port);
    announcer->own = ((const struct sockaddr_in *)(const void *)bound)->sin_addr;
    return 0;
}

static int bind_to(struct discovery_responder *announcer, bool is_local, struct error *err)
{
    const struct sockaddr_in where = {.sin_family = AF_INET,
                                      .sin_port = htons(announcer->port),
                                      .sin_addr.s_addr =
                                          htonl(is_local ? INADDR_LOOPBACK : INADDR_ANY)};
    const int yes = 1;

    announcer->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (announcer->fd >= 0
        && setsockopt(announcer->fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes)) == 0
        && bind(announcer->fd, (const struct sockaddr *)&where, sizeof(where)) == 0)
        return 0;
    return error_set_errno(err, errno, "cannot receive discovery messages at UDP port %u",
                           announcer->port);
}

int discovery_responder_open(const struct security *security, const struct sockaddr *bound,
                             struct discovery_responder *ret_announcer, struct error *err)
{
    struct discovery_responder announcer = {.security = security, .fd = -1};
    int code = learn_place(&announcer, bound, err);

    if (security->n_keys == 0)
        return error_set(err, ERROR_USAGE, "--announce needs --psk-file, whose keys sign it");
    announcer.memory = calloc(1, sizeof(*announcer.memory));
    if (code == 0 && !announcer.memory)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    else if (code == 0
             && gnutls_rnd(GNUTLS_RND_NONCE, &announcer.receiver, sizeof(announcer.receiver)) < 0)
        code = error_set(err, ERROR_IO, "there are no random numbers");
    if (code == 0)
        code = bind_to(&announcer, address_is_local(bound), err);
    *ret_announcer = announcer;
    if (code)
        discovery_responder_close(ret_announcer);
    return code;
}

void discovery_responder_close(struct discovery_responder *announcer)
{
    if (announcer->fd >= 0)
        close(announcer->fd);
    announcer->fd = -1;
    free(announcer->memory);
    announcer->memory = NULL;
}

/* Ancillary data with the destination or source address of a datagram. */
union place_control {
    struct cmsghdr head; /* for alignment */
    uint8_t bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

/* Sends from the receiver's address, because the other side connects to the address of the
 * answer. */
static void send_from(const struct discovery_responder *announcer,
                      const struct discovery_message *answer, const struct sockaddr_storage *to)
{
    struct discovery_message bytes = *answer;
    struct sockaddr_storage name = *to;
    union place_control control = {0};
    const struct in_pktinfo from = {.ipi_spec_dst = announcer->own};
    struct iovec part = {.iov_base = &bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = sizeof(struct sockaddr_in),
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){
        .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO, .cmsg_len = CMSG_LEN(sizeof(from))};
    memcpy(CMSG_DATA(head), &from, sizeof(from));
    (void)sendmsg(announcer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* AC-2 */
static bool is_interface_of(const struct in_addr *own, unsigned interface)
{
    struct ifaddrs *list = NULL;
    bool is_it = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *at = list; at && !is_it; at = at->ifa_next)
        is_it = at->ifa_addr && at->ifa_addr->sa_family == AF_INET
                && ((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr.s_addr
                       == own->s_addr
                && if_nametoindex(at->ifa_name) == interface;
    freeifaddrs(list);
    return is_it;
}

static bool is_asked_where_we_are(const struct discovery_responder *announcer,
                                  const struct in_pktinfo *asked)
{
    uint32_t own = ntohl(announcer->own.s_addr);

    return own == INADDR_ANY || own >> 24 == 127 || asked->ipi_addr.s_addr == announcer->own.s_addr
           || is_interface_of(&announcer->own, (unsigned)asked->ipi_ifindex);
}

/* Replies are best effort: a client that does not read loses them. */
static void answer_one(struct discovery_responder *announcer, const void *bytes, size_t n_bytes,
                       const struct sockaddr_storage *from, const struct in_pktinfo *asked)
{
    struct discovery_message answer;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (announcer->n_answers >= DISCOVERY_RESPONDER_AT_ONCE
        || !discovery_message_answer(announcer->security, announcer->memory, bytes, n_bytes,
                                     (uint64_t)now.tv_sec * second + (uint64_t)now.tv_nsec,
                                     announcer->receiver, announcer->port, &answer)) {
        announcer->n_ignored++;
        return;
    }
    announcer->n_answers++;
    if (is_asked_where_we_are(announcer, asked))
        send_from(announcer, &answer, from);
}

static struct in_pktinfo place_of(struct msghdr *message)
{
    struct in_pktinfo place = {0};

    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at))
        if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO)
            memcpy(&place, CMSG_DATA(at), sizeof(place));
    return place;
}

void discovery_responder_step(struct discovery_responder *announcer, uint64_t now_ns)
{
    if (now_ns - announcer->second_ns > second) {
        announcer->second_ns = now_ns;
        announcer->n_answers = 0;
    }
    for (int i = 0; i < DISCOVERY_RESPONDER_AT_ONCE; i++) {
        uint8_t bytes[sizeof(struct discovery_message)
                      + 1]; /* one byte more, to detect longer datagrams */
        struct sockaddr_storage from;
        union place_control control;
        struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof(from),
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(announcer->fd, &message, 0);
        if (n < 0)
            return;
        struct in_pktinfo asked = place_of(&message);
        answer_one(announcer, bytes, (size_t)n, &from, &asked);
    }
}

uint64_t discovery_responder_ignored(struct discovery_responder *announcer, uint64_t now_ns)
{
    uint64_t n = announcer->n_ignored - announcer->n_said;

    if (n == 0 || (announcer->said_ns && now_ns - announcer->said_ns < minute))
        return 0;
    announcer->said_ns = now_ns;
    announcer->n_said = announcer->n_ignored;
    return n;
}
