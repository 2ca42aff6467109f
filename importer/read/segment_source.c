/* SPDX-License-Identifier: MIT */
#include "importer/read/segment_source.h"

#include "importer/model/definitions.h"
#include "importer/read/log_record.h"
#include "lib/abi/attr.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    WINDOW_BYTES = 16384,
    WINDOW_WORDS = WINDOW_BYTES / sizeof(uint64_t),
};

/* A fallback record, or one half of a realloc's. */
struct fallback_item {
    uint64_t ticks;
    uint32_t index;
    enum log_record_half half;
};

static const struct log_segment_ref *ref_of(const struct segment_source *source)
{
    return &source->input->segments.refs[source->loaded->ref];
}

/* File offset of a place in the payload; for a packed segment that of the frame. */
static uint64_t file_offset(const struct segment_source *source, const uint64_t *at)
{
    const struct log_segment_ref *ref = ref_of(source);
    uint64_t in_payload = (uint64_t)(at - source->loaded->payload) * sizeof(*at);

    return ref->is_packed ? ref->offset : ref->offset + LOG_SEGMENT_HEADER_BYTES + in_payload;
}

/* LI-3; fallback records are packed unchanged. */
static void set_time(struct segment_sources *all, struct segment_source *source, uint64_t ticks)
{
    if (!source->items)
        ticks &= UINT64_MAX << source->input->time_shift;
    uint64_t time = log_set_time(all->set, source->input, &source->cursor, ticks);

    source->ticks = ticks;
    /* a realloc began before its record got a place: another thread or a handler may have stored a
     * later record before it */
    source->is_backward = time < source->time && source->half != LOG_RECORD_BEGIN;
    if (time > source->time)
        source->time = time;
}

static void report_lost_rest(struct segment_sources *all, const struct segment_source *source)
{
    const struct log_segment_ref *ref = ref_of(source);

    log_damage_add(all->damage, LOG_DAMAGE_RECORD, source->input->files[ref->file]->path,
                   file_offset(source, source->reader.at),
                   (uint64_t)(source->payload_end - source->reader.at) * sizeof(uint64_t),
                   "record is longer than its segment");
    all->lost = source->input;
}

/* Frees the memory of the payload except the window [first, end) of words. */
static void keep_window(struct segment_source *source, size_t first, size_t end)
{
    char *payload = (char *)source->loaded->payload;
    size_t first_byte = first * sizeof(uint64_t) / WINDOW_BYTES * WINDOW_BYTES;
    size_t end_byte = end * sizeof(uint64_t);

    if (first_byte > 0)
        madvise(payload, first_byte, MADV_DONTNEED);
    if (end_byte < LOG_SEGMENT_BYTES)
        madvise(payload + end_byte, LOG_SEGMENT_BYTES - end_byte, MADV_DONTNEED);
    source->reader.end = source->loaded->payload + end;
}

