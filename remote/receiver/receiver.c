/* SPDX-License-Identifier: MIT */
#include "remote/receiver/receiver.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "lib/base/units.h"
#include "remote/receiver/discovery_responder.h"
#include "remote/receiver/receiver_session.h"
#include "remote/wire/channel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    MAX_WAITING_BYTES = 65536, /* RC-3 */
    MAX_READS = 16,            /* of one connection, before others are served */
    MAX_COMPLAINTS = 20,       /* per minute */
    MAX_SENDERS = 1024,        /* that have a share of their own */
    POLL_MS = 500,
    FIXED_FDS = 3, /* in front of those of connections */
};

static const uint64_t ms_ns = 1000000;
static const uint64_t minute_ns = UINT64_C(60000000000);

/* An authenticated name, kept as long as the receiver runs. */
struct sender {
    char name[SECURITY_NAME_BYTES];
    struct receiver_session_share share;
};

struct connection {
    struct channel channel;
    struct receiver_session intake;
    struct wire_reader *reader; /* NULL before authentication */
    struct receiver *receiver;
    bool is_refused;      /* and got the reason */
    bool is_leaving;      /* RC-4 */
    uint64_t received_ns; /* last message; or of the connection, or of leaving */
    char peer[SECURITY_NAME_BYTES + ADDRESS_TEXT_BYTES + 8];
    struct connection *next;
};

struct receiver {
    const struct receiver_settings *settings;
    int listener, signals;
    struct discovery_responder announcer;
    struct connection *connections; /* newest first */
    size_t n_connections;
    uint64_t n_owners; /* ever created */
    struct sender *senders;
    size_t n_senders;
    uint64_t complaints_ns;
    uint64_t n_complaints;
    uint64_t complaint_hash; /* of the last message, which is not repeated within a minute */
    uint64_t now_ns;
    uint64_t accept_due_ns; /* no descriptors are available before this time */
};

/* ---- messages -------------------------------------------------------------------------------- */

/* Limits messages about strangers, who could fill the disk with them. */
static void complain(struct receiver *receiver, const char *peer, const char *why)
{
    size_t n_peer = strcspn(peer, ":"); /* each attempt has another port */
    uint64_t hash = XXH64(why, strlen(why), XXH64(peer, n_peer, 0));

    if (receiver->now_ns - receiver->complaints_ns > minute_ns) {
        if (receiver->n_complaints > MAX_COMPLAINTS)
            (void)fprintf(stderr, "mtrace-gather: %llu more connections were cut off\n",
                          (unsigned long long)(receiver->n_complaints - MAX_COMPLAINTS));
        receiver->complaints_ns = receiver->now_ns;
        receiver->n_complaints = 0;
        receiver->complaint_hash = 0;
    }
    if (hash == receiver->complaint_hash)
        return;
    receiver->complaint_hash = hash;
    if (receiver->n_complaints++ < MAX_COMPLAINTS)
        (void)fprintf(stderr, "mtrace-gather: %s is cut off: %s\n", peer, why);
}

static void emit(void *context, enum receiver_session_news news, const struct store_log *log,
                 const char *why)
{
    const struct connection *connection = context;
    char size[UNITS_TEXT_BYTES];

    (void)units_format_bytes((int64_t)log->size_bytes, size);
    if (news == RECEIVER_SESSION_BEGUN)
        (void)printf("%s: begun by %s\n", log->name, connection->peer);
    else if (news == RECEIVER_SESSION_RESUMED)
        (void)printf("%s: goes on, %s so far, by %s\n", log->name, size, connection->peer);
    else if (news == RECEIVER_SESSION_ENDED)
        (void)printf("%s: ended, %s\n", log->name, size);
    else if (news == RECEIVER_SESSION_UNENDED)
        (void)printf("%s: cut at %s, where its recorder left it; its end comes when it is packed "
                     "and sent again\n",
                     log->name, size);
    else
        (void)printf("%s: cut at %s: %s; it goes on when it is sent again\n", log->name, size, why);
    (void)fflush(stdout);
}

