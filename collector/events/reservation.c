/* SPDX-License-Identifier: MIT */
#include "collector/events/reservation.h"

#include "collector/groups/groups.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"

/* RO-3: a second or two with today's counters, more where they are slow */
#define LATE_TICKS (1ull << 32)
/* RO-4: below a millisecond with a counter of some GHz, a quarter of a second with one of 4 MHz */
#define LOOK_TICKS (1ull << 20)

enum {
    TIME_BASE_WORDS = 2,
    THREAD_WORDS = 2,
    GROUP_WORDS = 2,
    NEXT_OWNER_WORDS = 2,
};

_Static_assert(THREAD_SPARE_WORDS == TIME_BASE_WORDS + GROUP_WORDS + RESERVATION_MAX_WORDS, "room");

static uint64_t head_word(unsigned kind, uint32_t node, uint64_t delta)
{
    return kind | (delta & 0xffffff) << 8 | (uint64_t)node << 32;
}

static void write_time_base(struct thread *thread, uint64_t ticks)
{
    uint64_t *out = thread->cursor;

    out[0] = LOG_TIME_BASE;
    out[1] = ticks;
    reservation_commit(thread, out + TIME_BASE_WORDS);
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
    thread->written_group =
        LOG_GROUP_ROOT; /* as readers assume at the start and after LOG_THREAD */
}

/* Continues a segment that another thread began. */
static void continue_segment(struct thread *thread, struct log_segment *segment)
{
    uint64_t ticks = clock_ticks_before();
    uint64_t *out;

    use_segment(thread, segment);
    write_time_base(thread, ticks);
    out = thread->cursor;
    out[0] = head_word(LOG_THREAD, thread->index, 0);
    out[1] = 0;
    reservation_commit(thread, out + THREAD_WORDS);
}

/* since: when the event began; a partial segment may contain later events. */
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

/* Charges the following events to the thread's group. LF-7: an id that cannot be defined for lack
 * of space is still written. Its definition is in the log of another process, or lost. */
static void write_group(struct thread *thread, uint64_t ticks)
{
    uint32_t group = thread->group;
    uint64_t delta = ticks - thread->base_ticks;
    uint64_t *out = thread->cursor;

    groups_define(group);
    out[0] = head_word(LOG_GROUP, group, delta);
    out[1] = delta >> 24 << LOG_ADDRESS_BITS;
    reservation_commit(thread, out + GROUP_WORDS);
    thread->written_group = group;
}

/* TN-1. There is space: it is the thread's first event, in a segment that is mostly free. An
 * abandoned recording may write it twice, which has no effect. */
static void write_next_owner(struct thread *thread, uint64_t ticks)
{
    uint64_t delta = ticks - thread->base_ticks;
    uint64_t *out = thread->cursor;

    out[0] = head_word(LOG_NEXT_OWNER, 0, delta);
    out[1] = delta >> 24 << LOG_ADDRESS_BITS;
    reservation_commit(thread, out + NEXT_OWNER_WORDS);
    thread->is_next_owner = false;
}

/* A handler may change the group during this. Then the next event takes the slow path again. */
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

/* Stamps the event after `writer` was stored, so that in_flight_wait cannot miss this thread. */
static uint64_t later_ticks(const struct thread *thread, uint64_t ticks)
{
    uint64_t now;

    atomic_signal_fence(memory_order_seq_cst);
    now = clock_ticks_after();
    ticks = ticks < now ? now : ticks;
    return ticks < thread->base_ticks ? thread->base_ticks : ticks;
}

/* RO-3. A segment that another thread began may be late from the start. */
static bool is_late(const struct thread *thread, uint64_t ticks)
{
    return mode_has(MODE_SAMPLED) && ticks - thread->segment->base_ticks > LATE_TICKS
           && ticks > thread->segment->base_ticks;
}

/* RO-4. The guard is closed, so the next event executes what is found. */
static void look_for_commands(struct thread *thread, uint64_t ticks)
{
    const uint64_t base_end = thread->base_ticks + (1ull << LOG_TIME_BITS);
    const uint64_t next_look = ticks + LOOK_TICKS;

    thread->slow_ticks = next_look < base_end ? next_look : base_end;
    if (segment_commands_are_due())
        state_set_command_pending();
}

