/* SPDX-License-Identifier: MIT */
#include "importer/image/image_file.h"

#include "lib/base/file_io.h"
#include "lib/base/lower_bound.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    INPUT_BYTES = 1 << 17,
    OUTPUT_BYTES = 1 << 20,
    PAGE_BYTES = IMAGE_PAGE_WORDS * 8,
    MAX_THREAD_WORDS = 1024,
};

static const uint64_t MAX_SECTION_BYTES = UINT64_C(1) << 31; /* of a section that is in memory */

static int refuse(const struct image_file *image, const char *what, struct error *err)
{
    return error_set(err, ERROR_FORMAT, "heap image '%s' is damaged: %s; it is ignored",
                     image->path, what);
}

static int read_at(const struct image_file *image, void *bytes, size_t n_bytes, uint64_t offset,
                   struct error *err)
{
    size_t n = 0;
    int code = file_io_read(image->fd, bytes, n_bytes, offset, &n);

    if (code)
        return error_set_errno(err, code, "cannot read heap image '%s'", image->path);
    return n == n_bytes ? 0 : refuse(image, "it ends early", err);
}

/* ---- sections in memory ---- */

static int decode(const struct image_file *image, const struct image_section *section,
                  uint64_t offset, void **ret_raw, struct error *err)
{
    void *payload = malloc(section->payload_bytes + 1);
    void *raw = malloc(section->raw_bytes + 1);
    int code = payload && raw
                   ? read_at(image, payload, section->payload_bytes, offset, err)
                   : error_set(err, ERROR_NOMEM, "no memory to read heap image '%s'", image->path);

    if (code == 0 && XXH64(payload, section->payload_bytes, 0) != section->checksum)
        code = refuse(image, "a checksum is wrong", err);
    if (code == 0
        && ZSTD_decompress(raw, section->raw_bytes, payload, section->payload_bytes)
               != section->raw_bytes)
        code = refuse(image, "a section cannot be decompressed", err);
    free(payload);
    *ret_raw = raw;
    return code;
}

static int read_sections(struct image_file *image, size_t *raw_bytes, struct error *err)
{
    uint64_t offset = image->header.header_bytes;
    int code = 0;

    for (uint32_t kind = 1; code == 0 && kind <= IMAGE_WORDS; kind++) {
        struct image_section section;

        code = read_at(image, &section, sizeof section, offset, err);
        if (code)
            return code;
        offset += sizeof section;
        if (section.kind != kind || section.payload_bytes >> 48)
            return refuse(image, "its sections are not in order", err);
        if (kind == IMAGE_WORDS) {
            image->words_offset = offset;
            image->words_bytes = section.payload_bytes;
            image->words_checksum = section.checksum;
        } else if (section.payload_bytes > MAX_SECTION_BYTES
                   || section.raw_bytes > MAX_SECTION_BYTES) {
            return refuse(image, "a section is too large", err);
        } else {
            code = decode(image, &section, offset, &image->raw[kind], err);
            raw_bytes[kind] = section.raw_bytes;
        }
        offset += section.payload_bytes;
    }
    return code;
}

/* ---- HI-1 ---- */

int image_file_take_threads(struct image_file *image, size_t raw_bytes, struct error *err)
{
    const unsigned char *raw = image->raw[IMAGE_THREADS];
    size_t at = 0;

    image->threads = calloc(raw_bytes / sizeof(struct image_thread) + 1, sizeof *image->threads);
    if (!image->threads)
        return error_set(err, ERROR_NOMEM, "no memory to read heap image '%s'", image->path);
    while (at < raw_bytes) {
        struct image_registers *registers = &image->threads[image->n_threads];

        if (raw_bytes - at < sizeof registers->thread)
            return refuse(image, "a thread is cut off", err);
        memcpy(&registers->thread, raw + at, sizeof registers->thread);
        at += sizeof registers->thread;
        if (registers->thread.n_words > MAX_THREAD_WORDS
            || registers->thread.n_words > (raw_bytes - at) / 8)
            return refuse(image, "the registers of a thread are cut off", err);
        registers->words = (const uint64_t *)(const void *)(raw + at);
        at += registers->thread.n_words * 8;
        image->n_threads++;
    }
    return 0;
}

