/* SPDX-License-Identifier: MIT */
#include "importer/totals/resident_parts.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

void address_ranges_done(struct address_ranges *ranges)
{
    free(ranges->all);
    *ranges = (struct address_ranges){0};
}

/* Index of the first range that ends after the address. */
static size_t place_of(const struct address_ranges *ranges, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, ranges->n, ranges->all[i].end <= address);
    return i;
}

int address_ranges_add(struct address_ranges *ranges, uint64_t start, uint64_t end,
                       struct error *err)
{
    size_t i = place_of(ranges, start);
    struct address_range *all;

    if (start >= end || (i < ranges->n && ranges->all[i].start < end))
        return 0;
    all = dynamic_array_reserve(ranges->all, &ranges->capacity, ranges->n + 1, sizeof *all);
    if (!all)
        return error_set(err, ERROR_NOMEM, "out of memory for ranges of addresses");
    ranges->all = all;
    memmove(&all[i + 1], &all[i], (ranges->n++ - i) * sizeof *all);
    all[i] = (struct address_range){start, end};
    return 0;
}

void address_ranges_remove(struct address_ranges *ranges, uint64_t start)
{
    size_t i = place_of(ranges, start);

    if (i < ranges->n && ranges->all[i].start == start)
        memmove(&ranges->all[i], &ranges->all[i + 1], (--ranges->n - i) * sizeof *ranges->all);
}

bool address_ranges_find(const struct address_ranges *ranges, uint64_t address, uint64_t *ret_until)
{
    size_t i = place_of(ranges, address);
    bool is_inside = i < ranges->n && ranges->all[i].start <= address;

    *ret_until = i == ranges->n ? UINT64_MAX
                 : is_inside    ? ranges->all[i].end
                                : ranges->all[i].start;
    return is_inside;
}

void address_ranges_visit(struct address_ranges *ranges, struct checkpoint_io *io)
{
    ranges->all = checkpoint_io_array(io, ranges->all, &ranges->n, &ranges->capacity,
                                      CHECKPOINT_MAX, sizeof *ranges->all);
    for (size_t i = 0; i < ranges->n; i++)
        checkpoint_io_check(io,
                            ranges->all[i].start < ranges->all[i].end
                                && (i == 0 || ranges->all[i - 1].end <= ranges->all[i].start),
                            "addresses of a block");
}

/* ---- stacks ---- */

static int compare_starts(const void *left, const void *right)
{
    const struct address_range *a = left;
    const struct address_range *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

int resident_parts_find_stacks(const struct definitions *definitions, uint32_t process,
                               struct address_ranges *ret_stacks, struct error *err)
{
    struct address_range *all = NULL;
    size_t n = 0;

    for (size_t i = 1; i <= definitions->n_threads; i++)
        n += definitions->threads[i].process == process && definitions->threads[i].stack_bytes;
    all = dynamic_array_reserve(ret_stacks->all, &ret_stacks->capacity, n, sizeof *all);
    if (n && !all)
        return error_set(err, ERROR_NOMEM, "out of memory for stacks of %zu threads", n);
    ret_stacks->all = all;
    ret_stacks->n = n = 0;
    for (size_t i = 1; i <= definitions->n_threads; i++) {
        const struct definitions_thread *thread = &definitions->threads[i];
        if (thread->process == process && thread->stack_bytes
            && thread->stack_bytes <= UINT64_MAX - thread->stack_address)
            all[n++] = (struct address_range){thread->stack_address,
                                              thread->stack_address + thread->stack_bytes};
    }
    if (n)
        qsort(all, n, sizeof *all, compare_starts);
    for (size_t i = 0; i < n; i++) {
        struct address_range *last = ret_stacks->n ? &all[ret_stacks->n - 1] : NULL;
        if (!last || last->end < all[i].start)
            all[ret_stacks->n++] = all[i];
        else if (last->end < all[i].end)
            last->end = all[i].end;
    }
    return 0;
}

/* ---- owners ---- */

/* The part of the byte at the address. *ret_until: the next address that may be of another part. */
static enum memory_part owner_at(const struct resident_owners *owners, uint64_t address,
                                 enum memory_part rest, uint64_t *ret_until)
{
    enum memory_part part = MEMORY_PARTS;

    *ret_until = UINT64_MAX;
    for (int i = 0; i < 5 && part == MEMORY_PARTS; i++) {
        uint64_t until = UINT64_MAX;
        if (i == 0 && memory_samples_is_heap(owners->samples, owners->process, address, &until))
            part = MEMORY_PART_HEAP;
        if (i == 1 && heap_ranges_is_foreign(owners->heaps, owners->process, address, &until))
            part = MEMORY_PART_HEAP;
        if (i == 2 && address_ranges_find(owners->blocks, address, &until))
            part = MEMORY_PART_OWN_MAPPING;
        if (i == 3 && mappings_find(owners->mappings, address, &until))
            part = MEMORY_PART_OWN_MAPPING;
        if (i == 4 && address_ranges_find(owners->stacks, address, &until))
            part = MEMORY_PART_STACK;
        if (until < *ret_until)
            *ret_until = until;
    }
    return part == MEMORY_PARTS ? rest : part;
}

void resident_parts_add(const struct resident_owners *owners, uint64_t start, uint64_t end,
                        uint64_t rss_bytes, enum memory_part rest)
{
    uint64_t added = 0;
    uint64_t until;

    for (uint64_t at = start; rss_bytes && at < end; at = until) {
        enum memory_part part = owner_at(owners, at, rest, &until);
        until = until < end ? until : end;
        uint64_t upto =
            until == end
                ? rss_bytes
                : (uint64_t)((double)rss_bytes * (double)(until - start) / (double)(end - start));
        memory_samples_add_part(owners->samples, owners->process, part, upto - added);
        added = upto;
    }
}
