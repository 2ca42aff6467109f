/* SPDX-License-Identifier: MIT */
#include "collector/log/segment.h"

#include "collector/os/clock.h"
#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    MAX_CHUNKS = LOG_MAX_SEGMENTS / SEGMENT_CHUNK,
    CHUNK_BYTES = SEGMENT_CHUNK * LOG_SEGMENT_BYTES,
    RETRY_AFTER_DROPS_MAX = 1 << 16,
    NO_ROOM_BYTES = 1 << 30,
};

/* Written by segment_attach and segment_forget, except g_chunks and the variables below it. */
static struct log_header *g_log;
static unsigned char *g_first;
static uint32_t g_n_first;
static struct segment_file g_where;
static uint64_t g_start_ns; /* survives segment_forget */

static _Atomic(unsigned char *) g_chunks[MAX_CHUNKS]; /* after the first mapping */
static _Atomic uint32_t g_n_chunks;                   /* mapped chunks */
static _Atomic uint32_t g_drop_reason;
static _Atomic uint32_t g_drops_until_retry; /* growth is tried when it is 0 */
static _Atomic uint32_t g_retry_interval;

struct log_header *segment_log(void)
{
    return g_log;
}

uint64_t segment_start_ns(void)
{
    return g_start_ns;
}

void segment_attach(struct log_header *file, uint32_t n_first, const struct segment_file *where)
{
    g_first = (unsigned char *)file + LOG_FILE_HEADER_BYTES;
    g_n_first = n_first;
    g_where = *where;
    g_start_ns = file->start_monotonic_ns;
    g_log = file;
}

void segment_forget(void)
{
    uint32_t n_chunks = atomic_load_explicit(&g_n_chunks, memory_order_relaxed);

    for (uint32_t i = 0; i < n_chunks && i < MAX_CHUNKS; i++)
        atomic_store_explicit(&g_chunks[i], NULL, memory_order_relaxed);
    atomic_store_explicit(&g_n_chunks, 0, memory_order_relaxed);
    atomic_store_explicit(&g_drops_until_retry, 0, memory_order_relaxed);
    atomic_store_explicit(&g_retry_interval, 0, memory_order_relaxed);
    g_log = NULL;
    g_first = NULL;
    g_n_first = 0;
}

/* Chunks begin after the header, which is in the middle of a page if pages are larger. */
static size_t lead_bytes(void)
{
    return LOG_FILE_HEADER_BYTES % sys_page_bytes();
}

static void each_mapping(long (*change)(void *start, size_t size_bytes))
{
    uint32_t n_chunks = atomic_load_explicit(&g_n_chunks, memory_order_relaxed);

    if (!g_log)
        return;
    change(g_log, LOG_FILE_HEADER_BYTES + (size_t)g_n_first * LOG_SEGMENT_BYTES);
    for (uint32_t i = 0; i < n_chunks && i < MAX_CHUNKS; i++) {
        unsigned char *chunk = atomic_load_explicit(&g_chunks[i], memory_order_relaxed);
        if (chunk)
            change(chunk - lead_bytes(), lead_bytes() + CHUNK_BYTES);
    }
}

void segment_replace_mappings(void)
{
    g_where.max_bytes = 0; /* the file must not grow from here on */
    each_mapping(sys_map_over);
}

void segment_unmap(void)
{
    each_mapping(sys_unmap);
}

struct log_segment *segment_at(uint32_t index)
{
    unsigned char *chunk;
    uint32_t later;

    if (index < g_n_first)
        return (struct log_segment *)(void *)(g_first + (size_t)index * LOG_SEGMENT_BYTES);
    later = index - g_n_first;
    if (later / SEGMENT_CHUNK >= MAX_CHUNKS)
        return NULL;
    /* Acquire: pairs with the release in map_chunk. */
    chunk = atomic_load_explicit(&g_chunks[later / SEGMENT_CHUNK], memory_order_acquire);
    if (!chunk)
        return NULL;
    return (struct log_segment *)(void *)(chunk
                                          + (size_t)(later % SEGMENT_CHUNK) * LOG_SEGMENT_BYTES);
}

