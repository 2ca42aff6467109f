/* SPDX-License-Identifier: MIT */
#include "collector/record/scopes.h"

#include "collector/platform/memory.h"
#include "collector/record/thread.h"

#include <stddef.h>

enum {
    N_INLINE = 16,
};

struct open_scope {
    uint32_t outer_group;
    uint32_t serial;
};

enum {
    /* With all pieces: two million scopes inside one another. */
    FIRST_PIECE = THREAD_SCOPE_BYTES / sizeof(struct open_scope),
};

static _Thread_local struct {
    uint32_t depth;
    uint32_t serial; /* of the last enter */
    uint32_t number; /* of the thread; 0: has entered nothing yet */
    struct open_scope slots[N_INLINE];
} g_scopes __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t g_n_threads;

/* The piece and the place in it of a depth that is not inline. */
static unsigned find_piece(uint32_t depth, uint32_t *ret_at)
{
    uint32_t at = depth - N_INLINE + FIRST_PIECE;
    unsigned piece = 31 - (unsigned)__builtin_clz(at / FIRST_PIECE);

    *ret_at = at - ((uint32_t)FIRST_PIECE << piece);
    return piece;
}

static MTRACE_COLD struct open_scope *outlying_slot(uint32_t depth, bool makes)
{
    uint32_t at;
    unsigned piece = find_piece(depth, &at);
    void **pieces = g_thread.scope_pieces;

    if (piece >= THREAD_SCOPE_PIECES)
        return NULL;
    if (!pieces[piece] && makes) {
        size_t size_bytes = (size_t)THREAD_SCOPE_BYTES << piece;
        void *fresh = memory_map_inherited(size_bytes);

        if (pieces[piece]) /* a handler was faster */
            memory_unmap(fresh, size_bytes);
        else
            pieces[piece] = fresh;
    }
    return pieces[piece] ? (struct open_scope *)pieces[piece] + at : NULL;
}

/* NULL: there is none, or no memory for it. */
static inline struct open_scope *slot_at(uint32_t depth, bool makes)
{
    return mtrace_likely(depth < N_INLINE) ? &g_scopes.slots[depth] : outlying_slot(depth, makes);
}

static inline void compiler_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

struct mtrace_scope scopes_enter(uint32_t group)
{
    uint32_t outer_group = g_thread.group;
    uint32_t depth;
    uint32_t serial;
    struct open_scope *slot;

    if (mtrace_unlikely(g_scopes.number == 0))
        g_scopes.number = atomic_fetch_add_explicit(&g_n_threads, 1, memory_order_relaxed) + 1;
    depth = g_scopes.depth++; /* SC-2 */
    serial = ++g_scopes.serial;
    compiler_barrier();
    slot = slot_at(depth, true);
    if (mtrace_unlikely(!slot))
        return (struct mtrace_scope){outer_group, depth, (uint64_t)g_scopes.number << 32 | serial};
    *slot = (struct open_scope){outer_group, serial};
    compiler_barrier();
    thread_set_group(group);
    return (struct mtrace_scope){group, depth, (uint64_t)g_scopes.number << 32 | serial};
}

bool scopes_exit(struct mtrace_scope scope)
{
    const struct open_scope *slot;
    uint32_t outer_group;

    if (scope.depth >= g_scopes.depth || scope.owner >> 32 != g_scopes.number)
        return false;
    slot = slot_at(scope.depth, false);
    if (mtrace_unlikely(!slot)) { /* SC-3 */
        g_scopes.depth = scope.depth;
        return true;
    }
    if (slot->serial != (uint32_t)scope.owner)
        return false;
    outer_group = slot->outer_group;
    compiler_barrier();
    g_scopes.depth = scope.depth; /* SC-2 */
    compiler_barrier();
    thread_set_group(outer_group);
    return true;
}

uint32_t scopes_group(void)
{
    return g_thread.group;
}

uint64_t scopes_innermost(void)
{
    uint32_t depth = g_scopes.depth;
    const struct open_scope *slot = depth ? slot_at(depth - 1, false) : NULL;

    return slot ? (uint64_t)g_scopes.number << 32 | slot->serial : 0;
}

static _Atomic bool g_inherits;

void scopes_inherit(bool on)
{
    atomic_store_explicit(&g_inherits, on, memory_order_relaxed);
}

uint32_t scopes_group_to_inherit(void)
{
    return atomic_load_explicit(&g_inherits, memory_order_relaxed) ? g_thread.group
                                                                   : LOG_GROUP_ROOT;
}

void scopes_begin(uint32_t group)
{
    if (group != g_thread.group)
        thread_set_group(group);
}
