/* SPDX-License-Identifier: MIT */
/*
 * security: who may speak on a channel, by TLS 1.3.
 *
 * Model:   either a key that both sides have (--psk-file: lines `name:hexkey`, as psktool of GnuTLS writes them; the sender uses
 *          the first, the receiver knows all), or certificates on both sides that the same --ca signed, where the sender
 *          also checks that the receiver's names its host. Or nothing, where that was asked for: then the peer must be this machine.
 * Invariants
 *   SE-1 Without --insecure nobody speaks who did not prove that he has a key.
 *   SE-2 A file with a secret that others may read or write is refused.
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
    SECURITY_LEAST_KEY_BYTES = 16,
    SECURITY_KEYS = 256,
};

struct security_options {
    const char *psk_file; /* NULL: not given, as the others */
    const char *certificate, *key, *ca;
    bool is_insecure;
};

struct security_key {
    char name[SECURITY_NAME_BYTES];
    uint8_t bytes[SECURITY_KEY_BYTES];
    size_t n_bytes;
};

struct security {
    gnutls_psk_client_credentials_t psk_client; /* NULL: not used, as the others */
    gnutls_psk_server_credentials_t psk_server;
    gnutls_certificate_credentials_t certificates;
    gnutls_priority_t priorities;
    struct security_key *keys; /* of a server */
    size_t n_keys;
    bool is_insecure;
};

/* Reads the files; ERROR_USAGE: not one of the three ways was chosen, or a file is not as it must be. */
int security_open(const struct security_options *options, bool is_server,
                  struct security *ret_security, struct error *err);
void security_close(struct security *security);

/* A session for the connection; `host`: of a client, whose name the server must prove. */
int security_start(const struct security *security, bool is_server, const char *host,
                   gnutls_session_t *ret_session, struct error *err);

/* Whom the peer proved to be, printable; "" while it is not known. */
void security_get_peer(gnutls_session_t session, char *ret_name, size_t n_bytes);

#endif
