/* SPDX-License-Identifier: MIT */
#include "collector/record/record.h"

#include "collector/log/segment.h"
#include "collector/platform/clock.h"
#include "collector/platform/real.h"
#include "collector/record/capture.h"
#include "collector/record/groups.h"
#include "collector/record/side.h"
#include "collector/record/state.h"
#include "collector/record/trackers.h"
#include "common/invariant.h"

enum {
    TIME_BASE_WORDS = 2,
    THREAD_WORDS = 2,
    GROUP_WORDS = 2,
    MOST_WORDS = 6, /* of an event written here */
    PREFETCH_WORDS = 24,
};

_Static_assert(THREAD_SPARE_WORDS == TIME_BASE_WORDS + GROUP_WORDS + MOST_WORDS, "room");

static const uint64_t g_address_mask = ((uint64_t)1 << LOG_ADDRESS_BITS) - 1;

static bool g_has_chunk_headers; /* written by record_init */

void record_init(void)
{
    g_has_chunk_headers = real_is_glibc_malloc();
    if (!g_capture_has_free_backtraces)
        state_take_no_free_stacks();
}

/* ---- what the allocator says about a block -----------------------------------------------------
 */

struct usable {
    size_t size_bytes; /* 0 = unknown */
    unsigned flags;    /* LOG_CHUNK_* */
};

/*
 * glibc keeps the size of a chunk in the word before the block; its low bits: 1 the chunk before is
 * in use, 2 a mapping of its own, 4 not in the main arena. The size counts that word, and a mapped
 * chunk has one word more.
 */
static inline struct usable usable_of(const void *block)
{
    struct usable usable = {0, 0};
    size_t word;

    if (!g_has_chunk_headers) {
        if (g_real.malloc_usable_size)
            usable.size_bytes = g_real.malloc_usable_size((void *)(uintptr_t)block);
        return usable;
    }
    word = ((const size_t *)block)[-1];
    usable.size_bytes = (word & ~(size_t)7) - (word & 2 ? 16 : 8);
    usable.flags =
        LOG_CHUNK_KNOWN | (word & 2 ? LOG_CHUNK_MMAPPED : 0) | (word & 4 ? LOG_CHUNK_NON_MAIN : 0);
    return usable;
}

/* ---- room in the thread's segment --------------------------------------------------------------
 */

static uint64_t head_word(unsigned kind, uint32_t node, uint64_t delta)
{
    return kind | (delta & 0xffffff) << 8 | (uint64_t)node << 32;
}

/* LF-1: release pairs with the reader's acquire of committed_bytes. */
static inline void commit(struct thread *thread, uint64_t *cursor)
{
    const unsigned char *payload = segment_payload(thread->segment);

    thread->cursor = cursor;
    atomic_store_explicit(&thread->segment->committed_bytes,
                          (uint32_t)((const unsigned char *)cursor - payload),
                          memory_order_release);
}

static void write_time_base(struct thread *thread, uint64_t ticks)
{
    uint64_t *out = thread->cursor;

    out[0] = LOG_TIME_BASE;
    out[1] = ticks;
    commit(thread, out + TIME_BASE_WORDS);
    thread->base_ticks = ticks;
}

static void use_segment(struct thread *thread, struct log_segment *segment)
{
    unsigned char *payload = segment_payload(segment);
    uint32_t used = atomic_load_explicit(&segment->committed_bytes, memory_order_relaxed);

    atomic_store_explicit(&segment->writer, (uintptr_t)thread, memory_order_relaxed);
    thread->segment = segment;
    thread->cursor = (uint64_t *)(void *)(payload + used);
    thread->limit = thread_limit_of(segment);
    thread->written_group = LOG_GROUP_ROOT; /* as readers take it here, and behind LOG_THREAD */
}

/* A segment another thread began: from here on it is this thread's. */
static void continue_segment(struct thread *thread, struct log_segment *segment)
{
    uint64_t ticks = clock_ticks_before();
    uint64_t *out;

    use_segment(thread, segment);
    write_time_base(thread, ticks);
    out = thread->cursor;
    out[0] = head_word(LOG_THREAD, thread->index, 0);
    out[1] = 0;
    commit(thread, out + THREAD_WORDS);
}

