/* SPDX-License-Identifier: MIT */
#include "collector/record/object_roots.h"

#include "collector/platform/rare_lock.h"

static struct mtrace_root g_roots[OBJECT_ROOTS_MOST];
static size_t g_n_roots; /* places ever used */
static struct rare_lock g_lock;

/* NULL object: the first free place. */
static size_t find(const void *object)
{
    size_t i = 0;

    while (i < g_n_roots && g_roots[i].object != object)
        i++;
    return i;
}

/* Of who ends in between, as in a fork child, there is no root. */
static void put(struct mtrace_root *place, const struct mtrace_root *root)
{
    place->object = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    place->name = root->name;
    place->size_bytes = root->size_bytes;
    place->visit = root->visit;
    atomic_signal_fence(memory_order_seq_cst);
    place->object = root->object;
}

bool object_roots_add(const struct mtrace_root *root)
{
    struct rare_hold hold;
    size_t i;

    if (!root->object || !rare_lock_take(&g_lock, &hold))
        return false;
    i = find(root->object);
    if (i == g_n_roots)
        i = find(NULL);
    if (i < OBJECT_ROOTS_MOST)
        put(&g_roots[i], root);
    if (i == g_n_roots && i < OBJECT_ROOTS_MOST)
        g_n_roots++;
    rare_lock_give_up(&g_lock, &hold);
    return i < OBJECT_ROOTS_MOST;
}

void object_roots_remove(const void *object)
{
    struct rare_hold hold;
    size_t i;

    if (!object || !rare_lock_take(&g_lock, &hold))
        return;
    i = find(object);
    if (i < g_n_roots)
        g_roots[i].object = NULL;
    rare_lock_give_up(&g_lock, &hold);
}

size_t object_roots_count(void)
{
    struct rare_hold hold;
    size_t n;

    if (!rare_lock_take(&g_lock, &hold))
        return 0;
    n = g_n_roots;
    rare_lock_give_up(&g_lock, &hold);
    return n;
}

struct mtrace_root object_roots_at(size_t i)
{
    struct mtrace_root root = {0};
    struct rare_hold hold;

    if (!rare_lock_take(&g_lock, &hold))
        return root;
    if (i < g_n_roots)
        root = g_roots[i];
    rare_lock_give_up(&g_lock, &hold);
    return root;
}
