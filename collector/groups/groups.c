/* SPDX-License-Identifier: MIT */
#include "collector/groups/groups.h"

#include "collector/log/definition.h"
#include "collector/log/name_table.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <string.h>

enum {
    FIRST_GROUP = 2,
    FIRST_LABEL = 1,
    FIRST_POOL = 1,
};

_Static_assert((int)NAME_TABLE_MAX_BYTES <= (int)MEMORY_BORROWED_BYTES,
               "a text is made in borrowed memory");
_Static_assert((int)MTRACE_GROUP_ROOT == (int)LOG_GROUP_ROOT
                   && (int)MTRACE_GROUP_UNTRACKED == (int)LOG_GROUP_UNTRACKED,
               "the log has the program's ids");

static struct name_store g_group_names, g_label_names, g_pool_names;
static struct name_table g_groups = {
    .kind = LOG_DEF_GROUP, .next_id = FIRST_GROUP, .store = &g_group_names};
static struct name_table g_labels = {
    .kind = LOG_DEF_MARKER, .next_id = FIRST_LABEL, .store = &g_label_names};
static struct name_table g_pools = {
    .kind = LOG_DEF_POOL, .next_id = FIRST_POOL, .store = &g_pool_names};

static _Atomic uint64_t g_untracked_generation; /* of the log that has the definition */
static _Atomic uint32_t g_stale_exits, g_bad_handles, g_refused_groups;

/* The counter of this process, and of its log where it has one. */
static void count(_Atomic uint32_t *counter, size_t offset_in_log)
{
    struct signals_block quiet;

    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    if (!signals_block_begin(&quiet))
        return;
    atomic_fetch_add_explicit(
        (_Atomic uint32_t *)(void *)((unsigned char *)segment_log() + offset_in_log), 1,
        memory_order_relaxed);
    signals_block_end(&quiet);
}

