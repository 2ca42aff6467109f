/* SPDX-License-Identifier: MIT */
#include "importer/log/checkpoint_io.h"

#include "lib/abi/attr.h"
#include "lib/base/dynamic_array.h"
#include "lib/totals/pair_totals.h"

#define XXH_INLINE_ALL
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define CHUNK_MAGIC 0x5453544du /* "MTST" */
#define END_MAGIC   0x444e4554u /* "TEND" */

enum {
    LEVEL = 1,
    RAW_BYTES = CHECKPOINT_CHUNK_BYTES - 512, /* most that zstd adds to incompressible data */
    TEXT_MAX = 1 << 20,
};

struct saved_text {
    uint64_t address; /* the key: its address */
};

struct checkpoint_io {
    bool is_loading;
    int code;
    struct error *err;
    struct checkpoint_io_sink sink;
    struct checkpoint_io_source source;
    uint8_t raw[RAW_BYTES];
    size_t n_raw, at; /* at: bytes consumed; loading only */
    uint8_t chunk[CHECKPOINT_CHUNK_BYTES];
    struct hash_map saved_texts; /* index + 1 is the number */
    struct text_arena *arena;
    struct loaded_text *texts; /* by number - 1 */
    size_t n_texts, max_texts;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
};

struct loaded_text {
    const char *text;
    size_t n_bytes;
};

static int new (struct checkpoint_io **ret, struct error *err)
{
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return error_set(err, ERROR_NOMEM, "out of memory");
    (*ret)->err = err;
    return 0;
}

int checkpoint_io_save(const struct checkpoint_io_sink *sink, struct checkpoint_io **ret,
                       struct error *err)
{
    int code = new (ret, err);

    if (code)
        return code;
    (*ret)->sink = *sink;
    (*ret)->compressor = ZSTD_createCCtx();
    if (!(*ret)->compressor)
        checkpoint_io_no_memory(*ret);
    return (*ret)->code;
}

int checkpoint_io_load(const struct checkpoint_io_source *source, struct text_arena *arena,
                       struct checkpoint_io **ret, struct error *err)
{
    int code = new (ret, err);

    if (code)
        return code;
    (*ret)->is_loading = true;
    (*ret)->source = *source;
    (*ret)->arena = arena;
    (*ret)->decompressor = ZSTD_createDCtx();
    if (!(*ret)->decompressor)
        checkpoint_io_no_memory(*ret);
    return (*ret)->code;
}

void checkpoint_io_close(struct checkpoint_io *io)
{
    if (!io)
        return;
    hash_map_done(&io->saved_texts);
    free(io->texts);
    ZSTD_freeCCtx(io->compressor);
    ZSTD_freeDCtx(io->decompressor);
    free(io);
}

int checkpoint_io_code(const struct checkpoint_io *io)
{
    return io->code;
}

bool checkpoint_io_is_loading(const struct checkpoint_io *io)
{
    return io->is_loading;
}

/* ---- failure ---- */

void checkpoint_io_refuse(struct checkpoint_io *io, enum error_code code, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;

    if (io->code)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    io->code = error_set(io->err, code, "%s", text);
}

void checkpoint_io_check(struct checkpoint_io *io, bool makes_sense, const char *what)
{
    if (!makes_sense)
        checkpoint_io_refuse(io, ERROR_FORMAT, "the checkpoint of the recording is damaged (%s)",
                             what);
}

void checkpoint_io_no_memory(struct checkpoint_io *io)
{
    checkpoint_io_refuse(io, ERROR_NOMEM, "out of memory for the state of the recording");
}

/* ---- chunks ---- */

static uint64_t checksum_of(const struct checkpoint_io_chunk *head, const void *stored)
{
    struct checkpoint_io_chunk copy = *head;

    copy.checksum = 0;
    return XXH64(stored, head->stored_bytes, XXH64(&copy, sizeof copy, 0));
}

/* Compresses into `chunk`. Returns the length, 0 on failure. */
static size_t pack(struct checkpoint_io *io)
{
    struct checkpoint_io_chunk head = {
        .magic = CHUNK_MAGIC, .version = CHECKPOINT_VERSION, .raw_bytes = (uint32_t)io->n_raw};
    uint8_t *stored = io->chunk + sizeof head;
    size_t n = ZSTD_compressCCtx(io->compressor, stored, sizeof io->chunk - sizeof head, io->raw,
                                 io->n_raw, LEVEL);

    if (ZSTD_isError(n)) {
        checkpoint_io_refuse(io, ERROR_BUG, "zstd: %s", ZSTD_getErrorName(n));
        return 0;
    }
    head.stored_bytes = (uint32_t)n;
    head.checksum = checksum_of(&head, stored);
    memcpy(io->chunk, &head, sizeof head);
    return sizeof head + n;
}

static void put_chunk(struct checkpoint_io *io)
{
    size_t n = pack(io);

    if (io->code == 0)
        io->code = io->sink.put(io->sink.context, io->chunk, n, io->err);
    io->n_raw = 0;
}

