/* SPDX-License-Identifier: MIT */
/*
 * heap_ranges: which addresses of a process are heaps, and how far each reached when.
 *
 * Model:   pass 1 notes, per MiB of address space, which blocks were born there; extents of heaps
 *          come from the collector and from the recorder's samples, where there are any. From both
 *          heaps are made at the end: a non-main arena of glibc lies in 64 MiB of its own (1 MiB in a 32-bit program) (a "heap"
 *          of malloc's), the main arena is one brk heap and, when brk failed, parts elsewhere;
 *          blocks of other allocators make one heap per stretch without a wide gap.
 * Invariants
 *   HR-1 Heaps of a process do not overlap and begin and end at pages.
 *   HR-2 A block with a mapping of its own belongs to no heap; every other block belongs to one.
 *   HR-3 Memory: 48 bytes per MiB of address space in which blocks begin, 40 per extent that
 *        differs from the one before, however far blocks and extents reach.
 *   HR-4 What is free in a heap is known only when every block in it has been seen (`unseen`): a fork
 *        child inherits blocks of its parent, and a program has blocks while it is not traced.
 *   HR-5 Where they are bounded, of two extents of one heap, one behind the other, the higher one stays whenever there are too many; where heaps are more
 *        than half of what there is room for, of its last one and a new one. So the highest of each heap stays that had room for one; what is left out is counted.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_HEAP_RANGES_H
#define MTRACE_IMPORTER_HEAP_RANGES_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No heap gives more in one piece; a damaged log may say so. */
#define HEAP_RANGES_MAX_BLOCK_BYTES (UINT64_C(4) << 30)
/* Of an allocator that does not say: larger ones have a mapping of their own. */
#define HEAP_RANGES_OWN_MAPPING_BYTES (UINT64_C(32) << 20)

/* Blocks that may lie in a heap and have no row. */
enum heap_unseen {
    HEAP_ALL_SEEN,
    HEAP_INHERITED, /* born in the parent, before the fork */
    HEAP_UNTRACKED, /* born while the process was not traced */
};

struct heap_range {
    uint32_t heap_id; /* 1, 2, … over all processes */
    uint32_t process;
    enum log_heap_kind kind;
    uint64_t start, end;   /* of all it ever held */
    uint64_t lowest_block; /* address of the lowest block ever born there */
    uint32_t
        header_bytes; /* of each block, which is glibc's; 0: of an allocator that is not known */
    enum heap_unseen unseen;
};

struct heap_ranges;

/* page_bytes[process], word_bytes[process], 1..n_processes; copied. */
int heap_ranges_new(uint32_t n_processes, const uint32_t *page_bytes, const uint8_t *word_bytes,
                    struct heap_ranges **ret, struct error *err);

/* NULL is fine. */
void heap_ranges_free(struct heap_ranges *ranges);

/* Whether the block lies in a heap at all (HR-2). `call` holds LOG_CHUNK_*. */
static inline bool heap_ranges_is_heap_block(uint8_t call, uint64_t usable_bytes)
{
    if (usable_bytes >= HEAP_RANGES_MAX_BLOCK_BYTES)
        return false;
    if (call & LOG_CHUNK_KNOWN)
        return !(call & LOG_CHUNK_MMAPPED);
    return usable_bytes < HEAP_RANGES_OWN_MAPPING_BYTES;
}

/* A block that was born in this process. */
struct heap_allocation {
    uint64_t time_ns;
    uint64_t address;
    uint64_t usable_bytes; /* what it occupies */
    uint32_t process;
    uint8_t call; /* with LOG_CHUNK_* */
};

/* In order of time. */
int heap_ranges_allocated(struct heap_ranges *ranges, const struct heap_allocation *allocation,
                          struct error *err);

/* Behind heap_ranges_allocated: of a block of the same process and LOG_CHUNK_* that lies between these, in the same MiB, it would learn nothing. */
void heap_ranges_reported(const struct heap_ranges *ranges, uint64_t *ret_start, uint64_t *ret_end);

/* A heap was seen to reach from start to end. */
int heap_ranges_extent(struct heap_ranges *ranges, uint32_t process, uint64_t time_ns,
                       uint64_t start, uint64_t end, enum log_heap_kind kind, struct error *err);

/* HR-5: before the first of them. */
void heap_ranges_bound(struct heap_ranges *ranges, size_t most_extents);
uint64_t heap_ranges_n_left_out(const struct heap_ranges *ranges);

/* Makes the heaps; nothing may be added afterwards. */
int heap_ranges_finish(struct heap_ranges *ranges, struct error *err);

/* After heap_ranges_finish: not all blocks of the process's heaps have been seen. Of inherited ones,
 * `ancestor` made some before the fork at fork_ns, which leaves heaps that came later alone; 0: who
 * made them is not known, so they may be anywhere. */
void heap_ranges_mark_untracked(struct heap_ranges *ranges, uint32_t process);
void heap_ranges_mark_inherited(struct heap_ranges *ranges, uint32_t process, uint32_t ancestor,
                                uint64_t fork_ns);

size_t heap_ranges_count(const struct heap_ranges *ranges);

/* heap_id 1..count. */
const struct heap_range *heap_ranges_get(const struct heap_ranges *ranges, uint32_t heap_id);

/* The heap of an address, 0 if none. */
uint32_t heap_ranges_find(struct heap_ranges *ranges, uint32_t process, uint64_t address);

/* What was seen of heaps, in order of heap and time; heap_id 0: of none that is one. */
struct heap_extent {
    uint32_t heap_id;
    uint64_t time_ns;
    uint64_t end;
};

size_t heap_ranges_count_extents(const struct heap_ranges *ranges);
struct heap_extent heap_ranges_get_extent(const struct heap_ranges *ranges, size_t index);

/* The end of the heap as last seen at or before time_ns; 0 when it was not. */
uint64_t heap_ranges_end_at(const struct heap_ranges *ranges, uint32_t heap_id, uint64_t time_ns);

/* Into the bytes or from them, into new ones (checkpoint_io.h); before heap_ranges_finish. Of the first n_processes. */
void heap_ranges_visit(struct heap_ranges *ranges, uint32_t n_processes, struct checkpoint_io *io);

#endif
