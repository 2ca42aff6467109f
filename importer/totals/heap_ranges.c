/* SPDX-License-Identifier: MIT */
#include "importer/totals/heap_ranges.h"

#include "importer/model/event.h"
#include "lib/abi/glibc_heap.h"
#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/hash_map.h"
#include "lib/base/lower_bound.h"
#include "lib/totals/report_classes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_BYTES      (UINT64_C(1) << REPORT_GRID_UNIT_SHIFT)
#define MAIN_GAP_BYTES  (UINT64_C(64) << 20)
#define OTHER_GAP_BYTES (UINT64_C(2) << 20)

/* Kinds of heaps, according to the flags of a block's chunk. */
enum unit_class {
    UNIT_MAIN,
    UNIT_ARENA,
    UNIT_OTHER
};

struct unit_key {
    uint64_t number; /* address / UNIT_BYTES */
    uint32_t process;
    uint32_t class;
};

struct unit {
    struct unit_key key;
    uint64_t first_ns; /* when the first block was allocated there */
    uint64_t lowest;   /* block address */
    uint64_t highest_end;
};

struct extent {
    uint64_t time_ns;
    uint64_t start, end;
    uint32_t process;
    uint32_t kind;
    uint32_t heap; /* after heap_ranges_finish; 0: not in a heap */
};

struct heap_ranges {
    uint32_t n_processes;
    uint32_t *page_bytes;
    uint8_t *word_bytes;
    struct hash_map units; /* sorted by heap_ranges_finish */
    bool *is_foreign;      /* by process: it has a UNIT_OTHER */
    struct unit *last;     /* the unit of the block before */
    struct extent *extents;
    size_t n_extents, extents_capacity;
    struct hash_map latest; /* struct latest: last extent of each heap */
    size_t max_extents;     /* 0: any number */
    uint64_t n_left_out;
    struct heap_range *heaps; /* by id - 1: by process, then address */
    size_t n_heaps, max_heaps;
    size_t found; /* index of the heap found last */
};

int heap_ranges_new(uint32_t n_processes, const uint32_t *page_bytes, const uint8_t *word_bytes,
                    struct heap_ranges **ret, struct error *err)
{
    struct heap_ranges *ranges = calloc(1, sizeof *ranges);

    if (ranges) {
        ranges->page_bytes = calloc((size_t)n_processes + 1, sizeof *page_bytes);
        ranges->word_bytes = calloc((size_t)n_processes + 1, sizeof *word_bytes);
        ranges->is_foreign = calloc((size_t)n_processes + 1, sizeof *ranges->is_foreign);
    }
    if (!ranges || !ranges->page_bytes || !ranges->word_bytes || !ranges->is_foreign) {
        heap_ranges_free(ranges);
        return error_set(err, ERROR_NOMEM, "out of memory for heaps");
    }
    ranges->n_processes = n_processes;
    for (uint32_t i = 1; i <= n_processes; i++) {
        ranges->page_bytes[i] = page_bytes[i] ? page_bytes[i] : 4096;
        ranges->word_bytes[i] = word_bytes[i];
    }
    *ret = ranges;
    return 0;
}

void heap_ranges_free(struct heap_ranges *ranges)
{
    if (!ranges)
        return;
    free(ranges->page_bytes);
    free(ranges->word_bytes);
    free(ranges->is_foreign);
    hash_map_done(&ranges->units);
    free(ranges->extents);
    hash_map_done(&ranges->latest);
    free(ranges->heaps);
    free(ranges);
}

static enum unit_class class_of(uint8_t call)
{
    if (!(call & LOG_CHUNK_KNOWN))
        return UNIT_OTHER;
    return call & LOG_CHUNK_NON_MAIN ? UNIT_ARENA : UNIT_MAIN;
}

/* ---- pass 1 ---- */

static struct unit *touch_unit(struct heap_ranges *ranges, const struct unit_key *key,
                               uint64_t time_ns, struct error *err)
{
    struct unit *unit = hash_map_get(&ranges->units, key, sizeof *key, sizeof *unit);

    if (!unit) {
        error_set(err, ERROR_NOMEM, "out of memory for heaps");
        return NULL;
    }
    if (unit->highest_end == 0) {
        unit->first_ns = time_ns;
        unit->lowest = UINT64_MAX;
        ranges->is_foreign[key->process] |= key->class == UNIT_OTHER;
    }
    return unit;
}

