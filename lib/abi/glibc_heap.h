/* SPDX-License-Identifier: MIT */
/*
 * glibc_heap: where glibc's malloc has its blocks, by the width of the program's words.
 */
#ifndef MTRACE_LIB_GLIBC_HEAP_H
#define MTRACE_LIB_GLIBC_HEAP_H

#include <stdint.h>

/* HEAP_MAX_SIZE: an arena other than the main one lies in one piece of so many bytes, aligned to them. */
static inline uint64_t glibc_heap_arena_bytes(unsigned word_bytes)
{
    return word_bytes == 4 ? UINT64_C(1) << 20 : UINT64_C(64) << 20;
}

/* SIZE_SZ: what a block takes beside its usable bytes, right before its address. */
static inline uint32_t glibc_heap_header_bytes(unsigned word_bytes)
{
    return word_bytes == 4 ? 4 : 8;
}

#endif
