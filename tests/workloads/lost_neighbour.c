/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind tables allocates on a stack made by hand, whose frame pointer points just
 * beyond that stack: into a neighbouring mapping that is unmapped later. A collector that guessed a
 * caller by that frame pointer must not read there again.
 */
#include "tests/workloads/workload.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STACK_BYTES = 64 * 1024,
    ROOM_ABOVE = 256,
    N_CALLS = 4,
};

/* own_malloc_on(stack pointer, frame pointer, size) */
void *own_malloc_on(void *stack, void *frame, size_t size_bytes);
__asm__(".text\n"
        ".globl own_malloc_on\n"
        ".type own_malloc_on, @function\n"
        "own_malloc_on:\n"
        "push %rbp\n"
        "push %rbx\n"
        "mov %rsp, %rbx\n"
        "mov %rdi, %rsp\n"
        "mov %rsi, %rbp\n"
        "mov %rdx, %rdi\n"
        "call malloc@PLT\n"
        "mov %rbx, %rsp\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size own_malloc_on, . - own_malloc_on\n");

static void allocate(char *stack_end, void *frame)
{
    for (int i = 0; i < N_CALLS; i++) {
        void *block = own_malloc_on(stack_end - ROOM_ABOVE, frame, OWN_BYTES(1));
        own_count_alloc(OWN_BYTES(1));
        own_free(keep(block), 1);
    }
}

/* Looks like a frame, with its caller's on the next page; both of code without tables. */
static void make_frames(char *at, char *outer)
{
    uintptr_t inner_words[] = {(uintptr_t)outer, (uintptr_t)own_malloc_on + 5};
    uintptr_t outer_words[] = {0, (uintptr_t)own_malloc_on + 5};

    memcpy(at, inner_words, sizeof(inner_words));
    memcpy(outer, outer_words, sizeof(outer_words));
}

int main(void)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *stack = mmap(NULL, STACK_BYTES + 2 * page_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *neighbour = stack + STACK_BYTES;

    if (stack == MAP_FAILED)
        return 1;
    make_frames(neighbour, neighbour + page_bytes);
    allocate(neighbour, neighbour);
    munmap(neighbour + page_bytes, page_bytes);
    allocate(neighbour, neighbour);
    munmap(neighbour, page_bytes);
    allocate(neighbour, neighbour);
    allocate(neighbour, NULL);
    expect_own();
    return 0;
}
