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
    WORD_BYTES = 256 << 10, /* read by one call */
    LEVEL = 3,
    PART_BYTES = 128 << 10,
};

struct writer {
    const struct image_contents *contents;
    struct output_file file;
    uint64_t offset;
    struct image_section section;
    ZSTD_CCtx *zstd;
    XXH64_state_t *hash;
    int os_errno; /* of the first failure; 0: none */
    uint8_t part[PART_BYTES];
    uint8_t words[WORD_BYTES];
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

static void write_words(struct writer *writer)
{
    const struct image_contents *contents = writer->contents;

    for (uint64_t at = 0; at < contents->n_word_bytes && writer->os_errno == 0;
         at += sizeof(writer->words)) {
        uint64_t n_left = contents->n_word_bytes - at;
        size_t n = n_left < sizeof(writer->words) ? (size_t)n_left : sizeof(writer->words);
        size_t n_read = 0;

        writer->os_errno = file_io_read(contents->words_fd, writer->words, n, at, &n_read);
        if (writer->os_errno == 0 && n_read != n)
            writer->os_errno = EIO;
        compress(writer, writer->words, n_read, ZSTD_e_continue);
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
    write_words(writer);
    end_section(writer);
}

static bool prepare(struct writer *writer)
{
    writer->zstd = ZSTD_createCCtx();
    writer->hash = XXH64_createState();
    return writer->zstd && writer->hash
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
    (void)XXH64_freeState(writer->hash);
    (void)ZSTD_freeCCtx(writer->zstd);
    free(writer);
    return code;
}
