/* SPDX-License-Identifier: MIT */
/*
 * kept_file: an ELF file of which the log has only some parts.
 *
 * The parts are put at their offsets, the rest is zero. Headers of sections whose bytes are missing
 * are changed to SHT_NOBITS, as in a separate debug file. The content is not trusted.
 * Threads: one per file. Errors: memory.
 */
#ifndef MTRACE_SYMBOLIZER_KEPT_FILE_H
#define MTRACE_SYMBOLIZER_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept_range {
    uint64_t start, end;
};

/* All zero: empty. */
struct kept_file {
    unsigned char *bytes; /* NULL after kept_file_end: too little is known */
    size_t n_bytes;
    size_t n_allocated;
    struct kept_range *ranges; /* known ones, ascending */
    size_t n_ranges, n_ranges_allocated;
};

/* Copies the next part; offsets are ascending. Absurd offsets are ignored. False: no memory. */
bool kept_file_add(struct kept_file *file, uint64_t offset, const void *bytes, size_t n_bytes);

/* Call it once between the last part and the first use. */
void kept_file_end(struct kept_file *file);

void kept_file_done(struct kept_file *file);

#endif
