/* SPDX-License-Identifier: MIT */
#include "importer/image/block_index.h"

#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>

enum {
    PAGE_BITS = 12,
    CHUNK_PAGES = 4096, /* 16 MiB of addresses */
    CHUNK_BITS = PAGE_BITS + 12,
    PAGE_BLOCKS = (1 << PAGE_BITS) + 1, /* that can have a byte in a page */
};

/* ---- reading ---- */

static const char blocks_sql[] =
    "SELECT address, size_bytes, allocation_id, ifnull(slack_bytes, 0), call_code & 31 = 11,"
    " ifnull(b.call_site_id, 0)"
    " FROM allocation_rows AS a LEFT JOIN backtraces AS b ON b.backtrace_id = a.backtrace_id"
    " WHERE alloc_ns <= ?2 AND ifnull(alloc_ns + lifetime_ns > ?2, 1)"
    " AND address IS NOT NULL"
    " AND thread_id IN (SELECT thread_id FROM threads WHERE process_id = ?1)";

static int add(struct block_index *index, sqlite3_stmt *row, struct error *err)
{
    struct live_block_row *blocks = dynamic_array_reserve(
        index->blocks, &index->capacity, (size_t)index->n_blocks + 1, sizeof *blocks);

    if (!blocks || index->n_blocks == NO_BLOCK >> 1)
        return error_set(err, ERROR_NOMEM, "no memory for the live blocks of a heap image");
    index->blocks = blocks;
    blocks[index->n_blocks++] =
        (struct live_block_row){.address = (uint64_t)sqlite3_column_int64(row, 0),
                                .size_bytes = (uint64_t)sqlite3_column_int64(row, 1),
                                .allocation_id = sqlite3_column_int64(row, 2),
                                .slack_bytes = (uint32_t)sqlite3_column_int64(row, 3) & INT32_MAX,
                                .is_of_new = sqlite3_column_int(row, 4) != 0,
                                .call_site_id = (uint32_t)sqlite3_column_int64(row, 5)};
    return 0;
}

int block_index_read(sqlite3 *db, int64_t process_id, int64_t at_ns, struct block_index *index,
                     struct error *err)
{
    sqlite3_stmt *row;
    int step = SQLITE_DONE;
    int code = database_prepare(db, blocks_sql, &row, err);

    if (code)
        return code;
    sqlite3_bind_int64(row, 1, process_id);
    sqlite3_bind_int64(row, 2, at_ns);
    while (code == 0 && (step = sqlite3_step(row)) == SQLITE_ROW)
        code = add(index, row, err);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(db, err);
    sqlite3_finalize(row);
    return code ? code : block_index_make(index, err);
}

/* ---- the index ---- */

static int by_address(const void *a, const void *b)
{
    const struct live_block_row *left = a, *right = b;

    return left->address < right->address ? -1 : left->address > right->address;
}

/* A damaged or incomplete log may have overlapping blocks: the later one begins where it says. */
static void cut_overlaps(struct block_index *index)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < index->n_blocks; i++) {
        struct live_block_row *last = n ? &index->blocks[n - 1] : NULL;

        if (last && last->address == index->blocks[i].address)
            n--;
        else if (last && last->size_bytes > index->blocks[i].address - last->address)
            last->size_bytes = index->blocks[i].address - last->address;
        index->blocks[n++] = index->blocks[i];
    }
    index->n_blocks = n;
}

static uint64_t end_of(const struct live_block_row *block)
{
    return block->address + (block->size_bytes ? block->size_bytes : 1);
}

