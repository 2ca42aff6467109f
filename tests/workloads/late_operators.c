/* SPDX-License-Identifier: MIT */
/*
 * late_operators PLUGIN LIBRARY...: a C program whose C++ operators come and go with a plugin: its
 * threads make objects and delete them, while unrelated libraries that were loaded before it are
 * unloaded. `cost` in place of the libraries: so many objects, and nothing else.
 */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    N_THREADS = 2,
    N_ROUNDS = 40,
    N_AT_ONCE = 20,
    N_FOR_COST = 10000,
    MAX_LIBRARIES = 16,
};

static int (*make)(int n);
static pthread_barrier_t barrier;
static bool has_ended;
static atomic_bool is_over;

static void make_and_count(void)
{
    if (make(N_AT_ONCE) != N_AT_ONCE)
        abort();
    for (int i = 0; i < N_AT_ONCE; i++) {
        own_count_alloc(OWN_BYTES(1));
        own_count_free(OWN_BYTES(1));
    }
}

static void *work(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&barrier);
        if (has_ended)
            return unused;
        while (!atomic_load(&is_over))
            make_and_count();
        pthread_barrier_wait(&barrier);
    }
}

static void *open_plugin(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!plugin || !(*(void **)&make = dlsym(plugin, "plugin_make")))
        abort();
    return plugin;
}

static void run_round(const char *path, char **libraries)
{
    void *handles[MAX_LIBRARIES];
    void *plugin;
    size_t n = 0;

    for (; libraries[n] && n < MAX_LIBRARIES; n++)
        handles[n] = dlopen(libraries[n], RTLD_NOW | RTLD_LOCAL);
    plugin = open_plugin(path);
    atomic_store(&is_over, false);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < n; i++)
        if (!handles[i] || dlclose(handles[i]) != 0)
            abort();
    atomic_store(&is_over, true);
    pthread_barrier_wait(&barrier);
    if (dlclose(plugin) != 0)
        abort();
}

int main(int n_arguments, char **arguments)
{
    pthread_t threads[N_THREADS];

    if (n_arguments < 3)
        return 2;
    if (strcmp(arguments[2], "cost") == 0) {
        (void)open_plugin(arguments[1]);
        return make(N_FOR_COST) != N_FOR_COST;
    }
    pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 3;
    for (int i = 0; i < N_ROUNDS; i++)
        run_round(arguments[1], arguments + 2);
    has_ended = true;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_own();
    return 0;
}
