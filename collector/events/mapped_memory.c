/* SPDX-License-Identifier: MIT */
#include "collector/events/mapped_memory.h"

#include "collector/arch/arch.h"
#include "collector/events/record.h"
#include "collector/log/definition.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "lib/abi/glibc_heap.h"
#include "lib/abi/log_format.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* end 0: free; TAKEN: being filled. */
static struct place {
    _Atomic uintptr_t start, end;
} g_places[RESIDENT_PAGES_PLACES];

static const uintptr_t TAKEN = 1;

/* Above all user addresses, also with five-level page tables. */
static const uintptr_t ADDRESS_END =
    (uintptr_t)(sizeof(uintptr_t) > 4 ? UINT64_C(1) << 56 : UINT32_MAX);

/* Number of places that were ever used. */
static _Atomic unsigned g_n_places;

/* ---- reporting ---- */

/* One look at a range, reported in runs. */
struct look {
    uintptr_t page_bytes;
    uintptr_t run_start; /* of the current run; 0: none */
    uintptr_t resident_bytes;
    unsigned n_reported;
    unsigned n_absent;
};

static void emit(struct look *look, uintptr_t start, uintptr_t end, uint64_t resident_bytes)
{
    uint64_t words[4] = {0, 0, end - start,
                         resident_bytes | (look->n_reported++ ? LOG_RESIDENT_CONTINUES : 0)};

    record_event(LOG_RESIDENT, start, words, 4, NULL);
}

/* Adds the page at `at`. The last run extends to the end of the range. */
static void take_page(struct look *look, uintptr_t at, bool is_resident)
{
    if (is_resident) {
        if (!look->run_start)
            look->run_start = at;
        look->resident_bytes += look->page_bytes;
        return;
    }
    look->n_absent++;
    if (look->run_start && look->n_reported < RESIDENT_PAGES_MAX_RUNS) {
        emit(look, look->run_start, at, look->resident_bytes);
        look->run_start = look->resident_bytes = 0;
    }
}

/* The first event covers the whole range. Runs that were reported before the look fails stay
 * valid. */
static void look_at(uintptr_t start, uintptr_t end)
{
    unsigned char pages[RESIDENT_PAGES_BATCH];
    struct look look = {.page_bytes = sys_page_bytes()};

    emit(&look, start, end, 0);
    for (uintptr_t at = start; end - at >= look.page_bytes;) {
        uintptr_t left = (end - at) / look.page_bytes;
        unsigned n = left < RESIDENT_PAGES_BATCH ? (unsigned)left : RESIDENT_PAGES_BATCH;
        if (look.n_absent > RESIDENT_PAGES_MAX_ABSENT
            || sys_residency(at, n * look.page_bytes, pages) != 0) {
            if (look.run_start)
                emit(&look, look.run_start, at, look.resident_bytes);
            emit(&look, at, end, LOG_RESIDENT_UNKNOWN);
            return;
        }
        for (unsigned i = 0; i < n; i++)
            take_page(&look, at + i * look.page_bytes, pages[i] & 1);
        at += n * look.page_bytes;
    }
    if (look.run_start)
        emit(&look, look.run_start, end, look.resident_bytes);
}

/* ---- places ---- */

static bool place_take(struct place *place, uintptr_t start, uintptr_t end)
{
    uintptr_t free_end = 0;

    if (!atomic_compare_exchange_strong(&place->end, &free_end, TAKEN))
        return false;
    atomic_store_explicit(&place->start, start, memory_order_relaxed);
    atomic_store_explicit(&place->end, end, memory_order_release);
    return true;
}

static void note_used(unsigned n)
{
    unsigned before = g_n_places;

    while (before < n && !atomic_compare_exchange_weak(&g_n_places, &before, n))
        ;
}

static void place_add(uintptr_t start, uintptr_t end)
{
    for (unsigned i = 0; i < RESIDENT_PAGES_PLACES; i++) {
        if (place_take(&g_places[i], start, end)) {
            note_used(i + 1);
            return;
        }
    }
    emit(&(struct look){0}, start, end, LOG_RESIDENT_UNKNOWN);
}

/* Takes [*start, *end) out of the place, as far as it lies there. Parts outside stay. */
static bool place_cut(struct place *place, uintptr_t *start, uintptr_t *end)
{
    const uintptr_t from = *start;
    const uintptr_t to = *end;
    uintptr_t last = atomic_load_explicit(&place->end, memory_order_acquire);
    uintptr_t first;

    if (last <= TAKEN || last <= from
        || atomic_load_explicit(&place->start, memory_order_relaxed) >= to
        || !atomic_compare_exchange_strong(&place->end, &last, TAKEN))
        return false;
    /* Only now the place is ours: the start read above may be that of another mapping than the
     * end. */
    first = atomic_load_explicit(&place->start, memory_order_relaxed);
    if (first >= to) {
        atomic_store_explicit(&place->end, last, memory_order_release);
        return false;
    }
    *start = first > from ? first : from;
    *end = last < to ? last : to;
    if (first < from) {
        atomic_store_explicit(&place->end, from, memory_order_release);
        if (last > to)
            place_add(to, last);
    } else if (last > to) {
        atomic_store_explicit(&place->start, to, memory_order_relaxed);
        atomic_store_explicit(&place->end, last, memory_order_release);
    } else {
        atomic_store_explicit(&place->end, 0, memory_order_release);
    }
    return true;
}