/* ---- one connection -------------------------------------------------------------------------- */

static int put(void *context, const struct wire_head *head, const void *payload, struct error *err)
{
    struct connection *connection = context;

    return channel_put(&connection->channel, head, payload, err);
}

static void free_connection(struct connection *connection)
{
    (void)receiver_session_done(&connection->intake, "mtrace-gather was ended");
    channel_close(&connection->channel);
    free(connection->reader);
    free(connection);
}

/* By the peer's name; beyond the limit, further names share the last entry. */
static struct receiver_session_share *share_of(struct receiver *receiver, const char *name)
{
    for (size_t i = 0; i < receiver->n_senders; i++)
        if (strcmp(receiver->senders[i].name, name) == 0)
            return &receiver->senders[i].share;
    if (receiver->n_senders < MAX_SENDERS) {
        struct sender *sender = &receiver->senders[receiver->n_senders++];
        (void)snprintf(sender->name, sizeof(sender->name), "%s", name);
        return &sender->share;
    }
    return &receiver->senders[MAX_SENDERS - 1].share;
}

/* Called after authentication. */
static int admit(struct connection *connection, struct error *err)
{
    struct receiver *receiver = connection->receiver;
    char address[ADDRESS_TEXT_BYTES];
    char name[SECURITY_NAME_BYTES] = "";

    (void)snprintf(address, sizeof(address), "%.*s", ADDRESS_TEXT_BYTES - 1, connection->peer);
    if (connection->channel.session)
        security_get_peer(connection->channel.session, name, sizeof(name));
    if (*name)
        (void)snprintf(connection->peer, sizeof(connection->peer), "%s at %s", name, address);
    connection->intake =
        (struct receiver_session){.store = receiver->settings->store,
                                  .put = put,
                                  .emit = emit,
                                  .context = connection,
                                  .owner = ++receiver->n_owners,
                                  .max_bytes = receiver->settings->max_sender_bytes,
                                  .share = share_of(receiver, name)};
    connection->reader = malloc(sizeof(*connection->reader));
    if (!connection->reader)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    wire_reader_init(connection->reader);
    return 0;
}

/* Sends the reason to the sender, if it still reads. */
static void refuse(struct connection *connection, const char *why)
{
    const struct wire_head head = {.kind = WIRE_REFUSED,
                                   .log = WIRE_ALL_LOGS,
                                   .n_bytes = (uint32_t)strnlen(why, WIRE_TEXT_BYTES)};

    if (channel_put(&connection->channel, &head, why, NULL) == 0)
        (void)channel_flush(&connection->channel, NULL);
}

static int take_all(struct connection *connection, struct error *err)
{
    struct wire_reader *reader = connection->reader;
    int code = 0;

    for (int i = 0; code == 0 && i < MAX_READS; i++) {
        size_t n_room;
        void *room = wire_reader_room(reader, &n_room);
        ssize_t n = channel_get(&connection->channel, room, n_room, err);
        if (n <= 0)
            return (int)n;
        wire_reader_add(reader, (size_t)n);
        code = receiver_session_take(&connection->intake, reader, err);
        if (reader->begin > 0)
            connection->received_ns = connection->receiver->now_ns;
        if (code) {
            refuse(connection, err->text);
            connection->is_refused = true;
        }
    }
    return code;
}

/* RC-4. True: the connection stays open for now. */
static bool begin_to_leave(struct connection *connection)
{
    if (!connection->is_refused || connection->is_leaving
        || shutdown(connection->channel.fd, SHUT_WR) != 0)
        return false;
    connection->is_leaving = true;
    connection->received_ns = connection->receiver->now_ns;
    return true;
}