/* ---- the three stacks --------------------------------------------------------------------------
 * Low half: index + 1 of the top. High half: a tag that every change increments.
 */
static uint64_t next_top(uint64_t old_top, uint32_t link)
{
    return ((old_top >> 32) + 1) << 32 | link;
}

/* The release of the CAS publishes what was written to the segment before. */
static void push(_Atomic uint64_t *stack, struct log_segment *segment)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_relaxed);

    do {
        atomic_store_explicit(&segment->next, (uint32_t)top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(stack, &top, next_top(top, segment->index + 1),
                                                    memory_order_release, memory_order_relaxed));
}

/* If another thread popped the segment, the link read from it is stale; the tag differs then. */
static struct log_segment *pop(_Atomic uint64_t *stack)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_acquire);

    while ((uint32_t)top != 0) {
        struct log_segment *segment = segment_at((uint32_t)top - 1);
        uint32_t link;
        if (!segment)
            return NULL;
        link = atomic_load_explicit(&segment->next, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(stack, &top, next_top(top, link),
                                                  memory_order_acquire, memory_order_acquire))
            return segment;
    }
    return NULL;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* For file systems without fallocate: zeros at the end of the file reserve space, too. Writes only
 * at the end (map_chunk appends), since another thread may have reserved the same space already and
 * use it. */
static long reserve_by_writing(int fd, uint64_t end)
{
    static const char zeros[4096];
    struct sys_file_id now;
    long result = sys_file_id(fd, &now);

    while (result >= 0 && (uint64_t)now.size_bytes < end) {
        uint64_t missing = end - (uint64_t)now.size_bytes;
        result = sys_pwrite(fd, zeros, missing < sizeof(zeros) ? (size_t)missing : sizeof(zeros),
                            (uint64_t)now.size_bytes);
        if (result >= 0 || result == -EINTR)
            result = sys_file_id(fd, &now);
    }
    return result < 0 ? result : 0;
}

long segment_reserve_space(int fd, uint64_t offset, uint64_t size_bytes, bool *ret_is_weak)
{
    long result;

    /* Beyond the limit the kernel sends SIGXFSZ, whose default action ends the process. */
    if (offset + size_bytes > sys_limit(RLIMIT_FSIZE))
        return -EFBIG;
    do
        result = sys_fallocate(fd, offset, size_bytes);
    while (result == -EINTR);
    if (result != -EOPNOTSUPP)
        return result;
    *ret_is_weak = true;
    return reserve_by_writing(fd, offset + size_bytes);
}

static bool is_failure(long address)
{
    return address < 0 && address > -4096;
}

static long map_reserved(int fd, uint64_t offset, size_t size_bytes)
{
    const size_t lead = lead_bytes();
    bool is_weak = false;
    long result = segment_reserve_space(fd, offset, size_bytes, &is_weak);

    if (result < 0)
        return result;
    if (is_weak)
        __atomic_fetch_or(&g_log->flags, LOG_FLAG_WEAK, __ATOMIC_RELAXED);
    result = sys_map_file(fd, offset - lead, lead + size_bytes);
    if (is_failure(result))
        return result;
    sys_advise((void *)(uintptr_t)result, lead + size_bytes, MADV_DONTFORK);
    sys_advise((void *)(uintptr_t)result, lead + size_bytes, MADV_DONTDUMP);
    return result + (long)lead;
}

/* SG-2. Returns the descriptor or a negative errno. */
static long open_again(const char *path)
{
    struct sys_file_id id;
    long fd = sys_open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    long result = fd < 0 ? fd : sys_file_id((int)fd, &id);

    if (result == 0 && (id.device != g_where.id.device || id.inode != g_where.id.inode))
        result = -ESTALE;
    if (fd >= 0 && result < 0)
        sys_close((int)fd);
    return result < 0 ? result : fd;
}