/* Loads the next window after the current one; false if there is none. */
static bool extend_window(struct segment_sources *all, struct segment_source *source)
{
    static _Thread_local uint64_t payload[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    size_t n_words = (size_t)(source->payload_end - source->loaded->payload);
    size_t at = (size_t)(source->reader.at - source->loaded->payload);
    size_t begin = (size_t)(source->reader.end - source->loaded->payload);
    size_t end = begin + WINDOW_WORDS < n_words ? begin + WINDOW_WORDS : n_words;

    if (begin == n_words || read_ahead_again(all->ahead, source->loaded, payload, NULL) != 0)
        return false;
    memcpy(source->loaded->payload + begin, payload + begin, (end - begin) * sizeof(*payload));
    keep_window(source, at, end);
    return true;
}

/* Reads the next record of the source, loading the next window if needed. */
static enum log_record_found next_record(struct segment_sources *all, struct segment_source *source)
{
    enum log_record_found found = log_record_next(&source->reader, &source->record);

    while (found != LOG_RECORD_FOUND && extend_window(all, source))
        found = log_record_next(&source->reader, &source->record);
    if (found == LOG_RECORD_NO_MORE && source->reader.at < source->payload_end)
        found = LOG_RECORD_DAMAGED; /* the rest could not be read again */
    return found;
}

/* EV-6 */
static bool is_within_sum(struct segment_sources *all, struct segment_source *source,
                          const struct log_record *record)
{
    uint64_t bytes = log_record_claimed_bytes(record);

    if (mtrace_unlikely(bytes > EVENT_MAX_SUM - all->claimed_bytes)) {
        all->n_impossible++;
        all->lost = source->input;
        return false;
    }
    all->claimed_bytes += bytes;
    source->claimed_bytes = source->items ? source->claimed_bytes + bytes : bytes;
    return true;
}

static bool advance_fallback(struct segment_sources *all, struct segment_source *source)
{
    const struct log_fallback_record *records =
        (const struct log_fallback_record *)source->loaded->payload;
    const struct fallback_item *item = &source->items[source->next_item];

    if (source->next_item == source->n_items)
        return false;
    source->next_item++;
    source->record =
        (struct log_record){.words = records[item->index].words,
                            .ticks = records[item->index].ticks,
                            .thread = records[item->index].thread,
                            .group = log_record_fallback_group(records[item->index].words)};
    source->half = item->half;
    set_time(all, source, item->ticks);
    return true;
}

bool segment_source_advance(struct segment_sources *all, struct segment_source *source)
{
    enum log_record_found found;

    if (source->items)
        return advance_fallback(all, source);
    if (source->half == LOG_RECORD_BEGIN) {
        source->half = LOG_RECORD_END;
        set_time(all, source, source->record.ticks);
        return true;
    }
    do {
        found = next_record(all, source);
    } while (found == LOG_RECORD_FOUND && !is_within_sum(all, source, &source->record));
    if (found == LOG_RECORD_DAMAGED)
        report_lost_rest(all, source);
    if (found != LOG_RECORD_FOUND)
        return false;
    source->half = log_record_is_pair(&source->record) ? LOG_RECORD_BEGIN : LOG_RECORD_WHOLE;
    set_time(all, source,
             source->half == LOG_RECORD_BEGIN ? log_record_begin_ticks(&source->record)
                                              : source->record.ticks);
    return true;
}

static int compare_items(const void *left, const void *right)
{
    const struct fallback_item *a = left;
    const struct fallback_item *b = right;

    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return (a->half > b->half) - (a->half < b->half);
}

static bool add_item(struct segment_source *source, uint64_t ticks, uint32_t index,
                     enum log_record_half half)
{
    struct fallback_item *items = dynamic_array_reserve(source->items, &source->items_capacity,
                                                        source->n_items + 1, sizeof(*items));

    if (!items)
        return false;
    source->items = items;
    items[source->n_items++] = (struct fallback_item){.ticks = ticks, .index = index, .half = half};
    return true;
}

/* Adds a fallback record to the items if it is an event. */
static bool read_fallback_record(struct segment_sources *all, struct segment_source *source,
                                 const struct log_fallback_record *fallback, struct log_record *ret)
{
    struct log_record_reader reader = {
        .at = fallback->words, .end = fallback->words + sizeof(fallback->words) / sizeof(uint64_t)};

    if (fallback->valid != LOG_FALLBACK_VALID)
        return false;
    bool is_event =
        log_record_next(&reader, ret) == LOG_RECORD_FOUND && ret->words == fallback->words;
    source->reader.n_impossible += reader.n_impossible;
    ret->ticks = fallback->ticks;
    return is_event && is_within_sum(all, source, ret);
}

static int open_fallback(struct segment_sources *all, struct segment_source *source, size_t n_bytes,
                         struct error *err)
{
    const struct log_fallback_record *records =
        (const struct log_fallback_record *)source->loaded->payload;
    bool has_memory = true;

    for (uint32_t i = 0; has_memory && i < n_bytes / sizeof(*records); i++) {
        struct log_record record;
        if (!read_fallback_record(all, source, &records[i], &record))
            continue;
        if (log_record_is_pair(&record))
            has_memory = add_item(source, log_record_begin_ticks(&record), i, LOG_RECORD_BEGIN)
                         && add_item(source, record.ticks, i, LOG_RECORD_END);
        else
            has_memory = add_item(source, record.ticks, i, LOG_RECORD_WHOLE);
    }
    if (!has_memory)
        return error_set(err, ERROR_NOMEM, "out of memory");
    if (source->n_items > 1)
        qsort(source->items, source->n_items, sizeof(*source->items), compare_items);
    return 0;
}

static void take(struct segment_sources *all, struct segment_source *source,
                 struct loaded_segment *loaded)
{
    const struct log_segment_ref *ref;

    memset(source, 0, sizeof(*source));
    source->loaded = loaded;
    source->input = all->set->inputs[all->set->order[loaded->place].input];
    ref = ref_of(source);
    source->reader = (struct log_record_reader){
        .at = loaded->payload,
        .end = loaded->payload + ref->raw_bytes / sizeof(uint64_t),
        .base_ticks = ref->base_ticks,
        .thread = ref->thread,
        .group = LOG_GROUP_ROOT,
    };
    source->payload_end = source->reader.end;
    source->thread_index = ref->thread;
    source->thread = log_names_thread(&source->input->names, ref->thread);
    source->group_index = LOG_GROUP_ROOT;
}

/* Can the same words be read again? A live log segment may have become a frame, which has other
 * words. */
static bool is_lasting(const struct segment_source *source)
{
    const struct log_segment_ref *ref = ref_of(source);

    return ref->is_packed || ref->copy || !source->input->had_writer;
}

/* ---- continuing an earlier stream ---- */

static struct segment_position *find_position(const struct segment_sources *all,
                                              const struct segment_source *source)
{
    return all->state ? stream_state_find(all->state, source->input->header.run_id,
                                          ref_of(source)->sequence)
                      : NULL;
}

/* For records of threads. */
static void go_on(struct segment_source *source, const struct segment_position *position)
{
    if (position->n_words > (size_t)(source->payload_end - source->loaded->payload)) {
        source->reader.at = source->payload_end;
        return;
    }
    source->reader.at = source->loaded->payload + position->n_words;
    source->reader.base_ticks = position->base_ticks;
    source->reader.thread = position->thread;
    source->reader.group = position->group;
    source->time = source->reported_time = position->time;
}

/* Skips the items up to the mark. They were handed out, unless others appeared between them. */
static void skip_reported_items(struct segment_sources *all, struct segment_source *source,
                                const struct segment_position *position)
{
    size_t n = 0;

    for (; n < source->n_items; n++)
        if (log_set_time(all->set, source->input, &source->cursor, source->items[n].ticks)
            > all->state->mark)
            break;
    size_t n_reported = position ? position->n_items : 0;
    source->next_item = n < n_reported ? n : n_reported;
}

int segment_source_save(struct segment_sources *all, const struct segment_source *source,
                        bool is_at_end)
{
    const struct log_segment_ref *ref = ref_of(source);
    struct segment_position *position;

    if (!is_at_end) {
        all->claimed_bytes -= source->claimed_bytes;
        if (source->n_reported == 0)
            return 0; /* unchanged */
    }
    position = stream_state_get(all->state, source->input->header.run_id, ref->sequence);
    if (!position)
        return ERROR_NOMEM;
    position->is_done = is_at_end && ref->is_complete;
    position->has_reported |= source->n_reported > 0;
    position->time = source->reported_time;
    position->base_ticks = source->reader.base_ticks;
    position->thread = source->reader.thread;
    position->group = source->reader.group;
    position->is_half = !is_at_end && source->half == LOG_RECORD_END && !source->items;
    position->n_items = (uint32_t)(is_at_end ? source->n_items : source->next_item - 1);
    if (!source->items)
        position->n_words = (uint32_t)((is_at_end ? source->reader.at : source->record.words)
                                       - source->loaded->payload);
    return 0;
}

int segment_source_open(struct segment_sources *all, struct segment_source *source,
                        struct loaded_segment *loaded, bool is_windowed, bool *ret_has_event,
                        struct error *err)
{
    const struct log_segment_ref *ref;
    int r = 0;

    take(all, source, loaded);
    ref = ref_of(source);
    const struct segment_position *position = find_position(all, source);
    if (is_windowed && !position && ref->kind == LOG_SEGMENT_EVENTS && ref->raw_bytes > WINDOW_BYTES
        && is_lasting(source))
        keep_window(source, 0, WINDOW_WORDS);
    if (ref->kind == LOG_SEGMENT_FALLBACK) {
        r = open_fallback(all, source, ref->raw_bytes, err);
        if (all->state && all->state->has_begun)
            skip_reported_items(all, source, position);
        *ret_has_event = source->items && segment_source_advance(all, source);
    } else {
        if (position)
            go_on(source, position);
        *ret_has_event = segment_source_advance(all, source);
        if (*ret_has_event && position && position->is_half)
            segment_source_advance(all, source);
    }
    source->is_at_first = !position || !position->has_reported;
    return r;
}

void segment_source_take_impossible(struct segment_sources *all, struct segment_source *source)
{
    if (source->reader.n_impossible)
        all->lost = source->input;
    all->n_impossible += source->reader.n_impossible;
    source->reader.n_impossible = 0;
}

void segment_source_close(struct segment_sources *all, struct segment_source *source)
{
    all->n_unknown += source->reader.n_unknown;
    segment_source_take_impossible(all, source);
    read_ahead_release(all->ahead, source->loaded);
    free(source->items);
    source->items = NULL;
}

/* A number that does not depend on when and where the segment is read. */
static uint64_t pair_of(const struct segment_source *source)
{
    uint64_t place = ref_of(source)->sequence * (LOG_SEGMENT_BYTES / sizeof(uint64_t))
                     + (uint64_t)(source->record.words - source->loaded->payload);

    return place ^ (uint64_t)source->input->names.process << 48;
}

void segment_source_event(struct segment_sources *all, struct segment_source *source,
                          struct event *ret)
{
    const struct log_record *record = &source->record;

    if (record->thread != source->thread_index) {
        source->thread_index = record->thread;
        source->thread = log_names_thread(&source->input->names, record->thread);
    }
    if (mtrace_unlikely(record->group != source->group_index)) {
        source->group_index = record->group;
        source->group = log_names_group(&source->input->names, record->group);
    }
    log_record_decode(record, source->half, &source->input->names, source->thread,
                      &all->n_lost_nodes, ret);
    if (ret->kind != EVENT_MOVE && ret->kind != EVENT_ELIDED)
        ret->group = source->group;
    if (source->half != LOG_RECORD_WHOLE)
        ret->pair = pair_of(source);
}

/* ---- runs ---- */

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
    unsigned kind = log_record_kind(words);

    return (kind == LOG_FREE || kind == LOG_ALLOC) && log_record_address(words) != 0;
}

