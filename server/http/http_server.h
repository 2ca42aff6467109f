/* SPDX-License-Identifier: MIT */
/*
 * http_server: HTTP/1.1 by libmicrohttpd: receives requests, checks auth, sends what the routes
 * answer.
 *
 * Each connection has a thread that sends, and a second one that works while a request is answered.
 * An answer of up to 256 KiB has a length and the final status. A longer one is sent in chunks
 * while it is made; a failure then cuts it off visibly.
 *
 * Threads: answer is called from many threads at a time, each with its own exchange.
 * Errors: one line, for an address in use or no permission.
 */
#ifndef MTRACE_SERVER_HTTP_SERVER_H
#define MTRACE_SERVER_HTTP_SERVER_H

#include "server/http/auth.h"
#include "server/http/exchange.h"

#include <stdint.h>

struct error;
struct http_server;

enum {
    HTTP_SERVER_MAX_CONNECTIONS = 64,
    HTTP_SERVER_FIRST_PORT = 8080,
    HTTP_SERVER_PORTS = 100, /* tried in turn from HTTP_SERVER_FIRST_PORT if no port is given */
};

struct http_server_options {
    const char *address; /* numeric, NULL: 127.0.0.1 */
    uint16_t port;       /* 0: first free port from HTTP_SERVER_FIRST_PORT */
    struct auth guard;
    /* Answers one exchange: 0, or the error. */
    int (*answer)(void *context, struct exchange *exchange, struct error *err);
    void *context;
};

int http_server_start(const struct http_server_options *options, struct http_server **ret,
                      struct error *err);

uint16_t http_server_port(const struct http_server *server);

/* Also ends the running requests. NULL is fine. */
void http_server_stop(struct http_server *server);

#endif
