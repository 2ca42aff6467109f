/* SPDX-License-Identifier: MIT */
/*
 * exchange: one HTTP request and its response, independent of the HTTP library.
 *
 * http_server fills in the request, calls the function of the route in a thread of its own and
 * sends what that prints to `out`. If the function fails before 256 KiB were sent, the output is
 * dropped and the client gets the status of the error and a JSON object with its message. An
 * exchange belongs to the thread that answers it.
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

/* The Content-Security-Policy of the response. */
enum exchange_policy {
    EXCHANGE_POLICY_DATA,    /* nothing */
    EXCHANGE_POLICY_PAGE,    /* scripts and data of this server */
    EXCHANGE_POLICY_PICTURE, /* its own scripts, in a sandbox without an origin */
};

struct exchange {
    /* the request */
    const char *method;
    const char *path; /* decoded */
    struct exchange_parameter parameters[EXCHANGE_MAX_PARAMETERS];
    size_t n_parameters;
    const char *body; /* of POST, followed by NUL; NULL: none */
    size_t body_bytes;
    const char *if_none_match; /* NULL: none */
    bool takes_gzip;           /* by its Accept-Encoding */

    /* the response */
    FILE *out;
    int status;                               /* of HTTP; 200 unless changed */
    const char *content_type;                 /* application/json unless changed */
    const char *content_encoding;             /* NULL: none */
    char etag[EXCHANGE_ETAG_BYTES];           /* with its quotes; "": none */
    char file_name[EXCHANGE_FILE_NAME_BYTES]; /* for saving; "": shown */
    bool is_forever; /* the response to this address never changes: clients may cache it */
    enum exchange_policy policy;
    const char *allow; /* the allowed methods, after exchange_check_method failed */

    void (*send_now)(const void *client);     /* from now on each flush of `out` is sent */
    bool (*is_abandoned)(const void *client); /* the client disconnected, or the server ends */
    int64_t (*waited_ns)(const void *client); /* total time that writes waited for the client */
    void (*give_up)(const void *client);      /* sends nothing more */
    const void *client;
};

/* The value of a parameter, of the last one if it is repeated; NULL: not given. */
const char *exchange_parameter(const struct exchange *exchange, const char *name);

/* Fails with 405 unless the request has this method (HEAD counts as GET). `use`: its purpose, for
 * the message. */
int exchange_check_method(struct exchange *exchange, const char *method, const char *use,
                          struct error *err);

/* Sets the ETag. True: the client has this version, print nothing. */
bool exchange_is_known(struct exchange *exchange, const char *etag);

/* Does this value of Accept-Encoding (NULL: none) allow gzip? */
bool exchange_accepts_gzip(const char *accepted);

/* The HTTP status of an enum error_code. */
int exchange_status_of(int code);

/* {"error": {"code": "usage", "message": "…"}} */
void exchange_print_error(FILE *out, const struct error *err);

#endif