int heap_ranges_allocated(struct heap_ranges *ranges, const struct heap_allocation *allocation,
                          struct error *err)
{
    uint64_t end = allocation->address + (allocation->usable_bytes ? allocation->usable_bytes : 1);
    struct unit_key key = {.number = allocation->address / UNIT_BYTES,
                           .process = allocation->process,
                           .class = class_of(allocation->call)};
    struct unit *unit = ranges->last;

    if (!heap_ranges_is_heap_block(allocation->call, allocation->usable_bytes))
        return 0;
    if (!unit || unit->key.number != key.number || unit->key.process != key.process
        || unit->key.class != key.class) {
        unit = touch_unit(ranges, &key, allocation->time_ns, err);
        if (!unit)
            return ERROR_NOMEM;
    }
    if (allocation->address < unit->lowest)
        unit->lowest = allocation->address;
    if (end > unit->highest_end)
        unit->highest_end = end;
    ranges->last = unit;
    return 0;
}

static uint64_t page_floor(const struct heap_ranges *ranges, uint32_t process, uint64_t address)
{
    return address / ranges->page_bytes[process] * ranges->page_bytes[process];
}

static uint64_t page_ceiling(const struct heap_ranges *ranges, uint32_t process, uint64_t address)
{
    return page_floor(ranges, process, address + ranges->page_bytes[process] - 1);
}

bool heap_ranges_has_foreign(const struct heap_ranges *ranges, uint32_t process)
{
    return ranges->is_foreign[process];
}

bool heap_ranges_is_foreign(const struct heap_ranges *ranges, uint32_t process, uint64_t address,
                            uint64_t *ret_until)
{
    const uint64_t max_units = HEAP_RANGES_OWN_MAPPING_BYTES / UNIT_BYTES;
    uint64_t number = address / UNIT_BYTES;

    *ret_until = UINT64_MAX;
    if (!ranges->is_foreign[process])
        return false;
    *ret_until = (number + 1) * UNIT_BYTES;
    /* a block may begin in an earlier unit */
    for (uint64_t i = 0; i <= max_units && i <= number; i++) {
        struct unit_key key = {.number = number - i, .process = process, .class = UNIT_OTHER};
        const struct unit *unit = hash_map_find(&ranges->units, &key, sizeof key, sizeof *unit);
        if (!unit || page_ceiling(ranges, process, unit->highest_end) <= address)
            continue;
        uint64_t start = page_floor(ranges, process, unit->lowest);
        if (start <= address) {
            *ret_until = page_ceiling(ranges, process, unit->highest_end);
            return true;
        }
        if (start < *ret_until)
            *ret_until = start;
    }
    return false;
}

void heap_ranges_bound(struct heap_ranges *ranges, size_t max_extents)
{
    ranges->max_extents = max_extents;
}

uint64_t heap_ranges_n_left_out(const struct heap_ranges *ranges)
{
    return ranges->n_left_out;
}

/* The last extent of a heap. */
struct latest {
    uint64_t process, start; /* the key */
    size_t place;
    bool is_waiting; /* thin_extents: has no successor yet */
};

enum {
    LATEST_KEY_BYTES = offsetof(struct latest, place)
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for extents of heaps");
}

static struct latest *get_latest(struct hash_map *latest, const struct extent *extent)
{
    const struct latest key = {.process = extent->process, .start = extent->start};

    return hash_map_get(latest, &key, LATEST_KEY_BYTES, sizeof key);
}

/* Drops about half of the extents (HR-5). */
static int thin_extents(struct heap_ranges *ranges, struct error *err)
{
    struct hash_map all = {0};
    size_t n = 0;

    for (size_t i = 0; i < ranges->n_extents; i++) {
        const struct extent *extent = &ranges->extents[i];
        struct latest *latest = get_latest(&all, extent);
        if (!latest) {
            hash_map_done(&all);
            return out_of_memory(err);
        }
        latest->is_waiting = !latest->is_waiting;
        if (latest->is_waiting)
            latest->place = n;
        else if (extent->end > ranges->extents[latest->place].end)
            ranges->extents[latest->place] = *extent;
        if (latest->is_waiting)
            ranges->extents[n++] = *extent;
    }
    ranges->n_left_out += ranges->n_extents - n;
    ranges->n_extents = n;
    hash_map_done(&ranges->latest);
    ranges->latest = all;
    return 0;
}

