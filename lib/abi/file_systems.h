/* SPDX-License-Identifier: MIT */
/*
 * file_systems: what of a file system matters to a log that is written through a mapping.
 *
 * The kernel can be asked whether anybody has a file open (a lease), where a mapping keeps that very file open: of overlayfs
 * it keeps the one below.
 *
 * Where blocks are never overwritten, fallocate keeps room for the file, but not for the copy that the first
 * store to a page makes: on a full disk that store is SIGBUS. Such a log belongs into shared memory.
 */
#ifndef MTRACE_LIB_FILE_SYSTEMS_H
#define MTRACE_LIB_FILE_SYSTEMS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Where shared memory is, and what logs in it are called: with run id or another random number. */
#define FILE_SYSTEMS_MEMORY_PREFIX "/dev/shm/mtrace-"

/* Who has room for a live log neither where it belongs nor there leaves a link that leads here in its place. That takes its name, and an inode: where none
 * of those is left, no word is, and nobody is told why there is no log. */
#define FILE_SYSTEMS_NO_ROOM "/mtrace: no room"

/* There is no room on the disk, in somebody's quota, or below the limit of the size of a file (RLIMIT_FSIZE). */
static inline bool file_systems_is_lack_of_room(int os_errno)
{
    return os_errno == ENOSPC || os_errno == EDQUOT || os_errno == EFBIG;
}

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

/* Those of which it was looked at how they do it. */
static inline bool file_systems_tells_who_has_it_open(uint64_t type)
{
    switch ((uint32_t)type) {
    case 0xef53u:     /* ext2, ext3, ext4 */
    case 0x58465342u: /* XFS */
    case 0x9123683eu: /* btrfs */
    case 0xf2f52010u: /* F2FS */
    case 0x01021994u: /* tmpfs */
        return true;
    default:
        return false;
    }
}

/* Another machine may write to a file there, of which what is known of this one says nothing. */
static inline bool file_systems_is_shared_by_machines(uint64_t type)
{
    switch ((uint32_t)type) {
    case 0x6969u:     /* NFS */
    case 0x517bu:     /* SMB */
    case 0xff534d42u: /* CIFS */
    case 0xfe534d42u: /* SMB2 */
    case 0x01021997u: /* 9p */
    case 0x65735546u: /* FUSE */
    case 0x00c36400u: /* Ceph */
    case 0x0bd00bd0u: /* Lustre */
    case 0x01161970u: /* GFS2 */
    case 0x7461636fu: /* OCFS2 */
    case 0x5346414fu: /* AFS */
    case 0x47504653u: /* GPFS */
        return true;
    default:
        return false;
    }
}

#endif
