/* SPDX-License-Identifier: MIT */
/*
 * file_key: LOG_DEF_FILE's key of a file, as far as it does not come from its content.
 *
 * Model: FNV-1a, never 0. The collector and the recorder compute the same key of one file.
 */
#ifndef MTRACE_LIB_FILE_KEY_H
#define MTRACE_LIB_FILE_KEY_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t file_key_of_bytes(const void *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash | 1;
}

/* Of a file without a build id. */
static inline uint64_t file_key_of_status(uint64_t device, uint64_t inode, int64_t size_bytes,
                                          int64_t change_seconds)
{
    const uint64_t words[] = {device, inode, (uint64_t)size_bytes, (uint64_t)change_seconds};

    return file_key_of_bytes(words, sizeof(words));
}

#endif
