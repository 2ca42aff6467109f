/* SPDX-License-Identifier: MIT */
#include "recorder/image/image_writer.h"

#include "lib/base/file_io.h"
#include "lib/process/output_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    PAGE_BYTES = IMAGE_PAGE_WORDS * 8,
    PAGES_AT_ONCE = 64,
    LEVEL = 3,
    PART_BYTES = 128 << 10,
};

/* Ranges without a gap between them are one. */
struct span {
    uint64_t start, end;
};

struct writer {
    const struct image_contents *contents;
    struct output_file file;
    uint64_t offset;
    struct image_section section;
    ZSTD_CCtx *zstd;
    XXH64_state_t *hash;
    struct span *spans;
    size_t n_spans;
    size_t hint;  /* neighbouring words often point into the same span */
    int os_errno; /* of the first failure; 0: none */
    uint8_t part[PART_BYTES];
    uint64_t words[PAGES_AT_ONCE][IMAGE_PAGE_WORDS];
};

static void write_bytes(struct writer *writer, const void *bytes, size_t n_bytes)
{
    if (writer->os_errno == 0)
        writer->os_errno = file_io_write(writer->file.fd, bytes, n_bytes, writer->offset, NULL);
    writer->offset += n_bytes;
}

static void compress(struct writer *writer, const void *bytes, size_t n_bytes,
                     ZSTD_EndDirective directive)
{
    ZSTD_inBuffer in = {bytes, n_bytes, 0};
    size_t n_left = 1;

    writer->section.raw_bytes += n_bytes;
    while (writer->os_errno == 0 && (directive == ZSTD_e_end ? n_left != 0 : in.pos < in.size)) {
        ZSTD_outBuffer out = {writer->part, sizeof(writer->part), 0};
        n_left = ZSTD_compressStream2(writer->zstd, &out, &in, directive);
        if (ZSTD_isError(n_left)) {
            writer->os_errno = ENOMEM;
            return;
        }
        (void)XXH64_update(writer->hash, writer->part, out.pos);
        write_bytes(writer, writer->part, out.pos);
        writer->section.payload_bytes += out.pos;
    }
}

static void begin_section(struct writer *writer, enum image_section_kind kind)
{
    writer->section = (struct image_section){.kind = kind};
    writer->offset += sizeof(writer->section);
    (void)XXH64_reset(writer->hash, 0);
}

static void end_section(struct writer *writer)
{
    compress(writer, NULL, 0, ZSTD_e_end);
    writer->section.checksum = XXH64_digest(writer->hash);
    writer->offset -= writer->section.payload_bytes + sizeof(writer->section);
    write_bytes(writer, &writer->section, sizeof(writer->section));
    writer->offset += writer->section.payload_bytes;
}

static void write_section(struct writer *writer, enum image_section_kind kind, const void *bytes,
                          size_t n_bytes)
{
    begin_section(writer, kind);
    compress(writer, bytes, n_bytes, ZSTD_e_continue);
    end_section(writer);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static void merge_ranges(struct writer *writer)
{
    const struct image_contents *contents = writer->contents;

    for (size_t i = 0; i < contents->n_ranges; i++) {
        const struct image_range *range = &contents->ranges[i];
        struct span *last = writer->n_spans ? &writer->spans[writer->n_spans - 1] : NULL;
        if (last && last->end == range->start)
            last->end = range->end;
        else
            writer->spans[writer->n_spans++] = (struct span){range->start, range->end};
    }
}

static bool is_pointer(struct writer *writer, uint64_t word)
{
    const struct span *spans = writer->spans;
    size_t low = 0;
    size_t high = writer->n_spans;

    if (high == 0 || word < spans[0].start || word > spans[high - 1].end)
        return false;
    if (word >= spans[writer->hint].start && word <= spans[writer->hint].end)
        return true;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (spans[middle].start <= word)
            low = middle + 1;
        else
            high = middle;
    }
    writer->hint = low - 1;
    return word <= spans[low - 1].end;
}