static bool are_ranges_sound(const struct image_file *image)
{
    uint64_t end = 0;

    for (size_t i = 0; i < image->n_ranges; i++) {
        const struct image_range *range = &image->ranges[i];

        if (range->start < end || range->end <= range->start || range->path >= image->n_path_bytes)
            return false;
        end = range->end;
    }
    return true;
}

static bool are_pages_sound(const struct image_file *image)
{
    uint64_t end = 0;

    for (size_t i = 0; i < image->n_pages; i++) {
        const struct image_pages *pages = &image->pages[i];

        if (pages->start < end || pages->n_bytes > UINT64_MAX - pages->start)
            return false;
        end = pages->start + pages->n_bytes;
    }
    return true;
}

static int take_sections(struct image_file *image, const size_t *raw_bytes, struct error *err)
{
    image->ranges = image->raw[IMAGE_RANGES];
    image->n_ranges = raw_bytes[IMAGE_RANGES] / sizeof *image->ranges;
    image->pages = image->raw[IMAGE_PAGES];
    image->n_pages = raw_bytes[IMAGE_PAGES] / sizeof *image->pages;
    image->paths = image->raw[IMAGE_PATHS];
    image->n_path_bytes = raw_bytes[IMAGE_PATHS];
    if (image->n_path_bytes == 0 || image->paths[image->n_path_bytes - 1] != '\0')
        return refuse(image, "its paths are cut off", err);
    if (!are_ranges_sound(image))
        return refuse(image, "its memory ranges overlap", err);
    if (!are_pages_sound(image))
        return refuse(image, "its pages overlap", err);
    return image_file_take_threads(image, raw_bytes[IMAGE_THREADS], err);
}

static int read_header(struct image_file *image, struct error *err)
{
    struct image_header *header = &image->header;
    int code = read_at(image, header, sizeof *header, 0, err);

    if (code)
        return code;
    if (header->magic != IMAGE_MAGIC)
        return error_set(err, ERROR_FORMAT, "'%s' is not a heap image of mtrace", image->path);
    if (header->version != IMAGE_VERSION)
        return error_set(err, ERROR_VERSION,
                         "heap image '%s' has version %u; this mtrace reads version %u",
                         image->path, header->version, (unsigned)IMAGE_VERSION);
    if (header->header_bytes != sizeof *header || header->n_sections != IMAGE_WORDS
        || header->name[IMAGE_NAME_BYTES - 1] != '\0')
        return refuse(image, "its header is invalid", err);
    return 0;
}

int image_file_open(const char *path, struct image_file *image, struct error *err)
{
    size_t raw_bytes[IMAGE_WORDS] = {0};
    struct stat status;

    *image = (struct image_file){.fd = -1, .path = strdup(path)};
    if (!image->path)
        return error_set(err, ERROR_NOMEM, "no memory to read heap image '%s'", path);
    int code = file_io_open_regular(path, ERROR_FORMAT, &image->fd, &status, err);

    if (code == 0)
        code = read_header(image, err);
    if (code == 0)
        code = read_sections(image, raw_bytes, err);
    return code ? code : take_sections(image, raw_bytes, err);
}

void image_file_close(struct image_file *image)
{
    for (size_t kind = 0; kind < IMAGE_WORDS; kind++)
        free(image->raw[kind]);
    free(image->threads);
    free(image->loads);
    free(image->path);
    if (image->fd >= 0)
        close(image->fd);
    *image = (struct image_file){.fd = -1};
}

const struct image_range *image_file_range(const struct image_file *image, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, image->n_ranges, image->ranges[i].end <= address);
    return i < image->n_ranges && image->ranges[i].start <= address ? &image->ranges[i] : NULL;
}

const char *image_file_path(const struct image_file *image, const struct image_range *range)
{
    return image->paths + range->path;
}

/* ---- WORDS ---- */

