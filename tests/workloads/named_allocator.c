/* SPDX-License-Identifier: MIT */
/*
 * An allocator inside the program with mimalloc's names: one function with six arguments, one whose
 * block is filled immediately, and one that is chosen at start (IFUNC). All forward to libc.
 */
#include "tests/workloads/workload.h"

#include <stdio.h>
#include <string.h>

/* Long enough for a jump, and called as written. */
#define FUNCTION __attribute__((noinline, noipa))
#define BEGIN    __asm__ volatile("nop; nop; nop; nop; nop; nop")

static int n_resolved;

FUNCTION void *mi_malloc(size_t size)
{
    BEGIN;
    return malloc(size);
}

FUNCTION void mi_free(void *block)
{
    BEGIN;
    free(block);
}

FUNCTION char *mi_strdup(const char *text)
{
    BEGIN;
    return strcpy(malloc(strlen(text) + 1), text);
}

FUNCTION void *mi_heap_recalloc_aligned_at(void *heap, void *block, size_t n, size_t size,
                                           size_t alignment, size_t offset)
{
    BEGIN;
    (void)heap;
    printf("aligned to %zu at %zu\n", alignment, offset);
    return realloc(block, n * size);
}

static size_t usable_size(const void *block)
{
    return block ? 24 : 0;
}

static size_t (*resolve(void))(const void *)
{
    n_resolved++;
    return usable_size;
}

size_t mi_usable_size(const void *block) __attribute__((ifunc("resolve")));

int main(void)
{
    void *block = mi_malloc(10);
    char *copy = mi_strdup("something");

    printf("usable %zu, copied %s\n", mi_usable_size(block), copy);
    block = mi_heap_recalloc_aligned_at(NULL, block, 4, 8, 16, 8);
    mi_free(block);
    mi_free(copy);
    printf("resolved %d times\n", n_resolved);
    return 0;
}
