/* SPDX-License-Identifier: MIT */
#include "recorder/image/image_writer.h"
#include "recorder/image/pointer_filter.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    PAGE = 4096
};

static uint64_t g_copy[2][IMAGE_PAGE_WORDS];
static uint64_t g_raw[4096];

/* The next section, decompressed into g_raw. */
static size_t read_section(FILE *file, uint32_t kind)
{
    static uint8_t payload[65536];
    struct image_section section;
    size_t n;

    assert_int_equal(fread(&section, sizeof(section), 1, file), 1);
    assert_int_equal(section.kind, kind);
    assert_true(section.payload_bytes <= sizeof(payload));
    assert_int_equal(fread(payload, 1, section.payload_bytes, file), section.payload_bytes);
    assert_true(XXH64(payload, section.payload_bytes, 0) == section.checksum);
    n = ZSTD_decompress(g_raw, sizeof(g_raw), payload, section.payload_bytes);
    assert_int_equal(n, section.raw_bytes);
    return n;
}

TEST(only_pointers_are_written)
{
    static const struct image_range ranges[] = {{.start = 0x10000, .end = 0x12000},
                                                {.start = 0x12000, .end = 0x13000},
                                                {.start = 0x20000, .end = 0x21000}};
    static const struct image_pages pages[] = {{.start = 0x10000, .n_bytes = 0x2000, .kind = 1}};
    char words_path[] = "/tmp/mtrace_image_words_XXXXXX";
    uint8_t bytes[POINTER_FILTER_PAGE_BYTES];
    struct pointer_filter filter;
    char target[] = "/tmp/mtrace_image_XXXXXX";
    const int target_fd = mkstemp(target);
    struct image_contents contents = {.header = {.pid = 7, .cause = IMAGE_CAUSE_EXIT},
                                      .threads = "",
                                      .ranges = ranges,
                                      .n_ranges = 3,
                                      .paths = "",
                                      .n_path_bytes = 1,
                                      .pages = pages,
                                      .n_pages = 1,
                                      .words_fd = mkstemp(words_path)};
    const struct image_page *page = (const struct image_page *)g_raw;
    const uint64_t *words = (const uint64_t *)(page + 1);
    struct image_header header;
    struct stat status;
    struct error err;
    FILE *file;

    g_copy[1][0] = 0xffff;    /* below the first range */
    g_copy[1][1] = 0x10000;   /* its first byte */
    g_copy[1][63] = 0x13000;  /* one byte behind a range */
    g_copy[1][64] = 0x13001;  /* in the gap */
    g_copy[1][511] = 0x20800; /* in the last range */
    g_copy[1][100] = 0x21001; /* above all */
    assert_int_equal(pointer_filter_init(&filter, ranges, 3), 0);
    assert_int_equal(pointer_filter_page(&filter, 0x10000, g_copy[0], bytes), 0);
    contents.n_word_bytes = pointer_filter_page(&filter, 0x10000 + PAGE, g_copy[1], bytes);
    pointer_filter_done(&filter);
    assert_int_equal(write(contents.words_fd, bytes, contents.n_word_bytes), contents.n_word_bytes);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(image_writer_write(&contents, target, &err), 0);
    file = fopen(target, "re");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    assert_true(header.magic == IMAGE_MAGIC && header.pid == 7 && header.n_sections == 5);
    assert_int_equal(read_section(file, IMAGE_THREADS), 0);
    assert_int_equal(read_section(file, IMAGE_RANGES), sizeof(ranges));
    assert_memory_equal(g_raw, ranges, sizeof(ranges));
    assert_int_equal(read_section(file, IMAGE_PATHS), 1);
    assert_int_equal(read_section(file, IMAGE_PAGES), sizeof(pages));
    assert_int_equal(read_section(file, IMAGE_WORDS), sizeof(*page) + 3 * sizeof(*words));
    assert_true(page->address == 0x10000 + PAGE);
    assert_true(page->mask[0] == (UINT64_C(1) << 63 | 2) && page->mask[7] == UINT64_C(1) << 63);
    assert_true(words[0] == 0x10000 && words[1] == 0x13000 && words[2] == 0x20800);
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);

    /* a file of pointers that is cut makes no image, and leaves the old one */
    assert_int_equal(ftruncate(contents.words_fd, 8), 0);
    assert_int_equal(image_writer_write(&contents, target, &err), ERROR_IO);
    assert_non_null(strstr(err.text, target));
    assert_int_equal(access(target, F_OK), 0);
    (void)unlink(target);
    (void)unlink(words_path);
    (void)close(target_fd);
    (void)close(contents.words_fd);
}
