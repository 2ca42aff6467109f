/* SPDX-License-Identifier: MIT */
#include "remote/wire/discovery_message.h"

#include <gnutls/crypto.h>
#include <string.h>

enum {
    VERSION = 1
};

static const char magic[8] = {'m', 't', 'r', 'a', 'c', 'e', '?', '\n'};
static const char purpose[] = "mtrace announcement 1";

/* NULL: no such key. */
static const struct security_key *find_key(const struct security *security, const char *name)
{
    for (size_t i = 0; i < security->n_keys; i++)
        if (strcmp(security->keys[i].name, name) == 0)
            return &security->keys[i];
    return NULL;
}

/* Derives a signing key; the TLS key itself signs nothing. */
static bool sign(const struct security_key *key, const struct discovery_message *message,
                 uint8_t *ret_mac)
{
    uint8_t own[DISCOVERY_MESSAGE_MAC_BYTES];
    bool is_signed =
        gnutls_hmac_fast(GNUTLS_MAC_SHA256, key->bytes, key->n_bytes, purpose, sizeof(purpose), own)
            == GNUTLS_E_SUCCESS
        && gnutls_hmac_fast(GNUTLS_MAC_SHA256, own, sizeof(own), message,
                            offsetof(struct discovery_message, mac), ret_mac)
               == GNUTLS_E_SUCCESS;

    gnutls_memset(own, 0, sizeof(own));
    return is_signed;
}

static bool is_of_kind(const void *bytes, size_t n_bytes, enum discovery_message_kind kind,
                       struct discovery_message *ret_message)
{
    if (n_bytes != sizeof(*ret_message))
        return false;
    memcpy(ret_message, bytes, n_bytes);
    return memcmp(ret_message->magic, magic, sizeof(magic)) == 0 && ret_message->version == VERSION
           && ret_message->kind == kind
           && memchr(ret_message->key_name, '\0', sizeof(ret_message->key_name));
}

static bool is_signed(const struct security *security, const struct discovery_message *message)
{
    const struct security_key *key = find_key(security, message->key_name);
    uint8_t mac[DISCOVERY_MESSAGE_MAC_BYTES];

    return key && sign(key, message, mac) && gnutls_memcmp(mac, message->mac, sizeof(mac)) == 0;
}

static bool is_recent(uint64_t unix_ns, uint64_t now_ns)
{
    uint64_t away_ns = unix_ns < now_ns ? now_ns - unix_ns : unix_ns - now_ns;

    return away_ns <= DISCOVERY_MESSAGE_AGE_NS;
}

/* AN-1, AN-3. False: it is a replay, or the memory is full. */
static bool remember(struct discovery_message_memory *memory,
                     const struct discovery_message *request, uint64_t now_ns)
{
    size_t place = DISCOVERY_MESSAGE_SEEN;

    for (size_t i = 0; i < DISCOVERY_MESSAGE_SEEN; i++) {
        if (!is_recent(memory->seen[i].unix_ns, now_ns))
            place = i;
        else if (memcmp(memory->seen[i].nonce, request->nonce, sizeof(request->nonce)) == 0)
            return false;
    }
    if (place == DISCOVERY_MESSAGE_SEEN)
        return false;
    memory->seen[place].unix_ns = request->unix_ns;
    memcpy(memory->seen[place].nonce, request->nonce, sizeof(request->nonce));
    return true;
}

bool discovery_message_request(const struct security *security, uint64_t unix_ns,
                               struct discovery_message *ret_request)
{
    *ret_request = (struct discovery_message){
        .version = VERSION, .kind = DISCOVERY_MESSAGE_REQUEST, .unix_ns = unix_ns};
    if (security->n_keys == 0)
        return false;
    memcpy(ret_request->magic, magic, sizeof(magic));
    memcpy(ret_request->key_name, security->keys[0].name, strlen(security->keys[0].name));
    return gnutls_rnd(GNUTLS_RND_NONCE, ret_request->nonce, sizeof(ret_request->nonce))
               == GNUTLS_E_SUCCESS
           && sign(&security->keys[0], ret_request, ret_request->mac);
}

/* Request, allowed keys, and answer. NOLINTNEXTLINE(readability-function-size) */
bool discovery_message_answer(const struct security *security,
                              struct discovery_message_memory *memory, const void *bytes,
                              size_t n_bytes, uint64_t unix_ns, uint64_t receiver, uint16_t port,
                              struct discovery_message *ret_answer)
{
    if (!is_of_kind(bytes, n_bytes, DISCOVERY_MESSAGE_REQUEST, ret_answer)
        || !is_signed(security, ret_answer) || !is_recent(ret_answer->unix_ns, unix_ns)
        || !remember(memory, ret_answer, unix_ns))
        return false;
    ret_answer->kind = DISCOVERY_MESSAGE_ANSWER;
    ret_answer->unix_ns = unix_ns;
    ret_answer->receiver = receiver;
    ret_answer->port = port;
    return sign(find_key(security, ret_answer->key_name), ret_answer, ret_answer->mac);
}

bool discovery_message_is_answer(const struct security *security,
                                 const struct discovery_message *request, const void *bytes,
                                 size_t n_bytes, struct discovery_message *ret_answer)
{
    return is_of_kind(bytes, n_bytes, DISCOVERY_MESSAGE_ANSWER, ret_answer)
           && memcmp(ret_answer->nonce, request->nonce, sizeof(request->nonce)) == 0
           && strcmp(ret_answer->key_name, request->key_name) == 0
           && is_signed(security, ret_answer) && ret_answer->port > 0
           && ret_answer->port <= UINT16_MAX;
}
