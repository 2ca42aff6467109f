/* SPDX-License-Identifier: MIT */
#include "server/http/http_server.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "server/http/connection_slots.h"
#include "server/http/head.h"
#include "server/http/response_pipe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 32768,       /* of an answer that is sent as it comes */
    HEADER_BYTES = 256 * 1024, /* of a request, address and parameters included */
    HEAD_SECONDS = 15,         /* for a request's head, from the end of the one before */
    BODY_SECONDS = 60,         /* for all of its body */
    TAKE_SECONDS = 60, /* for what is sent: the whole, or a piece of what is sent as it comes */
    SPARE_CONNECTIONS = 960, /* for connections that were shut down but have not ended yet */
    LOOK_MS =
        100, /* interval at which a waiting connection checks whether its client is still there */
};

struct http_server {
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    struct connection_slots *places;
    uint16_t port;
    atomic_bool is_ending;
};

/* One request, from its first line to its last byte. */
struct conversation {
    struct http_server *server;
    struct place *place;
    struct exchange exchange;
    struct response_pipe *stream;
    pthread_t worker;
    bool has_worker;
    struct error err;
    int rc;
    bool has_too_many; /* parameters */
    bool has_too_much; /* body */
    const char *address_end;
    struct head head;
    char *body;
    size_t body_capacity;
};

/* ---- the worker ---- */

static bool is_abandoned(const void *client)
{
    const struct conversation *conversation = client;

    return response_pipe_is_abandoned(conversation->stream)
           || atomic_load_explicit(&conversation->server->is_ending, memory_order_relaxed);
}

static void send_now(const void *client)
{
    const struct conversation *conversation = client;

    response_pipe_send_now(conversation->stream);
}

static int64_t waited_ns(const void *client)
{
    const struct conversation *conversation = client;

    return response_pipe_waited_ns(conversation->stream);
}

static void give_up(const void *client)
{
    const struct conversation *conversation = client;

    response_pipe_abandon(conversation->stream);
}

static void *work(void *context)
{
    struct conversation *conversation = context;
    const struct http_server_options *options = &conversation->server->options;

    conversation->rc =
        options->answer(options->context, &conversation->exchange, &conversation->err);
    response_pipe_end(conversation->stream, conversation->rc == 0);
    return NULL;
}

/* ---- what is sent ---- */

static void add_policy(struct MHD_Response *response, enum exchange_policy policy)
{
    static const char *const policies[] = {
        [EXCHANGE_POLICY_DATA] = "default-src 'none'; frame-ancestors 'none'",
        [EXCHANGE_POLICY_PAGE] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'",
        [EXCHANGE_POLICY_PICTURE] =
            "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
            "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    };

    (void)MHD_add_response_header(response, "Content-Security-Policy", policies[policy]);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    (void)MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *response)
{
    enum MHD_Result result = response ? MHD_queue_response(connection, status, response) : MHD_NO;

    if (response)
        MHD_destroy_response(response);
    return result;
}

/* An error that needs no worker. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *allow,
                              const struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct MHD_Response *response;

    if (!out)
        return MHD_NO;
    exchange_print_error(out, err);
    if (fclose(out) != 0) {
        free(text);
        return MHD_NO;
    }
    response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    add_policy(response, EXCHANGE_POLICY_DATA);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_UNAUTHORIZED)
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"mtrace\"");
    if (allow)
        (void)MHD_add_response_header(response, "Allow", allow);
    return queue(connection, status, response);
}

static ssize_t send_piece(void *context, uint64_t position, char *ret_bytes, size_t size)
{
    struct conversation *conversation = context;
    size_t n;

    (void)position;
    connection_slots_work_for(conversation->place);
    n = response_pipe_take(conversation->stream, ret_bytes, size);
    connection_slots_wait_for(conversation->place, TAKE_SECONDS);
    if (n > 0)
        return (ssize_t)n;
    /* The worker has ended: a failure must not look like the regular end of the response. */
    return conversation->rc == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                                 : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void add_headers(struct MHD_Response *response, const struct exchange *exchange)
{
    char disposition[EXCHANGE_FILE_NAME_BYTES + 32];

    add_policy(response, exchange->policy);
    (void)MHD_add_response_header(response, "Content-Type", exchange->content_type);
    if (exchange->content_encoding)
        (void)MHD_add_response_header(response, "Content-Encoding", exchange->content_encoding);
    if (exchange->policy == EXCHANGE_POLICY_PAGE) /* plain for clients without gzip */
        (void)MHD_add_response_header(response, "Vary", "Accept-Encoding");
    if (*exchange->etag)
        (void)MHD_add_response_header(response, "ETag", exchange->etag);
    (void)MHD_add_response_header(response, "Cache-Control",
                                  exchange->is_forever ? "private, max-age=31536000, immutable"
                                  : *exchange->etag    ? "no-cache"
                                                       : "no-store");
    if (!*exchange->file_name)
        return;
    (void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
                   exchange->file_name);
    (void)MHD_add_response_header(response, "Content-Disposition", disposition);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection,
                                   struct conversation *conversation, bool is_whole)
{
    struct exchange *exchange = &conversation->exchange;
    char *text = is_whole ? malloc(RESPONSE_PIPE_BYTES) : NULL;
    struct MHD_Response *response;

    if (is_whole && !text)
        return MHD_NO;
    response = is_whole ? MHD_create_response_from_buffer(
                   response_pipe_take(conversation->stream, text, RESPONSE_PIPE_BYTES), text,
                   MHD_RESPMEM_MUST_FREE)
                        : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES,
                                                            send_piece, conversation, NULL);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    add_headers(response, exchange);
    return queue(connection, (unsigned)exchange->status, response);
}