static int add_extent(struct heap_ranges *ranges, const struct extent *extent, struct error *err)
{
    struct extent *extents = dynamic_array_reserve(ranges->extents, &ranges->extents_capacity,
                                                   ranges->n_extents + 1, sizeof *extents);
    struct latest *latest = extents ? get_latest(&ranges->latest, extent) : NULL;

    if (extents)
        ranges->extents = extents;
    if (!latest)
        return out_of_memory(err);
    latest->place = ranges->n_extents;
    extents[ranges->n_extents++] = *extent;
    return 0;
}

int heap_ranges_extent(struct heap_ranges *ranges, uint32_t process, uint64_t time_ns,
                       uint64_t start, uint64_t end, enum log_heap_kind kind, struct error *err)
{
    const struct latest key = {.process = process, .start = start};
    const struct latest *latest =
        hash_map_find(&ranges->latest, &key, LATEST_KEY_BYTES, sizeof key);
    struct extent *before = latest ? &ranges->extents[latest->place] : NULL;
    const struct extent extent = {
        .time_ns = time_ns, .start = start, .end = end, .process = process, .kind = kind};
    bool is_full = ranges->max_extents && ranges->n_extents >= ranges->max_extents;

    if (start >= end || (before && before->end == end))
        return 0; /* nothing new */
    if (is_full && ranges->latest.n <= ranges->max_extents / 2) {
        if (thin_extents(ranges, err) != 0)
            return ERROR_NOMEM;
    } else if (is_full) {
        ranges->n_left_out++;
        if (before && end > before->end)
            *before = extent;
        return 0;
    }
    return add_extent(ranges, &extent, err);
}

/* ---- making heaps ---- */

static int compare_units(const void *left, const void *right)
{
    const struct unit_key *a = &((const struct unit *)left)->key;
    const struct unit_key *b = &((const struct unit *)right)->key;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->class > b->class) - (a->class < b->class);
}