static long map_chunk(uint32_t chunk)
{
    uint64_t offset = LOG_FILE_HEADER_BYTES + (uint64_t)g_n_first * LOG_SEGMENT_BYTES
                      + (uint64_t)chunk * CHUNK_BYTES;
    long fd = open_again(g_where.path);
    long result;

    if (fd < 0 && g_where.later_path)
        fd = open_again(g_where.later_path);
    if (fd < 0)
        return fd;
    result = map_reserved((int)fd, offset, CHUNK_BYTES);
    sys_close((int)fd);
    return result;
}

static void raise_to(_Atomic uint32_t *value, uint32_t least)
{
    uint32_t now = atomic_load_explicit(value, memory_order_relaxed);

    while (now < least
           && !atomic_compare_exchange_weak_explicit(value, &now, least, memory_order_release,
                                                     memory_order_relaxed))
        ;
}

void segment_add_free(uint32_t first, uint32_t n)
{
    for (uint32_t index = first + n; index-- > first;) {
        struct log_segment *segment = segment_at(index);
        segment->index = index;
        segment->run_id = g_log->run_id;
        push(&g_log->free_stack, segment);
    }
}

/* After a failure the next 1, 2, 4 … 65536 drops do not call the kernel again. */
static void back_off(enum log_drop reason)
{
    uint32_t interval = atomic_load_explicit(&g_retry_interval, memory_order_relaxed);

    interval = interval == 0 ? 1 : interval < RETRY_AFTER_DROPS_MAX ? interval * 2 : interval;
    atomic_store_explicit(&g_retry_interval, interval, memory_order_relaxed);
    atomic_store_explicit(&g_drops_until_retry, interval, memory_order_relaxed);
    atomic_store_explicit(&g_drop_reason, reason, memory_order_relaxed);
}

/* EPERM: a seccomp filter. ESTALE, ENOENT: another file, or none, is at the path. */
static enum log_drop reason_of(long failure)
{
    switch (failure) {
    case -ENOMEM:
        return LOG_DROP_NO_MEMORY;
    case -EACCES:
    case -ENOENT:
    case -ESTALE:
        return LOG_DROP_NO_ACCESS;
    default:
        return LOG_DROP_NO_SPACE;
    }
}

static bool is_beyond_limit(uint32_t first)
{
    return (uint64_t)(first + SEGMENT_CHUNK) * LOG_SEGMENT_BYTES > g_where.max_bytes
           || first + SEGMENT_CHUNK > LOG_MAX_SEGMENTS;
}

/* SG-4: a chunk gets its number when its space is reserved, so the file has no holes. If two
 * threads reserve the same chunk, none waits: the second unmaps it and uses what the first one
 * added. */
static bool grow_unblocked(void)
{
    uint32_t waiting = atomic_load_explicit(&g_drops_until_retry, memory_order_relaxed);
    uint32_t chunk = atomic_load_explicit(&g_n_chunks, memory_order_relaxed);
    uint32_t first = g_n_first + chunk * SEGMENT_CHUNK;
    long address;

    if (waiting > 0) {
        atomic_store_explicit(&g_drops_until_retry, waiting - 1, memory_order_relaxed);
        return false;
    }
    if (is_beyond_limit(first)) {
        back_off(LOG_DROP_LIMIT);
        return false;
    }
    address = map_chunk(chunk);
    if (is_failure(address)) {
        back_off(reason_of(address));
        return false;
    }
    if (!atomic_compare_exchange_strong_explicit(&g_n_chunks, &chunk, chunk + 1,
                                                 memory_order_relaxed, memory_order_relaxed)) {
        sys_unmap((void *)((uintptr_t)address - lead_bytes()), lead_bytes() + CHUNK_BYTES);
        return true;
    }
    atomic_store_explicit(&g_retry_interval, 0, memory_order_relaxed);
    atomic_store_explicit(&g_chunks[chunk], (unsigned char *)(uintptr_t)address,
                          memory_order_release);
    /* Before a thread can seal one: the recorder takes no segment beyond this number. */
    raise_to(&g_log->n_segments, first + SEGMENT_CHUNK);
    segment_add_free(first, SEGMENT_CHUNK);
    return true;
}

