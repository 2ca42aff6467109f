/* SPDX-License-Identifier: MIT */
/*
 * rss_split [MS]: fills memory of each kind with its own number of bytes, waits MS milliseconds
 * while the recorder samples, and prints what smaps counts:
 *   heap       blocks of which all but the last are freed, so that nothing can go back
 *   blocks     malloc of 6 MiB, half of it written
 *   mappings   1,000 neighbours of 100 KiB, every second one written: one mapping to the kernel
 *   raw        9 MiB mapped by a system call
 *   stack      5 MiB of the stack of a thread
 *   shared     7 MiB
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifdef SYS_mmap2
#    define MAP_CALL SYS_mmap2
#else
#    define MAP_CALL SYS_mmap
#endif

enum {
    N_BLOCKS = 30000,
    BLOCK_BYTES = 1000,
    N_MAPPINGS = 1000,
    KIB = 1024,
    MIB = KIB * KIB,
    MAPPING_BYTES = 100 * KIB,
};

static void *g_blocks[N_BLOCKS + 1];
static pthread_barrier_t g_barrier;

static void *map(size_t bytes, int flags)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    if (start == MAP_FAILED)
        exit(EXIT_FAILURE);
    return start;
}

/* Sums "Rss:  49224 kB" of all mappings, and of the heap, whose name stands in the line before. */
static void print_smaps(void)
{
    unsigned long long heap = 0;
    unsigned long long all = 0;
    char line[512];
    bool is_heap = false;
    FILE *smaps = fopen("/proc/self/smaps", "re");

    if (!smaps)
        exit(EXIT_FAILURE);
    while (fgets(line, sizeof line, smaps)) {
        if (line[0] < 'A' || line[0] > 'Z')
            is_heap = strstr(line, "[heap]") != NULL;
        if (strncmp(line, "Rss:", 4) != 0)
            continue;
        all += strtoull(line + 4, NULL, 10);
        heap += is_heap ? strtoull(line + 4, NULL, 10) : 0;
    }
    (void)fclose(smaps);
    (void)printf("figure heap_rss %llu\nfigure all_rss %llu\n", heap * KIB, all * KIB);
}

static void *use_stack(void *unused)
{
    char stack[5 * MIB];
    void *block = keep(malloc(100)); /* the collector knows threads that allocate */

    (void)unused;
    memset(stack, 1, sizeof stack);
    keep(stack);
    (void)pthread_barrier_wait(&g_barrier);
    (void)pthread_barrier_wait(&g_barrier);
    free(block);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    long raw = syscall(MAP_CALL, NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

    if (raw == -1)
        return EXIT_FAILURE;
    memset((void *)raw, 1, 9 * MIB);
    for (int i = 0; i < N_MAPPINGS; i++) {
        char *start = map(MAPPING_BYTES, MAP_PRIVATE);
        if (i % 2)
            memset(start, 1, MAPPING_BYTES);
    }
    memset(keep(malloc(6 * MIB)), 1, 3 * MIB);
    memset(map(7 * MIB, MAP_SHARED), 1, 7 * MIB);
    (void)pthread_barrier_init(&g_barrier, NULL, 2);
    if (pthread_create(&thread, NULL, use_stack, NULL) != 0)
        return EXIT_FAILURE;
    (void)pthread_barrier_wait(&g_barrier);
    for (int i = 0; i <= N_BLOCKS; i++) {
        g_blocks[i] = keep(malloc(BLOCK_BYTES));
        memset(g_blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        free(g_blocks[i]);
    (void)usleep(argc > 1 ? (useconds_t)atoi(argv[1]) * 1000 : 2000000);
    print_smaps();
    (void)pthread_barrier_wait(&g_barrier);
    (void)pthread_join(thread, NULL);
    return 0;
}
