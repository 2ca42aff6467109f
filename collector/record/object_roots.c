/* SPDX-License-Identifier: MIT */
#include "collector/record/object_roots.h"

#include "collector/platform/sys.h"

#include <stdatomic.h>

/*
 * Registering is rare, and never done in handlers' midst: signals are blocked while the flag is held, so
 * that whoever waits for it waits for a running thread. A fork child may find it held by nobody; it then
 * gives up waiting.
 */
enum {
    MOST_TRIES = 1 << 20
};

static struct mtrace_root g_roots[OBJECT_ROOTS_MOST];
static size_t g_n_roots; /* places ever used */
static atomic_flag g_is_held = ATOMIC_FLAG_INIT;

struct hold {
    uint64_t mask;
    bool is_blocked;
};

static struct hold hold_roots(void)
{
    struct hold hold = {0, false};

    hold.is_blocked = sys_block_signals(&hold.mask) >= 0;
    for (unsigned i = 0; i < MOST_TRIES; i++)
        if (!atomic_flag_test_and_set_explicit(&g_is_held, memory_order_acquire))
            break;
    return hold;
}

static void release_roots(struct hold hold)
{
    atomic_flag_clear_explicit(&g_is_held, memory_order_release);
    if (hold.is_blocked)
        sys_unblock_signals(hold.mask);
}

/* NULL object: the first free place. */
static size_t find(const void *object)
{
    size_t i = 0;

    while (i < g_n_roots && g_roots[i].object != object)
        i++;
    return i;
}

bool object_roots_add(const struct mtrace_root *root)
{
    struct hold hold = hold_roots();
    size_t i = find(root->object);

    if (i == g_n_roots)
        i = find(NULL);
    if (root->object && i < OBJECT_ROOTS_MOST) {
        g_roots[i] = *root;
        if (i == g_n_roots)
            g_n_roots++;
    }
    release_roots(hold);
    return root->object && i < OBJECT_ROOTS_MOST;
}

void object_roots_remove(const void *object)
{
    struct hold hold = hold_roots();
    size_t i = object ? find(object) : g_n_roots;

    if (i < g_n_roots)
        g_roots[i] = (struct mtrace_root){0};
    release_roots(hold);
}

size_t object_roots_count(void)
{
    struct hold hold = hold_roots();
    size_t n = g_n_roots;

    release_roots(hold);
    return n;
}

struct mtrace_root object_roots_at(size_t i)
{
    struct hold hold = hold_roots();
    struct mtrace_root root = {0};

    if (i < g_n_roots)
        root = g_roots[i];
    release_roots(hold);
    return root;
}
