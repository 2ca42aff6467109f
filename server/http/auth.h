/* SPDX-License-Identifier: MIT */
/*
 * guard: who may ask, decided before anything else of a request is looked at.
 *
 * Model:   on loopback a request must name a loopback host, which a page that rebinds its own name
 *          to 127.0.0.1 cannot. On any other address it must bring the token: as a cookie, as
 *          "Authorization: Bearer TOKEN", or once as ?token=TOKEN, which is answered by the cookie.
 *          Pages of other sites are refused in any case, by what the browser says of them.
 * Invariants
 *   GU-1 with a token, the time of a comparison tells nothing of how much of a guess was right.
 *   GU-2 nothing of a recording is in the answer to a refused request.
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
    char token[AUTH_TOKEN_BYTES]; /* "": none is needed, the server listens on loopback only */
};

/* What the client says of itself; NULL: nothing. */
struct auth_claims {
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *cookie; /* of the name AUTH_COOKIE */
    const char *token;  /* of the address */
};

#define AUTH_COOKIE "mtrace_token"

enum auth_verdict {
    AUTH_ADMITTED,
    AUTH_GIVE_COOKIE, /* the address had the token: answer with the cookie and the address without it */
    AUTH_WRONG_HOST,  /* 421 */
    AUTH_OTHER_SITE,  /* 403 */
    AUTH_NEEDS_TOKEN, /* 401 */
};

/* A new token from the kernel. */
int auth_make_token(struct auth *guard, struct error *err);

enum auth_verdict auth_check(const struct auth *guard, const struct auth_claims *claims);

/* One line for the client. */
const char *auth_text(enum auth_verdict verdict);

#endif