void groups_count_stale_exit(void)
{
    count(&g_stale_exits, offsetof(struct log_header, stale_exits));
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Appends the text and a NUL; false: it does not fit, and nothing was appended. */
static bool append(char *out, size_t *used_bytes, const char *text)
{
    size_t text_bytes = text ? fmt_length(text) : 0;

    if (text_bytes + 1 > NAME_TABLE_MAX_BYTES - *used_bytes)
        return false;
    if (text_bytes)
        memcpy(out + *used_bytes, text, text_bytes);
    out[*used_bytes + text_bytes] = '\0';
    *used_bytes += text_bytes + 1;
    return true;
}

static size_t make_text(char *out, const char *name, const struct mtrace_tag *tags, size_t n_tags)
{
    size_t used_bytes = 0;

    if (!append(out, &used_bytes, name)) {
        memcpy(out, name, NAME_TABLE_MAX_BYTES);
        return NAME_TABLE_MAX_BYTES;
    }
    for (size_t i = 0; i < n_tags; i++) {
        size_t before = used_bytes;

        if (!append(out, &used_bytes, tags[i].key) || !append(out, &used_bytes, tags[i].value))
            return before - 1;
    }
    return used_bytes - 1; /* without the last NUL */
}

static uint32_t put_borrowing(struct name_table *table, const char *name,
                              const struct mtrace_tag *tags, size_t n_tags, bool is_interned)
{
    char *text = memory_borrow();
    size_t text_bytes;
    uint32_t id;

    if (!text)
        return 0;
    text_bytes = make_text(text, name, tags, n_tags);
    id = is_interned ? name_table_intern(table, text, text_bytes)
                     : name_table_add(table, text, text_bytes);
    memory_return(text);
    return id;
}

/* Signals are blocked: a handler that leaves by siglongjmp would leak the borrowed buffer. */
static uint32_t put(struct name_table *table, const char *name, const struct mtrace_tag *tags,
                    size_t n_tags, bool is_interned)
{
    struct signals_block quiet;
    uint32_t id;

    signals_block_begin_always(&quiet);
    id = put_borrowing(table, name, tags, n_tags, is_interned);
    signals_block_end(&quiet);
    return id;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Defines the group early, so that the log also has groups that nothing is charged to. */
uint32_t groups_add(const char *name, const struct mtrace_tag *tags, size_t n_tags,
                    bool is_interned)
{
    struct signals_block quiet;
    uint32_t id;

    if (mtrace_unlikely(!tags && n_tags)) {
        groups_count_bad_handle();
        n_tags = 0;
    }
    signals_block_begin_always(&quiet);
    id = put_borrowing(&g_groups, name, tags, n_tags, is_interned);
    if (id == 0)
        count(&g_refused_groups, offsetof(struct log_header, refused_groups));
    else
        groups_define(id);
    signals_block_end(&quiet);
    return id ? id : (uint32_t)MTRACE_GROUP_ROOT;
}

MTRACE_COLD void groups_count_bad_handle(void)
{
    count(&g_bad_handles, offsetof(struct log_header, bad_handles));
}

static MTRACE_COLD uint32_t bad_handle(void)
{
    groups_count_bad_handle();
    return MTRACE_GROUP_ROOT;
}

/* Ids are given out in order. An id that is being created is not valid yet. */
uint32_t groups_check(uint32_t group)
{
    return mtrace_likely(group < name_table_count(&g_groups)) ? group : bad_handle();
}

/* As name_table_define. */
static void define_untracked(uint64_t generation)
{
    static const char name[] = "untracked";

    if (atomic_load_explicit(&g_untracked_generation, memory_order_acquire) != generation
        && definition_text(LOG_DEF_GROUP, MTRACE_GROUP_UNTRACKED, name, sizeof(name) - 1))
        atomic_store_explicit(&g_untracked_generation, generation, memory_order_release);
}

void groups_define(uint32_t group)
{
    uint64_t generation;

    if (!state_is_recording())
        return;
    generation = atomic_load_explicit(g_state_generation, memory_order_relaxed);
    if (group == MTRACE_GROUP_UNTRACKED)
        define_untracked(generation);
    else if (group != MTRACE_GROUP_ROOT)
        name_table_define(&g_groups, group, generation);
}

uint32_t groups_label(const char *text)
{
    return state_is_recording() ? put(&g_labels, text, NULL, 0, true) : 0;
}

static bool define(struct name_table *table, uint32_t id)
{
    return state_is_recording()
           && name_table_define(table, id,
                                atomic_load_explicit(g_state_generation, memory_order_relaxed));
}

bool groups_define_label(uint32_t label)
{
    return define(&g_labels, label);
}

/* ---- pools ----------------------------------------------------------------------------------- */

_Static_assert((uint64_t)NAME_TABLE_CHUNK *NAME_TABLE_CHUNKS <= (uint64_t)1 << LOG_POOL_BITS,
               "a pool's id fits into its events");

uint32_t groups_pool(const char *name)
{
    uint32_t id = put(&g_pools, name, NULL, 0, false);

    if (id == 0)
        count(&g_refused_groups, offsetof(struct log_header, refused_groups));
    return id;
}

bool groups_check_pool(uint32_t pool)
{
    if (mtrace_likely(pool < name_table_count(&g_pools)))
        return true;
    groups_count_bad_handle();
    return false;
}

bool groups_define_pool(uint32_t pool)
{
    return define(&g_pools, pool);
}

struct mtrace_counts groups_counters(void)
{
    return (struct mtrace_counts){
        .stale_exits = atomic_load_explicit(&g_stale_exits, memory_order_relaxed),
        .bad_handles = atomic_load_explicit(&g_bad_handles, memory_order_relaxed),
        .refused_groups = atomic_load_explicit(&g_refused_groups, memory_order_relaxed),
        .groups = name_table_count(&g_groups) - FIRST_GROUP - name_table_count_lost(&g_groups),
    };
}
