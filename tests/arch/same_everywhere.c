/* SPDX-License-Identifier: MIT */
/* Makes the same calls with the same sizes whatever machine it runs on, from stacks of many
 * depths. */
#include <stdlib.h>
#include <string.h>

enum {
    N_KEPT = 1000,
    N_ROUNDS = 5000,
};

static void *g_kept[N_KEPT];

__attribute__((noinline)) static void *make(size_t n_bytes)
{
    void *block = malloc(n_bytes);

    memset(block, 1, n_bytes);
    return block;
}

__attribute__((noinline)) static void replace(int depth, int i)
{
    volatile char room[32] = {0};

    if (depth > 0) {
        replace(depth - 1, i);
        room[1] = room[0];
        return;
    }
    free(g_kept[i % N_KEPT]);
    g_kept[i % N_KEPT] = make((size_t)(i % 97) + 1);
}

/* A frame of variable size: it is found by the frame pointer. */
__attribute__((noinline)) static void grow(int n_bytes)
{
    char *room = __builtin_alloca((size_t)n_bytes);
    void *block = realloc(NULL, (size_t)n_bytes);

    memset(room, 0, (size_t)n_bytes);
    block = realloc(block, 2 * (size_t)n_bytes);
    free(block);
    *(volatile char *)room = 1;
}

int main(void)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        replace(i % 20, i);
        grow(16 + i % 64);
    }
    return 0;
}
