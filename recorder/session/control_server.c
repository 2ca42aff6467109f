/* SPDX-License-Identifier: MIT */
#include "recorder/session/control_server.h"

#include "lib/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t SILENCE_NS = 1000000000;
static const uint64_t CONTROL_TIME_LIMIT_NS = 1000000000;
static const uint64_t REPORT_TIME_LIMIT_NS = 60000000000;

void control_server_wake_by(int fd)
{
    if (fcntl(fd, F_SETOWN, getpid()) == 0)
        (void)fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
}

int control_server_open(struct control_server *server, struct error *err)
{
    struct sockaddr_un address;
    socklen_t n = control_message_address(getpid(), &address);
    int code;

    for (int i = 0; i < CONTROL_CLIENTS; i++)
        server->clients[i].fd = -1;
    server->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->fd >= 0 && bind(server->fd, (const struct sockaddr *)(const void *)&address, n) == 0
        && listen(server->fd, CONTROL_QUEUE) == 0) {
        control_server_wake_by(server->fd);
        return 0;
    }
    code = error_set_errno(err, errno, "--ctl cannot reach this run: cannot listen on '@%s'",
                           address.sun_path + 1);
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
    return code;
}

static void let_go(struct control_client *client)
{
    (void)close(client->fd);
    client->fd = -1;
}

static void answer(struct control_client *client, enum control_answer answer, const char *text)
{
    char message[CONTROL_MESSAGE_BYTES];
    int n = snprintf(message, sizeof(message), "%d%s", (int)answer, text);

    if (n >= (int)sizeof(message))
        n = sizeof(message) - 1;
    (void)!send(client->fd, message, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    let_go(client);
}

/* CS-2 */
static bool may_connect(struct control_client *client, const struct control_target *target)
{
    struct ucred peer;

    if (!control_message_peer(client->fd, &peer))
        return false;
    client->is_operator = peer.uid == geteuid() || peer.uid == 0;
    return client->is_operator || target->is_recorded(target->context, peer.pid);
}

static void accept_all(struct control_server *server, uint64_t now_ns,
                       const struct control_target *target)
{
    for (int i = 0; i < CONTROL_CLIENTS; i++) {
        struct control_client *client = &server->clients[i];
        if (client->fd >= 0)
            continue;
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        *client = (struct control_client){.fd = fd, .since_ns = now_ns};
        control_server_wake_by(fd);
        if (!may_connect(client, target))
            answer(client, CONTROL_NOT_MINE, "");
    }
}

static void receive(struct control_client *client, uint64_t now_ns,
                    const struct control_target *target)
{
    char text[CONTROL_MESSAGE_BYTES];
    char why[CONTROL_MESSAGE_BYTES] = "";
    ssize_t n = recv(client->fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (now_ns - client->since_ns > SILENCE_NS)
            let_go(client);
        return;
    }
    if (n <= 0) {
        let_go(client);
        return;
    }
    text[(size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1] = '\0';
    if (!control_message_parse(text, (size_t)n, &client->request)) {
        answer(client, CONTROL_FAILED, CONTROL_NOT_UNDERSTOOD);
        return;
    }
    if (client->request.verb == CONTROL_ASK) {
        if (!target->take(target->context, &client->request, client->fd))
            (void)close(client->fd);
        client->fd = -1;
        return;
    }
    if (!client->is_operator) {
        answer(client, CONTROL_NOT_MINE, "");
        return;
    }
    client->has_asked = true;
    client->since_ns = now_ns;
    if (!target->begin(target->context, &client->request, &client->number, why, sizeof(why)))
        answer(client, *why ? CONTROL_FAILED : CONTROL_NOT_MINE, why);
}

/* text: the reason for a failure; "": it only takes longer. */
static void give_up(struct control_client *client, const char *text)
{
    if (*text)
        answer(client, CONTROL_FAILED, text);
    else if (client->request.verb == CONTROL_REPORT)
        answer(
            client, CONTROL_LATER,
            "requested; the report takes longer than a minute: it will be written next to the log");
    else
        answer(client, CONTROL_DONE,
               "requested; the program does it at its next allocation or free");
}

static void look(struct control_client *client, uint64_t now_ns,
                 const struct control_target *target)
{
    uint64_t time_limit = client->request.verb == CONTROL_REPORT
                                  || client->request.verb == CONTROL_HEAP_IMAGE
                                  || client->request.verb == CONTROL_DETACH
                              ? REPORT_TIME_LIMIT_NS
                              : CONTROL_TIME_LIMIT_NS;
    char text[CONTROL_MESSAGE_BYTES] = "";
    bool has_failed = false;

    if (target->is_done(target->context, &client->request, client->number, text, sizeof(text),
                        &has_failed))
        answer(client, has_failed ? CONTROL_FAILED : CONTROL_DONE, text);
    else if (now_ns - client->since_ns > time_limit)
        give_up(client, text);
}

void control_server_step(struct control_server *server, uint64_t now_ns,
                         const struct control_target *target)
{
    if (server->fd < 0)
        return;
    accept_all(server, now_ns, target);
    for (int i = 0; i < CONTROL_CLIENTS; i++) {
        struct control_client *client = &server->clients[i];
        if (client->fd >= 0 && !client->has_asked)
            receive(client, now_ns, target);
        if (client->fd >= 0 && client->has_asked)
            look(client, now_ns, target);
    }
}

bool control_server_is_busy(const struct control_server *server)
{
    for (int i = 0; server->fd >= 0 && i < CONTROL_CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            return true;
    return false;
}

void control_server_close(struct control_server *server)
{
    if (server->fd < 0)
        return;
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            answer(&server->clients[i], CONTROL_FAILED, "the program has ended");
    (void)close(server->fd);
    server->fd = -1;
}