static uint32_t slot_of(const struct block_index *index, uint64_t chunk)
{
    uint32_t slot = (uint32_t)(chunk * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    for (slot &= index->n_chunk_slots - 1; index->chunks[slot];
         slot = (slot + 1) & (index->n_chunk_slots - 1))
        if (index->chunks[slot] == chunk + 1)
            break;
    return slot;
}

static uint32_t count_chunks(const struct block_index *index)
{
    uint64_t next = 0; /* first chunk that is not counted yet */
    uint64_t n = 0;

    for (uint32_t i = 0; i < index->n_blocks; i++) {
        uint64_t first = index->blocks[i].address >> CHUNK_BITS;
        uint64_t last = (end_of(&index->blocks[i]) - 1) >> CHUNK_BITS;

        if (last < next)
            continue;
        n += last - (first > next ? first : next) + 1;
        next = last + 1;
    }
    return n < UINT32_MAX / CHUNK_PAGES ? (uint32_t)n : UINT32_MAX;
}

static int make_room(struct block_index *index, uint32_t n_chunks, struct error *err)
{
    index->n_chunk_slots = 16;
    while (index->n_chunk_slots < 2 * n_chunks)
        index->n_chunk_slots *= 2;
    index->chunks = calloc(index->n_chunk_slots, sizeof *index->chunks);
    index->chunk_pages = calloc(index->n_chunk_slots, sizeof *index->chunk_pages);
    index->pages = malloc(((size_t)n_chunks * CHUNK_PAGES + 1) * sizeof *index->pages);
    return index->chunks && index->chunk_pages && index->pages
               ? 0
               : error_set(err, ERROR_NOMEM, "no memory for the index of a heap image's blocks");
}

static uint32_t *page_slot(struct block_index *index, uint64_t page, uint32_t *n_chunks)
{
    uint32_t slot = slot_of(index, page / CHUNK_PAGES);

    if (!index->chunks[slot]) {
        index->chunks[slot] = page / CHUNK_PAGES + 1;
        index->chunk_pages[slot] = *n_chunks * CHUNK_PAGES;
        for (uint32_t i = 0; i < CHUNK_PAGES; i++)
            index->pages[index->chunk_pages[slot] + i] = NO_BLOCK;
        (*n_chunks)++;
    }
    return &index->pages[index->chunk_pages[slot] + page % CHUNK_PAGES];
}

int block_index_make(struct block_index *index, struct error *err)
{
    uint32_t n_made = 0;

    if (index->n_blocks)
        qsort(index->blocks, index->n_blocks, sizeof *index->blocks, by_address);
    cut_overlaps(index);
    uint32_t n_chunks = count_chunks(index);
    int code =
        n_chunks == UINT32_MAX
            ? error_set(err, ERROR_FORMAT, "the live blocks are larger than an address space")
            : make_room(index, n_chunks, err);

    for (uint32_t i = 0; code == 0 && i < index->n_blocks; i++) {
        uint64_t last = (end_of(&index->blocks[i]) - 1) >> PAGE_BITS;

        for (uint64_t page = index->blocks[i].address >> PAGE_BITS; page <= last; page++) {
            uint32_t *first = page_slot(index, page, &n_made);

            if (*first == NO_BLOCK)
                *first = i;
        }
    }
    return code;
}

void block_index_done(struct block_index *index)
{
    free(index->blocks);
    free(index->pages);
    free(index->chunks);
    free(index->chunk_pages);
    *index = (struct block_index){0};
}

static const uint32_t *find_page(const struct block_index *index, uint64_t address)
{
    uint64_t page = address >> PAGE_BITS;
    uint32_t slot = slot_of(index, page / CHUNK_PAGES);

    return index->chunks[slot] ? &index->pages[index->chunk_pages[slot] + page % CHUNK_PAGES]
                               : NULL;
}

void block_index_prefetch(const struct block_index *index, uint64_t address)
{
    const uint32_t *first = find_page(index, address);

    if (first)
        __builtin_prefetch(first);
}

uint32_t block_index_find(const struct block_index *index, uint64_t address)
{
    const uint32_t *first = find_page(index, address);

    if (!first || *first == NO_BLOCK)
        return NO_BLOCK;
    uint32_t low = *first;
    uint32_t high = index->n_blocks - low > PAGE_BLOCKS ? low + PAGE_BLOCKS : index->n_blocks;
    while (high - low > 1) { /* the last block that begins at the address or before */
        uint32_t middle = low + (high - low) / 2;

        if (index->blocks[middle].address <= address)
            low = middle;
        else
            high = middle;
    }
    const struct live_block_row *block = &index->blocks[low];
    return block->address <= address && address < end_of(block) ? low : NO_BLOCK;
}
