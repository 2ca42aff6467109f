/* SPDX-License-Identifier: MIT */
/*
 * auth: decides who may send requests, before any other part of a request is read.
 *
 * On loopback a request must name a loopback host. A page that rebinds its own name to 127.0.0.1
 * cannot do that. On other addresses it must bring the token: as a cookie, as "Authorization:
 * Bearer TOKEN", or once as ?token=TOKEN, which is answered with the cookie. Requests from pages of
 * other sites, as reported by the browser, are always refused.
 *
 * Invariants
 *   GU-1 With a token, the time of a comparison does not depend on the number of correct bytes.
 *   GU-2 The answer to a refused request contains nothing of a recording.
 */
#ifndef MTRACE_SERVER_AUTH_H
#define MTRACE_SERVER_AUTH_H

#include <stdbool.h>
#include <stddef.h>

struct error;

enum {
    AUTH_TOKEN_BYTES = 44 /* 32 random bytes in base 64, and '\0' */
};

struct auth {
    char token[AUTH_TOKEN_BYTES]; /* "": not needed, the server listens on loopback only */
};

/* What the client claims; NULL: nothing. */
struct auth_claims {
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *cookie; /* the cookie AUTH_COOKIE */
    const char *token;  /* the parameter of the address */
};

#define AUTH_COOKIE "mtrace_token"

enum auth_verdict {
    AUTH_ADMITTED,
    AUTH_GIVE_COOKIE, /* the address had the token: redirect without it and set the cookie */
    AUTH_WRONG_HOST,  /* 421 */
    AUTH_OTHER_SITE,  /* 403 */
    AUTH_NEEDS_TOKEN, /* 401 */
};

/* Makes a new token from random bytes of the kernel. */
int auth_make_token(struct auth *guard, struct error *err);

enum auth_verdict auth_check(const struct auth *guard, const struct auth_claims *claims);

/* The message for the client, one line. */
const char *auth_text(enum auth_verdict verdict);

#endif
