/* SPDX-License-Identifier: MIT */
#include "remote/wire/security.h"

#include "lib/base/file_io.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__aarch64__)
#    include <asm/hwcap.h>
#    include <sys/auxv.h>
#endif

enum {
    LINE_BYTES = 1024
};

/* GnuTLS prefers ChaCha20 for a PSK's hash, which is several times slower than AES with hardware
 * support. */
#define CIPHERS_AES             ":-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"
#define PRIORITIES_PSK          "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:+DHE-PSK"
#define PRIORITIES_CERTIFICATES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

static const char *const priorities_psk[2] = {PRIORITIES_PSK, PRIORITIES_PSK CIPHERS_AES};
static const char *const priorities_certificates[2] = {PRIORITIES_CERTIFICATES,
                                                       PRIORITIES_CERTIFICATES CIPHERS_AES};

static bool has_aes(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
    return false;
#endif
}

/* ---- files ----------------------------------------------------------------------------------- */

/* SE-2 */
static int open_secret(const char *path, int *ret_fd, struct error *err)
{
    struct stat status;
    int code = file_io_open_regular(path, ERROR_USAGE, ret_fd, &status, err);

    if (code)
        return code;
    if (status.st_mode & (S_IRWXG | S_IRWXO))
        code = error_set(err, ERROR_USAGE,
                         "'%s' holds a secret that others may read or change; chmod 600 '%s'", path,
                         path);
    else if (status.st_uid != geteuid() && status.st_uid != 0)
        code = error_set(err, ERROR_USAGE, "'%s' belongs to another user", path);
    if (code)
        close(*ret_fd);
    return code;
}

static bool parse_key(char *line, struct security_key *ret_key)
{
    char *colon = strchr(line, ':');
    gnutls_datum_t hex;

    line[strcspn(line, "\r\n")] = '\0';
    if (!colon || colon == line || (size_t)(colon - line) >= sizeof(ret_key->name))
        return false;
    *colon = '\0';
    memcpy(ret_key->name, line, (size_t)(colon - line) + 1);
    hex = (gnutls_datum_t){(unsigned char *)colon + 1, (unsigned)strlen(colon + 1)};
    ret_key->n_bytes = sizeof(ret_key->bytes);
    return gnutls_hex_decode(&hex, ret_key->bytes, &ret_key->n_bytes) == GNUTLS_E_SUCCESS
           && ret_key->n_bytes >= SECURITY_MIN_KEY_BYTES;
}

static int read_keys(FILE *file, const char *path, struct security *security, struct error *err)
{
    char line[LINE_BYTES];
    int code = 0;

    for (int number = 1; code == 0 && fgets(line, sizeof(line), file); number++) {
        if (strspn(line, " \t\r\n") == strlen(line))
            continue;
        if (security->n_keys == SECURITY_KEYS)
            code = error_set(err, ERROR_USAGE, "'%s' has more than %d keys", path, SECURITY_KEYS);
        else if (!parse_key(line, &security->keys[security->n_keys++]))
            code = error_set(err, ERROR_USAGE,
                             "line %d of '%s' is not 'name:key' with %d to %d bytes in hexadecimal "
                             "digits; psktool makes such files",
                             number, path, SECURITY_MIN_KEY_BYTES, SECURITY_KEY_BYTES);
    }
    explicit_bzero(line, sizeof(line));
    if (code == 0 && security->n_keys == 0)
        code = error_set(err, ERROR_USAGE, "'%s' has no key; psktool makes such files", path);
    return code;
}

static int load_keys(const char *path, struct security *security, struct error *err)
{
    FILE *file;
    int fd;
    int code = open_secret(path, &fd, err);

    if (code)
        return code;
    security->keys = calloc(SECURITY_KEYS, sizeof(*security->keys));
    file = security->keys ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        return error_set(err, ERROR_NOMEM, "not enough memory");
    }
    code = read_keys(file, path, security, err);
    fclose(file);
    return code;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int give_key(const uint8_t *bytes, size_t n_bytes, gnutls_datum_t *ret_key)
{
    ret_key->data = gnutls_malloc(n_bytes);
    if (!ret_key->data)
        return -1;
    memcpy(ret_key->data, bytes, n_bytes);
    ret_key->size = (unsigned)n_bytes;
    return 0;
}

