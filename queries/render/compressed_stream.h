/* SPDX-License-Identifier: MIT */
/*
 * compressed_stream: a FILE that compresses what is written to it into another FILE.
 *
 * Use fprintf and fwrite as usual. fclose writes the rest and leaves the other FILE open. ferror or
 * fclose reports a failed write, whichever comes first.
 */
#ifndef MTRACE_QUERIES_COMPRESSED_STREAM_H
#define MTRACE_QUERIES_COMPRESSED_STREAM_H

#include <stdio.h>

enum compressed_kind {
    COMPRESSED_NONE,
    COMPRESSED_GZIP,
    COMPRESSED_ZSTD,
};

/* The kind by the suffix of a file name: .gz, .zst, else none. NULL: none. */
enum compressed_kind compressed_stream_kind_of(const char *path);

/* NULL: no memory. */
FILE *compressed_stream_open(FILE *out, enum compressed_kind kind);

#endif
