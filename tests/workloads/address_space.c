/* SPDX-License-Identifier: MIT */
/*
 * Threads, a library that is opened late and a heap. Prints where its threads' stacks lie and when
 * it opened the library. Lines: "stack ADDRESS BYTES" in bytes as decimal numbers, "opened UNIX_NS
 * ADDRESS".
 */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    N_THREADS = 3,
    STACK_BYTES = 3 << 20,
    WAIT_US = 200000
};

static void *work(void *argument)
{
    pthread_attr_t attr;
    void *address = NULL;
    size_t bytes = 0;

    keep(malloc(OWN_BYTES(1)));
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &address, &bytes);
    pthread_attr_destroy(&attr);
    printf("stack %" PRIuPTR " %zu\n", (uintptr_t)address, bytes);
    usleep(WAIT_US);
    return argument;
}

static void open_library(const char *name)
{
    struct link_map *map = NULL;
    void *(*strange_malloc)(int) = NULL;
    struct timespec now;
    void *library;

    clock_gettime(CLOCK_REALTIME, &now);
    library = dlopen(name, RTLD_NOW);
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return;
    printf("opened %" PRIu64 " %" PRIuPTR "\n",
           (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, (uintptr_t)map->l_addr);
    *(void **)&strange_malloc = dlsym(library, "sqlite3_malloc");
    if (strange_malloc)
        keep(strange_malloc(100));
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], i == 0 ? NULL : &attr, work, NULL);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    open_library(argc > 1 ? argv[1] : "libsqlite3.so.0");
    usleep(WAIT_US);
    return 0;
}
