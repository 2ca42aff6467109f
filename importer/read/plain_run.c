/* SPDX-License-Identifier: MIT */
#include "importer/read/plain_run.h"

#include "importer/model/definitions.h"
#include "importer/read/event_words.h"
#include "lib/abi/attr.h"

enum {
    FREE_WORDS = 2,
    ALLOC_WORDS = 3,
};

/* Data shared by all events of a run. */
struct ground {
    struct clock_line line;
    const struct log_names *names;
    const uint64_t *end; /* end of the words that can be read without a length check */
    uint64_t origin;     /* in fixed point */
    uint64_t tick_mask;
    uint64_t base_ticks;
    uint32_t process, thread, group;
};

static bool is_plain(const uint64_t *words)
{
    unsigned kind = event_words_kind(words);

    return (kind == LOG_FREE || kind == LOG_ALLOC) && event_words_address(words) != 0;
}

/* 0: not plain. */
static uint32_t stack_of(const struct ground *ground, const uint64_t *words)
{
    uint32_t node = event_words_node(words);
    uint32_t id = log_names_backtrace(ground->names, node);

    return id || node > LOG_NODE_GUESSED ? id : DEFINITIONS_NO_BACKTRACE;
}

static bool find_ground(const struct segment_sources *all, struct segment_source *source,
                        struct ground *ret)
{
    const struct log_record *record = &source->record;

    if (source->items || source->half != LOG_RECORD_WHOLE || record->thread != source->thread_index
        || record->group != source->group_index || record->thread != source->reader.thread
        || record->group != source->reader.group)
        return false;
    *ret = (struct ground){
        .line = clock_map_line(&source->input->clock, &source->cursor, source->ticks),
        .names = &source->input->names,
        .end = source->reader.end,
        .origin = all->set->origin_ns << CLOCK_MAP_FRACTION_BITS,
        .tick_mask = UINT64_MAX << source->input->time_shift,
        .base_ticks = source->reader.base_ticks,
        .process = source->input->names.process,
        .thread = source->thread,
        .group = source->group,
    };
    return true;
}

/* Sets all fields that an allocation or a free has; the others belong to other kinds. */
static void fill_event(const struct ground *ground, const uint64_t *words, uint32_t stack,
                       uint64_t time, struct event *event)
{
    event->time_ns = time >> CLOCK_MAP_FRACTION_BITS;
    event->address = event_words_address(words);
    event->size = 0;
    event->old_address = 0;
    event->usable = 0;
    event->pair = 0;
    event->process = ground->process;
    event->thread = ground->thread;
    event->node = stack;
    event->group = ground->group;
    event->kind = EVENT_FREE;
    event->call = event->chunk_flags = event->alignment_log2 = 0;
    if (event_words_kind(words) == LOG_FREE)
        return;
    uint64_t flags = event_words_call_flags(words);
    event->kind = EVENT_ALLOC;
    event->size = event_words_size(words);
    event->usable = event->size + event_words_slack(words);
    event->call = flags & LOG_CALL_MASK;
    event->chunk_flags = (uint8_t)(flags & 0xff & ~(uint64_t)LOG_CALL_MASK);
}

/* What the source knows of its event: the next one or, at the end of a run, the last one handed
 * out. */
struct place {
    const uint64_t *words, *behind;
    uint64_t ticks, time;
    uint64_t bytes, claimed_bytes; /* claimed by it; by all so far */
    bool is_backward;
};

/* Goes to the next record if it is plain; else changes nothing. */
static inline bool go_on(struct place *place, const struct ground *ground)
{
    const uint64_t *words = place->behind;

    if (mtrace_unlikely(ground->end - words < ALLOC_WORDS || !is_plain(words)))
        return false;
    bool is_free = event_words_kind(words) == LOG_FREE;
    uint64_t ticks = ground->base_ticks + event_words_time(words);
    uint64_t rounded = ticks & ground->tick_mask;
    uint64_t bytes = is_free ? 0 : event_words_size(words) + event_words_slack(words);
    if (mtrace_unlikely(rounded - ground->line.from_ticks >= ground->line.n_ticks
                        || bytes > EVENT_MAX_SUM - place->claimed_bytes))
        return false;
    uint64_t fixed = clock_line_fixed_ns(&ground->line, rounded);
    uint64_t time = fixed > ground->origin ? fixed - ground->origin : 0;
    place->claimed_bytes += bytes;
    place->bytes = bytes;
    place->behind = words + (is_free ? FREE_WORDS : ALLOC_WORDS);
    place->words = words;
    place->ticks = ticks;
    place->is_backward = time < place->time;
    if (!place->is_backward)
        place->time = time;
    return true;
}

static struct place place_of(const struct segment_sources *all, const struct segment_source *source)
{
    return (struct place){.words = source->record.words,
                          .behind = source->reader.at,
                          .ticks = source->record.ticks,
                          .time = source->time,
                          .bytes = source->claimed_bytes,
                          .claimed_bytes = all->claimed_bytes,
                          .is_backward = source->is_backward};
}

static void leave(struct segment_sources *all, struct segment_source *source,
                  const struct place *place, const struct ground *ground)
{
    source->record.words = place->words;
    source->reader.at = place->behind;
    source->record.ticks = place->ticks;
    source->ticks = place->ticks & ground->tick_mask;
    source->time = place->time;
    source->claimed_bytes = place->bytes;
    source->is_backward = place->is_backward;
    all->claimed_bytes = place->claimed_bytes;
}

void plain_run_take(struct segment_sources *all, struct segment_source *source,
                    struct plain_run *run, struct event *events)
{
    struct ground ground;
    uint64_t last_time = run->last_time;
    uint64_t reported_time = source->reported_time;
    uint64_t key;
    size_t n = 0;

    run->n = 0;
    run->is_at_next = true;
    if (!find_ground(all, source, &ground) || !is_plain(source->record.words))
        return;
    struct place place = place_of(all, source);
    do {
        uint32_t stack = stack_of(&ground, place.words);
        if (mtrace_unlikely(stack == 0))
            break;
        all->n_backward += place.is_backward || place.time < last_time;
        if (place.time >= last_time)
            last_time = place.time;
        reported_time = place.time;
        fill_event(&ground, place.words, stack, last_time, &events[n++]);
        run->is_at_next = go_on(&place, &ground);
        key = place.time << 1 | (event_words_kind(place.words) != LOG_FREE);
    } while (mtrace_likely(run->is_at_next) && key < run->bound && n < run->most);
    leave(all, source, &place, &ground);
    source->reported_time = reported_time;
    source->n_reported += n;
    run->last_time = last_time;
    run->n = n;
}