/* since: when the event to be written began; what is in a partial segment may be later. */
static bool next_segment(struct thread *thread, uint64_t since)
{
    struct log_segment *segment;

    if ((segment = thread->segment)) {
        thread->segment = NULL;
        thread->cursor = thread->limit = NULL;
        atomic_signal_fence(memory_order_seq_cst); /* TH-5: never sealed twice */
        segment_seal(segment);
    } else if (!segment_is_early(since, clock_ticks_before())
               && (segment = segment_take_partial())) {
        continue_segment(thread, segment);
        return true;
    }
    segment = segment_take_events(since);
    if (!segment)
        return false;
    segment->thread = thread->index;
    use_segment(thread, segment);
    thread->base_ticks = segment->base_ticks;
    return true;
}

/*
 * What follows is charged to the thread's group. LF-7: an id that cannot be defined, for want of room,
 * is still the right one; what it means is in the log of another process, or lost.
 */
static void write_group(struct thread *thread, uint64_t ticks)
{
    uint32_t group = thread->group;
    uint64_t delta = ticks - thread->base_ticks;
    uint64_t *out = thread->cursor;

    groups_define(group);
    out[0] = head_word(LOG_GROUP, group, delta);
    out[1] = delta >> 24 << LOG_ADDRESS_BITS;
    commit(thread, out + GROUP_WORDS);
    thread->written_group = group;
}

/* The group may change again while this goes on, in a handler: then the next event looks again. */
static void settle_group(struct thread *thread, uint64_t ticks)
{
    thread->limit = thread_limit_of(thread->segment);
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->group != thread->written_group)
        write_group(thread, ticks);
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->group != thread->written_group)
        thread->limit = NULL;
}

/* No stamp of a segment is older than the name of who writes it (unfinished.h). */
static uint64_t later_ticks(const struct thread *thread, uint64_t ticks)
{
    uint64_t now;

    atomic_signal_fence(memory_order_seq_cst);
    now = clock_ticks_after();
    ticks = ticks < now ? now : ticks;
    return ticks < thread->base_ticks ? thread->base_ticks : ticks;
}

/* Room for one record and its 40 bits of time; *ticks may become later (RC-1 and RC-2 hold). */
static MTRACE_COLD bool make_room_slow(struct thread *thread, uint64_t *ticks, uint64_t since)
{
    if (*ticks < thread->last_ticks)
        *ticks = thread->last_ticks;
    if (!thread->segment || thread->cursor > thread_limit_of(thread->segment)) {
        if (!next_segment(thread, since)) {
            segment_count_drop(segment_drop_reason());
            return false;
        }
        *ticks = later_ticks(thread, *ticks);
    }
    if ((*ticks - thread->base_ticks) >> LOG_TIME_BITS)
        write_time_base(thread, *ticks);
    settle_group(thread, *ticks);
    return true;
}

