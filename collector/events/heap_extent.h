/* SPDX-License-Identifier: MIT */
/*
 * heap_extent: where glibc's heaps are now. Its own brk and arena growth pass no wrapper, so the
 * program's calls of malloc_info, mallinfo2, malloc_trim and its exit are used to look.
 *
 * Threads: any, outside of recording. Failure: nothing is recorded.
 */
#ifndef MTRACE_COLLECTOR_HEAP_EXTENT_H
#define MTRACE_COLLECTOR_HEAP_EXTENT_H

/* A LOG_HEAP_EXTENT event for every heap that /proc/self/maps shows. */
void heap_extent_record(void);

#endif