/* ---- from the first line to the answer ---- */

static bool is_client_disconnected(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd socket = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

    return poll(&socket, 1, 0) == 1 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static enum MHD_Result answer(struct MHD_Connection *connection, struct conversation *conversation)
{
    struct exchange *exchange = &conversation->exchange;
    enum response_pipe_state state;

    conversation->stream = response_pipe_new();
    if (!conversation->stream)
        return MHD_NO;
    exchange->out = response_pipe_file(conversation->stream);
    exchange->is_abandoned = is_abandoned;
    exchange->send_now = send_now;
    exchange->waited_ns = waited_ns;
    exchange->give_up = give_up;
    exchange->client = conversation;
    if (pthread_create(&conversation->worker, NULL, work, conversation) != 0)
        return MHD_NO;
    conversation->has_worker = true;
    connection_slots_work_for(conversation->place);
    do {
        state = response_pipe_wait(conversation->stream, LOOK_MS);
        if (state == RESPONSE_PIPE_WORKING && is_client_disconnected(connection))
            return MHD_NO;
    } while (state == RESPONSE_PIPE_WORKING);
    connection_slots_wait_for(conversation->place, TAKE_SECONDS);
    if (state == RESPONSE_PIPE_WHOLE && conversation->rc != 0)
        return refuse(connection,
                      exchange->allow ? MHD_HTTP_METHOD_NOT_ALLOWED
                                      : (unsigned)exchange_status_of(conversation->rc),
                      exchange->allow, &conversation->err);
    return send_answer(connection, conversation, state == RESPONSE_PIPE_WHOLE);
}

static enum MHD_Result add_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct conversation *conversation = context;
    struct exchange *exchange = &conversation->exchange;

    (void)kind;
    if (exchange->n_parameters == EXCHANGE_MAX_PARAMETERS) {
        conversation->has_too_many = true;
        return MHD_NO;
    }
    exchange->parameters[exchange->n_parameters++] =
        (struct exchange_parameter){.name = name, .value = value ? value : ""};
    return MHD_YES;
}

static enum auth_verdict check(struct MHD_Connection *connection, const struct auth *guard)
{
    const struct auth_claims claims = {
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        .origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
        .fetch_site = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
        .authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
        .cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, AUTH_COOKIE),
        .token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"),
    };

    return auth_check(guard, &claims);
}

/* Redirects to the address without the token, which then is not in the browser's history. */
static enum MHD_Result give_cookie(struct MHD_Connection *connection, const struct auth *guard)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    char cookie[AUTH_TOKEN_BYTES + 96];

    if (!response)
        return MHD_NO;
    (void)snprintf(cookie, sizeof(cookie), AUTH_COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/",
                   guard->token);
    (void)MHD_add_response_header(response, "Set-Cookie", cookie);
    (void)MHD_add_response_header(response, "Location", "/");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    return queue(connection, MHD_HTTP_SEE_OTHER, response);
}

static enum MHD_Result refuse_stranger(struct MHD_Connection *connection, enum auth_verdict verdict)
{
    static const unsigned status[] = {
        [AUTH_WRONG_HOST] = MHD_HTTP_MISDIRECTED_REQUEST,
        [AUTH_OTHER_SITE] = MHD_HTTP_FORBIDDEN,
        [AUTH_NEEDS_TOKEN] = MHD_HTTP_UNAUTHORIZED,
    };
    struct error err;

    (void)error_set(&err, ERROR_USAGE, "%s", auth_text(verdict));
    return refuse(connection, status[verdict], NULL, &err);
}

