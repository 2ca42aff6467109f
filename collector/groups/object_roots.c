/* SPDX-License-Identifier: MIT */
#include "collector/groups/object_roots.h"

#include "collector/os/rare_lock.h"

static struct place {
    const void *_Atomic object; /* NULL: no root. Stored last */
    const char *name;
    size_t size_bytes;
    mtrace_visit *visit;
} g_roots[OBJECT_ROOTS_MOST];

static _Atomic size_t g_n_roots; /* places ever used */
static struct rare_lock g_lock;

/* NULL object: the first free place. */
static size_t find(const void *object)
{
    size_t i = 0;

    while (i < g_n_roots && atomic_load(&g_roots[i].object) != object)
        i++;
    return i;
}

/* If the thread ends in between, as in a fork child, there is no root. */
static void put(struct place *place, const struct mtrace_root *root)
{
    atomic_store(&place->object, NULL);
    place->name = root->name;
    place->size_bytes = root->size_bytes;
    place->visit = root->visit;
    atomic_store(&place->object, root->object);
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

/* OR-2 */
void object_roots_remove(const void *object)
{
    const void *expected = object;
    size_t i = object ? find(object) : g_n_roots;

    if (i < g_n_roots)
        (void)atomic_compare_exchange_strong(&g_roots[i].object, &expected, NULL);
}

size_t object_roots_count(void)
{
    return g_n_roots;
}

struct mtrace_root object_roots_at(size_t i)
{
    struct mtrace_root root = {0};
    struct rare_hold hold;

    if (!rare_lock_take(&g_lock, &hold))
        return root;
    if (i < g_n_roots)
        root = (struct mtrace_root){g_roots[i].name, atomic_load(&g_roots[i].object),
                                    g_roots[i].size_bytes, g_roots[i].visit};
    rare_lock_give_up(&g_lock, &hold);
    return root;
}
