/* SPDX-License-Identifier: MIT */
#include "remote/wire/discovery.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "remote/wire/discovery_message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMES = 3,
    BETWEEN_MS = 300,
    MAX_REQUESTS = 96,
};

struct search {
    const struct security *security;
    struct discovery_message requests[MAX_REQUESTS]; /* one each: a repeated one is a replay */
    size_t n_requests;
    int fd;
    uint16_t port;
    struct discovery *result;
    uint64_t receivers[DISCOVERY_MAX];
};

bool discovery_is_wanted(const char *text, uint16_t *ret_port)
{
    struct address address;

    *ret_port = DISCOVERY_PORT;
    if (strcmp(text, DISCOVERY_WORD) == 0)
        return true;
    if (address_parse(text, &address, NULL) != 0 || strcmp(address.host, DISCOVERY_WORD) != 0)
        return false;
    *ret_port = (uint16_t)strtoul(address.port, NULL, 10);
    return true;
}

static int64_t now_ms(void)
{
    return (int64_t)(monotonic_now_ns() / 1000000);
}

static uint64_t unix_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Errors are ignored: an address that cannot be reached does not matter if another one answers. */
static void ask_at(struct search *search, in_addr_t where)
{
    struct discovery_message *request = &search->requests[search->n_requests];
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(search->port), .sin_addr.s_addr = where};

    if (search->n_requests == MAX_REQUESTS
        || !discovery_message_request(search->security, unix_now_ns(), request))
        return;
    search->n_requests++;
    (void)sendto(search->fd, request, sizeof(*request), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 sizeof(to));
}

static void ask_all(struct search *search)
{
    struct ifaddrs *list = NULL;

    ask_at(search, htonl(INADDR_LOOPBACK));
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next)
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && (at->ifa_flags & IFF_BROADCAST)
            && (at->ifa_flags & IFF_UP) && at->ifa_broadaddr)
            ask_at(search,
                   ((const struct sockaddr_in *)(const void *)at->ifa_broadaddr)->sin_addr.s_addr);
    freeifaddrs(list);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool is_known(const struct search *search, uint64_t receiver)
{
    for (size_t i = 0; i < search->result->n_found; i++)
        if (search->receivers[i] == receiver)
            return true;
    return false;
}

static bool is_answer(const struct search *search, const void *bytes, size_t n_bytes,
                      struct discovery_message *ret_answer)
{
    for (size_t i = 0; i < search->n_requests; i++)
        if (discovery_message_is_answer(search->security, &search->requests[i], bytes, n_bytes,
                                        ret_answer))
            return true;
    return false;
}

/* A receiver that was reached at several addresses answers several times; the first answer
 * counts. */
static void take_one(struct search *search, const void *bytes, size_t n_bytes,
                     const struct sockaddr_in *from)
{
    struct discovery *result = search->result;
    struct discovery_message answer;

    if (!is_answer(search, bytes, n_bytes, &answer)) {
        result->n_ignored++;
        return;
    }
    if (is_known(search, answer.receiver) || result->n_found == DISCOVERY_MAX)
        return;
    struct address *address = &result->found[result->n_found];
    (void)inet_ntop(AF_INET, &from->sin_addr, address->host, sizeof(address->host));
    (void)snprintf(address->port, sizeof(address->port), "%u", (unsigned)(uint16_t)answer.port);
    search->receivers[result->n_found++] = answer.receiver;
}

static void take_all(struct search *search)
{
    uint8_t
        bytes[sizeof(struct discovery_message) + 1]; /* one byte more, to detect longer datagrams */
    struct sockaddr_in from;
    socklen_t n_from = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(search->fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
                         &n_from))
           >= 0) {
        take_one(search, bytes, (size_t)n, &from);
        n_from = sizeof(from);
    }
}

static void ask_and_listen(struct search *search)
{
    int64_t begun_ms = now_ms();
    int64_t until_ms = begun_ms + DISCOVERY_MS;
    int64_t ask_ms = begun_ms;
    int n_asked = 0;

    for (int64_t now = begun_ms; now < until_ms; now = now_ms()) {
        struct pollfd ready = {.fd = search->fd, .events = POLLIN};
        if (n_asked < TIMES && now >= ask_ms) {
            ask_all(search);
            n_asked++;
            ask_ms = now + BETWEEN_MS;
        }
        int64_t wake_ms = n_asked < TIMES && ask_ms < until_ms ? ask_ms : until_ms;
        if (poll(&ready, 1, (int)(wake_ms > now ? wake_ms - now : 0)) > 0)
            take_all(search);
        if (search->result->n_found && until_ms > now + DISCOVERY_MORE_MS)
            until_ms = now + DISCOVERY_MORE_MS;
    }
}

int discovery_run(const struct security *security, uint16_t port, struct discovery *ret_discovery,
                  struct error *err)
{
    struct search search = {.security = security, .port = port, .result = ret_discovery};
    const int yes = 1;

    *ret_discovery = (struct discovery){.n_found = 0};
    if (security->n_keys == 0)
        return error_set(err, ERROR_USAGE,
                         "discovery needs a key that both sides have: --psk-file");
    search.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (search.fd < 0)
        return error_set_errno(err, errno, "cannot send a discovery message");
    (void)setsockopt(search.fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
    ask_and_listen(&search);
    close(search.fd);
    return 0;
}

int discovery_find_one(const struct security *security, uint16_t port, struct address *ret_address,
                       struct error *err)
{
    struct discovery discovery;
    int code = discovery_run(security, port, &discovery, err);

    if (code)
        return code;
    if (discovery.n_found == 0)
        return error_set(err, ERROR_IO,
                         "no 'mtrace-gather --announce' with our key answers at port %u", port);
    if (discovery.n_found > 1)
        return error_set(err, ERROR_IO,
                         "%zu answer, as '%s:%s' and '%s:%s': name one of them by --to",
                         discovery.n_found, discovery.found[0].host, discovery.found[0].port,
                         discovery.found[1].host, discovery.found[1].port);
    *ret_address = discovery.found[0];
    return 0;
}