static bool keep_body(struct conversation *conversation, const char *bytes, size_t size)
{
    struct exchange *exchange = &conversation->exchange;
    size_t needed = exchange->body_bytes + size + 1;
    char *body;

    if (needed > EXCHANGE_MAX_BODY_BYTES + 1) {
        conversation->has_too_much = true;
        return true; /* the rest is read and dropped, then refused */
    }
    body = dynamic_array_reserve(conversation->body, &conversation->body_capacity, needed, 1);
    if (!body)
        return false;
    conversation->body = body;
    memcpy(body + exchange->body_bytes, bytes, size);
    exchange->body_bytes += size;
    body[exchange->body_bytes] = '\0';
    exchange->body = body;
    return true;
}

static enum MHD_Result complain(struct MHD_Connection *connection,
                                const struct conversation *conversation)
{
    struct error err;

    if (conversation->has_too_much) {
        (void)error_set(&err, ERROR_USAGE, "the body has more than %d bytes",
                        EXCHANGE_MAX_BODY_BYTES);
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, NULL, &err);
    }
    if (conversation->head.complaint) {
        (void)error_set(&err, ERROR_USAGE, "%s", conversation->head.complaint);
        return refuse(connection, MHD_HTTP_BAD_REQUEST, NULL, &err);
    }
    (void)error_set(&err, ERROR_USAGE, "there are more than %d parameters",
                    EXCHANGE_MAX_PARAMETERS);
    return refuse(connection, MHD_HTTP_BAD_REQUEST, NULL, &err);
}

static bool is_one_of(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* The HTTP status of a method: an error if no route takes it. */
static unsigned status_of_method(const char *method)
{
    static const char *const taken[] = {"GET", "HEAD", "POST", NULL};
    static const char *const known[] = {"PUT",   "DELETE",  "PATCH", "OPTIONS",
                                        "TRACE", "CONNECT", NULL};

    return is_one_of(taken, method)   ? MHD_HTTP_OK
           : is_one_of(known, method) ? MHD_HTTP_METHOD_NOT_ALLOWED
                                      : MHD_HTTP_NOT_IMPLEMENTED;
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection, unsigned status)
{
    struct error err;

    (void)error_set(&err, ERROR_USAGE, "requests are GET, HEAD, and POST of a statement");
    return refuse(connection, status, "GET, HEAD, POST", &err);
}

static struct place *place_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* libmicrohttpd has no memory for thousands of parameters and closes the connection without a
 * response. It parses this text after this callback, so the text can still be cut here. */
static bool cut_parameters(char *address)
{
    char *parameters = strchr(address, '?');
    size_t n = 1;

    for (const char *at = parameters; at && *at; at++)
        n += *at == '&';
    if (n <= EXCHANGE_MAX_PARAMETERS)
        return false;
    parameters[1] = '\0';
    return true;
}

/* Called with the address as sent; libmicrohttpd cuts its own copy at %00. */
static void *begin_conversation(void *context, const char *address,
                                struct MHD_Connection *connection)
{
    struct conversation *conversation = calloc(1, sizeof(*conversation));

    if (!conversation)
        return NULL;
    conversation->server = context;
    conversation->place = place_of(connection);
    conversation->address_end = address + strlen(address);
    head_read_address(&conversation->head, address);
    conversation->has_too_many = cut_parameters((char *)(uintptr_t)address);
    conversation->exchange =
        (struct exchange){.status = MHD_HTTP_OK, .content_type = "application/json"};
    return conversation;
}

/* The head is complete. */
static void read_head(struct MHD_Connection *connection, struct conversation *conversation,
                      const char *url, const char *method, const char *version)
{
    conversation->exchange.method = method;
    conversation->exchange.path = url;
    connection_slots_wait_for(conversation->place, BODY_SECONDS);
    head_read_rest(&conversation->head, connection, conversation->address_end, version);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, conversation);
}

static enum MHD_Result answer_admitted(struct MHD_Connection *connection,
                                       struct conversation *conversation)
{
    unsigned status = status_of_method(conversation->exchange.method);

