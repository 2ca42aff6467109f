/* SPDX-License-Identifier: MIT */
/* Corner cases of realloc, and of calls that have nothing to do; prints what each returned. */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#    define MAP_FIXED_NOREPLACE 0x100000
#endif

static void show(const char *what, void *result)
{
    printf("%s: %s, errno %d\n", what, result != NULL ? "block" : "NULL", errno);
    errno = 0;
}

static void *own_realloc(void *old, unsigned old_n, unsigned n)
{
    void *block = realloc(old, OWN_BYTES(n));
    if (old != NULL)
        own_count_free(OWN_BYTES(old_n));
    own_count_alloc(OWN_BYTES(n));
    return keep(block);
}

static void growing_chain(void)
{
    void *block = own_realloc(NULL, 0, 1);
    for (unsigned n = 2; n <= 200; n++) {
        block = own_realloc(block, n - 1, n);
        if (n % 50 == 0)
            own_malloc(0); /* so that the next step must move the block */
    }
    own_free(block, 200);
}

static void shrinking_chain(void)
{
    void *block = own_malloc(300);
    for (unsigned n = 299; n >= 290; n--)
        block = own_realloc(block, n + 1, n);
}

/* glibc moves the pages of such blocks; a mapping in the way makes it find another address. */
static void chain_of_own_mappings(void)
{
    const size_t mib = 1 << 20;
    char *block = malloc(mib);

    for (size_t n = 2; block && n <= 16; n++) {
        uintptr_t end = ((uintptr_t)block + (n - 1) * mib + 8191) / 4096 * 4096;
        (void)mmap((void *)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                   -1, 0);
        block = realloc(block, n * mib);
    }
    free(keep(block));
}

int main(void)
{
    volatile size_t too_much = PTRDIFF_MAX;
    errno = 0;
    growing_chain();
    shrinking_chain();
    chain_of_own_mappings();

    void *block = own_malloc(7);
    memset(block, 'y', OWN_BYTES(7));
    void *failed = realloc(block, too_much);
    show("realloc of a block, too much", failed);
    if (((char *)block)[OWN_BYTES(7) - 1] != 'y')
        return 1;
    show("realloc of a block to 0", realloc(block, 0));
    own_count_free(OWN_BYTES(7));

    void *zero = malloc(0);
    show("malloc(0)", zero);
    free(zero);
    show("malloc, too much", malloc(too_much));
    show("calloc, overflow", calloc(too_much, 16));
    show("reallocarray of NULL, overflow", reallocarray(NULL, too_much, 16));
    void *array = reallocarray(NULL, 2, 100);
    show("reallocarray of NULL", array);
    free(array);
    void *empty = realloc(NULL, 0);
    show("realloc of NULL to 0", empty);
    free(empty);
    errno = EAGAIN;
    free(NULL);
    free(malloc(10));
    printf("errno after free: %s\n", errno == EAGAIN ? "kept" : "changed");
    fflush(stdout);
    expect_own();
    expect("failures", 4);
    expect("chain_length", 200);
    expect("copied_of_moved_pages", 0);
    return 0;
}
