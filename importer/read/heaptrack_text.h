/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_text: the lines of a text file, plain or compressed with gzip or zstd.
 *
 * The first bytes, not the name, decide about the compression. Consecutive frames or members are
 * one text.
 *
 * Invariants
 *   HX-1 A line has no newline, ends with a NUL, and is valid until the next call.
 *   HX-2 Lines of more than HEAPTRACK_LINE_BYTES are skipped and counted in n_too_long.
 *   HX-3 Text after the last newline is not a line: a number may be cut there.
 *
 * Threads: one per text.
 * Errors: read errors. Damaged or cut compression ends the text and sets is_cut.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_TEXT_H
#define MTRACE_IMPORTER_HEAPTRACK_TEXT_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAPTRACK_LINE_BYTES = 1 << 20
};

struct heaptrack_codec;

struct heaptrack_text {
    struct heaptrack_codec *codec;
    char *buffer; /* HEAPTRACK_LINE_BYTES + 1 */
    size_t begin, end;
    uint64_t line_number; /* of the last returned line, from 1 */
    uint64_t line_offset; /* its offset in the uncompressed text */
    uint64_t offset;      /* of buffer[begin] */
    uint64_t n_too_long;
    uint64_t size_bytes; /* of the file */
    bool is_compressed;
    bool is_cut; /* compressed data ended early, or the last line has no newline */
};

/* Call heaptrack_text_close also after a failure. */
int heaptrack_text_open(const char *path, struct heaptrack_text *text, struct error *err);
void heaptrack_text_close(struct heaptrack_text *text);

/* Returns 1 and a line, 0 at the end, negative on failure. */
int heaptrack_text_next(struct heaptrack_text *text, char **ret_line, size_t *ret_length,
                        struct error *err);

#endif
