/* SPDX-License-Identifier: MIT */
/* The program defines malloc itself: nothing can be recorded, and the log must say so. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static _Alignas(16) char arena[1 << 22];
static size_t used_bytes;

void *malloc(size_t size_bytes)
{
    size_t begin =
        __atomic_fetch_add(&used_bytes, (size_bytes + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (begin + size_bytes + 16 > sizeof(arena))
        return NULL;
    memcpy(arena + begin, &size_bytes, sizeof(size_bytes));
    return arena + begin + 16;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t n, size_t size_bytes)
{
    void *block = malloc(n * size_bytes);
    return block != NULL ? memset(block, 0, n * size_bytes) : NULL;
}

void *realloc(void *old, size_t size_bytes)
{
    void *block = malloc(size_bytes);
    size_t old_bytes = 0;
    if (old != NULL)
        memcpy(&old_bytes, (char *)old - 16, sizeof(old_bytes));
    if (block != NULL && old != NULL)
        memcpy(block, old, old_bytes < size_bytes ? old_bytes : size_bytes);
    return block;
}

int main(void)
{
    char *volatile block = malloc(1777);
    int own = block >= arena && block < arena + sizeof(arena);
    free(block);
    const char *line = own ? "own allocator\n" : "another allocator\n";
    return write(STDOUT_FILENO, line, strlen(line)) > 0 && own ? 0 : 1;
}