/* A GnuTLS callback. An unknown name gets a random key, so the peer cannot tell it from a wrong
 * key. */
static int find_key(gnutls_session_t session, const char *name, gnutls_datum_t *ret_key)
{
    const struct security *security = gnutls_session_get_ptr(session);
    uint8_t nobodys[SECURITY_MIN_KEY_BYTES];

    for (size_t i = 0; i < security->n_keys; i++)
        if (strcmp(security->keys[i].name, name) == 0)
            return give_key(security->keys[i].bytes, security->keys[i].n_bytes, ret_key);
    if (gnutls_rnd(GNUTLS_RND_KEY, nobodys, sizeof(nobodys)) != GNUTLS_E_SUCCESS)
        return -1;
    return give_key(nobodys, sizeof(nobodys), ret_key);
}

static int use_keys(struct security *security, bool is_server, const char *path, struct error *err)
{
    int code = load_keys(path, security, err);
    int status;

    if (code)
        return code;
    if (is_server) {
        status = gnutls_psk_allocate_server_credentials(&security->psk_server);
        if (status == GNUTLS_E_SUCCESS)
            gnutls_psk_set_server_credentials_function(security->psk_server, find_key);
    } else {
        const gnutls_datum_t key = {security->keys[0].bytes, (unsigned)security->keys[0].n_bytes};
        status = gnutls_psk_allocate_client_credentials(&security->psk_client);
        if (status == GNUTLS_E_SUCCESS)
            status = gnutls_psk_set_client_credentials(security->psk_client, security->keys[0].name,
                                                       &key, GNUTLS_PSK_KEY_RAW);
    }
    return status == GNUTLS_E_SUCCESS ? 0
                                      : error_set(err, ERROR_IO, "cannot use the key of '%s': %s",
                                                  path, gnutls_strerror(status));
}

/* ---- certificates ---------------------------------------------------------------------------- */

static int use_certificates(struct security *security, const struct security_options *options,
                            struct error *err)
{
    int fd;
    int status;
    int code = open_secret(options->key, &fd, err);

    if (code)
        return code;
    close(fd);
    status = gnutls_certificate_allocate_credentials(&security->certificates);
    if (status == GNUTLS_E_SUCCESS)
        status = gnutls_certificate_set_x509_key_file(security->certificates, options->certificate,
                                                      options->key, GNUTLS_X509_FMT_PEM);
    if (status != GNUTLS_E_SUCCESS)
        return error_set(err, ERROR_USAGE, "cannot use '%s' with the key '%s': %s",
                         options->certificate, options->key, gnutls_strerror(status));
    status = gnutls_certificate_set_x509_trust_file(security->certificates, options->ca,
                                                    GNUTLS_X509_FMT_PEM);
    if (status <= 0)
        return error_set(err, ERROR_USAGE, "'%s' has no certificate to trust%s%s", options->ca,
                         status < 0 ? ": " : "", status < 0 ? gnutls_strerror(status) : "");
    return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static int check_choice(const struct security_options *options, struct error *err)
{
    bool has_certificates = options->certificate || options->key || options->ca;
    int n_ways = (options->psk_file != NULL) + has_certificates + options->is_insecure;

    if (n_ways != 1)
        return error_set(err, ERROR_USAGE,
                         "%s; give either --psk-file, or --certificate, --key and --ca, or, on one "
                         "machine, --insecure",
                         n_ways ? "use one way of authentication, not two"
                                : "no authentication is configured");
    if (has_certificates && !(options->certificate && options->key && options->ca))
        return error_set(err, ERROR_USAGE, "--certificate, --key and --ca belong together");
    return 0;
}

int security_open(const struct security_options *options, bool is_server,
                  struct security *ret_security, struct error *err)
{
    int code = check_choice(options, err);

