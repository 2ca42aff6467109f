/* SPDX-License-Identifier: MIT */
/*
 * heap_ranges: which addresses of a process are heaps, and how far each reached at what time.
 *
 * Pass 1 notes the blocks that were allocated in each MiB of address space. The collector and the
 * recorder's samples may add extents of heaps. heap_ranges_finish makes heaps from both:
 *   arena  a non-main arena of glibc: its own 64 MiB (1 MiB in a 32-bit program)
 *   main   the main arena of glibc: one brk heap, and other parts where brk failed
 *   other  blocks of other allocators: one heap per run of addresses without a wide gap
 *
 * Invariants
 *   HR-1 Heaps of a process do not overlap and begin and end at pages.
 *   HR-2 A block with a mapping of its own belongs to no heap; every other block belongs to one.
 *   HR-3 Memory: 48 bytes per MiB in which blocks begin, 40 per extent that differs from the
 *        previous.
 *   HR-4 Free space in a heap is known only if every block in it was seen (`unseen`): a fork child
 *        inherits blocks, and a program allocates while it is not traced.
 *   HR-5 If extents are bounded and too many, the higher of two successive extents of a heap is
 *        kept. With too many heaps, only the highest extent of each known one is kept. Dropped
 *        extents are counted.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_HEAP_RANGES_H
#define MTRACE_IMPORTER_HEAP_RANGES_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No heap has larger blocks; a damaged log may. */
#define HEAP_RANGES_MAX_BLOCK_BYTES (UINT64_C(4) << 30)
/* For allocators without LOG_CHUNK_KNOWN: larger blocks have their own mapping. */
#define HEAP_RANGES_OWN_MAPPING_BYTES (UINT64_C(32) << 20)

/* Blocks that may lie in a heap without having a row. */
enum heap_unseen {
    HEAP_ALL_SEEN,
    HEAP_INHERITED, /* allocated in the parent before the fork */
    HEAP_UNTRACKED, /* allocated while the process was not traced */
};

struct heap_range {
    uint32_t heap_id; /* 1, 2, … over all processes */
    uint32_t process;
    enum log_heap_kind kind;
    uint64_t start, end;   /* largest bounds it ever had */
    uint64_t lowest_block; /* address of the lowest block ever allocated there */
    uint32_t header_bytes; /* of each block of glibc; 0: unknown allocator */
    enum heap_unseen unseen;
};

struct heap_ranges;

/* page_bytes[process], word_bytes[process], 1..n_processes; copied. */
int heap_ranges_new(uint32_t n_processes, const uint32_t *page_bytes, const uint8_t *word_bytes,
                    struct heap_ranges **ret, struct error *err);

/* NULL is fine. */
void heap_ranges_free(struct heap_ranges *ranges);

/* Does the block lie in a heap (HR-2)? `call` holds LOG_CHUNK_*. */
static inline bool heap_ranges_is_heap_block(uint8_t call, uint64_t usable_bytes)
{
    if (usable_bytes >= HEAP_RANGES_MAX_BLOCK_BYTES)
        return false;
    if (call & LOG_CHUNK_KNOWN)
        return !(call & LOG_CHUNK_MMAPPED);
    return usable_bytes < HEAP_RANGES_OWN_MAPPING_BYTES;
}

/* A block that the process allocated. */
struct heap_allocation {
    uint64_t time_ns;
    uint64_t address;
    uint64_t usable_bytes; /* what it occupies */
    uint32_t process;
    uint8_t call; /* with LOG_CHUNK_* */
};

/* Adds an allocation; in order of time. */
int heap_ranges_allocated(struct heap_ranges *ranges, const struct heap_allocation *allocation,
                          struct error *err);

/* Adds an extent: the heap reached from start to end. */
int heap_ranges_extent(struct heap_ranges *ranges, uint32_t process, uint64_t time_ns,
                       uint64_t start, uint64_t end, enum log_heap_kind kind, struct error *err);

/* Does a block of an allocator other than glibc's lie in the page at the address, or did one?
 * *ret_until: where the answer may change. Before heap_ranges_finish. */
bool heap_ranges_is_foreign(const struct heap_ranges *ranges, uint32_t process, uint64_t address,
                            uint64_t *ret_until);

/* Do or did its blocks lie in heaps of another allocator than glibc's? */
bool heap_ranges_has_foreign(const struct heap_ranges *ranges, uint32_t process);

/* Bounds extents (HR-5). Before the first one. */
void heap_ranges_bound(struct heap_ranges *ranges, size_t max_extents);
uint64_t heap_ranges_n_left_out(const struct heap_ranges *ranges);

/* Makes the heaps; nothing may be added afterwards. */
int heap_ranges_finish(struct heap_ranges *ranges, struct error *err);

/* After heap_ranges_finish: heaps of the process may hold unseen blocks. Inherited blocks come from
 * `ancestor` before fork_ns, so later heaps are unaffected. ancestor 0: unknown, they may be in any
 * heap. */
void heap_ranges_mark_untracked(struct heap_ranges *ranges, uint32_t process);
void heap_ranges_mark_inherited(struct heap_ranges *ranges, uint32_t process, uint32_t ancestor,
                                uint64_t fork_ns);

size_t heap_ranges_count(const struct heap_ranges *ranges);

/* heap_id 1..count. */
const struct heap_range *heap_ranges_get(const struct heap_ranges *ranges, uint32_t heap_id);

/* The heap of an address, 0 if none. */
uint32_t heap_ranges_find(struct heap_ranges *ranges, uint32_t process, uint64_t address);

/* An observed extent, in order of heap and time; heap_id 0: it belongs to no heap. */
struct heap_extent {
    uint32_t heap_id;
    uint64_t time_ns;
    uint64_t end;
};

size_t heap_ranges_count_extents(const struct heap_ranges *ranges);
struct heap_extent heap_ranges_get_extent(const struct heap_ranges *ranges, size_t index);

/* The last observed end of the heap at or before time_ns; 0: not observed. */
uint64_t heap_ranges_end_at(const struct heap_ranges *ranges, uint32_t heap_id, uint64_t time_ns);

/* Saves the ranges of the first n_processes, or loads them into new ones (checkpoint_io.h). Before
 * heap_ranges_finish. */
void heap_ranges_visit(struct heap_ranges *ranges, struct checkpoint_io *io);

#endif
