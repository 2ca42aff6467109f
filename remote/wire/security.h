/* SPDX-License-Identifier: MIT */
/*
 * security: authentication of channels, by TLS 1.3.
 *
 * There are three ways: a pre-shared key (--psk-file: lines `name:hexkey`, as psktool of GnuTLS
 * writes them; the sender uses the first, the receiver accepts all); certificates on both sides,
 * signed by the same --ca, where the sender also checks the host name; or none, on request, for a
 * peer on this machine.
 *
 * Invariants
 *   SE-1 Without --insecure no peer is served that did not prove that it has a key.
 *   SE-2 A secret file that others may read or write is refused.
 *
 * Threads: read-only after security_open.
 */
#ifndef MTRACE_REMOTE_SECURITY_H
#define MTRACE_REMOTE_SECURITY_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    SECURITY_NAME_BYTES = 128, /* of a key or certificate */
    SECURITY_KEY_BYTES = 64,
    SECURITY_MIN_KEY_BYTES = 16,
    SECURITY_KEYS = 256,
};

struct security_options {
    const char *psk_file; /* NULL: not given; so are the others */
    const char *certificate, *key, *ca;
    bool is_insecure;
};

struct security_key {
    char name[SECURITY_NAME_BYTES];
    uint8_t bytes[SECURITY_KEY_BYTES];
    size_t n_bytes;
};

struct security {
    gnutls_psk_client_credentials_t psk_client; /* NULL: unused; so are the others */
    gnutls_psk_server_credentials_t psk_server;
    gnutls_certificate_credentials_t certificates;
    gnutls_priority_t priorities;
    struct security_key *keys; /* of a server */
    size_t n_keys;
    bool is_insecure;
};

/* Reads the files; ERROR_USAGE: not exactly one way was chosen, or a file is invalid. */
int security_open(const struct security_options *options, bool is_server,
                  struct security *ret_security, struct error *err);
void security_close(struct security *security);

/* Creates a session for the connection; `host`: for a client, the name that the server must
 * prove. */
int security_start(const struct security *security, bool is_server, const char *host,
                   gnutls_session_t *ret_session, struct error *err);

/* The authenticated name of the peer, printable; "" while unknown. */
void security_get_peer(gnutls_session_t session, char *ret_name, size_t n_bytes);

#endif
