/* SPDX-License-Identifier: MIT */
/*
 * Double and invalid frees that glibc does not notice, each from a function of its own. With the
 * argument "noticed" only one that glibc notices: it ends the process by SIGABRT.
 *
 * All blocks are allocated first: a block that was freed twice would be given out twice.
 */
#include "tests/workloads/workload.h"

#include <stdint.h>
#include <string.h>

enum {
    CHUNK_HEADER_BYTES = 16,
    FAKE_CHUNK_BYTES = 0x40,
    CHUNK_IS_IN_USE = 1
};

static _Alignas(16) unsigned char no_block[256];

__attribute__((noinline)) static void *allocate(void)
{
    return own_malloc(0);
}

__attribute__((noinline)) static void free_first(void *block)
{
    free(block);
}

/* glibc writes a key into a freed block, which lets it detect the next free. */
static void hide_free(void *block)
{
    memset((char *)keep(block) + sizeof(void *), 0, sizeof(void *));
}

/* Looks like a small block to glibc, inside of other memory. */
static void *fake_chunk(void *memory)
{
    const size_t header = FAKE_CHUNK_BYTES | CHUNK_IS_IN_USE;

    memcpy((char *)memory + CHUNK_HEADER_BYTES - sizeof(header), &header, sizeof(header));
    return keep((char *)memory + CHUNK_HEADER_BYTES);
}

__attribute__((noinline)) static void free_again(void *block)
{
    free(block);
}

__attribute__((noinline)) static void realloc_freed(void *block)
{
    keep(realloc(block, OWN_BYTES(0)));
}

__attribute__((noinline)) static void free_static(void)
{
    free(fake_chunk(no_block));
}

__attribute__((noinline)) static void free_inside(void *block)
{
    free(fake_chunk(block));
}

/* The second free of the old pointer frees the new block, so the free of that one is the error. */
__attribute__((noinline)) static void free_reused(void *block)
{
    void *copy = keep(block);

    free(block);
    block = keep(malloc(OWN_BYTES(0)));
    free(copy);
    hide_free(copy);
    free(block);
}

int main(int argc, char **argv)
{
    void *twice = allocate();
    void *resized = allocate();
    void *holder = allocate();
    void *reused = allocate();

    if (argc > 1 && strcmp(argv[1], "noticed") == 0) {
        expect("double_frees", 1);
        expect("invalid_frees", 0);
        free_first(twice);
        free_again(keep(twice));
        return 0;
    }
    free_reused(reused);
    free_first(twice);
    hide_free(twice);
    free_again(keep(twice));
    free_first(resized);
    realloc_freed(keep(resized));
    free_static();
    free_inside(holder);
    expect("double_frees", 3);
    expect("invalid_frees", 2);
    expect("with_all_stacks", 3);
    expect("invalid_inside", 1);
    return 0;
}
