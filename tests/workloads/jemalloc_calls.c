/* SPDX-License-Identifier: MIT */
/* Linked with jemalloc: the standard calls and jemalloc's own, which must still reach jemalloc. */
#include "tests/workloads/workload.h"

#include <malloc.h>

/* Debian's runtime package has no header. */
void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);

int main(void)
{
    const char *version = NULL;
    size_t version_bytes = sizeof(version);
    if (mallctl("version", &version, &version_bytes, NULL, 0) != 0)
        return 1;
    for (unsigned i = 0; i < 1000; i++) {
        void *block = own_malloc(i % 4);
        if (i % 10 != 0)
            own_free(block, i % 4);
    }
    for (unsigned i = 0; i < 100; i++) {
        void *block = mallocx(OWN_BYTES(1), 0);
        own_count_alloc(OWN_BYTES(1));
        block = rallocx(block, OWN_BYTES(2), 0);
        own_count_free(OWN_BYTES(1));
        own_count_alloc(OWN_BYTES(2));
        own_count_free(OWN_BYTES(2));
        if (i % 2 == 0)
            dallocx(block, 0);
        else
            sdallocx(block, OWN_BYTES(2), 0);
    }
    void *block = own_malloc(3);
    printf("jemalloc %s gives %zu bytes\n", version, sallocx(block, 0));
    fflush(stdout);
    own_free(block, 3);
    expect_own();
    return 0;
}