/* 0: not plain. */
static uint32_t stack_of(const struct ground *ground, const uint64_t *words)
{
    uint32_t node = log_record_node(words);
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
    event->address = log_record_address(words);
    event->size = 0;
    event->old_address = 0;
    event->usable = 0;
    event->pair = 0;
    event->process = ground->process;
    event->thread = ground->thread;
    event->backtrace = stack;
    event->group = ground->group;
    event->kind = EVENT_FREE;
    event->call = event->chunk_flags = event->alignment_log2 = 0;
    if (log_record_kind(words) == LOG_FREE)
        return;
    uint64_t flags = log_record_call_flags(words);
    event->kind = EVENT_ALLOC;
    event->size = log_record_size(words);
    event->usable = event->size + log_record_slack(words);
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
static inline bool take_next(struct place *place, const struct ground *ground)
{
    const uint64_t *words = place->behind;

    if (mtrace_unlikely(ground->end - words < ALLOC_WORDS || !is_plain(words)))
        return false;
    bool is_free = log_record_kind(words) == LOG_FREE;
    uint64_t ticks = ground->base_ticks + log_record_time(words);
    uint64_t rounded = ticks & ground->tick_mask;
    uint64_t bytes = is_free ? 0 : log_record_size(words) + log_record_slack(words);
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

void segment_source_take_run(struct segment_sources *all, struct segment_source *source,
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
        run->is_at_next = take_next(&place, &ground);
        key = place.time << 1 | (log_record_kind(place.words) != LOG_FREE);
    } while (mtrace_likely(run->is_at_next) && key < run->bound && n < run->most);
    leave(all, source, &place, &ground);
    source->reported_time = reported_time;
    source->n_reported += n;
    run->last_time = last_time;
    run->n = n;
}
