/* SPDX-License-Identifier: MIT */
#include "collector/groups/scopes.h"

#include "collector/os/memory.h"
#include "collector/thread/thread.h"

#include <stddef.h>

enum {
    N_INLINE = 16,
};

struct open_scope {
    uint32_t outer_group;
    uint32_t serial;
};

enum {
    /* All pieces together hold two million nested scopes. */
    FIRST_PIECE = THREAD_SCOPE_BYTES / sizeof(struct open_scope),
};

static _Thread_local struct {
    uint32_t depth;
    uint32_t serial; /* of the last enter */
    uint32_t number; /* of the thread; 0: it never entered a scope */
    struct open_scope slots[N_INLINE];
} g_scopes __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t g_n_threads;

/* The piece for a depth that is not inline; *ret_at: index in it. */
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

/* NULL: it does not exist, or there is no memory. */
static inline struct open_scope *slot_at(uint32_t depth, bool makes)
{
    return mtrace_likely(depth < N_INLINE) ? &g_scopes.slots[depth] : outlying_slot(depth, makes);
}

static inline void compiler_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static inline struct mtrace_scope scope_of(uint32_t group, uint32_t depth, uint32_t serial)
{
    return (struct mtrace_scope){group, depth, (uint64_t)g_scopes.number << 32 | serial};
}

/* SC-2. slot: of this depth, looked up after the depth was incremented. */
static inline struct mtrace_scope fill(struct open_scope *slot, uint32_t group, uint32_t depth,
                                       uint32_t serial)
{
    *slot = (struct open_scope){g_thread.group, serial};
    compiler_barrier();
    thread_set_group(group);
    return scope_of(group, depth, serial);
}

/* The first scope of a thread, or one that is not inline. */
static MTRACE_COLD struct mtrace_scope enter_slow(uint32_t group)
{
    struct open_scope *slot;
    uint32_t depth = g_scopes.depth++;
    uint32_t serial = ++g_scopes.serial;

    compiler_barrier();
    if (g_scopes.number == 0)
        g_scopes.number = atomic_fetch_add_explicit(&g_n_threads, 1, memory_order_relaxed) + 1;
    slot = slot_at(depth, true);
    return slot ? fill(slot, group, depth, serial) : scope_of(g_thread.group, depth, serial);
}

struct mtrace_scope scopes_enter(uint32_t group)
{
    uint32_t depth = g_scopes.depth;
    uint32_t serial = g_scopes.serial + 1;

    if (mtrace_unlikely(depth >= N_INLINE || g_scopes.number == 0))
        return enter_slow(group);
    g_scopes.depth = depth + 1;
    g_scopes.serial = serial;
    compiler_barrier();
    return fill(&g_scopes.slots[depth], group, depth, serial);
}

/* SC-2 */
static inline bool leave(const struct open_scope *slot, struct mtrace_scope scope)
{
    uint32_t outer_group = slot->outer_group;

    if (mtrace_unlikely(slot->serial != (uint32_t)scope.owner))
        return false;
    compiler_barrier();
    g_scopes.depth = scope.depth;
    compiler_barrier();
    thread_set_group(outer_group);
    return true;
}

static MTRACE_COLD bool exit_slow(struct mtrace_scope scope)
{
    const struct open_scope *slot = slot_at(scope.depth, false);

    if (slot)
        return leave(slot, scope);
    g_scopes.depth = scope.depth; /* SC-3 */
    return true;
}

bool scopes_exit(struct mtrace_scope scope)
{
    if (mtrace_unlikely(scope.depth >= g_scopes.depth || scope.owner >> 32 != g_scopes.number))
        return false;
    if (mtrace_unlikely(scope.depth >= N_INLINE))
        return exit_slow(scope);
    return leave(&g_scopes.slots[scope.depth], scope);
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