static inline bool make_room(struct thread *thread, uint64_t *ticks, uint64_t since)
{
    if (mtrace_unlikely(thread->cursor > thread->limit || !thread->segment
                        || *ticks < thread->last_ticks
                        || (*ticks - thread->base_ticks) >> LOG_TIME_BITS)
        && !make_room_slow(thread, ticks, since))
        return false;
    thread->last_ticks = *ticks;
    return true;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* Room for n_words (at most MOST_WORDS), the first two of which get the time; NULL: counted. */
static inline uint64_t *begin_event(struct thread *thread, uint64_t *ticks, uint64_t word0,
                                    uint64_t word1)
{
    uint64_t *out;
    uint64_t delta;

    if (!make_room(thread, ticks, SEGMENT_FROM_NOW))
        return NULL;
    out = thread->cursor;
    /* The line after next: a recycled segment is in the recorder's cache, not in ours. */
    __builtin_prefetch(out + PREFETCH_WORDS, 1);
    delta = *ticks - thread->base_ticks;
    out[0] = word0 | (delta & 0xffffff) << 8;
    out[1] = word1 | (delta >> 24) << 48;
    return out;
}

/* An event without its time: words[0] and [1] get it when it is written. */
struct draft {
    uint64_t words[MOST_WORDS];
    unsigned n_words;
};

static void write_draft(struct thread *thread, const struct draft *draft, uint64_t ticks)
{
    uint64_t *out = begin_event(thread, &ticks, draft->words[0], draft->words[1]);

    if (!out)
        return;
    for (unsigned i = 2; i < draft->n_words; i++)
        out[i] = draft->words[i];
    commit(thread, out + draft->n_words);
}

/*
 * The caller has no thread to write by. False also in a process that does not record: asked before
 * anything is computed, because that may be its every call.
 */
static bool is_side_open(void)
{
    if (mtrace_unlikely(state_is_recording()))
        return !g_thread.is_muted;
    thread_count_stranded();
    return false;
}

/* The stamp comes next. False: counted. */
static bool has_side_room(struct side_place *place)
{
    bool has_room = side_reserve(place);

    if (!has_room)
        segment_count_drop(LOG_DROP_NESTED);
    return has_room;
}

static void fill_side(const struct side_place *place, const struct draft *draft, uint64_t ticks)
{
    uint32_t group = g_thread.group;

    if (group != LOG_GROUP_ROOT)
        groups_define(group);
    side_write(place, draft->words, draft->n_words, ticks, g_thread.index, group);
}

static MTRACE_COLD void write_side(const struct draft *draft)
{
    struct side_place place;

    if (has_side_room(&place))
        fill_side(&place, draft, clock_ticks_after());
}

static uint64_t address_word(const void *block)
{
    return (uintptr_t)block & g_address_mask;
}

/* What an allocation says in its third word; is_narrow: it can. */
struct extent {
    uint64_t size_bytes;
    uint64_t usable_bytes;
    uint64_t flags; /* enum log_call and LOG_CHUNK_* */
    uint64_t narrow_word;
    bool is_narrow;
};

/* known: what the caller found out; NULL: the allocator is asked. */
static inline struct extent extent_of(const void *block, size_t size_bytes, unsigned call,
                                      const struct usable *known)
{
    struct usable usable = known ? *known : usable_of(block);
    uint64_t slack = usable.size_bytes - size_bytes;
    uint64_t flags = call | usable.flags;

    return (struct extent){
        .size_bytes = size_bytes,
        .usable_bytes = usable.size_bytes,
        .flags = flags,
        .narrow_word =
            size_bytes | slack << LOG_SIZE_BITS | flags << (LOG_SIZE_BITS + LOG_SLACK_BITS),
        .is_narrow = size_bytes >> LOG_SIZE_BITS == 0 && slack >> LOG_SLACK_BITS == 0,
    };
}

static void draft_alloc(struct draft *draft, const void *block, const struct extent *extent,
                        size_t alignment)
{
    uint64_t *words = draft->words;

    words[1] = address_word(block);
    if (extent->is_narrow && alignment == 0) {
        words[0] = LOG_ALLOC;
        words[2] = extent->narrow_word;
        draft->n_words = 3;
        return;
    }
    words[0] = LOG_ALLOC_WIDE;
    words[2] = extent->flags
               | (alignment ? (uint64_t)__builtin_ctzll((unsigned long long)alignment) << 8 : 0);
    words[3] = extent->size_bytes;
    words[4] = extent->usable_bytes;
    draft->n_words = 5;
}

static MTRACE_COLD void record_wide(struct thread *thread, const void *block,
                                    const struct extent *extent, size_t alignment, uint32_t node,
                                    uint64_t ticks)
{
    struct draft draft;

    draft_alloc(&draft, block, extent, alignment);
    draft.words[0] |= (uint64_t)node << 32;
    write_draft(thread, &draft, ticks);
}

/* The thread is new, nested, dead, or of a process that does not record. */
static MTRACE_COLD void alloc_aside(const void *block, size_t size_bytes, enum log_call call,
                                    size_t alignment, const struct usable *known)
{
    struct extent extent;
    struct draft draft;

    if (!is_side_open())
        return;
    extent = extent_of(block, size_bytes, call, known);
    draft_alloc(&draft, block, &extent, alignment);
    write_side(&draft);
}

/* Returns the node of its stack. */
MTRACE_INLINE uint32_t write_alloc(const void *block, size_t size_bytes, enum log_call call,
                                   size_t alignment, const struct unwind_origin *origin,
                                   const struct usable *known)
{
    struct thread *thread;
    struct extent extent;
    uint64_t ticks;
    uint64_t *out;
    uint32_t node;

    thread = thread_enter(origin);
    if (mtrace_unlikely(!thread)) {
        alloc_aside(block, size_bytes, call, alignment, known);
        return LOG_NODE_NONE;
    }
    node = capture_node(thread, origin);
    extent = extent_of(block, size_bytes, call, known);
    /* Waits for all loads before it: after the stack, so that its misses and the allocator's
     * overlap. */
    ticks = clock_ticks_after();
    if (mtrace_unlikely(!extent.is_narrow || alignment != 0)) {
        record_wide(thread, block, &extent, alignment, node, ticks);
    } else if ((out = begin_event(thread, &ticks, LOG_ALLOC | (uint64_t)node << 32,
                                  address_word(block)))) {
        out[2] = extent.narrow_word;
        commit(thread, out + 3);
    }
    thread_leave(thread);
    return node;
}

/* ---- telling the program -----------------------------------------------------------------------
 */

/* The events of this call are the program's, and they are recorded. */
static bool is_watched(void)
{
    return state_has_way(STATE_WATCHED) && state_is_recording() && !g_thread.is_muted;
}

static struct known_block known_of(const void *block, size_t size_bytes, uint32_t node,
                                   const struct usable *usable)
{
    return (struct known_block){
        .size_bytes = size_bytes,
        .usable_bytes = usable ? usable->size_bytes : usable_of(block).size_bytes,
        .group = g_thread.group,
        .thread = g_thread.index,
        .node = node,
    };
}

/* Returns who was charged, to be charged again (TK-1 of trackers.h). */
static uint32_t charge_to_nobody(void)
{
    uint32_t group = g_thread.group;

    thread_set_group(LOG_GROUP_UNTRACKED);
    return group;
}

/* Nothing is traced, or the program is told; in a fork child, it may be a log that begins. */
static MTRACE_COLD void alloc_otherwise(const void *block, size_t size_bytes, enum log_call call,
                                        size_t alignment, const struct unwind_origin *origin,
                                        const struct usable *usable)
{
    struct known_block fresh;
    uint32_t group;
    uint32_t node;

    if (!state_is_recording() || !state_is_tracing())
        return;
    if (trackers_is_telling(origin)) {
        group = charge_to_nobody();
        write_alloc(block, size_bytes, call, alignment, origin, usable);
        thread_set_group(group);
        return;
    }
    node = write_alloc(block, size_bytes, call, alignment, origin, usable);
    if (!is_watched())
        return;
    fresh = known_of(block, size_bytes, node, usable);
    trackers_tell_alloc(block, &fresh);
}

MTRACE_INLINE void alloc(const void *block, size_t size_bytes, enum log_call call, size_t alignment,
                         const struct unwind_origin *origin, const struct usable *usable)
{
    if (mtrace_unlikely(state_has_way(STATE_TRACING_OFF | STATE_WATCHED)))
        alloc_otherwise(block, size_bytes, call, alignment, origin, usable);
    else
        write_alloc(block, size_bytes, call, alignment, origin, usable);
}

void record_alloc(const void *block, size_t size_bytes, enum log_call call, size_t alignment,
                  const struct unwind_origin *origin)
{
    alloc(block, size_bytes, call, alignment, origin, NULL);
}

void record_alloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                        enum log_call call, size_t alignment, const struct unwind_origin *origin)
{
    const struct usable known = {usable_bytes, 0};

    alloc(block, size_bytes, call, alignment, origin, &known);
}

