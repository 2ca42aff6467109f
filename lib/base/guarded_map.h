/* SPDX-License-Identifier: MIT */
/*
 * guarded_map: a shared mapping of a file that others may cut while we read it.
 *
 * Model:   the kernel answers an access behind the end of the file, or to a page it cannot read or
 *          make room for, with SIGBUS. A handler puts private zeros in place of all from there on and
 *          notes where; the interrupted access goes on with them. So every reader of the mapping is
 *          guarded, without a word of its own, and looks at whole_bytes afterwards.
 * Invariants
 *   GM-1 While it is listed, no access to the mapping ends the process.
 *   GM-2 The mapping shows the file below whole_bytes, and zeros that are nobody's behind; that never
 *        becomes more again.
 * Threads: one. The handler runs in it. Signals: SIGBUS is taken while a mapping is listed; one from
 *          elsewhere ends the process as it would have.
 */
#ifndef MTRACE_LIB_GUARDED_MAP_H
#define MTRACE_LIB_GUARDED_MAP_H

#include <signal.h>
#include <stddef.h>

struct guarded_map {
    void *start; /* NULL: none */
    size_t n_bytes;
    volatile size_t whole_bytes;    /* n_bytes while nothing was cut */
    volatile sig_atomic_t is_short; /* the file itself ended where it was cut */
    int fd;                         /* of the file, stays the caller's */
    struct guarded_map *next;
};

/* Maps n_bytes of fd from 0 on, `flags` as for mmap; 0 or errno. *map is at its address until
 * guarded_map_close. */
int guarded_map_open(struct guarded_map *map, int fd, size_t n_bytes, int flags);

/* Enlarges a mapping that was not cut, which may move; 0 or errno: it stays as it is. */
int guarded_map_grow(struct guarded_map *map, size_t n_bytes);

/* Unmaps; an all-zero map may be closed. */
void guarded_map_close(struct guarded_map *map);

#endif