static void note_cut(struct resident_pages_cut *cut, uintptr_t start, uintptr_t end)
{
    struct resident_pages_piece *others = &cut->others;

    if (cut->n < RESIDENT_PAGES_MAX_PIECES) {
        cut->pieces[cut->n++] = (struct resident_pages_piece){start, end};
        return;
    }
    if (others->end == 0 || start < others->start)
        others->start = start;
    if (end > others->end)
        others->end = end;
}

static void cut_all(uintptr_t start, uintptr_t end, struct resident_pages_cut *cut)
{
    unsigned n = atomic_load_explicit(&g_n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++) {
        uintptr_t from = start;
        uintptr_t to = end;
        if (!place_cut(&g_places[i], &from, &to))
            continue;
        look_at(from, to);
        note_cut(cut, from, to);
    }
}

static uintptr_t page_up(uintptr_t bytes)
{
    return (bytes + sys_page_bytes() - 1) & ~(uintptr_t)(sys_page_bytes() - 1);
}

void resident_pages_mapped(const void *start, size_t length, int flags)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;

    if (length >= RESIDENT_PAGES_MIN_BYTES && (flags & (kind | MAP_SHARED | MAP_HUGETLB)) == kind)
        place_add((uintptr_t)start, (uintptr_t)start + page_up(length));
}

bool resident_pages_ends(const void *start, size_t length, struct resident_pages_cut *ret_cut)
{
    uintptr_t from = (uintptr_t)start;

    ret_cut->n = 0;
    ret_cut->others = (struct resident_pages_piece){0, 0};
    if (from % sys_page_bytes() != 0 || length == 0 || from > ADDRESS_END
        || length > ADDRESS_END - from)
        return false;
    cut_all(from, from + page_up(length), ret_cut);
    return true;
}

void resident_pages_goes_on(const struct resident_pages_cut *cut)
{
    for (unsigned i = 0; i < cut->n; i++)
        place_add(cut->pieces[i].start, cut->pieces[i].end);
    if (cut->others.end)
        emit(&(struct look){0}, cut->others.start, cut->others.end, LOG_RESIDENT_UNKNOWN);
}

void resident_pages_emit_all(void)
{
    struct resident_pages_cut cut;

    (void)resident_pages_ends(NULL, ADDRESS_END, &cut);
}

void resident_pages_forget(void)
{
    for (unsigned i = 0; i < RESIDENT_PAGES_PLACES; i++)
        atomic_store_explicit(&g_places[i].end, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_places, 0, memory_order_relaxed);
}

/* ---- files ---- */

enum {
    N_KNOWN = 1024,       /* hashes of paths defined before; a power of two */
    MAX_PATH_BYTES = 1024 /* on the caller's stack; a longer path is not recorded */
};

/* Hash in the high half, id in the low half; 0 = free. A path whose place is taken is defined
 * again. */
static _Atomic uint64_t g_known[N_KNOWN];
static _Atomic uint32_t g_last_id;

void mapped_memory_forget_paths(void)
{
    for (unsigned i = 0; i < N_KNOWN; i++)
        atomic_store_explicit(&g_known[i], 0, memory_order_relaxed);
}

static uint32_t hash_of(const char *path, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t find_or_define(int fd)
{
    char link[32];
    char path[MAX_PATH_BYTES];
    struct fmt out = FMT_BUFFER(link);
    uint32_t hash;
    uint64_t known;
    uint32_t id;
    long length;

    fmt_string(&out, "/proc/self/fd/");
    fmt_decimal(&out, (uint64_t)fd);
    length = sys_readlink(link, path, sizeof(path));
    if (length <= 0 || length == sizeof(path))
        return 0;
    hash = hash_of(path, (size_t)length);
    known = atomic_load_explicit(&g_known[hash % N_KNOWN], memory_order_acquire);
    if (known >> 32 == hash && known != 0)
        return (uint32_t)known;
    id = atomic_fetch_add_explicit(&g_last_id, 1, memory_order_relaxed) + 1;
    if (!definition_text(LOG_DEF_PATH, id, path, (size_t)length))
        return 0;
    atomic_store_explicit(&g_known[hash % N_KNOWN], (uint64_t)hash << 32 | id,
                          memory_order_release);
    return id;
}

uint32_t mapped_memory_path_id(int fd)
{
    struct signals_block quiet;
    uint32_t id;

    if (!signals_block_begin(&quiet))
        return 0;
    id = find_or_define(fd);
    signals_block_end(&quiet);
    return id;
}

/* ---- heaps ---- */

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

static void record_if_heap(const struct mapping *mapping, const struct mapping *next)
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
                record_if_heap(&last, &mapping);
                last = mapping;
            }
            at += length;
        }
        for (size_t i = at; i < n; i++)
            buffer[i - at] = buffer[i];
        n -= at;
    }
    record_if_heap(&last, &(struct mapping){0});
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
void mapped_memory_record_heaps(void)
{
    struct signals_block quiet;

    if (!real_is_glibc_malloc() || !signals_block_begin(&quiet))
        return;
    record_all();
    signals_block_end(&quiet);
}
