/* SPDX-License-Identifier: MIT */
/*
 * heap_shapes SHAPE [MS]: makes a heap of a shape, waits for MS milliseconds, says what malloc
 * says of it (mallinfo2, malloc_info), waits again, and frees what it can. Lines: "figure NAME
 * VALUE", "map START END PERMISSIONS PATH" of /proc/self/maps, "arena NUMBER BYTES" of malloc_info.
 *
 * small    many small blocks, every third freed
 * mmapped  large blocks with mappings of their own
 * arenas   four threads with arenas of their own, with holes
 * trimmed  most of the blocks freed, then malloc_trim
 * forked   of a fork child with arenas of its own: most of the first heap is inherited
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
    N_BLOCKS = 300000,
    N_LARGE = 60,
    N_THREADS = 4,
};

static useconds_t wait_us = 700000;
static void *blocks[N_BLOCKS];
static pthread_barrier_t made, printed;

static void make_blocks(void **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        list[i] = keep(malloc(24 + i * 7919 % 400));
}

static void free_blocks(void **list, size_t n, size_t every)
{
    for (size_t i = 0; i < n; i++) {
        if (i / 40 % every == 0) {
            free(list[i]);
            list[i] = NULL;
        }
    }
}

static void say(const char *name, uint64_t value)
{
    char line[128];
    int n = snprintf(line, sizeof line, "figure %s %" PRIu64 "\n", name, value);
    (void)write(STDOUT_FILENO, line, (size_t)n);
}

/* Of each arena the bytes that it has of the system. What follows the last one is the sum. */
static void print_arenas(const char *text)
{
    static const char number[] = "<heap nr=\"";
    static const char bytes[] = "<system type=\"current\" size=\"";

    for (const char *at = text; (at = strstr(at, number)); at++) {
        const char *size = strstr(at, bytes);
        char line[128];
        int n = snprintf(line, sizeof line, "arena %lu %lu\n",
                         strtoul(at + sizeof number - 1, NULL, 10),
                         size ? strtoul(size + sizeof bytes - 1, NULL, 10) : 0);
        (void)write(STDOUT_FILENO, line, (size_t)n);
    }
}

/* Over all arenas, "subheaps" of malloc_info: the pieces of 64 MiB that arenas consist of. */
static void print_subheaps(void)
{
    static char text[1 << 16];
    static const char mark[] = "type=\"subheaps\" size=\"";
    FILE *out = fmemopen(text, sizeof text, "w");
    uint64_t n = 0;

    malloc_info(0, out);
    fclose(out);
    for (const char *at = text; (at = strstr(at, mark)); at += sizeof mark)
        n += strtoull(at + sizeof mark - 1, NULL, 10);
    say("subheaps", n);
    print_arenas(text);
}

/* It allocates nothing. */
static void print_maps(void)
{
    static char text[1 << 18];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n_bytes = 0;
    ssize_t n;

    while ((n = read(fd, text + n_bytes, sizeof text - 1 - n_bytes)) > 0)
        n_bytes += (size_t)n;
    close(fd);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char out[512], permissions[8], path[256] = "";
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &start, &end, permissions, path) < 3)
            continue;
        int n_out = snprintf(out, sizeof out, "map %lu %lu %s %s\n", start, end, permissions, path);
        (void)write(STDOUT_FILENO, out, (size_t)n_out);
    }
}

static void print_all(void)
{
    struct timespec now;
    struct mallinfo2 info;

    print_subheaps();
    usleep(wait_us); /* until the recorder has looked how far the heaps reach */
    info = mallinfo2();
    print_maps();
    clock_gettime(CLOCK_REALTIME, &now);
    usleep(wait_us / 10);
    say("at_unix_ns", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    say("arena", info.arena);
    say("uordblks", info.uordblks);
    say("fordblks", info.fordblks);
    say("hblks", info.hblks);
    say("hblkhd", info.hblkhd);
}

static void *work(void *argument)
{
    void **list = calloc(N_BLOCKS / N_THREADS, sizeof *list);

    (void)argument;
    make_blocks(list, N_BLOCKS / N_THREADS);
    free_blocks(list, N_BLOCKS / N_THREADS, 3);
    pthread_barrier_wait(&made);
    pthread_barrier_wait(&printed);
    return NULL;
}

static void use_threads(void)
{
    pthread_t threads[N_THREADS];

    pthread_barrier_init(&made, NULL, N_THREADS + 1);
    pthread_barrier_init(&printed, NULL, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    pthread_barrier_wait(&made);
    print_all();
    pthread_barrier_wait(&printed);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Every third inherited block is freed here and one of the child's lies in its place. */
static int use_child(void)
{
    int status = 0;

    make_blocks(blocks, N_BLOCKS);
    if (fork() == 0) {
        free_blocks(blocks, N_BLOCKS, 3);
        make_blocks(blocks + N_BLOCKS - 1000, 1000);
        use_threads();
        _exit(0);
    }
    wait(&status);
    free_blocks(blocks, N_BLOCKS, 1);
    return status;
}

static void use_mappings(void)
{
    static void *large[N_LARGE];

    for (size_t i = 0; i < N_LARGE; i++)
        large[i] = keep(malloc(200000 + i * 12345));
    print_all();
    for (size_t i = 0; i < N_LARGE; i++)
        free(large[i]);
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "small";

    if (argc > 2)
        wait_us = (useconds_t)atoi(argv[2]) * 1000;
    if (strcmp(shape, "forked") == 0)
        return use_child() != 0;
    if (strcmp(shape, "arenas") == 0) {
        use_threads();
    } else if (strcmp(shape, "mmapped") == 0) {
        use_mappings();
    } else {
        make_blocks(blocks, N_BLOCKS);
        free_blocks(blocks, N_BLOCKS, 3);
        if (strcmp(shape, "trimmed") == 0) {
            free_blocks(blocks, N_BLOCKS, 2);
            free_blocks(blocks + 2 * N_BLOCKS / 3, N_BLOCKS / 3, 1);
            malloc_trim(0);
        }
        print_all();
        free_blocks(blocks, N_BLOCKS, 1);
    }
    return 0;
}