    if (conversation->has_too_many || conversation->has_too_much)
        return complain(connection, conversation);
    if (status != MHD_HTTP_OK)
        return refuse_method(connection, status);
    conversation->exchange.takes_gzip = exchange_accepts_gzip(
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding"));
    conversation->exchange.if_none_match =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
    return answer(connection, conversation);
}

/* libmicrohttpd calls it with the head of a request, with each piece of its body, and at its end;
 * the list is its own. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request)
{
    struct conversation *conversation = *request;

    (void)context;
    if (!conversation) /* no memory */
        return MHD_NO;
    if (!conversation->exchange.method) {
        read_head(connection, conversation, url, method, version);
        /* The length of the body is unknown, so it is not read. */
        return conversation->head.is_bad_length ? complain(connection, conversation) : MHD_YES;
    }
    if (*upload_bytes > 0) {
        size_t size = *upload_bytes;

        *upload_bytes = 0;
        return keep_body(conversation, upload, size) ? MHD_YES : MHD_NO;
    }
    head_read_body(&conversation->head, conversation->body, conversation->exchange.body_bytes);
    if (conversation->head.complaint)
        return complain(connection, conversation);
    {
        const struct auth *guard = &conversation->server->options.guard;
        enum auth_verdict verdict = check(connection, guard);

        if (verdict == AUTH_GIVE_COOKIE)
            return give_cookie(connection, guard);
        if (verdict != AUTH_ADMITTED)
            return refuse_stranger(connection, verdict);
    }
    return answer_admitted(connection, conversation);
}

static void end_conversation(void *context, struct MHD_Connection *connection, void **request,
                             enum MHD_RequestTerminationCode why)
{
    struct conversation *conversation = *request;

    (void)context;
    (void)why;
    connection_slots_wait_for(place_of(connection), HEAD_SECONDS);
    if (!conversation)
        return;
    if (conversation->has_worker) {
        response_pipe_abandon(conversation->stream);
        (void)pthread_join(conversation->worker, NULL);
    }
    response_pipe_free(conversation->stream);
    free(conversation->body);
    free(conversation);
    *request = NULL;
}

/* A connection was opened or is about to close; the socket is still open. */
static void come_or_go(void *context, struct MHD_Connection *connection, void **place,
                       enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        connection_slots_leave(*place);
        *place = NULL;
    } else if (info) {
        *place = connection_slots_take(server->places, info->connect_fd, HEAD_SECONDS);
    }
}

/* ---- start and end ---- */

/* Either family; the port is filled in later. */
static int read_address(const char *text, struct sockaddr_storage *ret_address, struct error *err)
{
    struct sockaddr_in *ip4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)ret_address;

    *ret_address = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, text ? text : "127.0.0.1", &ip4->sin_addr) == 1)
        ret_address->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &ip6->sin6_addr) == 1)
        ret_address->ss_family = AF_INET6;
    else
        return error_set(err, ERROR_USAGE,
                         "'%s' is no numeric address; 0.0.0.0 is all of this machine's", text);
    return 0;
}

/* The port is at the same place in both families. */
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
               "the port is at another place in IPv6");

static bool try_port(struct http_server *server, struct sockaddr_storage *address, uint16_t port)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;

    ((struct sockaddr_in *)address)->sin_port = htons(port);
    if (address->ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    server->daemon = MHD_start_daemon(
        flags, port, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_SERVER_MAX_CONNECTIONS + SPARE_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        come_or_go, server, MHD_OPTION_LISTENING_ADDRESS_REUSE, 0U, MHD_OPTION_URI_LOG_CALLBACK,
        begin_conversation, server, MHD_OPTION_NOTIFY_COMPLETED, end_conversation, NULL,
        MHD_OPTION_END);
    server->port = port;
    return server->daemon != NULL;
}

int http_server_start(const struct http_server_options *options, struct http_server **ret,
                      struct error *err)
{
    const uint16_t first = options->port ? options->port : HTTP_SERVER_FIRST_PORT;
    const int n_ports = options->port ? 1 : HTTP_SERVER_PORTS;
    struct sockaddr_storage address;
    struct http_server *server;
    int rc = read_address(options->address, &address, err);

    if (rc != 0)
        return rc;
    server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    server->options = *options;
    atomic_init(&server->is_ending, false);
    rc = connection_slots_start(HTTP_SERVER_MAX_CONNECTIONS, &server->places, err);
    if (rc != 0) {
        free(server);
        return rc;
    }
    for (int i = 0; i < n_ports && !server->daemon; i++)
        (void)try_port(server, &address, (uint16_t)(first + i));
    if (!server->daemon) {
        rc = error_set_errno(err, errno, "cannot listen on port %u%s", first,
                             options->port ? "" : " or one of the next 100");
        connection_slots_stop(server->places);
        free(server);
        return rc;
    }
    *ret = server;
    return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_stop(struct http_server *server)
{
    if (!server)
        return;
    atomic_store_explicit(&server->is_ending, true, memory_order_relaxed);
    MHD_stop_daemon(server->daemon);
    connection_slots_stop(server->places);
    free(server);
}
