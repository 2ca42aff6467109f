/* SPDX-License-Identifier: MIT */
/*
 * glibc_heap: layout of glibc's heaps, by the program's word size.
 */
#ifndef MTRACE_LIB_GLIBC_HEAP_H
#define MTRACE_LIB_GLIBC_HEAP_H

#include <stdint.h>

/* HEAP_MAX_SIZE: size and alignment of an arena other than the main one. */
static inline uint64_t glibc_heap_arena_bytes(unsigned word_bytes)
{
    return word_bytes == 4 ? UINT64_C(1) << 20 : UINT64_C(64) << 20;
}

/* SIZE_SZ: overhead of a block, right before its address. */
static inline uint32_t glibc_heap_header_bytes(unsigned word_bytes)
{
    return word_bytes == 4 ? 4 : 8;
}

#endif
