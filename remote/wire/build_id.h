/* SPDX-License-Identifier: MIT */
/*
 * build_id: reads the build id of an ELF file, which also identifies its debug file.
 *
 * The file may be anything: nothing outside of it is read, and at most BUILD_ID_NOTE_BYTES of a
 * note section.
 *
 * Threads: any.
 */
#ifndef MTRACE_REMOTE_BUILD_ID_H
#define MTRACE_REMOTE_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUILD_ID_BYTES = 32, /* maximum that is supported here */
    BUILD_ID_LEAST_BYTES = 8,
    BUILD_ID_NOTE_BYTES = 4096,
    BUILD_ID_MAX_SECTIONS = 4096,
};

struct build_id {
    uint8_t bytes[BUILD_ID_BYTES]; /* zero after n bytes */
    size_t n;
};

/* false: not a 64-bit ELF file, or without a build id. */
bool build_id_read(int fd, struct build_id *ret_id);

bool build_id_is_same(const struct build_id *a, const struct build_id *b);

/* "ab" and "cdef…" as in .build-id/ab/cdef…; ret_rest needs 2 * BUILD_ID_BYTES. */
void build_id_format(const struct build_id *id, char ret_first[3], char *ret_rest);

#endif
