/* SPDX-License-Identifier: MIT */
/*
 * samples: so many blocks that samples estimate them well, by functions whose sums it prints: "name
 * allocated_blocks allocated_bytes leaked_blocks leaked_bytes". Blocks freed by other threads and
 * by a fork child are not leaked. With the argument "children" it makes children one after the
 * other, each of which leaks one block; between them it allocates nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_KEPT = 60000,
    N_PASSED = 60000,
    N_GROWN = 2000,
    N_GROWTHS = 12,
    N_HANDED = 20000,
    N_CHILD = 20000,
    N_CHILDREN = 60,
};

struct sums {
    unsigned long allocated_blocks, allocated_bytes, leaked_blocks, leaked_bytes;
};

static void *g_handed[N_HANDED];
static void *volatile g_seen;

static void say(const char *name, const struct sums *sums)
{
    printf("%s %lu %lu %lu %lu\n", name, sums->allocated_blocks, sums->allocated_bytes,
           sums->leaked_blocks, sums->leaked_bytes);
    fflush(stdout);
}

static void *made(struct sums *sums, void *block, size_t size)
{
    sums->allocated_blocks++;
    sums->allocated_bytes += size;
    g_seen = block;
    return block;
}

static __attribute__((noinline)) void keep(struct sums *sums)
{
    for (unsigned i = 0; i < N_KEPT; i++) {
        size_t size = 64 + i * 37 % 1900;
        void *block = made(sums, malloc(size), size);
        if (i % 3 == 0) {
            sums->leaked_blocks++;
            sums->leaked_bytes += size;
        } else {
            free(block);
        }
    }
}

static __attribute__((noinline)) void pass(struct sums *sums)
{
    for (unsigned i = 0; i < N_PASSED; i++) {
        size_t size = 256 + i * 61 % 3000;
        free(made(sums, i % 2 ? calloc(1, size) : malloc(size), size));
    }
}

/* Each step frees one block and makes another; the last one leaks. */
static __attribute__((noinline)) void grow(struct sums *sums)
{
    for (unsigned i = 0; i < N_GROWN; i++) {
        size_t size = 32;
        void *block = made(sums, malloc(size), size);
        for (unsigned k = 0; k < N_GROWTHS; k++) {
            size += size / 2 + i % 5;
            block = made(sums, realloc(block, size), size);
        }
        sums->leaked_blocks++;
        sums->leaked_bytes += size;
    }
}

static void *free_handed(void *unused)
{
    for (unsigned i = 0; i < N_HANDED; i++)
        free(g_handed[i]);
    return unused;
}

static __attribute__((noinline)) void hand(struct sums *sums)
{
    for (unsigned i = 0; i < N_HANDED; i++)
        g_handed[i] = made(sums, malloc(1000), 1000);
}

static void hand_over(struct sums *sums)
{
    pthread_t thread;

    hand(sums);
    if (pthread_create(&thread, NULL, free_handed, NULL) == 0)
        pthread_join(thread, NULL);
}

/* The child frees inherited blocks, and makes blocks of its own. */
static __attribute__((noinline)) void child(struct sums *sums)
{
    for (unsigned i = 0; i < N_CHILD; i++) {
        size_t size = 100 + i * 37 % 1900;
        void *block = made(sums, malloc(size), size);
        if (i % 4 == 0) {
            sums->leaked_blocks++;
            sums->leaked_bytes += size;
        } else {
            free(block);
        }
    }
}

static void live_as_child(void)
{
    struct sums sums = {0, 0, 0, 0};

    free_handed(NULL);
    child(&sums);
    say("child", &sums);
}

static void fork_and_wait(struct sums *sums)
{
    pid_t pid;

    hand(sums);
    pid = fork();
    if (pid == 0) {
        live_as_child();
        exit(0);
    }
    waitpid(pid, NULL, 0);
    free_handed(NULL);
}

static __attribute__((noinline)) void leak_one(void)
{
    g_seen = malloc(3000);
}

static int make_children(void)
{
    free(malloc(10));
    for (unsigned i = 0; i < N_CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            leak_one();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct sums kept = {0, 0, 0, 0};
    struct sums passed = {0, 0, 0, 0};
    struct sums grown = {0, 0, 0, 0};
    struct sums handed = {0, 0, 0, 0};

    if (argc > 1 && strcmp(argv[1], "children") == 0)
        return make_children();
    keep(&kept);
    say("keep", &kept);
    pass(&passed);
    say("pass", &passed);
    grow(&grown);
    say("grow", &grown);
    hand_over(&handed);
    fork_and_wait(&handed);
    say("hand", &handed);
    return 0;
}
