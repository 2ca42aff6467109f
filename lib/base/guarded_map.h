/* SPDX-License-Identifier: MIT */
/*
 * guarded_map: a shared mapping of a file that other processes may truncate while we read it.
 *
 * The kernel raises SIGBUS for an access beyond the end of the file, or to a page that it cannot
 * read or allocate. A handler maps private zeros from there to the end and notes the offset; the
 * interrupted access continues with them. So readers need no checks of their own and look at
 * whole_bytes afterwards.
 *
 * Invariants
 *   GM-1 While a mapping is listed, no access to it ends the process.
 *   GM-2 The mapping shows the file below whole_bytes and private zeros above. whole_bytes never
 *        grows again.
 *
 * One thread; the handler runs in it. SIGBUS is handled while a mapping is listed; one from
 * elsewhere ends the process as usual.
 */
#ifndef MTRACE_LIB_GUARDED_MAP_H
#define MTRACE_LIB_GUARDED_MAP_H

#include <signal.h>
#include <stddef.h>

struct guarded_map {
    void *start; /* NULL: none */
    size_t n_bytes;
    volatile size_t whole_bytes;    /* n_bytes unless it was cut */
    volatile sig_atomic_t is_short; /* the file itself was shorter */
    int fd;                         /* of the file; the caller's */
    struct guarded_map *next;
};

/* Maps n_bytes of fd from offset 0, `flags` as for mmap. Returns 0 or errno. *map must not move
 * until guarded_map_close. */
int guarded_map_open(struct guarded_map *map, int fd, size_t n_bytes, int flags);

/* Enlarges a mapping that was not cut; it may move. Returns 0, or errno and leaves it unchanged. */
int guarded_map_grow(struct guarded_map *map, size_t n_bytes);

/* Unmaps; an all-zero map may be closed. */
void guarded_map_close(struct guarded_map *map);

#endif