/* The slow path of reservation_make. *ticks may become later (RC-1 and RC-2 hold). */
MTRACE_COLD bool reservation_make_slow(struct thread *thread, uint64_t *ticks, uint64_t since)
{
    if (*ticks < thread->last_ticks)
        *ticks = thread->last_ticks;
    if (!thread->segment || thread->cursor > thread_limit_of(thread->segment)
        || is_late(thread, *ticks)) {
        if (!next_segment(thread, since)) {
            segment_count_drop(segment_drop_reason());
            return false;
        }
        *ticks = later_ticks(thread, *ticks);
    }
    if ((*ticks - thread->base_ticks) >> LOG_TIME_BITS)
        write_time_base(thread, *ticks);
    look_for_commands(thread, *ticks);
    if (thread->is_next_owner)
        write_next_owner(thread, *ticks);
    settle_group(thread, *ticks);
    return true;
}

/* ---- the words of an event ---- */

bool g_event_builder_has_chunk_headers;

void event_builder_alloc(struct event_builder *builder, const void *block,
                         const struct event_builder_extent *extent, size_t alignment)
{
    uint64_t *words = builder->words;

    words[1] = event_builder_address(block);
    if (extent->is_narrow && alignment == 0) {
        words[0] = LOG_ALLOC;
        words[2] = extent->narrow_word;
        builder->n_words = 3;
        return;
    }
    words[0] = LOG_ALLOC_WIDE;
    words[2] = extent->flags
               | (alignment ? (uint64_t)__builtin_ctzll((unsigned long long)alignment) << 8 : 0);
    words[3] = extent->size_bytes;
    words[4] = extent->usable_bytes;
    builder->n_words = 5;
}

void event_builder_realloc(struct event_builder *builder, const void *block, const void *old,
                           const struct event_builder_extent *extent, uint64_t took_ticks)
{
    uint64_t *words = builder->words;

    words[1] = event_builder_address(block);
    if (extent->is_narrow && took_ticks >> LOG_DURATION_BITS == 0) {
        words[0] = LOG_REALLOC;
        words[2] = extent->narrow_word;
        words[3] = event_builder_address(old) | took_ticks << LOG_ADDRESS_BITS;
        builder->n_words = 4;
        return;
    }
    words[0] = LOG_REALLOC_WIDE;
    words[2] = extent->flags | took_ticks << 8;
    words[3] = event_builder_address(old);
    words[4] = extent->size_bytes;
    words[5] = extent->usable_bytes;
    builder->n_words = 6;
}

/* ---- the shared fallback segment ---- */

enum {
    RECORD_BYTES = sizeof(struct log_fallback_record),
    FULL_BYTES = LOG_SEGMENT_PAYLOAD_BYTES / RECORD_BYTES * RECORD_BYTES,
};

static struct segment_shared g_shared = {.kind = LOG_SEGMENT_FALLBACK};

void reservation_fallback_forget(void)
{
    atomic_store_explicit(&g_shared.current, NULL, memory_order_relaxed);
}

/* log_fallback_record.words */
static void write_group_of_record(struct log_fallback_record *record, uint32_t group)
{
    uint64_t code = log_group_code(group);

    record->words[0] |= (code & 0xffffff) << 8;
    record->words[1] |= code >> 24 << LOG_ADDRESS_BITS;
}

bool reservation_fallback_reserve(struct fallback_place *ret)
{
    ret->record = segment_reserve(&g_shared, RECORD_BYTES, &ret->segment);
    atomic_signal_fence(memory_order_seq_cst); /* SD-3 */
    return ret->record != NULL;
}

void reservation_fallback_write(const struct fallback_place *place, const uint64_t *words,
                                unsigned n_words, uint64_t ticks, uint32_t thread, uint32_t group)
{
    struct log_fallback_record *record = place->record;
    uint32_t done_bytes;

    for (unsigned i = 0; i < n_words; i++)
        record->words[i] = words[i];
    write_group_of_record(record, group);
    record->ticks = ticks;
    record->thread = thread;
    atomic_store_explicit(&record->valid, LOG_FALLBACK_VALID, memory_order_release);
    /* In a FALLBACK segment committed_bytes counts whole records, wherever they are (SD-2). */
    done_bytes = atomic_fetch_add_explicit(&place->segment->committed_bytes, RECORD_BYTES,
                                           memory_order_acq_rel);
    if (done_bytes + RECORD_BYTES == FULL_BYTES)
        segment_seal(place->segment);
}