static int drain(const struct connection *connection, struct error *err)
{
    char bytes[4096];
    ssize_t n = 0;

    for (int i = 0; i < MAX_READS; i++) {
        n = recv(connection->channel.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n <= 0)
            break;
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return 0;
    return error_set(err, ERROR_IO, "it has left");
}

static int step(struct connection *connection, struct error *err)
{
    int code = 0;

    if (connection->is_leaving)
        return drain(connection, err);
    if (!connection->reader) {
        code = channel_shake(&connection->channel, err);
        if (code > 0)
            return 0;
        if (code == 0)
            code = admit(connection, err);
    }
    if (code == 0 && channel_waits(&connection->channel) <= MAX_WAITING_BYTES)
        code = take_all(connection, err);
    return code ? code : channel_flush(&connection->channel, err);
}

static int check_time_limit(const struct connection *connection, uint64_t now_ns, struct error *err)
{
    uint64_t silent_ns = now_ns - connection->received_ns;
    bool is_known = connection->reader && connection->intake.has_greeted;

    if (connection->is_leaving)
        return silent_ns > RECEIVER_LEAVE_NS ? error_set(err, ERROR_IO, "it does not leave") : 0;
    if (!is_known && silent_ns > RECEIVER_SHAKE_NS)
        return error_set(err, ERROR_IO, "it did not identify itself in time");
    if (silent_ns > RECEIVER_SILENCE_NS)
        return error_set(err, ERROR_IO, "it was silent for too long");
    return 0;
}

/* ---- all connections ------------------------------------------------------------------------- */

static void drop(struct receiver *receiver, struct connection **link)
{
    struct connection *connection = *link;

    *link = connection->next;
    receiver->n_connections--;
    free_connection(connection);
}

/* RC-1 */
static bool make_place(struct receiver *receiver)
{
    struct connection **oldest = NULL;

    if (receiver->n_connections < receiver->settings->max_connections)
        return true;
    for (struct connection **link = &receiver->connections; *link; link = &(*link)->next)
        if (!(*link)->reader)
            oldest = link;
    if (!oldest)
        return false;
    complain(receiver, (*oldest)->peer,
             "other senders need its slot, and it has not identified itself");
    drop(receiver, oldest);
    return true;
}

static void accept_one(struct receiver *receiver, int fd, const struct sockaddr *from,
                       socklen_t n_from)
{
    const struct security *security = receiver->settings->security;
    struct connection *connection = calloc(1, sizeof(*connection));
    char peer[ADDRESS_TEXT_BYTES];

    address_print(from, n_from, peer);
    if (!connection || !make_place(receiver)
        || (security->is_insecure && !address_is_local(from))) {
        complain(receiver, peer, "there are too many connections (--max-connections)");
        free(connection);
        close(fd);
        return;
    }
    if (channel_open(fd, security, true, NULL, &connection->channel, NULL) != 0) {
        free(connection);
        return;
    }
    memcpy(connection->peer, peer, sizeof(peer));
    connection->receiver = receiver;
    connection->received_ns = receiver->now_ns;
    connection->next = receiver->connections;
    receiver->connections = connection;
    receiver->n_connections++;
}

static void accept_all(struct receiver *receiver)
{
    struct sockaddr_storage from;

    for (int i = 0; i < MAX_READS; i++) {
        socklen_t n_from = sizeof(from);
        int fd = accept4(receiver->listener, (struct sockaddr *)&from, &n_from,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
            receiver->accept_due_ns = receiver->now_ns + POLL_MS * ms_ns;
        if (fd < 0)
            return;
        accept_one(receiver, fd, (const struct sockaddr *)&from, n_from);
    }
}

static short events_of(const struct connection *connection)
{
    short events = channel_events(&connection->channel, !connection->reader);

    if (connection->is_leaving)
        return POLLIN;
    if (connection->reader && channel_waits(&connection->channel) > MAX_WAITING_BYTES)
        events = POLLOUT;
    return events;
}

static void step_all(struct receiver *receiver, const struct pollfd *ready, size_t n_ready)
{
    struct connection **link = &receiver->connections;

    for (size_t i = 0; *link; i++) {
        struct connection *connection = *link;
        struct error err = {0};
        int code = 0;
        if (i < n_ready && ready[i].revents)
            code = step(connection, &err);
        if (code == 0)
            code = check_time_limit(connection, receiver->now_ns, &err);
        if (code == 0) {
            link = &connection->next;
            continue;
        }
        if (!connection->is_leaving && !receiver_session_is_idle(&connection->intake)
            && !receiver_session_done(&connection->intake, err.text))
            complain(receiver, connection->peer, err.text);
        if (begin_to_leave(connection))
            link = &connection->next;
        else
            drop(receiver, link);
    }
}

static void step_announcer(struct receiver *receiver)
{
    uint64_t n_ignored;

    discovery_responder_step(&receiver->announcer, receiver->now_ns);
    n_ignored = discovery_responder_ignored(&receiver->announcer, receiver->now_ns);
    if (n_ignored)
        (void)fprintf(stderr,
                      "mtrace-gather: ignored %llu discovery messages: forged, replayed, or from a "
                      "clock that is more than a minute off\n",
                      (unsigned long long)n_ignored);
}

/* True: a signal arrived. */
static bool wait_and_step(struct receiver *receiver, struct pollfd *fds)
{
    size_t n = FIXED_FDS;

    fds[0] = (struct pollfd){.fd = receiver->signals, .events = POLLIN};
    fds[1] =
        (struct pollfd){.fd = receiver->now_ns < receiver->accept_due_ns ? -1 : receiver->listener,
                        .events = POLLIN};
    fds[2] = (struct pollfd){.fd = receiver->announcer.fd, .events = POLLIN};
    for (const struct connection *at = receiver->connections; at; at = at->next)
        fds[n++] = (struct pollfd){.fd = at->channel.fd, .events = events_of(at)};
    if (poll(fds, n, POLL_MS) < 0 && errno != EINTR)
        return true;
    receiver->now_ns = monotonic_now_ns();
    if (fds[0].revents)
        return true;
    step_all(receiver, fds + FIXED_FDS, n - FIXED_FDS);
    if (fds[1].revents)
        accept_all(receiver);
    if (fds[2].revents)
        step_announcer(receiver);
    return false;
}

/* Each log that is received needs a descriptor. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int prepare(struct receiver *receiver, sigset_t *signals, struct error *err)
{
    struct sockaddr_storage bound;
    socklen_t n_bound = sizeof(bound);
    char text[ADDRESS_TEXT_BYTES];
    int code = address_listen(&receiver->settings->address,
                              receiver->settings->security->is_insecure, &receiver->listener, err);

    if (code)
        return code;
    receiver->signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (receiver->signals < 0
        || getsockname(receiver->listener, (struct sockaddr *)&bound, &n_bound) != 0)
        return error_set_errno(err, errno, "cannot listen");
    if (receiver->settings->is_announcing)
        code = discovery_responder_open(receiver->settings->security,
                                        (const struct sockaddr *)&bound, &receiver->announcer, err);
    if (code)
        return code;
    address_print((const struct sockaddr *)&bound, n_bound, text);
    (void)printf("listening on %s%s; logs go to %s\n", text,
                 receiver->settings->is_announcing ? ", and found by --to discover" : "",
                 receiver->settings->folder);
    (void)fflush(stdout);
    return 0;
}

int receiver_run(const struct receiver_settings *settings, struct error *err)
{
    struct receiver receiver = {.settings = settings,
                                .listener = -1,
                                .signals = -1,
                                .announcer.fd = -1,
                                .now_ns = monotonic_now_ns()};
    struct pollfd *fds = calloc(settings->max_connections + FIXED_FDS, sizeof(*fds));
    sigset_t signals;
    int code = 0;

    receiver.senders = calloc(MAX_SENDERS, sizeof(*receiver.senders));
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    allow_descriptors();
    if (!fds || !receiver.senders)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    if (code == 0)
        code = prepare(&receiver, &signals, err);
    while (code == 0 && !wait_and_step(&receiver, fds))
        ;
    while (receiver.connections)
        drop(&receiver, &receiver.connections);
    if (receiver.listener >= 0)
        close(receiver.listener);
    if (receiver.signals >= 0)
        close(receiver.signals);
    discovery_responder_close(&receiver.announcer);
    free(receiver.senders);
    free(fds);
    return code;
}