/* Decompresses the chunk into raw; its header is complete. */
static void unpack(struct checkpoint_io *io, const struct checkpoint_io_chunk *head,
                   const uint8_t *stored)
{
    size_t n;

    checkpoint_io_check(io,
                        head->raw_bytes <= RAW_BYTES && head->checksum == checksum_of(head, stored),
                        "a checksum");
    if (io->code)
        return;
    n = ZSTD_decompressDCtx(io->decompressor, io->raw, sizeof io->raw, stored, head->stored_bytes);
    checkpoint_io_check(io, !ZSTD_isError(n) && n == head->raw_bytes, "what zstd made");
    if (io->code)
        return;
    io->n_raw = n;
    io->at = 0;
}

static void load_chunk(struct checkpoint_io *io)
{
    struct checkpoint_io_chunk head = {0};
    const void *chunk = NULL;
    size_t n_bytes = 0;

    io->n_raw = io->at = 0;
    if (io->code == 0)
        io->code = io->source.next(io->source.context, &chunk, &n_bytes, io->err);
    if (io->code)
        return;
    if (n_bytes >= sizeof head)
        memcpy(&head, chunk, sizeof head);
    checkpoint_io_check(io, n_bytes > 0, "it ends too early");
    checkpoint_io_check(io,
                        n_bytes >= sizeof head && head.magic == CHUNK_MAGIC
                            && head.stored_bytes == n_bytes - sizeof head,
                        "a length");
    if (io->code == 0 && head.version != CHECKPOINT_VERSION)
        checkpoint_io_refuse(io, ERROR_VERSION,
                             "the checkpoint of the recording was written by another mtrace "
                             "(version %u, not %u)",
                             head.version, (unsigned)CHECKPOINT_VERSION);
    if (io->code == 0)
        unpack(io, &head, (const uint8_t *)chunk + sizeof head);
    checkpoint_io_check(io, io->n_raw > 0, "an empty part");
}

int checkpoint_io_end(struct checkpoint_io *io)
{
    uint32_t end = END_MAGIC;

    checkpoint_io_u32(io, &end);
    checkpoint_io_check(io, end == END_MAGIC, "its end");
    if (io->is_loading)
        checkpoint_io_check(io, io->at == io->n_raw, "it is longer than what it holds");
    else if (io->code == 0)
        put_chunk(io);
    return io->code;
}

/* ---- bytes ---- */

static void put_bytes(struct checkpoint_io *io, const uint8_t *bytes, size_t n_bytes)
{
    while (io->code == 0 && n_bytes) {
        size_t n = n_bytes < RAW_BYTES - io->n_raw ? n_bytes : RAW_BYTES - io->n_raw;
        memcpy(io->raw + io->n_raw, bytes, n);
        io->n_raw += n;
        bytes += n;
        n_bytes -= n;
        if (io->n_raw == RAW_BYTES)
            put_chunk(io);
    }
}

static void take_bytes(struct checkpoint_io *io, uint8_t *bytes, size_t n_bytes)
{
    memset(bytes, 0, n_bytes);
    while (io->code == 0 && n_bytes) {
        if (io->at == io->n_raw)
            load_chunk(io);
        if (io->code)
            return;
        size_t n = n_bytes < io->n_raw - io->at ? n_bytes : io->n_raw - io->at;
        memcpy(bytes, io->raw + io->at, n);
        io->at += n;
        bytes += n;
        n_bytes -= n;
    }
}

void checkpoint_io_bytes(struct checkpoint_io *io, void *bytes, size_t n_bytes)
{
    if (io->is_loading)
        take_bytes(io, bytes, n_bytes);
    else
        put_bytes(io, bytes, n_bytes);
}

void checkpoint_io_u64(struct checkpoint_io *io, uint64_t *value)
{
    checkpoint_io_bytes(io, value, sizeof *value);
}

void checkpoint_io_u32(struct checkpoint_io *io, uint32_t *value)
{
    checkpoint_io_bytes(io, value, sizeof *value);
}

void checkpoint_io_bool(struct checkpoint_io *io, bool *value)
{
    uint8_t byte = io->is_loading ? 0 : *value;

    checkpoint_io_bytes(io, &byte, 1);
    checkpoint_io_check(io, byte <= 1, "neither yes nor no");
    *value = byte == 1;
}

void checkpoint_io_count(struct checkpoint_io *io, size_t *n, size_t most)
{
    uint64_t count = *n;

    checkpoint_io_u64(io, &count);
    checkpoint_io_check(io, count <= most, "a count");
    *n = io->code ? 0 : (size_t)count;
}

static void same_size(struct checkpoint_io *io, size_t n_bytes)
{
    uint32_t size = (uint32_t)n_bytes;

    checkpoint_io_u32(io, &size);
    if (io->code == 0 && size != n_bytes)
        checkpoint_io_refuse(
            io, ERROR_VERSION,
            "the checkpoint of the recording was written by another mtrace (%u bytes, "
            "not %zu)",
            size, n_bytes);
}

void checkpoint_io_image(struct checkpoint_io *io, void *object, size_t n_bytes)
{
    same_size(io, n_bytes);
    checkpoint_io_bytes(io, object, n_bytes);
}

