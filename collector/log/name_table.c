/* SPDX-License-Identifier: MIT */
#include "collector/log/name_table.h"

#include "collector/log/definition.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "lib/abi/attr.h"

#include <string.h>

struct name_entry {
    _Atomic(const char *) text; /* stored last: NT-1 */
    uint32_t text_bytes;
    uint32_t hash;
    uint32_t next;               /* of its bucket */
    _Atomic uint64_t generation; /* of the log that defines it; 0: none */
};

/* ---- memory ---------------------------------------------------------------------------------- */

enum {
    TEXTS_BYTES = 64 * 1024
};

struct texts {
    _Atomic size_t used_bytes; /* above the size: full */
    char bytes[TEXTS_BYTES - sizeof(size_t)];
};

static _Atomic(struct texts *) g_texts;

/* Takes space that is never freed. */
static char *take_room(size_t size_bytes)
{
    for (;;) {
        struct texts *texts = atomic_load_explicit(&g_texts, memory_order_acquire);
        struct texts *fresh;

        if (texts) {
            size_t at =
                atomic_fetch_add_explicit(&texts->used_bytes, size_bytes, memory_order_relaxed);
            if (at + size_bytes <= sizeof(texts->bytes))
                return texts->bytes + at;
        }
        fresh = memory_map_inherited(sizeof(*fresh));
        if (!fresh)
            return NULL;
        if (!atomic_compare_exchange_strong_explicit(&g_texts, &texts, fresh, memory_order_acq_rel,
                                                     memory_order_relaxed))
            memory_unmap(fresh, sizeof(*fresh));
    }
}

static struct name_entry *chunk_of(const struct name_table *table, uint32_t id)
{
    return atomic_load_explicit(&table->store->chunks[id / NAME_TABLE_CHUNK], memory_order_acquire);
}

/* The id must come from take_id. */
static struct name_entry *entry_at(const struct name_table *table, uint32_t id)
{
    return chunk_of(table, id) + id % NAME_TABLE_CHUNK;
}

/* The text of an id that the caller may have made up. NULL: the id has no text. */
static const char *find_text(const struct name_table *table, uint32_t id)
{
    if (id / NAME_TABLE_CHUNK >= NAME_TABLE_CHUNKS || !chunk_of(table, id))
        return NULL;
    return atomic_load_explicit(&entry_at(table, id)->text, memory_order_acquire);
}

static bool make_chunk(struct name_table *table, uint32_t id)
{
    size_t size_bytes = NAME_TABLE_CHUNK * sizeof(struct name_entry);
    struct name_entry *none = NULL;
    struct name_entry *chunk;

    if (id / NAME_TABLE_CHUNK >= NAME_TABLE_CHUNKS)
        return false;
    if (chunk_of(table, id))
        return true;
    chunk = memory_map_inherited(size_bytes);
    if (!chunk)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&table->store->chunks[id / NAME_TABLE_CHUNK],
                                                 &none, chunk, memory_order_acq_rel,
                                                 memory_order_relaxed))
        memory_unmap(chunk, size_bytes);
    return true;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static bool has_ids(const struct name_table *table)
{
    return atomic_load_explicit(&table->next_id, memory_order_relaxed) / NAME_TABLE_CHUNK
           < NAME_TABLE_CHUNKS;
}

/* 0: no id is left. The counter stays where it is, so that it does not wrap around. */
static uint32_t take_id(struct name_table *table)
{
    uint32_t id = atomic_load_explicit(&table->next_id, memory_order_relaxed);

    do {
        if (!make_chunk(table, id))
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&table->next_id, &id, id + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return id;
}

static uint32_t hash_of(const char *text, size_t text_bytes)
{
    uint64_t hash = text_bytes;

    for (size_t i = 0; i < text_bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32);
}

uint32_t name_table_add(struct name_table *table, const char *text, size_t text_bytes)
{
    /* Space is never freed, so take none for a name that gets no id. */
    char *copy = has_ids(table) ? take_room(text_bytes + 1) : NULL;
    uint32_t id = copy ? take_id(table) : 0;
    struct name_entry *entry;

    if (id == 0)
        return 0;
    memcpy(copy, text, text_bytes);
    entry = entry_at(table, id);
    entry->text_bytes = (uint32_t)text_bytes;
    entry->hash = hash_of(text, text_bytes);
    atomic_store_explicit(&entry->text, copy, memory_order_release);
    return id;
}

/* Searches the list from `id` to `end`, which is known not to match. */
static uint32_t find(const struct name_table *table, uint32_t id, uint32_t end, const char *text,
                     size_t text_bytes, uint32_t hash)
{
    while (id != end) {
        const struct name_entry *entry = entry_at(table, id);
        const char *known = atomic_load_explicit(&entry->text, memory_order_relaxed);

        if (entry->hash == hash && entry->text_bytes == text_bytes
            && bytes_equal(known, text, text_bytes))
            return id;
        id = entry->next;
    }
    return 0;
}

uint32_t name_table_intern(struct name_table *table, const char *text, size_t text_bytes)
{
    uint32_t hash = hash_of(text, text_bytes);
    _Atomic uint32_t *bucket = &table->store->buckets[hash % NAME_TABLE_BUCKETS];
    uint32_t newest = atomic_load_explicit(bucket, memory_order_acquire);
    uint32_t id = find(table, newest, 0, text, text_bytes, hash);
    struct name_entry *entry;

    if (id != 0)
        return id;
    id = name_table_add(table, text, text_bytes);
    if (id == 0)
        return 0;
    entry = entry_at(table, id);
    entry->next = newest;
    /* release: the entry is complete; acquire: so are those added in between */
    while (!atomic_compare_exchange_weak_explicit(bucket, &newest, id, memory_order_acq_rel,
                                                  memory_order_acquire)) {
        uint32_t others = find(table, newest, entry->next, text, text_bytes, hash);
        if (others != 0) {
            atomic_fetch_add_explicit(&table->n_lost, 1, memory_order_relaxed);
            return others;
        }
        entry->next = newest;
    }
    return id;
}

/* Two threads may both define it, with the same text. Release and acquire: a thread that sees an
 * event with the id sees its definition. */
bool name_table_define(struct name_table *table, uint32_t id, uint64_t generation)
{
    const char *text = find_text(table, id);
    struct name_entry *entry;

    if (!text)
        return false;
    entry = entry_at(table, id);
    if (mtrace_likely(atomic_load_explicit(&entry->generation, memory_order_acquire) == generation))
        return true;
    if (!definition_text(table->kind, id, text, entry->text_bytes))
        return false;
    atomic_store_explicit(&entry->generation, generation, memory_order_release);
    return true;
}
