/* SPDX-License-Identifier: MIT */
#include "queries/render/compressed_stream.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
    N_LINES = 40000,
    MAX_BYTES = 1 << 20
};

/* Writes lines through a stream; returns what came out, to be freed. */
static char *pack_lines(enum compressed_kind kind, char *ret_lines, size_t *ret_n, size_t *ret_size)
{
    char *packed = NULL;
    FILE *out = open_memstream(&packed, ret_size);
    FILE *stream;
    size_t n = 0;

    assert_non_null(out);
    stream = compressed_stream_open(out, kind);
    assert_non_null(stream);
    for (int i = 0; i < N_LINES; i++) {
        n += (size_t)sprintf(ret_lines + n, "+ %x\n", (unsigned)i * 2654435761u);
        assert_true(n < MAX_BYTES - 64);
    }
    assert_int_equal(fwrite(ret_lines, 1, n, stream), n);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(fclose(out), 0);
    *ret_n = n;
    return packed;
}

static char lines[MAX_BYTES];
static char unpacked[MAX_BYTES];

TEST(nothing_is_packed_by_none)
{
    size_t n, size;
    char *packed = pack_lines(COMPRESSED_NONE, lines, &n, &size);

    assert_int_equal(n, size);
    assert_memory_equal(packed, lines, n);
    free(packed);
}

TEST(zstd_unpacks_what_was_written)
{
    size_t n, size;
    char *packed = pack_lines(COMPRESSED_ZSTD, lines, &n, &size);

    assert_true(size < n);
    assert_int_equal(ZSTD_decompress(unpacked, sizeof(unpacked), packed, size), n);
    assert_memory_equal(unpacked, lines, n);
    free(packed);
}

TEST(gzip_unpacks_what_was_written)
{
    size_t n, size;
    char *packed = pack_lines(COMPRESSED_GZIP, lines, &n, &size);
    z_stream stream = {
        .next_in = (Bytef *)packed, .next_out = (Bytef *)unpacked, .avail_out = sizeof(unpacked)};

    stream.avail_in = (uInt)size;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, n);
    assert_memory_equal(unpacked, lines, n);
    inflateEnd(&stream);
    free(packed);
}

TEST(full_disk_is_an_error)
{
    static const enum compressed_kind kinds[] = {COMPRESSED_NONE, COMPRESSED_GZIP, COMPRESSED_ZSTD};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        FILE *full = fopen("/dev/full", "w");
        FILE *stream;
        assert_non_null(full);
        setbuf(full, NULL);
        stream = compressed_stream_open(full, kinds[i]);
        assert_non_null(stream);
        (void)fputs("a line\n", stream);
        assert_int_not_equal(fclose(stream), 0);
        fclose(full);
    }
}

TEST(names_report_the_kind)
{
    assert_int_equal(compressed_stream_kind_of("a.b.zst"), COMPRESSED_ZSTD);
    assert_int_equal(compressed_stream_kind_of("folder.zst/a.gz"), COMPRESSED_GZIP);
    assert_int_equal(compressed_stream_kind_of("heaptrack.program.1"), COMPRESSED_NONE);
    assert_int_equal(compressed_stream_kind_of(NULL), COMPRESSED_NONE);
}
