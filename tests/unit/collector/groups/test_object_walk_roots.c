/* SPDX-License-Identifier: MIT */
/* Any number of threads add and remove roots; removing one waits for no other thread. */
#include "collector/groups/object_walk.h"
#include "collector/os/rare_lock.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    N_THREADS = 4,
    N_ROUNDS = 5000,
    N_OF_THREAD = 50,
};

static char g_objects[OBJECT_ROOTS_MAX + 1];
static pthread_barrier_t g_changes;
static _Atomic bool g_stops_with_lock, g_gave_up;
static bool g_is_refused;

bool __real_rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold);
bool __wrap_rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold);
void __real_rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold);
void __wrap_rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold);

/* A thread that finds it stops there, once it was asked to. */
bool __wrap_rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold)
{
    if (g_is_refused || !__real_rare_lock_take(lock, ret_hold))
        return false;
    if (atomic_exchange(&g_stops_with_lock, false)) {
        pthread_barrier_wait(&g_changes);
        pthread_barrier_wait(&g_changes);
    }
    return true;
}

void __wrap_rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold)
{
    atomic_store(&g_gave_up, true);
    __real_rare_lock_give_up(lock, hold);
}

static void visit_nothing(struct mtrace_visitor *visitor, const void *object)
{
    (void)visitor;
    (void)object;
}

static bool add(size_t i)
{
    const struct mtrace_root root = {"root", &g_objects[i], i + 1, visit_nothing};

    return object_roots_add(&root);
}

static size_t count_roots(void)
{
    size_t n = 0;

    for (size_t i = 0; i < object_roots_count(); i++)
        n += object_roots_at(i).object != NULL;
    return n;
}

static bool has(size_t object)
{
    for (size_t i = 0; i < object_roots_count(); i++)
        if (object_roots_at(i).object == &g_objects[object])
            return true;
    return false;
}

static void *read_first(void *unused)
{
    (void)unused;
    (void)object_roots_at(0);
    return NULL;
}

static void *add_another(void *unused)
{
    (void)unused;
    return add(2) ? g_objects : NULL;
}

/* OR-2: the holder is still inside, reading or adding. */
static void removed_while(void *(*holds)(void *))
{
    pthread_t holder;

    assert_true(add(1));
    atomic_store(&g_stops_with_lock, true);
    assert_int_equal(pthread_create(&holder, NULL, holds, NULL), 0);
    pthread_barrier_wait(&g_changes);
    atomic_store(&g_gave_up, false);
    object_roots_remove(&g_objects[1]);
    assert_false(atomic_load(&g_gave_up));
    pthread_barrier_wait(&g_changes);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_false(has(1));
    assert_int_equal(has(2), holds == add_another);
    object_roots_remove(&g_objects[2]);
}

TEST(removal_does_not_wait_for_the_lock)
{
    pthread_barrier_init(&g_changes, NULL, 2);
    removed_while(read_first);
    removed_while(add_another);
    pthread_barrier_destroy(&g_changes);
}

TEST(without_the_lock_none_is_added_and_one_goes)
{
    assert_true(add(3));
    g_is_refused = true;
    assert_false(add(4));
    assert_null(object_roots_at(0).object);
    object_roots_remove(&g_objects[3]);
    g_is_refused = false;
    assert_int_equal(count_roots(), 0);
}

static void *come_and_go(void *number)
{
    const size_t first = (size_t)(uintptr_t)number * N_OF_THREAD;

    for (size_t i = 0; i < N_ROUNDS; i++) {
        if (!add(first + i % N_OF_THREAD))
            return g_objects;
        if (i % N_OF_THREAD % 2 == 0)
            object_roots_remove(&g_objects[first + i % N_OF_THREAD]);
    }
    return NULL;
}

/* A walk sees complete roots: size and object belong to the same one. */
TEST(threads_change_roots_concurrently)
{
    pthread_t threads[N_THREADS];
    void *is_wrong;

    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)i), 0);
    for (unsigned i = 0; i < 1000; i++) {
        struct mtrace_root root = object_roots_at(i % 64);
        if (root.object)
            assert_ptr_equal(root.object, &g_objects[root.size_bytes - 1]);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &is_wrong), 0);
        assert_null(is_wrong);
    }
    assert_int_equal(count_roots(), N_THREADS * N_OF_THREAD / 2);
}
