/* SPDX-License-Identifier: MIT */
/*
 * heap_extent: records where glibc's heaps are.
 *
 * glibc grows its heaps by brk and in its arenas without calling a wrapper. The collector therefore
 * looks when the program calls malloc_info, mallinfo2 or malloc_trim, and when it exits.
 *
 * Threads: any, outside of recording. On failure nothing is recorded.
 */
#ifndef MTRACE_COLLECTOR_HEAP_EXTENT_H
#define MTRACE_COLLECTOR_HEAP_EXTENT_H

/* Writes a LOG_HEAP_EXTENT event for each heap in /proc/self/maps. */
void heap_extent_record(void);

#endif