static MTRACE_COLD void free_aside(const void *block)
{
    struct draft draft = {.words = {LOG_FREE, address_word(block)}, .n_words = 2};

    if (is_side_open())
        write_side(&draft);
}

MTRACE_INLINE uint32_t write_free(const void *block, const struct unwind_origin *origin,
                                  bool has_stack)
{
    struct thread *thread = thread_enter(origin);
    uint64_t ticks;
    uint64_t *out;
    uint32_t node;

    if (mtrace_unlikely(!thread)) {
        free_aside(block);
        return LOG_NODE_NONE;
    }
    node = has_stack ? capture_node(thread, origin) : LOG_NODE_NONE;
    ticks = clock_ticks_before();
    out = begin_event(thread, &ticks, LOG_FREE | (uint64_t)node << 32, address_word(block));
    if (mtrace_likely(out != NULL))
        commit(thread, out + 2);
    thread_leave(thread);
    return node;
}

static MTRACE_COLD void free_otherwise(const void *block, const struct unwind_origin *origin)
{
    bool is_nested = trackers_is_telling(origin);
    uint32_t node = write_free(block, origin, !state_has_way(STATE_NO_FREE_STACKS));

    if (!is_watched())
        return;
    if (is_nested)
        trackers_pass_free(block);
    else
        trackers_tell_free(block, node);
}

