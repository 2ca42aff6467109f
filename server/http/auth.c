/* SPDX-License-Identifier: MIT */
#include "server/http/auth.h"

#include "lib/base/error.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum {
    RANDOM_BYTES = 32
};

int auth_make_token(struct auth *guard, struct error *err)
{
    /* Base 64 of RFC 4648 §5, which is valid in addresses and cookies. */
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char random[RANDOM_BYTES + 1] = {0};
    size_t n = 0;

    if (getrandom(random, RANDOM_BYTES, 0) != RANDOM_BYTES)
        return error_set_errno(err, errno, "the kernel gives no random numbers for a token");
    for (size_t bit = 0; bit < RANDOM_BYTES * (size_t)8; bit += 6) {
        unsigned pair = (unsigned)random[bit / 8] << 8 | random[bit / 8 + 1];

        guard->token[n++] = letters[pair >> (10 - bit % 8) & 63];
    }
    guard->token[n] = '\0';
    return 0;
}

/* Compares all bytes in constant time (GU-1). */
static bool is_token(const struct auth *guard, const char *guess)
{
    size_t length = guess ? strlen(guess) : 0;
    unsigned char difference = length != strlen(guard->token);

    for (size_t i = 0; guard->token[i]; i++)
        difference |= (unsigned char)(guard->token[i] ^ (i < length ? guess[i] : 1));
    return difference == 0;
}

/* "" or ":PORT". */
static bool is_port(const char *text)
{
    size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;

    if (*text == '\0')
        return true;
    return digits > 0 && digits <= 5 && text[1 + digits] == '\0' && atoi(text + 1) <= UINT16_MAX;
}

static bool is_host(const char *host, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(host, name, length) == 0 && is_port(host + length);
}

static bool is_loopback(const char *host)
{
    return host
           && (is_host(host, "127.0.0.1") || is_host(host, "localhost") || is_host(host, "[::1]"));
}

/* Browsers send the site of the page in Origin; "null" is a sandbox. Other programs send none. */
static bool is_other_site(const struct auth_claims *claims)
{
    const char *origin = claims->origin;
    const char *scheme_end = origin ? strstr(origin, "://") : NULL;

    if (claims->fetch_site && strcmp(claims->fetch_site, "same-origin") != 0
        && strcmp(claims->fetch_site, "none") != 0)
        return true;
    return origin && !(scheme_end && claims->host && strcmp(scheme_end + 3, claims->host) == 0);
}

static const char *bearer(const char *authorization)
{
    static const char scheme[] = "Bearer ";

    return authorization && strncasecmp(authorization, scheme, strlen(scheme)) == 0
               ? authorization + strlen(scheme)
               : NULL;
}

enum auth_verdict auth_check(const struct auth *guard, const struct auth_claims *claims)
{
    if (!*guard->token)
        return !is_loopback(claims->host) ? AUTH_WRONG_HOST
               : is_other_site(claims)    ? AUTH_OTHER_SITE
                                          : AUTH_ADMITTED;
    if (is_token(guard, claims->token))
        return AUTH_GIVE_COOKIE;
    if (!is_token(guard, claims->cookie) && !is_token(guard, bearer(claims->authorization)))
        return AUTH_NEEDS_TOKEN;
    return is_other_site(claims) ? AUTH_OTHER_SITE : AUTH_ADMITTED;
}

const char *auth_text(enum auth_verdict verdict)
{
    switch (verdict) {
    case AUTH_WRONG_HOST:
        return "this server answers to 127.0.0.1 and localhost only";
    case AUTH_OTHER_SITE:
        return "pages of other sites may not use this server";
    case AUTH_NEEDS_TOKEN:
        return "the token that mtrace-serve printed is needed: as ?token=…, or as the header "
               "Authorization: Bearer …";
    case AUTH_GIVE_COOKIE:
    case AUTH_ADMITTED:
        break;
    }
    return "";
}
