/* SPDX-License-Identifier: MIT */
/*
 * file_systems: properties of file systems that matter to a log written through a mapping.
 *
 * A lease tells whether any process has a file open. On overlayfs a mapping keeps the lower file
 * open, not the file itself, so a lease does not show it.
 *
 * On copy-on-write file systems fallocate reserves space for the file, but not for the copy that
 * the first store to a page makes: on a full disk that store raises SIGBUS. Such a log belongs in
 * shared memory.
 */
#ifndef MTRACE_LIB_FILE_SYSTEMS_H
#define MTRACE_LIB_FILE_SYSTEMS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Prefix of logs in shared memory; the run id or another random number follows. */
#define FILE_SYSTEMS_MEMORY_PREFIX "/dev/shm/mtrace-"

/* If a live log fits neither in its place nor in shared memory, a link to this path takes its
 * place. The link needs an inode: if none is left, there is no link, and the user does not see why
 * there is no log. */
#define FILE_SYSTEMS_NO_ROOM "/mtrace: no room"

/* The disk is full, a quota is used up, or the file would exceed RLIMIT_FSIZE. */
static inline bool file_systems_is_lack_of_room(int os_errno)
{
    return os_errno == ENOSPC || os_errno == EDQUOT || os_errno == EFBIG;
}

/* By statfs.f_type; linux/magic.h does not have all of them. */
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

/* File systems where leases are known to work so. */
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

/* Another machine may write to a file there; its processes are not visible here. */
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