/* Signals are blocked: a handler that forks here would leave its child a mapping that no table
 * knows. */
static bool grow(void)
{
    struct sys_signals mask;
    bool has_grown;
    bool is_blocked = sys_block_signals(&mask) >= 0;

    has_grown = grow_unblocked();
    if (is_blocked)
        sys_unblock_signals(mask);
    return has_grown;
}

void segment_reserve_ahead(uint32_t n)
{
    for (uint32_t i = 0; g_log && i < n; i += SEGMENT_CHUNK)
        if (!grow())
            return;
}

/* ---- use ------------------------------------------------------------------------------------- */

static bool has_reservations(enum log_segment_kind kind)
{
    return kind == LOG_SEGMENT_FALLBACK || kind == LOG_SEGMENT_DEFS;
}

/* SG-7. Release fence: a reader that sees any later store also sees this one. */
static void end_filling(struct log_segment *segment)
{
    __atomic_store_n(&segment->sequence, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release);
}

/* SG-3. Bytes of an earlier filling would look like valid records of the other kinds. */
static void begin_filling(struct log_segment *segment, enum log_segment_kind kind, uint64_t since,
                          uint32_t first_node)
{
    struct clock_instant now = clock_now();
    bool is_early = segment_is_early(since, now.ticks);
    bool is_used = segment->sequence != 0;

    end_filling(segment);
    atomic_store_explicit(&segment->state, LOG_STATE_FREE, memory_order_relaxed);
    atomic_store_explicit(&segment->committed_bytes, 0, memory_order_relaxed);
    /* A late writer to an earlier FALLBACK filling must find no space (reservation.c), nor a writer
     * to this one before it is zeroed. */
    atomic_store_explicit(&segment->reserved_bytes, NO_ROOM_BYTES, memory_order_relaxed);
    if (kind != LOG_SEGMENT_EVENTS && is_used)
        memset(segment_payload(segment), 0, LOG_SEGMENT_PAYLOAD_BYTES);
    segment->kind = kind;
    segment->thread = 0;
    atomic_store_explicit(&segment->writer, 0, memory_order_relaxed);
    segment->base_ticks = is_early ? since : now.ticks;
    segment->base_monotonic_ns = is_early ? 0 : now.monotonic_ns;
    segment->first_node = first_node;
    segment->run_id = g_log->run_id;
    __atomic_store_n(&segment->sequence,
                     atomic_fetch_add_explicit(&g_log->next_sequence, 1, memory_order_relaxed),
                     __ATOMIC_RELAXED);
    /* Release: a thread that reserves space sees the kind, and writes after the zeros. */
    if (has_reservations(kind))
        atomic_store_explicit(&segment->reserved_bytes, 0, memory_order_release);
    /* Release: a reader that sees FILLING sees the fields above. */
    atomic_store_explicit(&segment->state, LOG_STATE_FILLING, memory_order_release);
    if (now.monotonic_ns) {
        __atomic_store_n(&g_log->last_ticks, now.ticks, __ATOMIC_RELAXED);
        __atomic_store_n(&g_log->last_monotonic_ns, now.monotonic_ns, __ATOMIC_RELAXED);
    }
}

static struct log_segment *take(enum log_segment_kind kind, uint64_t since, uint32_t first_node)
{
    struct log_segment *segment;

    if (!g_log)
        return NULL;
    do
        segment = pop(&g_log->free_stack);
    while (!segment && grow());
    if (segment)
        begin_filling(segment, kind, since, first_node);
    return segment;
}

