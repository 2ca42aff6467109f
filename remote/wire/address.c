/* SPDX-License-Identifier: MIT */
#include "remote/wire/address.h"

#include "lib/base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BACKLOG = 64,
    KEEP_ALIVE_SECONDS = 15,
};

static bool parse_port(const char *text, char *ret_port)
{
    size_t n = strspn(text, "0123456789");
    unsigned value = 0;

    if (n == 0 || n > 5 || text[n])
        return false;
    (void)sscanf(text, "%u", &value);
    memcpy(ret_port, text, n + 1);
    return value <= UINT16_MAX;
}

int address_parse(const char *text, struct address *ret_address, struct error *err)
{
    bool is_ip6 = *text == '[';
    const char *host = text + is_ip6;
    const char *end = is_ip6 ? strchr(host, ']') : strrchr(host, ':');
    const char *colon = end && is_ip6 ? end + 1 : end;
    size_t n = end ? (size_t)(end - host) : 0;

    if (!end || *colon != ':' || n == 0 || n >= sizeof(ret_address->host)
        || (!is_ip6 && memchr(host, ':', n)) || !parse_port(colon + 1, ret_address->port))
        return error_set(err, ERROR_USAGE,
                         "'%s' is not HOST:PORT, as gather.example:7878 or [::1]:7878", text);
    memcpy(ret_address->host, host, n);
    ret_address->host[n] = '\0';
    return 0;
}

bool address_is_local(const struct sockaddr *socket_address)
{
    if (socket_address->sa_family == AF_INET) {
        const struct sockaddr_in *ip4 = (const void *)socket_address;
        return ntohl(ip4->sin_addr.s_addr) >> 24 == 127;
    }
    if (socket_address->sa_family == AF_INET6) {
        const struct in6_addr *ip6 =
            &((const struct sockaddr_in6 *)(const void *)socket_address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(ip6) || (IN6_IS_ADDR_V4MAPPED(ip6) && ip6->s6_addr[12] == 127);
    }
    return false;
}

void address_print(const struct sockaddr *socket_address, socklen_t n_bytes, char *ret_text)
{
    char host[ADDRESS_HOST_BYTES];
    char port[8];
    bool is_ip6 = socket_address->sa_family == AF_INET6;

    if (getnameinfo(socket_address, n_bytes, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV)
        != 0)
        (void)snprintf(ret_text, ADDRESS_TEXT_BYTES, "?");
    else
        (void)snprintf(ret_text, ADDRESS_TEXT_BYTES, "%s%s%s:%s", is_ip6 ? "[" : "", host,
                       is_ip6 ? "]" : "", port);
}

static int find(const struct address *address, int flags, struct addrinfo **ret_list,
                struct error *err)
{
    const struct addrinfo hints = {
        .ai_flags = flags | AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int status = getaddrinfo(address->host, address->port, &hints, ret_list);

    return status == 0 ? 0
                       : error_set(err, ERROR_IO, "no address is known of '%s': %s", address->host,
                                   gai_strerror(status));
}

/* Sends small messages immediately, and detects a dead peer. */
static void set_up(int fd)
{
    const int yes = 1;
    const int seconds = KEEP_ALIVE_SECONDS;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

/* 0, or an errno value. */
static int wait_connected(int fd, int timeout_ms)
{
    struct pollfd waiting = {.fd = fd, .events = POLLOUT};
    int os_errno = 0;
    socklen_t n_bytes = sizeof(os_errno);
    int n = poll(&waiting, 1, timeout_ms);

    if (n == 0)
        return ETIMEDOUT;
    if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &os_errno, &n_bytes) != 0)
        return errno;
    return os_errno;
}

static int try_connect(const struct addrinfo *info, int timeout_ms, int *ret_fd)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int os_errno = fd < 0 ? errno : 0;

    if (fd >= 0 && connect(fd, info->ai_addr, info->ai_addrlen) != 0)
        os_errno = errno == EINPROGRESS ? wait_connected(fd, timeout_ms) : errno;
    if (os_errno && fd >= 0)
        close(fd);
    if (os_errno == 0)
        set_up(fd);
    *ret_fd = os_errno ? -1 : fd;
    return os_errno;
}

static int refuse_other(const struct address *address, struct error *err)
{
    return error_set(err, ERROR_USAGE, "--insecure is only for this machine, not for '%s'",
                     address->host);
}

int address_connect(const struct address *address, bool is_local, int timeout_ms, int *ret_fd,
                    struct error *err)
{
    struct addrinfo *list = NULL;
    int os_errno = EPERM;
    int code = find(address, 0, &list, err);

    *ret_fd = -1;
    for (const struct addrinfo *info = list; code == 0 && info && *ret_fd < 0; info = info->ai_next)
        if (!is_local || address_is_local(info->ai_addr))
            os_errno = try_connect(info, timeout_ms, ret_fd);
    if (list)
        freeaddrinfo(list);
    if (code || *ret_fd >= 0)
        return code;
    if (is_local && os_errno == EPERM)
        return refuse_other(address, err);
    return error_set_errno(err, os_errno, "no answer");
}

/* A name that does not resolve now may do so later. */
int address_check_local(const struct address *address, struct error *err)
{
    struct addrinfo *list = NULL;
    bool is_local = find(address, 0, &list, NULL) != 0;

    for (const struct addrinfo *info = list; info && !is_local; info = info->ai_next)
        is_local = address_is_local(info->ai_addr);
    if (list)
        freeaddrinfo(list);
    return is_local ? 0 : refuse_other(address, err);
}

static int try_listen(const struct addrinfo *info, int *ret_fd)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int yes = 1;
    int os_errno = fd < 0 ? errno : 0;

    if (fd < 0)
        return os_errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        os_errno = errno;
        close(fd);
        return os_errno;
    }
    *ret_fd = fd;
    return 0;
}

int address_listen(const struct address *address, bool is_local, int *ret_fd, struct error *err)
{
    struct addrinfo *list = NULL;
    int os_errno = 0;
    int code = find(address, AI_PASSIVE, &list, err);

    *ret_fd = -1;
    if (code)
        return code;
    if (is_local && !address_is_local(list->ai_addr))
        code = refuse_other(address, err);
    else
        os_errno = try_listen(list, ret_fd);
    freeaddrinfo(list);
    if (os_errno)
        code = error_set_errno(err, os_errno, "cannot listen on '%s:%s'", address->host,
                               address->port);
    return code;
}
