/* SPDX-License-Identifier: MIT */
/*
 * compressed_stream: a FILE that packs what is written to it into another FILE.
 *
 * Model: fprintf and fwrite as usual; fclose writes the end of the packed data and leaves the other
 *        FILE open. A failed write is seen by ferror or by fclose, whichever comes first.
 */
#ifndef MTRACE_QUERIES_COMPRESSED_STREAM_H
#define MTRACE_QUERIES_COMPRESSED_STREAM_H

#include <stdio.h>

enum compressed_kind {
    COMPRESSED_NONE,
    COMPRESSED_GZIP,
    COMPRESSED_ZSTD,
};

/* What a file's name ends in: .gz, .zst, or neither; NULL is neither. */
enum compressed_kind compressed_stream_kind_of(const char *path);

/* NULL: no memory. */
FILE *compressed_stream_open(FILE *out, enum compressed_kind kind);

#endif