/* ---- many ---- */

void *checkpoint_io_array(struct checkpoint_io *io, void *elements, size_t *n, size_t *capacity,
                          size_t most, size_t element_bytes)
{
    size_t n_elements = *n;
    char *array = elements;

    same_size(io, element_bytes);
    checkpoint_io_count(io, &n_elements, most);
    if (!io->is_loading) {
        checkpoint_io_bytes(io, array, n_elements * element_bytes);
        return array;
    }
    for (*n = 0; *n < n_elements && io->code == 0; ++*n) {
        char *grown = dynamic_array_reserve(array, capacity, *n + 1, element_bytes);
        if (grown)
            checkpoint_io_bytes(io, grown + *n * element_bytes, element_bytes);
        else
            checkpoint_io_no_memory(io);
        array = grown ? grown : array;
    }
    if (io->code)
        *n = 0;
    return array;
}

static void load_keyed(struct checkpoint_io *io, struct hash_map *keyed, size_t key_bytes,
                       size_t element_bytes)
{
    size_t n = 0;
    char *element = calloc(1, element_bytes);

    if (!element)
        checkpoint_io_no_memory(io);
    same_size(io, element_bytes);
    checkpoint_io_count(io, &n, CHECKPOINT_MAX - 1);
    for (size_t i = 0; i < n && io->code == 0; i++) {
        checkpoint_io_bytes(io, element, element_bytes);
        checkpoint_io_check(io, !hash_map_find(keyed, element, key_bytes, element_bytes),
                            "a key comes twice");
        void *place = io->code ? NULL : hash_map_add(keyed, element, key_bytes, element_bytes);
        if (place)
            memcpy(place, element, element_bytes);
        else
            checkpoint_io_no_memory(io);
    }
    free(element);
}

void checkpoint_io_keyed(struct checkpoint_io *io, struct hash_map *keyed, size_t key_bytes,
                         size_t element_bytes)
{
    if (io->is_loading)
        load_keyed(io, keyed, key_bytes, element_bytes);
    else
        checkpoint_io_array(io, keyed->elements, &keyed->n, &keyed->capacity, CHECKPOINT_MAX,
                            element_bytes);
}

void checkpoint_io_pairs(struct checkpoint_io *io, struct hash_map *pairs)
{
    checkpoint_io_keyed(io, pairs, PAIR_TOTALS_KEY_BYTES, sizeof(struct pair_totals_entry));
}

/* ---- texts ---- */

static void save_text(struct checkpoint_io *io, const char *text, size_t n_bytes)
{
    const struct saved_text key = {(uint64_t)(uintptr_t)text};
    size_t n_before = io->saved_texts.n;
    struct saved_text *saved =
        text ? hash_map_get(&io->saved_texts, &key, sizeof key, sizeof key) : NULL;
    uint32_t number = 0;

    if (text && !saved)
        checkpoint_io_no_memory(io);
    if (saved)
        number = (uint32_t)(saved - (struct saved_text *)io->saved_texts.elements) + 1;
    checkpoint_io_u32(io, &number);
    if (saved && io->saved_texts.n > n_before) {
        checkpoint_io_check(io, n_bytes <= TEXT_MAX, "a text of more than a megabyte");
        checkpoint_io_count(io, &n_bytes, TEXT_MAX);
        put_bytes(io, (const uint8_t *)text, n_bytes);
    }
}

static void load_new_text(struct checkpoint_io *io)
{
    struct loaded_text *texts =
        dynamic_array_reserve(io->texts, &io->max_texts, io->n_texts + 1, sizeof *texts);
    size_t n_bytes = 0;

    checkpoint_io_count(io, &n_bytes, TEXT_MAX);
    char *bytes = calloc(n_bytes + 1, 1);
    if (texts)
        io->texts = texts;
    if (bytes)
        checkpoint_io_bytes(io, bytes, n_bytes);
    const char *copy = bytes && texts ? text_arena_copy(io->arena, bytes, n_bytes) : NULL;
    free(bytes);
    if (copy)
        texts[io->n_texts++] = (struct loaded_text){copy, n_bytes};
    else
        checkpoint_io_no_memory(io);
}

static struct loaded_text load_text(struct checkpoint_io *io)
{
    uint32_t number = 0;

    checkpoint_io_u32(io, &number);
    checkpoint_io_check(io, number <= io->n_texts + 1, "a text");
    if (io->code == 0 && number == io->n_texts + 1)
        load_new_text(io);
    return io->code || number == 0 ? (struct loaded_text){NULL, 0} : io->texts[number - 1];
}

void checkpoint_io_text(struct checkpoint_io *io, const char **text, size_t *n_bytes)
{
    if (io->is_loading) {
        struct loaded_text loaded = load_text(io);
        *text = loaded.text;
        if (n_bytes)
            *n_bytes = loaded.n_bytes;
    } else {
        save_text(io, *text, n_bytes ? *n_bytes : *text ? strlen(*text) : 0);
    }
}
