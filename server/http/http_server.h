/* SPDX-License-Identifier: MIT */
/*
 * http_server: HTTP/1.1 by libmicrohttpd: takes requests, asks the guard, sends what routes answer.
 *
 * Model:   one thread for each connection, which sends; one more while a request is answered, which
 *          works. An answer of up to 256 KiB has its length and the status its work ended with; a
 *          longer one is sent in chunks while it is made, and a failure cuts it off visibly.
 * Threads: answer is called from many threads at once, each with its own exchange.
 * Failure: an address in use, no permission: one line.
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
    HTTP_SERVER_PORTS = 100, /* tried from the first one on, when none was asked for */
};

struct http_server_options {
    const char *address; /* numeric, NULL: 127.0.0.1 */
    uint16_t port;       /* 0: the first free one from HTTP_SERVER_FIRST_PORT on */
    struct auth guard;
    /* Answers one exchange: 0, or the error. */
    int (*answer)(void *context, struct exchange *exchange, struct error *err);
    void *context;
};

int http_server_start(const struct http_server_options *options, struct http_server **ret,
                      struct error *err);

uint16_t http_server_port(const struct http_server *server);

/* Ends what is being answered, too. NULL is fine. */
void http_server_stop(struct http_server *server);

#endif
