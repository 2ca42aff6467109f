/* SPDX-License-Identifier: MIT */
/* Allocates in a constructor, at exit, in a destructor, and frees there blocks from elsewhere. */
#include "tests/workloads/workload.h"

static void *from_constructor;
static void *from_main;
static void *from_exit;

__attribute__((constructor)) static void before_main(void)
{
    from_constructor = own_malloc(1);
    own_malloc(2);
}

static void at_exit(void)
{
    own_free(from_main, 3);
    from_exit = own_malloc(4);
    own_malloc(5);
}

__attribute__((destructor)) static void after_main(void)
{
    own_free(from_constructor, 1);
    own_free(from_exit, 4);
    own_malloc(6);
    expect_own();
}

int main(void)
{
    atexit(at_exit);
    from_main = own_malloc(3);
    return 3;
}