struct log_segment *segment_take(enum log_segment_kind kind)
{
    return take(kind, SEGMENT_FROM_NOW, 0);
}

struct log_segment *segment_take_events(uint64_t since)
{
    return take(LOG_SEGMENT_EVENTS, since, 0);
}

struct log_segment *segment_take_nodes(uint32_t first_node)
{
    return take(LOG_SEGMENT_NODES, SEGMENT_FROM_NOW, first_node);
}

/* SG-6: private memory in place of the log is zero. A segment of a log has a run_id. */
static bool is_replaced(const struct log_segment *segment)
{
    return segment->run_id == 0;
}

void segment_seal(struct log_segment *segment)
{
    /* The state is tested first: a handler that interrupts the assertion may fork, and the log is
     * then replaced between the two tests. */
    MTRACE_ASSERT(atomic_load(&segment->state) == LOG_STATE_FILLING || is_replaced(segment));
    atomic_store_explicit(&segment->state, LOG_STATE_SEALED, memory_order_release);
    if (segment->kind == LOG_SEGMENT_EVENTS || segment->kind == LOG_SEGMENT_FALLBACK)
        push(&g_log->sealed_stack, segment);
}

void segment_give_back(struct log_segment *segment)
{
    atomic_store_explicit(&segment->state, LOG_STATE_FREE, memory_order_release);
    push(&g_log->free_stack, segment);
}

void segment_put_partial(struct log_segment *segment)
{
    push(&g_log->partial_stack, segment);
}

struct log_segment *segment_take_partial(void)
{
    return g_log ? pop(&g_log->partial_stack) : NULL;
}

void segment_count_drops(enum log_drop reason, uint64_t n)
{
    if (g_log)
        atomic_fetch_add_explicit(&g_log->dropped[reason], n, memory_order_relaxed);
}

void segment_count_drop(enum log_drop reason)
{
    segment_count_drops(reason, 1);
}

enum log_drop segment_drop_reason(void)
{
    return (enum log_drop)atomic_load_explicit(&g_drop_reason, memory_order_relaxed);
}

/* ---- segments that many threads fill ---- */

/* Replaces a full segment (or none). A thread that loses the race uses the winner's segment. */
static struct log_segment *replace(struct segment_shared *shared, struct log_segment *full)
{
    struct log_segment *fresh = segment_take(shared->kind);

    if (!fresh)
        return NULL;
    if (!atomic_compare_exchange_strong_explicit(&shared->current, &full, fresh,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        segment_give_back(fresh);
        return full;
    }
    return fresh;
}

/* The first failed reservation exceeds the size, which the recorder sees. Later ones add nothing:
 * the sum would wrap around to where there is space. A late thread may find a filling of another
 * kind. */
static void *reserve(struct log_segment *segment, enum log_segment_kind kind, uint32_t size_bytes)
{
    uint32_t at = atomic_load_explicit(&segment->reserved_bytes, memory_order_acquire);

    if (at > LOG_SEGMENT_PAYLOAD_BYTES || __atomic_load_n(&segment->kind, __ATOMIC_RELAXED) != kind)
        return NULL;
    at = atomic_fetch_add_explicit(&segment->reserved_bytes, size_bytes, memory_order_acquire);
    return at + size_bytes <= LOG_SEGMENT_PAYLOAD_BYTES ? segment_payload(segment) + at : NULL;
}

void *segment_reserve(struct segment_shared *shared, uint32_t size_bytes,
                      struct log_segment **ret_segment)
{
    struct log_segment *segment = atomic_load_explicit(&shared->current, memory_order_acquire);

    for (unsigned attempt = 0; attempt < 8; attempt++) {
        void *room = segment ? reserve(segment, shared->kind, size_bytes) : NULL;
        *ret_segment = segment;
        if (room)
            return room;
        segment = replace(shared, segment);
        if (!segment)
            return NULL;
    }
    return NULL;
}
