/* SPDX-License-Identifier: MIT */
/* The program has its own allocator, in which it is nearly always, and which deadlocks if it is
 * called recursively. Counts in a file. With an argument it sleeps for a second after each
 * BUSY_SECONDS, and prints that. */
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BUSY_SECONDS = 5
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char arena[1 << 24];
static size_t used_bytes;

void *malloc(size_t size_bytes)
{
    char *block;

    pthread_mutex_lock(&mutex);
    for (volatile int i = 0; i < 200000; i++) {
    }
    if (used_bytes + size_bytes + 32 > sizeof(arena))
        used_bytes = sizeof(arena) / 2;
    block = arena + used_bytes + 16;
    used_bytes += (size_bytes + 31) & ~(size_t)15;
    pthread_mutex_unlock(&mutex);
    return memcpy(block - 16, &size_bytes, sizeof(size_bytes)) ? block : NULL;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t n, size_t size_bytes)
{
    void *block = malloc(n * size_bytes);

    return block ? memset(block, 0, n * size_bytes) : NULL;
}

void *realloc(void *old, size_t size_bytes)
{
    void *block = malloc(size_bytes);
    size_t old_bytes = 0;

    if (old)
        memcpy(&old_bytes, (char *)old - 16, sizeof(old_bytes));
    if (block && old)
        memcpy(block, old, old_bytes < size_bytes ? old_bytes : size_bytes);
    return block;
}

static void rest(time_t *since)
{
    if (time(NULL) - *since < BUSY_SECONDS)
        return;
    (void)!write(STDOUT_FILENO, "r", 1);
    poll(NULL, 0, 1000);
    *since = time(NULL);
}

int main(int n_arguments, char **arguments)
{
    time_t since = 0;

    (void)arguments;
    for (;;) {
        if (n_arguments > 1)
            rest(&since);
        free(malloc(16));
        (void)!write(STDOUT_FILENO, ".", 1);
    }
}
