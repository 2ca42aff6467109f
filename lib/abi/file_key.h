/* SPDX-License-Identifier: MIT */
/*
 * file_key: the key of a module's file in LOG_DEF_FILE and LOG_DEF_FILE_PART.
 *
 * The collector, the recorder and the importer compute the same key, by FNV-1a; it is never 0.
 */
#ifndef MTRACE_LIB_FILE_KEY_H
#define MTRACE_LIB_FILE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* For a file with a build id: of its bytes. */
static inline uint64_t file_key_of_bytes(const void *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash | 1;
}

/* For a file without a build id: of its status. */
static inline uint64_t file_key_of_status(uint64_t device, uint64_t inode, uint64_t size_bytes,
                                          uint64_t change_seconds)
{
    const uint64_t words[] = {device, inode, size_bytes, change_seconds};

    return file_key_of_bytes(words, sizeof(words));
}

#endif
