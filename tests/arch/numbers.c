/* SPDX-License-Identifier: MIT */
/* Maps memory, and fails to allocate: flags and errors have other numbers on some processors. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    MAPPED_BYTES = 0x770000 /* whatever the size of a page is */
};

void *volatile g_block;

int main(void)
{
    const int more[] = {0, MAP_NORESERVE, MAP_POPULATE, MAP_STACK, MAP_NORESERVE | MAP_STACK};

    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        g_block = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | more[i], -1, 0);
    for (int i = 0; i < 2; i++) /* one of 2 GiB there may be */
        g_block = malloc(PTRDIFF_MAX);
    return errno != ENOMEM;
}
