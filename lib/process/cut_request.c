/* SPDX-License-Identifier: MIT */
#include "lib/process/cut_request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A control message with one descriptor, aligned as the kernel requires. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int cut_request_open(int ret_ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) == 0 ? 0 : errno;
}

static bool put_request(int end, const struct cut_request *request, int reply_fd)
{
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof *request};
    union control control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;

    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &reply_fd, sizeof reply_fd);
    do
        n = sendmsg(end, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == sizeof *request;
}

int cut_request_begin(int end, const struct cut_request *request)
{
    int ends[2];

    if (cut_request_open(ends) != 0)
        return -1;
    bool is_sent = put_request(end, request, ends[1]);

    close(ends[1]); /* otherwise we would wait for ourselves */
    if (!is_sent)
        close(ends[0]);
    return is_sent ? ends[0] : -1;
}

/* False: the other end is closed. */
static bool put(int end, const void *packet, size_t n_bytes)
{
    ssize_t n;

    do
        n = send(end, packet, n_bytes, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)n_bytes;
}

bool cut_request_finish(int own_end, const struct cut_order *order, struct cut_reply *ret_reply)
{
    ssize_t n = 0;

    /* A failure here shows in what is received next. If the peer closed without reading our packet,
     * or replied without it, the socket reports that first, and once. */
    (void)put(own_end, order, sizeof *order);
    do
        n = recv(own_end, ret_reply, sizeof *ret_reply, 0);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    close(own_end);
    return n == sizeof *ret_reply;
}

void cut_request_cancel(int own_end)
{
    if (own_end >= 0)
        close(own_end);
}

static int descriptor_of(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
        && header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

int cut_request_take(int end, struct cut_request *ret_request, int *ret_reply_fd)
{
    struct iovec bytes = {.iov_base = ret_request, .iov_len = sizeof *ret_request};
    union control control;
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(end, &message, MSG_CMSG_CLOEXEC);

    if (n <= 0)
        return n < 0 ? -errno : 0;
    *ret_reply_fd = descriptor_of(&message);
    ret_request->until_marker[sizeof ret_request->until_marker - 1] = '\0';
    ret_request->target[sizeof ret_request->target - 1] = '\0';
    if (n == sizeof *ret_request && *ret_reply_fd >= 0)
        return 1;
    if (*ret_reply_fd >= 0)
        close(*ret_reply_fd);
    return -EPROTO;
}

bool cut_request_receive(int reply_fd, int max_ms, struct cut_order *ret_order)
{
    struct pollfd end = {.fd = reply_fd, .events = POLLIN};

    return poll(&end, 1, max_ms) > 0
           && recv(reply_fd, ret_order, sizeof *ret_order, MSG_DONTWAIT) == sizeof *ret_order;
}

void cut_request_reply(int reply_fd, const struct cut_reply *reply)
{
    (void)put(reply_fd, reply, sizeof *reply);
}
