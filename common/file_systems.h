/* SPDX-License-Identifier: MIT */
/*
 * file_systems: what of a file system matters to a log that is written through a mapping.
 *
 * Where blocks are never overwritten, fallocate keeps room for the file, but not for the copy that the first
 * store to a page makes: on a full disk that store is SIGBUS. Such a log belongs into shared memory.
 */
#ifndef MTRACE_COMMON_FILE_SYSTEMS_H
#define MTRACE_COMMON_FILE_SYSTEMS_H

#include <stdbool.h>
#include <stdint.h>

/* Where shared memory is, and what logs in it are called: with run id or another random number. */
#define FILE_SYSTEMS_MEMORY_PREFIX "/dev/shm/mtrace-"

/* By statfs.f_type; not all of them are in linux/magic.h. */
static inline bool file_systems_copies_on_write(uint64_t type)
{
    switch ((uint32_t)type) {
    case 0x9123683eu: /* btrfs */
    case 0x2fc12fc1u: /* ZFS */
    case 0xca451a4eu: /* bcachefs */
    case 0x3434u:     /* NILFS */
        return true;
    default:
        return false;
    }
}

#endif
