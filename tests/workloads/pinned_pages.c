/* SPDX-License-Identifier: MIT */
/*
 * pinned_pages SHAPE [SITES]: makes a heap whose pages are held by few small blocks, trims it,
 * waits, frees the blocks of the sites named ("a", "b", "ab"), trims again, and prints how much
 * memory the heap occupied before and after: "figure NAME VALUE". Without SITES nothing is freed.
 *
 * scattered  blocks of site a, far apart in one heap
 * shared     pages with a block of a and one of b, and pages of a alone and of b alone
 * callers    scattered, but made through two callers in turn, two on a page: many stacks, one site
 * top        blocks of a at the top of the heap, above free pages
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    N_GROUPS = 900,
    N_FILLERS = 40,
    FILLER_BYTES = 700, /* a group is some seven pages */
};

#define SITE __attribute__((noinline))

static void *of_a[N_GROUPS], *of_b[N_GROUPS], *fillers[N_GROUPS][N_FILLERS];

SITE static void *site_a(void)
{
    return keep(malloc(40));
}

SITE static void *site_b(void)
{
    return keep(malloc(56));
}

SITE static void *filler(void)
{
    return keep(malloc(FILLER_BYTES));
}

SITE static void *through_left(void)
{
    void *block = site_a();
    return keep(block);
}

SITE static void *through_right(void)
{
    void *block = site_a();
    return keep(block);
}

static void fill(size_t group)
{
    for (size_t i = 0; i < N_FILLERS; i++)
        fillers[group][i] = memset(filler(), 1, FILLER_BYTES);
}

static void scatter(void)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        fill(i);
        of_a[i] = site_a();
    }
}

static void call(void)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        fill(i);
        of_a[i] = through_left();
        of_b[i] = through_right();
    }
}

/* A third of the groups each: a and b side by side, a alone, b alone. */
static void share(void)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        fill(i);
        of_a[i] = i % 3 != 2 ? site_a() : NULL;
        of_b[i] = i % 3 != 1 ? site_b() : NULL;
    }
}

static void put_on_top(void)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        fill(i);
        if (i > N_GROUPS - 200)
            of_a[i] = site_a();
    }
}

static void say(const char *name, uint64_t value)
{
    char line[128];
    int n = snprintf(line, sizeof line, "figure %s %" PRIu64 "\n", name, value);
    (void)write(STDOUT_FILENO, line, (size_t)n);
}

/* Rss of [heap], read without touching it. */
static uint64_t heap_rss_bytes(void)
{
    static char text[1 << 17];
    size_t used = 0;
    int fd = open("/proc/self/smaps", O_RDONLY);

    for (ssize_t n;
         used < sizeof text - 1 && (n = read(fd, text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)n;
    close(fd);
    text[used] = '\0';
    const char *heap = strstr(text, "[heap]");
    const char *rss = heap ? strstr(heap, "\nRss:") : NULL;
    return rss ? strtoull(rss + 5, NULL, 10) * 1024 : 0;
}

static void print_now(const char *name)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    say(name, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static void free_all(void **blocks)
{
    for (size_t i = 0; i < N_GROUPS; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "scattered";
    const char *sites = argc > 2 ? argv[2] : "";

    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* the program trims, not free */
    if (strcmp(shape, "shared") == 0)
        share();
    else if (strcmp(shape, "callers") == 0)
        call();
    else if (strcmp(shape, "top") == 0)
        put_on_top();
    else
        scatter();
    for (size_t i = 0; i < N_GROUPS * N_FILLERS; i++)
        free(fillers[i / N_FILLERS][i % N_FILLERS]);
    malloc_trim(0);
    usleep(20000);
    print_now("at_unix_ns");
    say("rss_before", heap_rss_bytes());
    usleep(20000);
    if (strchr(sites, 'a'))
        free_all(of_a);
    if (strchr(sites, 'b'))
        free_all(of_b);
    malloc_trim(0);
    say("rss_after", heap_rss_bytes());
    return 0;
}
