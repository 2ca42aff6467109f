/* SPDX-License-Identifier: MIT */
/*
 * exchange: one request and the answer that is being made of it, without any word of HTTP's wire.
 *
 * Model:   http_server fills the question, calls the route's function in a thread of its own, and
 *          sends what that printed to `out`. A function that fails before its first 256 KiB have
 *          gone gives the client a JSON object with the reason instead, and the status that belongs to
 *          the code: what it had printed is dropped.
 * Threads: an exchange belongs to the thread that answers it.
 */
#ifndef MTRACE_SERVER_EXCHANGE_H
#define MTRACE_SERVER_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;

enum {
    EXCHANGE_MAX_PARAMETERS = 128,
    EXCHANGE_MAX_BODY_BYTES = 1024 * 1024,
    EXCHANGE_ETAG_BYTES = 64,
    EXCHANGE_FILE_NAME_BYTES = 128,
};

struct exchange_parameter {
    const char *name;
    const char *value; /* decoded; "" where there is no "=" */
};

/* What a page of this answer may do in a browser. */
enum exchange_policy {
    EXCHANGE_POLICY_DATA,    /* nothing */
    EXCHANGE_POLICY_PAGE,    /* scripts and data of this server */
    EXCHANGE_POLICY_PICTURE, /* its own scripts, in a sandbox without an origin */
};

struct exchange {
    /* the question */
    const char *method;
    const char *path; /* decoded */
    struct exchange_parameter parameters[EXCHANGE_MAX_PARAMETERS];
    size_t n_parameters;
    const char *body; /* of POST, with a '\0' behind it; NULL: none */
    size_t body_bytes;
    const char *if_none_match; /* NULL: none */

    /* the answer */
    FILE *out;
    int status;                               /* of HTTP; 200 unless changed */
    const char *content_type;                 /* application/json unless changed */
    const char *content_encoding;             /* NULL: none */
    char etag[EXCHANGE_ETAG_BYTES];           /* with its quotes; "": none */
    char file_name[EXCHANGE_FILE_NAME_BYTES]; /* for saving; "": shown */
    bool is_forever; /* this address has no other answer, ever: a client need not ask again */
    enum exchange_policy policy;
    const char *allow; /* the methods that there are, after exchange_check_method has refused */

    void (*send_now)(const void *client);     /* from now on each flush of `out` is sent */
    bool (*is_abandoned)(const void *client); /* the client has gone, or the server is to end */
    int64_t (*waited_ns)(const void *client); /* for the client to take what was printed, in all */
    void (*give_up)(const void *client);      /* nothing more is sent */
    const void *client;
};

/* The value of a parameter, the last one where it is repeated; NULL: not given. */
const char *exchange_parameter(const struct exchange *exchange, const char *name);

/* 405 unless the method is this one; HEAD goes for GET. `use` says in the message what it is for. */
int exchange_check_method(struct exchange *exchange, const char *method, const char *use,
                          struct error *err);

/* Sets the ETag; true when the client has just that, and nothing needs to be printed. */
bool exchange_is_known(struct exchange *exchange, const char *etag);

/* Of HTTP, for an enum error_code. */
int exchange_status_of(int code);

/* {"error": {"code": "usage", "message": "…"}} */
void exchange_print_error(FILE *out, const struct error *err);

#endif
