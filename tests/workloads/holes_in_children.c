/* SPDX-License-Identifier: MIT */
/*
 * Fork children make a part of their own stack unreadable before they use the heap, and do so again
 * afterwards. The parent used the heap on that stack, and so did another of its threads.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    PAGE_BYTES = 4096,
    ARRAY_BYTES = 64 * 1024, /* of a frame, in which the holes are */
};

static pid_t fork_raw(void)
{
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

static int protect(char *page)
{
    return mprotect(page, PAGE_BYTES, PROT_NONE);
}

static int unmap(char *page)
{
    return munmap(page, PAGE_BYTES);
}

static int replace(char *page)
{
    return mmap(page, PAGE_BYTES, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
           == MAP_FAILED;
}

static int move(char *page)
{
    return mremap(page, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE) == MAP_FAILED;
}

static pid_t (*const forks[])(void) = {fork, _Fork, fork_raw};
static int (*const ways[])(char *) = {protect, unmap, replace, move};

enum {
    N_FORKS = sizeof(forks) / sizeof(forks[0]),
    N_WAYS = sizeof(ways) / sizeof(ways[0])
};

__attribute__((noinline)) static void use_heap(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(keep(malloc(PAGE_BYTES)));
}

__attribute__((noinline)) static void be_child(int (*make_hole)(char *))
{
    char array[ARRAY_BYTES];
    const uintptr_t low = (uintptr_t)keep(array) + PAGE_BYTES - 1;
    char *page = (char *)(low - low % PAGE_BYTES);

    if (make_hole(page) != 0)
        _exit(1);
    use_heap(10);
    _exit(make_hole(page + 2 * PAGE_BYTES));
}

static int run_children(void)
{
    int n_ok = 0;

    for (int i = 0; i < N_FORKS; i++)
        for (int k = 0; k < N_WAYS; k++) {
            int status = -1;
            pid_t child = forks[i]();
            if (child == 0)
                be_child(ways[k]);
            n_ok += waitpid(child, &status, 0) == child && status == 0;
        }
    return n_ok;
}

static void *thread(void *ret_n_ok)
{
    use_heap(10);
    *(int *)ret_n_ok = run_children();
    return NULL;
}

int main(void)
{
    pthread_t id;
    int n_ok = 0;
    int n_ok_of_thread = 0;

    own_free(own_malloc(1), 1);
    n_ok = run_children();
    if (pthread_create(&id, NULL, thread, &n_ok_of_thread) != 0)
        abort();
    pthread_join(id, NULL);
    expect_own();
    expect("children_ok", (unsigned long long)(n_ok + n_ok_of_thread));
    return n_ok + n_ok_of_thread == 2 * N_FORKS * N_WAYS ? 0 : 1;
}