static int compare_extents(const void *left, const void *right)
{
    const struct extent *a = left;
    const struct extent *b = right;

    if (a->heap != b->heap)
        return a->heap < b->heap ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Does the unit belong to the heap that ends below it so far? */
static bool continues(const struct heap_ranges *ranges, const struct heap_range *heap,
                      const struct unit *unit)
{
    uint64_t arena_bytes = glibc_heap_arena_bytes(ranges->word_bytes[unit->key.process]);

    if (heap->process != unit->key.process)
        return false;
    if (unit->lowest < heap->end)
        return true; /* HR-1: two kinds of blocks in one place are one heap */
    if (heap->kind == LOG_HEAP_ARENA || unit->key.class == UNIT_ARENA)
        return heap->kind == LOG_HEAP_ARENA && unit->key.class == UNIT_ARENA
               && heap->start / arena_bytes == unit->lowest / arena_bytes;
    if ((heap->header_bytes > 0) != (unit->key.class == UNIT_MAIN))
        return false;
    return unit->lowest - heap->end
           < (unit->key.class == UNIT_MAIN ? MAIN_GAP_BYTES : OTHER_GAP_BYTES);
}

static int add_heap(struct heap_ranges *ranges, const struct unit *unit, struct error *err)
{
    unsigned word_bytes = ranges->word_bytes[unit->key.process];
    uint64_t arena_bytes = glibc_heap_arena_bytes(word_bytes);
    struct heap_range *heaps = dynamic_array_reserve(ranges->heaps, &ranges->max_heaps,
                                                     ranges->n_heaps + 1, sizeof *heaps);

    if (!heaps)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heaps", ranges->n_heaps);
    ranges->heaps = heaps;
    struct heap_range *heap = &heaps[ranges->n_heaps++];
    *heap = (struct heap_range){
        .heap_id = (uint32_t)ranges->n_heaps,
        .process = unit->key.process,
        .kind = unit->key.class == UNIT_ARENA ? LOG_HEAP_ARENA : LOG_HEAP_OTHER,
        .start = page_floor(ranges, unit->key.process, unit->lowest),
        .end = page_ceiling(ranges, unit->key.process, unit->highest_end),
        .lowest_block = unit->lowest,
        .header_bytes = unit->key.class == UNIT_OTHER ? 0 : glibc_heap_header_bytes(word_bytes),
    };
    if (heap->kind == LOG_HEAP_ARENA)
        heap->start = unit->lowest / arena_bytes * arena_bytes;
    if (ranges->n_heaps > 1 && heap[-1].process == heap->process && heap->start < heap[-1].end)
        heap->start = heap[-1].end;
    return 0;
}

/* glibc takes the main arena from brk as long as it can, and brk lies below all mappings. */
static void name_brk_heaps(struct heap_ranges *ranges)
{
    for (size_t i = 0; i < ranges->n_heaps; i++) {
        struct heap_range *heap = &ranges->heaps[i];
        bool is_first = i == 0 || heap[-1].process != heap->process;
        if (is_first && heap->header_bytes > 0 && heap->kind == LOG_HEAP_OTHER)
            heap->kind = LOG_HEAP_BRK;
    }
}

/* Index of the first heap that ends after the address; n_heaps: none. */
static size_t lower_bound(const struct heap_ranges *ranges, uint32_t process, uint64_t address)
{
    const struct heap_range *heaps = ranges->heaps;
    size_t i;

    LOWER_BOUND(i, ranges->n_heaps,
                heaps[i].process < process
                    || (heaps[i].process == process && heaps[i].end <= address));
    return i;
}

static struct heap_range *heap_of_extent(struct heap_ranges *ranges, const struct extent *extent)
{
    size_t index = lower_bound(ranges, extent->process, extent->start);
    struct heap_range *heap = index < ranges->n_heaps ? &ranges->heaps[index] : NULL;

    return heap && heap->process == extent->process && heap->start < extent->end ? heap : NULL;
}

/* Observed extents have the true bounds; neighbours limit them (HR-1). */
static void apply_extents(struct heap_ranges *ranges)
{
    for (size_t i = 0; i < ranges->n_extents; i++) {
        struct extent *extent = &ranges->extents[i];
        struct heap_range *heap = heap_of_extent(ranges, extent);
        if (!heap)
            continue;
        struct heap_range *last = &ranges->heaps[ranges->n_heaps - 1];
        uint64_t start = page_floor(ranges, extent->process, extent->start);
        uint64_t end = page_ceiling(ranges, extent->process, extent->end);
        if (heap > ranges->heaps && heap[-1].process == heap->process && start < heap[-1].end)
            start = heap[-1].end;
        if (heap < last && heap[1].process == heap->process && end > heap[1].start)
            end = heap[1].start;
        extent->heap = heap->heap_id;
        extent->end = end;
        if (start < heap->start)
            heap->start = start;
        if (end > heap->end)
            heap->end = end;
        if (extent->kind == LOG_HEAP_BRK)
            heap->kind = LOG_HEAP_BRK;
    }
}

int heap_ranges_finish(struct heap_ranges *ranges, struct error *err)
{
    const struct unit *units = ranges->units.elements;

    if (ranges->units.n)
        qsort(ranges->units.elements, ranges->units.n, sizeof *units, compare_units);
    for (size_t i = 0; i < ranges->units.n; i++) {
        const struct unit *unit = &units[i];
        struct heap_range *heap = ranges->n_heaps ? &ranges->heaps[ranges->n_heaps - 1] : NULL;
        if (heap && continues(ranges, heap, unit)) {
            uint64_t end = page_ceiling(ranges, unit->key.process, unit->highest_end);
            heap->end = end > heap->end ? end : heap->end;
            heap->lowest_block =
                unit->lowest < heap->lowest_block ? unit->lowest : heap->lowest_block;
            continue;
        }
        int code = add_heap(ranges, unit, err);
        if (code)
            return code;
    }
    name_brk_heaps(ranges);
    apply_extents(ranges);
    if (ranges->n_extents)
        qsort(ranges->extents, ranges->n_extents, sizeof *ranges->extents, compare_extents);
    return 0;
}

/* ---- unseen blocks ---- */

/* The *ret_n heaps of a process, or NULL if there are no heaps at all. */
static struct heap_range *heaps_of(struct heap_ranges *ranges, uint32_t process, size_t *ret_n)
{
    size_t first = lower_bound(ranges, process, 0);
    size_t end = lower_bound(ranges, process + 1, 0);

    *ret_n = end - first;
    return ranges->heaps ? ranges->heaps + first : NULL;
}

/* Did `process` allocate a block at these addresses by time_ns? Precise to a unit. */
static bool held(const struct heap_ranges *ranges, uint32_t process, const struct heap_range *heap,
                 uint64_t time_ns)
{
    const struct unit *units = ranges->units.elements;
    struct unit_key first = {.number = heap->start / UNIT_BYTES, .process = process};
    size_t i;

    LOWER_BOUND(i, ranges->units.n, compare_units(&units[i].key, &first) < 0);
    for (; i < ranges->units.n && units[i].key.process == process && units[i].lowest < heap->end;
         i++)
        if (units[i].first_ns <= time_ns && units[i].highest_end > heap->start)
            return true;
    return false;
}

void heap_ranges_mark_untracked(struct heap_ranges *ranges, uint32_t process)
{
    size_t n;
    struct heap_range *heaps = heaps_of(ranges, process, &n);

    for (size_t i = 0; i < n; i++)
        if (heaps[i].unseen == HEAP_ALL_SEEN)
            heaps[i].unseen = HEAP_UNTRACKED;
}

void heap_ranges_mark_inherited(struct heap_ranges *ranges, uint32_t process, uint32_t ancestor,
                                uint64_t fork_ns)
{
    size_t n;
    struct heap_range *heaps = heaps_of(ranges, process, &n);

    for (size_t i = 0; i < n; i++)
        if (ancestor == 0 || held(ranges, ancestor, &heaps[i], fork_ns))
            heaps[i].unseen = HEAP_INHERITED;
}

/* ---- queries ---- */

size_t heap_ranges_count(const struct heap_ranges *ranges)
{
    return ranges->n_heaps;
}

const struct heap_range *heap_ranges_get(const struct heap_ranges *ranges, uint32_t heap_id)
{
    return &ranges->heaps[heap_id - 1];
}

static bool holds(const struct heap_range *heap, uint32_t process, uint64_t address)
{
    return heap->process == process && heap->start <= address && address < heap->end;
}

uint32_t heap_ranges_find(struct heap_ranges *ranges, uint32_t process, uint64_t address)
{
    if (ranges->n_heaps == 0)
        return 0;
    if (holds(&ranges->heaps[ranges->found], process, address))
        return ranges->heaps[ranges->found].heap_id;
    size_t found = lower_bound(ranges, process, address);
    if (found == ranges->n_heaps || !holds(&ranges->heaps[found], process, address))
        return 0;
    ranges->found = found;
    return ranges->heaps[found].heap_id;
}

size_t heap_ranges_count_extents(const struct heap_ranges *ranges)
{
    return ranges->n_extents;
}

struct heap_extent heap_ranges_get_extent(const struct heap_ranges *ranges, size_t index)
{
    const struct extent *extent = &ranges->extents[index];

    return (struct heap_extent){
        .heap_id = extent->heap, .time_ns = extent->time_ns, .end = extent->end};
}

uint64_t heap_ranges_end_at(const struct heap_ranges *ranges, uint32_t heap_id, uint64_t time_ns)
{
    const struct extent *extents = ranges->extents;
    size_t i; /* first extent after time_ns */

    LOWER_BOUND(i, ranges->n_extents,
                extents[i].heap < heap_id
                    || (extents[i].heap == heap_id && extents[i].time_ns <= time_ns));
    return i > 0 && extents[i - 1].heap == heap_id ? extents[i - 1].end : 0;
}

/* ---- checkpoint ---- */

void heap_ranges_visit(struct heap_ranges *ranges, struct checkpoint_io *io)
{
    const struct unit *units;

    checkpoint_io_keyed(io, &ranges->units, sizeof(struct unit_key), sizeof *units);
    units = ranges->units.elements;
    for (size_t i = 0; i < ranges->units.n && checkpoint_io_code(io) == 0; i++)
        ranges->is_foreign[units[i].key.process] |= units[i].key.class == UNIT_OTHER;
    ranges->extents =
        checkpoint_io_array(io, ranges->extents, &ranges->n_extents, &ranges->extents_capacity,
                            CHECKPOINT_MAX, sizeof *ranges->extents);
    for (size_t i = 0; i < ranges->n_extents; i++) {
        struct latest *latest = get_latest(&ranges->latest, &ranges->extents[i]);
        if (latest)
            latest->place = i;
        else
            checkpoint_io_no_memory(io);
    }
    checkpoint_io_u64(io, &ranges->n_left_out);
}