struct decoder {
    const struct image_file *image;
    image_page_function *page;
    void *context;
    struct error *err;
    ZSTD_DStream *stream;
    XXH64_state_t *hash;
    unsigned char *input, *output;
    size_t n_output; /* decoded bytes that no call has had yet */
    uint64_t last_page;
    bool has_page;
};

/* Hands on the whole pages in the output and keeps the rest. */
static int hand_on(struct decoder *decoder)
{
    size_t at = 0;
    int code = 0;

    while (code == 0 && decoder->n_output - at >= sizeof(struct image_page)) {
        uint64_t values[IMAGE_PAGE_WORDS];
        struct image_page page;
        size_t n = 0;

        memcpy(&page, decoder->output + at, sizeof page);
        for (size_t i = 0; i < IMAGE_PAGE_WORDS / 64; i++)
            n += (size_t)__builtin_popcountll(page.mask[i]);
        if (decoder->n_output - at - sizeof page < n * 8)
            break;
        if (page.address % PAGE_BYTES || (decoder->has_page && page.address <= decoder->last_page))
            return refuse(decoder->image, "its pages are not in order", decoder->err);
        memcpy(values, decoder->output + at + sizeof page, n * 8);
        code = decoder->page(decoder->context, page.address, page.mask, values, decoder->err);
        decoder->last_page = page.address;
        decoder->has_page = true;
        at += sizeof page + n * 8;
    }
    decoder->n_output -= at;
    memmove(decoder->output, decoder->output + at, decoder->n_output);
    return code;
}

static int decode_input(struct decoder *decoder, size_t n_input)
{
    ZSTD_inBuffer in = {decoder->input, n_input, 0};
    int code = 0;

    while (code == 0) {
        ZSTD_outBuffer out = {decoder->output, OUTPUT_BYTES, decoder->n_output};
        size_t rc = ZSTD_decompressStream(decoder->stream, &out, &in);

        if (ZSTD_isError(rc))
            return refuse(decoder->image, "its words cannot be decompressed", decoder->err);
        bool is_full = out.pos == out.size;
        decoder->n_output = out.pos;
        code = hand_on(decoder);
        if (in.pos == in.size && !is_full)
            break;
    }
    return code;
}

/* The checksum is known at the end: what the calls got may be wrong if this fails. */
static int decode_words(struct decoder *decoder)
{
    const struct image_file *image = decoder->image;
    uint64_t at = 0;
    int code = 0;

    (void)XXH64_reset(decoder->hash, 0);
    while (code == 0 && at < image->words_bytes) {
        uint64_t left = image->words_bytes - at;
        size_t n = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;

        code = read_at(image, decoder->input, n, image->words_offset + at, decoder->err);
        if (code == 0)
            (void)XXH64_update(decoder->hash, decoder->input, n);
        if (code == 0)
            code = decode_input(decoder, n);
        at += n;
    }
    if (code == 0 && decoder->n_output)
        code = refuse(image, "its last page is cut off", decoder->err);
    if (code == 0 && XXH64_digest(decoder->hash) != image->words_checksum)
        code = refuse(image, "a checksum is wrong", decoder->err);
    return code;
}

int image_file_words(const struct image_file *image, image_page_function *page, void *context,
                     struct error *err)
{
    if (image->core_words)
        return image->core_words(image, page, context, err);
    struct decoder decoder = {.image = image,
                              .page = page,
                              .context = context,
                              .err = err,
                              .stream = ZSTD_createDStream(),
                              .hash = XXH64_createState(),
                              .input = malloc(INPUT_BYTES),
                              .output = malloc(OUTPUT_BYTES)};
    int code = decoder.stream && decoder.hash && decoder.input && decoder.output
                   ? decode_words(&decoder)
                   : error_set(err, ERROR_NOMEM, "no memory to read heap image '%s'", image->path);

    free(decoder.output);
    free(decoder.input);
    (void)XXH64_freeState(decoder.hash);
    ZSTD_freeDStream(decoder.stream);
    return code;
}
