/* SPDX-License-Identifier: MIT */
#include "remote/wire/wire.h"

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const struct {
    uint32_t least, most;
} lengths[WIRE_KINDS] = {
    [WIRE_HELLO] = {sizeof(struct wire_hello), sizeof(struct wire_hello)},
    [WIRE_BEGIN] = {LOG_FILE_HEADER_BYTES, LOG_FILE_HEADER_BYTES + WIRE_NAME_BYTES},
    [WIRE_AGAIN] = {LOG_FILE_HEADER_BYTES, LOG_FILE_HEADER_BYTES + WIRE_NAME_BYTES},
    [WIRE_HAVE] = {sizeof(uint64_t), sizeof(uint64_t)},
    [WIRE_DATA] = {1, WIRE_MAX_BYTES},
    [WIRE_HEADER] = {LOG_FILE_HEADER_BYTES, LOG_FILE_HEADER_BYTES},
    [WIRE_REFUSED] = {0, WIRE_TEXT_BYTES},
};

void wire_reader_init(struct wire_reader *reader)
{
    reader->begin = 0;
    reader->end = 0;
}

void *wire_reader_room(struct wire_reader *reader, size_t *ret_n_bytes)
{
    if (reader->begin > 0) {
        memmove(reader->bytes, reader->bytes + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    *ret_n_bytes = sizeof(reader->bytes) - reader->end;
    return reader->bytes + reader->end;
}

void wire_reader_add(struct wire_reader *reader, size_t n_bytes)
{
    reader->end += n_bytes;
}

static bool is_possible(const struct wire_head *head)
{
    return head->kind >= WIRE_HELLO && head->kind < WIRE_KINDS
           && head->n_bytes >= lengths[head->kind].least
           && head->n_bytes <= lengths[head->kind].most;
}

int wire_reader_next(struct wire_reader *reader, struct wire_head *ret_head,
                     const void **ret_payload, struct error *err)
{
    size_t n_bytes = reader->end - reader->begin;

    if (n_bytes < sizeof(*ret_head))
        return 0;
    memcpy(ret_head, reader->bytes + reader->begin, sizeof(*ret_head));
    if (!is_possible(ret_head))
        return error_set(err, ERROR_FORMAT, "it sends something that is not a message of mtrace");
    if (n_bytes - sizeof(*ret_head) < ret_head->n_bytes)
        return 0;
    *ret_payload = reader->bytes + reader->begin + sizeof(*ret_head);
    reader->begin += sizeof(*ret_head) + ret_head->n_bytes;
    return 1;
}

void wire_make_hello(struct wire_hello *ret_hello)
{
    *ret_hello = (struct wire_hello){.version = WIRE_VERSION};
    memcpy(ret_hello->magic, WIRE_MAGIC, sizeof(ret_hello->magic));
}

int wire_check_hello(const struct wire_head *head, const void *payload, struct error *err)
{
    struct wire_hello hello;

    if (head->kind != WIRE_HELLO)
        return error_set(err, ERROR_FORMAT, "its first message is not a greeting of mtrace");
    memcpy(&hello, payload, sizeof(hello));
    if (memcmp(hello.magic, WIRE_MAGIC, sizeof(hello.magic)) != 0)
        return error_set(err, ERROR_FORMAT, "its first message is not a greeting of mtrace");
    if (hello.version != WIRE_VERSION)
        return error_set(err, ERROR_VERSION,
                         "it speaks version %u, this program %u; use the same mtrace on both sides",
                         hello.version, WIRE_VERSION);
    return 0;
}

int wire_hash(ssize_t (*read)(void *context, void *bytes, size_t n_bytes, uint64_t offset),
              void *context, uint64_t end, uint64_t *ret_hash, struct error *err)
{
    uint64_t begin = LOG_FILE_HEADER_BYTES;
    uint8_t *bytes;
    size_t n_bytes;
    size_t n_read = 0;
    ssize_t n = 1;

    if (end > begin + WIRE_HASHED_BYTES)
        begin = end - WIRE_HASHED_BYTES;
    n_bytes = end > begin ? (size_t)(end - begin) : 0;
    bytes = malloc(WIRE_HASHED_BYTES);
    if (!bytes)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    while (n_read < n_bytes && n > 0) {
        n = read(context, bytes + n_read, n_bytes - n_read, begin + n_read);
        n_read += n > 0 ? (size_t)n : 0;
    }
    *ret_hash = n_read == n_bytes ? XXH64(bytes, n_bytes, end) : 0;
    free(bytes);
    return n_read == n_bytes ? 0 : error_set_errno(err, n < 0 ? errno : EIO, "cannot read it");
}