static void write_page(struct writer *writer, uint64_t address, const uint64_t *words)
{
    struct image_page page = {.address = address};
    uint64_t pointers[IMAGE_PAGE_WORDS];
    size_t n = 0;

    for (size_t i = 0; i < IMAGE_PAGE_WORDS; i++)
        if (is_pointer(writer, words[i])) {
            page.mask[i / 64] |= UINT64_C(1) << i % 64;
            pointers[n++] = words[i];
        }
    if (n == 0)
        return;
    compress(writer, &page, sizeof(page), ZSTD_e_continue);
    compress(writer, pointers, n * sizeof(*pointers), ZSTD_e_continue);
}

static void write_copied(struct writer *writer, const struct image_copied *copied)
{
    for (uint64_t at = 0; at < copied->n_bytes && writer->os_errno == 0;
         at += sizeof(writer->words)) {
        uint64_t n_left = copied->n_bytes - at;
        size_t n = n_left < sizeof(writer->words) ? (size_t)n_left : sizeof(writer->words);
        size_t n_read = 0;

        writer->os_errno = file_io_read(writer->contents->copy_fd, writer->words, n,
                                        copied->file_offset + at, &n_read);
        if (writer->os_errno == 0 && n_read != n)
            writer->os_errno = EIO;
        for (size_t i = 0; i < n_read / PAGE_BYTES; i++)
            write_page(writer, copied->start + at + i * PAGE_BYTES, writer->words[i]);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_all(struct writer *writer)
{
    const struct image_contents *contents = writer->contents;
    struct image_header header = contents->header;

    header.magic = IMAGE_MAGIC;
    header.version = IMAGE_VERSION;
    header.header_bytes = sizeof(header);
    header.n_sections = IMAGE_WORDS;
    write_bytes(writer, &header, sizeof(header));
    write_section(writer, IMAGE_THREADS, contents->threads, contents->n_thread_bytes);
    write_section(writer, IMAGE_RANGES, contents->ranges,
                  contents->n_ranges * sizeof(*contents->ranges));
    write_section(writer, IMAGE_PATHS, contents->paths, contents->n_path_bytes);
    write_section(writer, IMAGE_PAGES, contents->pages,
                  contents->n_pages * sizeof(*contents->pages));
    begin_section(writer, IMAGE_WORDS);
    merge_ranges(writer);
    for (size_t i = 0; i < contents->n_copied; i++)
        write_copied(writer, &contents->copied[i]);
    end_section(writer);
}

static bool prepare(struct writer *writer)
{
    writer->zstd = ZSTD_createCCtx();
    writer->hash = XXH64_createState();
    writer->spans = calloc(writer->contents->n_ranges + 1, sizeof(*writer->spans));
    return writer->zstd && writer->hash && writer->spans
           && !ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL));
}

static int write_to(struct writer *writer, const char *target, struct error *err)
{
    int code = output_file_open(&writer->file, target, true, 0600, err);

    if (code == 0) {
        write_all(writer);
        if (writer->os_errno)
            code = error_set_errno(err, writer->os_errno, "cannot write '%s'", target);
        if (code == 0)
            code = output_file_commit(&writer->file, err);
        output_file_close(&writer->file);
    }
    return code;
}

int image_writer_write(const struct image_contents *contents, const char *target, struct error *err)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    int code;

    if (!writer)
        return error_set(err, ERROR_NOMEM, "no memory to write '%s'", target);
    writer->contents = contents;
    code = prepare(writer) ? write_to(writer, target, err)
                           : error_set(err, ERROR_NOMEM, "no memory to write '%s'", target);
    free(writer->spans);
    (void)XXH64_freeState(writer->hash);
    (void)ZSTD_freeCCtx(writer->zstd);
    free(writer);
    return code;
}