void record_free(const void *block, const struct unwind_origin *origin)
{
    if (mtrace_unlikely(state_has_way(STATE_WATCHED | STATE_NO_FREE_STACKS)))
        free_otherwise(block, origin);
    else
        write_free(block, origin, true);
}

static MTRACE_NOINLINE void draft_realloc(struct draft *draft, const void *block, const void *old,
                                          const struct extent *extent, uint64_t took_ticks)
{
    uint64_t *words = draft->words;

    words[1] = address_word(block);
    if (extent->is_narrow && took_ticks >> LOG_DURATION_BITS == 0) {
        words[0] = LOG_REALLOC;
        words[2] = extent->narrow_word;
        words[3] = address_word(old) | took_ticks << LOG_ADDRESS_BITS;
        draft->n_words = 4;
        return;
    }
    words[0] = LOG_REALLOC_WIDE;
    words[2] = extent->flags | took_ticks << 8;
    words[3] = address_word(old);
    words[4] = extent->size_bytes;
    words[5] = extent->usable_bytes;
    draft->n_words = 6;
}

/*
 * When a call began that ended at `ended`. Two readings of a lone thread may come the wrong way round
 * (CK-1); its calls do not. What a handler recorded meanwhile, at `last`, comes first. began is 0 where
 * nothing was recorded then.
 */
static uint64_t begin_of_call(uint64_t last, uint64_t began, uint64_t ended)
{
    if (began == 0 || began > ended)
        began = ended;
    return began < last ? last : began;
}

static MTRACE_COLD void realloc_aside(const void *block, const void *old, size_t size_bytes,
                                      enum log_call call, uint64_t began_ticks,
                                      const struct usable *known)
{
    struct extent extent = extent_of(block, size_bytes, call, known);
    struct side_place place;
    struct draft draft;
    uint64_t ticks;

    if (!has_side_room(&place))
        return;
    ticks = clock_ticks_after();
    draft_realloc(&draft, block, old, &extent, ticks - begin_of_call(0, began_ticks, ticks));
    fill_side(&place, &draft, ticks);
}

/* Not part of its caller, so that the draft is on the stack only once the stack was walked. */
static MTRACE_NOINLINE void put_realloc(struct thread *thread, const void *block, const void *old,
                                        const struct extent *extent, uint64_t began_ticks,
                                        uint64_t ticks, uint32_t node)
{
    uint64_t since = begin_of_call(thread->last_ticks, began_ticks, ticks);
    struct draft draft;

    if (!make_room(thread, &ticks, since)) /* which sets last_ticks */
        return;
    draft_realloc(&draft, block, old, extent, ticks - since);
    draft.words[0] |= (uint64_t)node << 32;
    write_draft(thread, &draft, ticks);
}

