/* SPDX-License-Identifier: MIT */
/*
 * kept_file: an ELF file of which only some parts are known.
 *
 * Model:   The parts are put where they are in the file, and the rest is zero. Headers of sections whose bytes are not
 *          known say SHT_NOBITS then, as in a separate debug file. Nothing is trusted.
 * Threads: one per file. Failure: memory.
 */
#ifndef MTRACE_SYMBOLIZER_KEPT_FILE_H
#define MTRACE_SYMBOLIZER_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept_range {
    uint64_t start, end;
};

/* All zero: nothing is known. */
struct kept_file {
    unsigned char *bytes; /* NULL after kept_file_end: there is too little of it */
    size_t n_bytes;
    size_t n_allocated;
    struct kept_range *ranges; /* known ones, ascending */
    size_t n_ranges, n_ranges_allocated;
};

/* Copies the next part; offsets ascend. Parts at absurd offsets are ignored. False: no memory. */
bool kept_file_add(struct kept_file *file, uint64_t offset, const void *bytes, size_t n_bytes);

/* To be called once between the last part and the first use. */
void kept_file_end(struct kept_file *file);

void kept_file_done(struct kept_file *file);

#endif
