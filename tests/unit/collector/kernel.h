/* SPDX-License-Identifier: MIT */
/*
 * kernel: features that some kernels lack, and qemu-user lacks. A test of a collector function that
 * needs one skips if it is missing, and prints that; other tests cover the collector without it.
 */
#ifndef MTRACE_TESTS_UNIT_COLLECTOR_KERNEL_H
#define MTRACE_TESTS_UNIT_COLLECTOR_KERNEL_H

#include "collector/os/sys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* process_vm_readv: the only way to read memory that may be unmapped. */
static inline bool kernel_copies_own(void)
{
    const uintptr_t word = 4711;
    uintptr_t copy = 0;

    return sys_copy_own(&copy, (uintptr_t)&word, sizeof(copy)) == (long)sizeof(copy)
           && copy == word;
}

struct kernel_waiter {
    int ends[2];
    _Atomic long tid;
    uintptr_t frame;
};

static inline void *kernel_wait(void *argument)
{
    struct kernel_waiter *waiter = argument;
    char byte;

    waiter->frame = (uintptr_t)__builtin_frame_address(0);
    atomic_store(&waiter->tid, sys_gettid());
    return read(waiter->ends[0], &byte, 1) == 1 ? NULL : waiter;
}

/* The stack pointer of a thread that waits; below qemu-user that is qemu's. */
static inline bool kernel_shows_stacks(void)
{
    const uintptr_t near = 1 << 16;
    struct kernel_waiter waiter = {.tid = 0};
    uintptr_t at = 0;
    pthread_t thread;

    if (pipe(waiter.ends) != 0 || pthread_create(&thread, NULL, kernel_wait, &waiter) != 0)
        return false;
    for (unsigned i = 0; i < 1000 && at == 0; i++) {
        sys_nap(1000000);
        if (atomic_load(&waiter.tid) != 0)
            at = sys_stack_pointer_of(atomic_load(&waiter.tid));
    }
    (void)!write(waiter.ends[1], "x", 1);
    (void)pthread_join(thread, NULL);
    (void)close(waiter.ends[0]);
    (void)close(waiter.ends[1]);
    return at <= waiter.frame && at + near > waiter.frame;
}

/* Leaves the test, of cmocka.h. */
#define KERNEL_NEEDS(what)                                    \
    do {                                                      \
        if (!kernel_##what()) {                               \
            print_message("this kernel has no: " #what "\n"); \
            skip();                                           \
        }                                                     \
    } while (0)

#endif