static uint32_t write_realloc(const void *block, const void *old, size_t size_bytes,
                              enum log_call call, uint64_t began_ticks,
                              const struct unwind_origin *origin, const struct usable *known)
{
    struct thread *thread = thread_enter(origin);
    struct extent extent;
    uint64_t ticks;
    uint32_t node;

    if (mtrace_unlikely(!thread && !is_side_open()))
        return LOG_NODE_NONE;
    if (mtrace_unlikely(!thread)) {
        realloc_aside(block, old, size_bytes, call, began_ticks, known);
        return LOG_NODE_NONE;
    }
    ticks = clock_ticks_after();
    extent = extent_of(block, size_bytes, call, known);
    node = capture_node(thread, origin);
    put_realloc(thread, block, old, &extent, began_ticks, ticks, node);
    thread_leave(thread);
    return node;
}

/* From the real call on the old address may be another block's. */
MTRACE_COLD void record_hold_resized(struct record_resize *resize)
{
    if (is_watched())
        resize->place = known_blocks_hold(resize->old);
}

static MTRACE_COLD void resized_otherwise(const void *block, size_t size_bytes, enum log_call call,
                                          const struct record_resize *resize,
                                          const struct unwind_origin *origin,
                                          const struct usable *usable)
{
    bool is_nested = trackers_is_telling(origin);
    uint32_t group = is_nested ? charge_to_nobody() : g_thread.group;
    uint32_t node =
        write_realloc(block, resize->old, size_bytes, call, resize->began_ticks, origin, usable);
    struct known_block fresh = known_of(block, size_bytes, node, usable);

    if (is_nested) {
        thread_set_group(group);
        trackers_pass_resize(resize->place, block, &fresh);
    } else if (resize->place) {
        trackers_tell_resize(resize->old, resize->place, block, &fresh);
    } else if (is_watched() && state_is_tracing()) {
        trackers_tell_alloc(block, &fresh);
    }
}

static inline void resized(const void *block, size_t size_bytes, enum log_call call,
                           const struct record_resize *resize, const struct unwind_origin *origin,
                           const struct usable *usable)
{
    if (mtrace_unlikely(state_has_way(STATE_WATCHED)))
        resized_otherwise(block, size_bytes, call, resize, origin, usable);
    else
        write_realloc(block, resize->old, size_bytes, call, resize->began_ticks, origin, usable);
}

void record_realloc(const void *block, size_t size_bytes, enum log_call call,
                    const struct record_resize *resize, const struct unwind_origin *origin)
{
    resized(block, size_bytes, call, resize, origin, NULL);
}

void record_realloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                          enum log_call call, const struct record_resize *resize,
                          const struct unwind_origin *origin)
{
    const struct usable known = {usable_bytes, 0};

    resized(block, size_bytes, call, resize, origin, &known);
}

void record_failure(const void *old, size_t size_bytes, enum log_call call, int error,
                    const struct unwind_origin *origin)
{
    uint64_t words[4] = {0, 0, (uint64_t)call | (uint64_t)(uint32_t)error << 8, size_bytes};

    if (state_is_recording() && state_is_tracing())
        record_event(LOG_FAILURE, (uintptr_t)old, words, 4, origin);
}

void record_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                  unsigned n_words, const struct unwind_origin *origin)
{
    const struct unwind_origin here = RECORD_ORIGIN();
    struct draft draft = {.words = {kind, address & g_address_mask}, .n_words = n_words};
    struct thread *thread = thread_enter(origin ? origin : &here);

    for (unsigned i = 2; i < n_words; i++)
        draft.words[i] = words[i];
    if (mtrace_unlikely(!thread)) {
        if (is_side_open())
            write_side(&draft);
        return;
    }
    uint64_t ticks = clock_ticks_after();
    if (origin)
        draft.words[0] |= (uint64_t)capture_node(thread, origin) << 32;
    write_draft(thread, &draft, ticks);
    thread_leave(thread);
}

void record_note(enum log_event_kind kind, uint32_t value, uint64_t address)
{
    const struct unwind_origin here = RECORD_ORIGIN();
    struct draft draft = {.words = {kind | (uint64_t)value << 32, address & g_address_mask},
                          .n_words = 2};
    struct thread *thread = thread_enter(&here);

    if (!thread) {
        if (is_side_open())
            write_side(&draft);
        return;
    }
    write_draft(thread, &draft, clock_ticks_after());
    thread_leave(thread);
}

void record_forget(void)
{
    side_forget();
}
