/* SPDX-License-Identifier: MIT */
/*
 * rss_split [MS]: fills the heap quickly, frees all but the last block, so that nothing of it can go back, and
 * waits for MS milliseconds while the recorder looks. Then what is resident of it, as the kernel counts: "figure heap_rss BYTES".
 */
#include "tests/workloads/workload.h"

#include <stdbool.h>
#include <string.h>

enum {
    N_BLOCKS = 30000,
    BLOCK_BYTES = 1000,
    KIB = 1024,
};

static void *g_blocks[N_BLOCKS + 1];

/* "Rss:  49224 kB" is the line of smaps behind the name of the mapping. */
static unsigned long long heap_rss(void)
{
    unsigned long long kib = 0;
    char line[512];
    bool is_heap = false;
    FILE *smaps = fopen("/proc/self/smaps", "re");

    if (!smaps)
        exit(EXIT_FAILURE);
    while (fgets(line, sizeof line, smaps)) {
        is_heap = is_heap || strstr(line, "[heap]");
        if (is_heap && strncmp(line, "Rss:", 4) == 0) {
            kib = strtoull(line + 4, NULL, 10);
            break;
        }
    }
    (void)fclose(smaps);
    return kib * KIB;
}

int main(int argc, char **argv)
{
    for (int i = 0; i <= N_BLOCKS; i++) {
        g_blocks[i] = keep(malloc(BLOCK_BYTES));
        memset(g_blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        free(g_blocks[i]);
    (void)usleep(argc > 1 ? (useconds_t)atoi(argv[1]) * 1000 : 2000000);
    (void)printf("figure heap_rss %llu\n", heap_rss());
    return 0;
}
