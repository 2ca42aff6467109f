/* SPDX-License-Identifier: MIT */
/*
 * An allocator whose functions call each other by their exported names, so that an interposed
 * library sees calls within calls. It cuts blocks from an arena and reuses none.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES = 64 << 20,
    HEADER_BYTES = 16,
    SIGNAL_BYTES = 54321, /* a malloc of so much raises SIGUSR1: its handler may leave by longjmp */
};

static _Alignas(16) unsigned char arena[ARENA_BYTES];
static _Atomic size_t used_bytes;

static size_t *size_of(void *block)
{
    return (size_t *)(void *)((unsigned char *)block - HEADER_BYTES);
}

void *malloc(size_t size_bytes)
{
    size_t n_bytes = (size_bytes + HEADER_BYTES + 15) & ~(size_t)15;
    size_t place;

    if (size_bytes == SIGNAL_BYTES)
        raise(SIGUSR1);
    if (size_bytes > ARENA_BYTES
        || (place = atomic_fetch_add(&used_bytes, n_bytes)) + n_bytes > ARENA_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    *size_of(arena + place + HEADER_BYTES) = size_bytes;
    return arena + place + HEADER_BYTES;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t n, size_t size_bytes)
{
    size_t whole;
    void *block;

    if (__builtin_mul_overflow(n, size_bytes, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    block = malloc(whole);
    return block ? memset(block, 0, whole) : NULL;
}

void *realloc(void *old, size_t size_bytes)
{
    void *block = malloc(size_bytes);

    if (block && old) {
        memcpy(block, old, *size_of(old) < size_bytes ? *size_of(old) : size_bytes);
        free(old);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t size_bytes)
{
    unsigned char *block = malloc(size_bytes + alignment + HEADER_BYTES);

    if (!block)
        return NULL;
    block += -(uintptr_t)block & (alignment - 1);
    *size_of(block) = size_bytes;
    return block;
}

int posix_memalign(void **ret_block, size_t alignment, size_t size_bytes)
{
    void *block = aligned_alloc(alignment, size_bytes);

    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

size_t malloc_usable_size(void *block)
{
    return block ? *size_of(block) : 0;
}
