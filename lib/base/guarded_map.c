/* SPDX-License-Identifier: MIT */
#include "lib/base/guarded_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct guarded_map *g_maps;
static struct sigaction g_former;

static bool put_zeros(uint8_t *from, size_t n_bytes)
{
    return mmap(from, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0)
           == from;
}

/* Replaces everything from the offset on in one step: there may be thousands of pages beyond the
 * end of a file. */
static bool mend(struct guarded_map *map, size_t offset)
{
    struct stat status;

    offset -= offset % (size_t)sysconf(_SC_PAGESIZE);
    if (fstat(map->fd, &status) != 0 || (uint64_t)status.st_size <= offset)
        map->is_short = 1;
    if (offset < map->whole_bytes)
        map->whole_bytes = offset;
    return put_zeros((uint8_t *)map->start + offset, map->n_bytes - offset);
}

static void handle_bus_error(int number, siginfo_t *info, void *context)
{
    uint8_t *address = info->si_addr;
    int saved_errno = errno;

    (void)context;
    for (struct guarded_map *map = g_maps; map; map = map->next) {
        uint8_t *start = map->start;
        if (address >= start && address < start + map->n_bytes
            && mend(map, (size_t)(address - start))) {
            errno = saved_errno;
            return;
        }
    }
    sigaction(number, &g_former, NULL); /* the access is repeated and reaches the former handler */
}

static void list(struct guarded_map *map)
{
    struct sigaction action = {.sa_sigaction = handle_bus_error, .sa_flags = SA_SIGINFO};

    if (!g_maps)
        sigaction(SIGBUS, &action, &g_former);
    map->next = g_maps;
    g_maps = map;
}

static void unlist(const struct guarded_map *map)
{
    struct guarded_map **link = &g_maps;

    while (*link && *link != map)
        link = &(*link)->next;
    if (*link)
        *link = map->next;
    if (!g_maps)
        sigaction(SIGBUS, &g_former, NULL);
}

int guarded_map_open(struct guarded_map *map, int fd, size_t n_bytes, int flags)
{
    void *start = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (start == MAP_FAILED)
        return errno;
    *map =
        (struct guarded_map){.start = start, .n_bytes = n_bytes, .whole_bytes = n_bytes, .fd = fd};
    list(map);
    return 0;
}

int guarded_map_grow(struct guarded_map *map, size_t n_bytes)
{
    void *moved = mremap(map->start, map->n_bytes, n_bytes, MREMAP_MAYMOVE);

    if (moved == MAP_FAILED)
        return errno;
    map->start = moved;
    map->n_bytes = map->whole_bytes = n_bytes;
    return 0;
}

void guarded_map_close(struct guarded_map *map)
{
    if (!map->start)
        return;
    unlist(map);
    munmap(map->start, map->n_bytes);
    *map = (struct guarded_map){.fd = -1};
}
