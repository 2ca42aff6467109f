/* SPDX-License-Identifier: MIT */
/*
 * build_id: the note by which an ELF file, and what has its debug information, is known.
 *
 * Model:   the file may be anything: what does not lie in it is not read, and no more than BUILD_ID_NOTE_BYTES of a note section.
 * Threads: any.
 */
#ifndef MTRACE_REMOTE_BUILD_ID_H
#define MTRACE_REMOTE_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUILD_ID_BYTES = 32, /* at most, of those that matter here */
    BUILD_ID_LEAST_BYTES = 8,
    BUILD_ID_NOTE_BYTES = 4096,
    BUILD_ID_MAX_SECTIONS = 4096,
};

struct build_id {
    uint8_t bytes[BUILD_ID_BYTES]; /* behind n: 0 */
    size_t n;
};

/* false: it is no ELF file of 64 bits, or has none. */
bool build_id_read(int fd, struct build_id *ret_id);

bool build_id_is_same(const struct build_id *a, const struct build_id *b);

/* "ab" and "cdef…" as in .build-id/ab/cdef…; ret_rest has room for 2 * BUILD_ID_BYTES. */
void build_id_format(const struct build_id *id, char ret_first[3], char *ret_rest);

#endif
