/* SPDX-License-Identifier: MIT */
#include "collector/events/heap_extent.h"

#include "collector/events/record.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/thread/quiet.h"
#include "collector/thread/state.h"
#include "lib/abi/glibc_heap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUFFER_BYTES = 65536
};

/* A line of /proc/self/maps. */
struct mapping {
    uintptr_t start, end;
    bool is_writable;
    bool is_accessible;
    bool is_anonymous;
    bool is_brk;
};

static uintptr_t parse_hex(const char **at)
{
    uintptr_t value = 0;

    for (;; (*at)++) {
        char c = **at;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uintptr_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* start-end perms offset device inode path */
static bool parse_line(const char *at, struct mapping *ret_mapping)
{
    struct mapping mapping = {0};

    mapping.start = parse_hex(&at);
    if (*at++ != '-')
        return false;
    mapping.end = parse_hex(&at);
    if (*at++ != ' ')
        return false;
    mapping.is_writable = at[1] == 'w';
    mapping.is_accessible = at[0] == 'r' || at[1] == 'w' || at[2] == 'x';
    for (unsigned n_spaces = 0; n_spaces < 2; at++) {
        if (!*at)
            return false;
        n_spaces += *at == ' ';
    }
    mapping.is_anonymous = fmt_after_prefix(at, "00:00 0") != NULL;
    while (mapping.is_anonymous && *at && *at != '[' && *at != '/')
        at++;
    mapping.is_brk = mapping.is_anonymous && fmt_after_prefix(at, "[heap]") != NULL;
    *ret_mapping = mapping;
    return true;
}

static void record_extent(uintptr_t start, uintptr_t end, enum log_heap_kind kind)
{
    uint64_t words[4] = {0, 0, end, kind};

    record_event(LOG_HEAP_EXTENT, start, words, 4, NULL);
}

/* A heap of a non-main arena: the used part is writable and the rest inaccessible. */
static bool is_arena(const struct mapping *used, const struct mapping *next)
{
    const uintptr_t arena_bytes = (uintptr_t)glibc_heap_arena_bytes(sizeof(uintptr_t));

    if (used->start % arena_bytes != 0 || !used->is_writable || !used->is_anonymous || used->is_brk
        || used->end - used->start > arena_bytes)
        return false;
    if (used->end - used->start == arena_bytes)
        return true;
    return next->start == used->end && !next->is_accessible
           && next->end == used->start + arena_bytes;
}

static void look_at(const struct mapping *mapping, const struct mapping *next)
{
    if (mapping->is_brk)
        record_extent(mapping->start, mapping->end, LOG_HEAP_BRK);
    else if (is_arena(mapping, next))
        record_extent(mapping->start, mapping->end, LOG_HEAP_ARENA);
}

static size_t line_length(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (text[i] == '\n')
            return i + 1;
    return 0;
}

static void read_maps(int fd, char *buffer)
{
    struct mapping last = {0};
    size_t n = 0;
    long got;

    while ((got = sys_read(fd, buffer + n, BUFFER_BYTES - 1 - n)) > 0) {
        size_t at = 0;
        size_t length;
        n += (size_t)got;
        buffer[n] = '\0';
        while ((length = line_length(buffer + at, n - at)) > 0) {
            struct mapping mapping;
            buffer[at + length - 1] = '\0';
            if (parse_line(buffer + at, &mapping)) {
                look_at(&last, &mapping);
                last = mapping;
            }
            at += length;
        }
        for (size_t i = at; i < n; i++)
            buffer[i - at] = buffer[i];
        n -= at;
    }
    look_at(&last, &(struct mapping){0});
}

static void record_all(void)
{
    char *buffer;
    int fd;

    if (!state_is_own_process())
        return;
    buffer = memory_map(BUFFER_BYTES);
    if (!buffer)
        return;
    fd = (int)sys_open("/proc/self/maps", O_RDONLY, 0);
    if (fd >= 0) {
        read_maps(fd, buffer);
        sys_close(fd);
    }
    memory_unmap(buffer, BUFFER_BYTES);
}

/* Signals are blocked: a handler that leaves by siglongjmp would leak a descriptor and the buffer;
 * one that forks would leave its child without the buffer. */
void heap_extent_record(void)
{
    struct quiet quiet;

    if (!real_is_glibc_malloc() || !quiet_begin(&quiet))
        return;
    record_all();
    quiet_end(&quiet);
}