    *ret_security = (struct security){.is_insecure = options->is_insecure};
    if (code || options->is_insecure)
        return code;
    if (gnutls_priority_init(&ret_security->priorities,
                             options->psk_file ? priorities_psk[has_aes()]
                                               : priorities_certificates[has_aes()],
                             NULL)
        != GNUTLS_E_SUCCESS)
        code = error_set(err, ERROR_IO, "this GnuTLS has no TLS 1.3");
    else if (options->psk_file)
        code = use_keys(ret_security, is_server, options->psk_file, err);
    else
        code = use_certificates(ret_security, options, err);
    if (code)
        security_close(ret_security);
    return code;
}

void security_close(struct security *security)
{
    if (security->psk_client)
        gnutls_psk_free_client_credentials(security->psk_client);
    if (security->psk_server)
        gnutls_psk_free_server_credentials(security->psk_server);
    if (security->certificates)
        gnutls_certificate_free_credentials(security->certificates);
    if (security->priorities)
        gnutls_priority_deinit(security->priorities);
    if (security->keys)
        explicit_bzero(security->keys, SECURITY_KEYS * sizeof(*security->keys));
    free(security->keys);
    *security = (struct security){0};
}

static int set_credentials(const struct security *security, gnutls_session_t session,
                           bool is_server)
{
    if (security->certificates)
        return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, security->certificates);
    return is_server ? gnutls_credentials_set(session, GNUTLS_CRD_PSK, security->psk_server)
                     : gnutls_credentials_set(session, GNUTLS_CRD_PSK, security->psk_client);
}

/* Clients are authenticated by their certificate alone, servers also by their host name. */
static void ask_for_certificate(gnutls_session_t session, bool is_server, const char *host)
{
    if (is_server) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert(session, NULL, 0);
        return;
    }
    (void)gnutls_server_name_set(session, GNUTLS_NAME_DNS, host, strlen(host));
    gnutls_session_set_verify_cert(session, host, 0);
}

int security_start(const struct security *security, bool is_server, const char *host,
                   gnutls_session_t *ret_session, struct error *err)
{
    unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS
                     | (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT);
    int status = gnutls_init(ret_session, flags);

    if (status != GNUTLS_E_SUCCESS)
        return error_set(err, ERROR_NOMEM, "cannot begin TLS: %s", gnutls_strerror(status));
    gnutls_session_set_ptr(*ret_session, (void *)(uintptr_t)security);
    status = gnutls_priority_set(*ret_session, security->priorities);
    if (status == GNUTLS_E_SUCCESS)
        status = set_credentials(security, *ret_session, is_server);
    if (status != GNUTLS_E_SUCCESS) {
        gnutls_deinit(*ret_session);
        return error_set(err, ERROR_NOMEM, "cannot begin TLS: %s", gnutls_strerror(status));
    }
    if (security->certificates)
        ask_for_certificate(*ret_session, is_server, host);
    return 0;
}

/* Stricter than utf8_clean: a name stands in the middle of a line and must not look like further
 * text. */
static void make_one_word(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            *text = '?';
}

void security_get_peer(gnutls_session_t session, char *ret_name, size_t n_bytes)
{
    const char *key_name = gnutls_psk_server_get_username(session);
    unsigned n_certificates;
    const gnutls_datum_t *chain =
        key_name ? NULL : gnutls_certificate_get_peers(session, &n_certificates);
    gnutls_x509_crt_t certificate;

    ret_name[0] = '\0';
    if (key_name)
        (void)snprintf(ret_name, n_bytes, "%s", key_name);
    if (chain && gnutls_x509_crt_init(&certificate) == GNUTLS_E_SUCCESS) {
        size_t n_name = n_bytes;
        if (gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS
            || gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                             ret_name, &n_name)
                   != GNUTLS_E_SUCCESS)
            (void)snprintf(ret_name, n_bytes, "certificate");
        gnutls_x509_crt_deinit(certificate);
    }
    make_one_word(ret_name);
}
