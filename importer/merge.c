/* SPDX-License-Identifier: MIT */
#include "importer/merge.h"

#include "importer/growing.h"
#include "importer/log_record.h"
#include "importer/log_set_parts.h"
#include "importer/read_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    /* Segments opened while so many are open keep only a window of their payload in memory, and
     * read it again when the window has passed: thousands of threads at once cost time, not space.
     */
    MANY_SOURCES = 1024,
    WINDOW_BYTES = 16384,
    WINDOW_WORDS = WINDOW_BYTES / sizeof(uint64_t),
};

/* One side record, or one half of it. */
struct side_item {
    uint64_t ticks;
    uint32_t index;
    enum log_record_half half;
};

/* A segment that is open. */
struct source {
    struct source *next; /* of the spare ones */
    uint64_t time;       /* of `record`; never less than that of the one before */
    struct log_record record;
    enum log_record_half half;
    struct log_record_reader reader;
    struct side_item *items; /* SIDE only, by time */
    size_t n_items, next_item, items_capacity;
    struct log_input *input;
    struct clock_cursor cursor;
    struct loaded_segment *loaded;
    uint32_t thread_index; /* log's and database's id of the thread asked for last */
    uint32_t thread;
    const uint64_t *payload_end; /* reader.end is before it while only a window is in memory */
};

struct heap_entry {
    uint64_t key; /* time << 1, | 1 unless the event ends a block */
    struct source *source;
};

struct event_stream {
    struct log_set *set;
    struct heaptrack_events *heaptrack; /* the whole stream, or NULL */
    struct read_ahead *ahead;
    struct heap_entry *heap;
    size_t n_heap, heap_capacity;
    struct source *spare;
    size_t n_opened;    /* places of set->order */
    uint64_t next_due;  /* first time of the next place, UINT64_MAX if there is none */
    uint64_t last_time; /* handed out */
    uint64_t opened_bytes;
    uint64_t n_lost_nodes, n_backward, n_unknown;
    struct log_damage_report *damage;
    struct log_damage_report ignored; /* takes the damage of a second reading */
};

static bool is_less(const struct heap_entry *a, const struct heap_entry *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->source->loaded->place < b->source->loaded->place;
}

static void sift_down(struct event_stream *stream, size_t at)
{
    struct heap_entry *heap = stream->heap;
    struct heap_entry moving = heap[at];

    for (size_t child = 2 * at + 1; child < stream->n_heap; child = 2 * at + 1) {
        if (child + 1 < stream->n_heap && is_less(&heap[child + 1], &heap[child]))
            child++;
        if (!is_less(&heap[child], &moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sift_up(struct event_stream *stream, size_t at)
{
    struct heap_entry *heap = stream->heap;
    struct heap_entry moving = heap[at];

    while (at > 0 && is_less(&moving, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moving;
}

static uint64_t key_of(const struct source *source)
{
    return source->time << 1 | !log_record_ends_block(&source->record, source->half);
}

static const struct log_segment_ref *ref_of(const struct source *source)
{
    return &source->input->segments.refs[source->loaded->ref];
}

/* Where in its file a place of the payload is; of a packed segment, where the frame is. */
static uint64_t file_offset(const struct source *source, const uint64_t *at)
{
    const struct log_segment_ref *ref = ref_of(source);
    uint64_t in_payload = (uint64_t)(at - source->loaded->payload) * sizeof(*at);

    return ref->is_packed ? ref->offset : ref->offset + LOG_SEGMENT_HEADER_BYTES + in_payload;
}

static void set_time(struct event_stream *stream, struct source *source, uint64_t ticks)
{
    uint64_t time = log_set_time(stream->set, source->input, &source->cursor, ticks);

    if (time >= source->time)
        source->time = time;
    else
        stream->n_backward++;
}

static void report_lost_rest(struct event_stream *stream, const struct source *source)
{
    const struct log_segment_ref *ref = ref_of(source);

    log_damage_add(stream->damage, LOG_DAMAGE_RECORD, source->input->files[ref->file]->path,
                   file_offset(source, source->reader.at),
                   (uint64_t)(source->payload_end - source->reader.at) * sizeof(uint64_t),
                   "record is longer than its segment");
}

/* Gives the memory of the payload back, but for the window [first, end) of words. */
static void keep_window(struct source *source, size_t first, size_t end)
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

/* Puts the next window in memory behind the current one; false if there is none. */
static bool extend_window(struct event_stream *stream, struct source *source)
{
    static _Thread_local uint64_t payload[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    size_t n_words = (size_t)(source->payload_end - source->loaded->payload);
    size_t at = (size_t)(source->reader.at - source->loaded->payload);
    size_t begin = (size_t)(source->reader.end - source->loaded->payload);
    size_t end = begin + WINDOW_WORDS < n_words ? begin + WINDOW_WORDS : n_words;

    if (begin == n_words || read_ahead_again(stream->ahead, source->loaded, payload, NULL) != 0)
        return false;
    memcpy(source->loaded->payload + begin, payload + begin, (end - begin) * sizeof(*payload));
    keep_window(source, at, end);
    return true;
}

/* The next record of the source, also behind its window. */
static enum log_record_found next_record(struct event_stream *stream, struct source *source)
{
    enum log_record_found found = log_record_next(&source->reader, &source->record);

    while (found != LOG_RECORD_FOUND && extend_window(stream, source))
        found = log_record_next(&source->reader, &source->record);
    if (found == LOG_RECORD_NO_MORE && source->reader.at < source->payload_end)
        found = LOG_RECORD_DAMAGED; /* the rest could not be read again */
    return found;
}

static bool advance_side(struct event_stream *stream, struct source *source)
{
    const struct log_side_record *records = (const struct log_side_record *)source->loaded->payload;
    const struct side_item *item = &source->items[source->next_item];

    if (source->next_item == source->n_items)
        return false;
    source->next_item++;
    source->record = (struct log_record){.words = records[item->index].words,
                                         .ticks = records[item->index].ticks,
                                         .thread = records[item->index].thread};
    source->half = item->half;
    set_time(stream, source, item->ticks);
    return true;
}

/* Goes to the next event of the source; false behind the last. */
static bool advance(struct event_stream *stream, struct source *source)
{
    enum log_record_found found;

    if (source->items)
        return advance_side(stream, source);
    if (source->half == LOG_RECORD_BEGIN) {
        source->half = LOG_RECORD_END;
        set_time(stream, source, source->record.ticks);
        return true;
    }
    found = next_record(stream, source);
    if (found == LOG_RECORD_DAMAGED)
        report_lost_rest(stream, source);
    if (found != LOG_RECORD_FOUND)
        return false;
    source->half = log_record_is_pair(&source->record) ? LOG_RECORD_BEGIN : LOG_RECORD_WHOLE;
    set_time(stream, source,
             source->half == LOG_RECORD_BEGIN ? log_record_begin_ticks(&source->record)
                                              : source->record.ticks);
    return true;
}

static struct source *new_source(struct event_stream *stream)
{
    struct source *source = stream->spare;

    if (!source)
        return calloc(1, sizeof(*source));
    stream->spare = source->next;
    memset(source, 0, sizeof(*source));
    return source;
}

static void close_source(struct event_stream *stream, struct source *source)
{
    stream->n_unknown += source->reader.n_unknown;
    read_ahead_release(stream->ahead, source->loaded);
    free(source->items);
    source->next = stream->spare;
    stream->spare = source;
}

static int compare_items(const void *left, const void *right)
{
    const struct side_item *a = left;
    const struct side_item *b = right;

    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return (a->half > b->half) - (a->half < b->half);
}

static bool add_item(struct source *source, uint64_t ticks, uint32_t index,
                     enum log_record_half half)
{
    struct side_item *items = growing_reserve(source->items, &source->items_capacity,
                                              source->n_items + 1, sizeof(*items));

    if (!items)
        return false;
    source->items = items;
    items[source->n_items++] = (struct side_item){.ticks = ticks, .index = index, .half = half};
    return true;
}

/* A side record as an event, if it is one. */
static bool read_side_record(const struct log_side_record *side, struct log_record *ret)
{
    struct log_record_reader reader = {.at = side->words,
                                       .end = side->words + sizeof(side->words) / sizeof(uint64_t)};

    if (side->valid != LOG_SIDE_VALID || log_record_next(&reader, ret) != LOG_RECORD_FOUND
        || ret->words != side->words)
        return false;
    ret->ticks = side->ticks;
    return true;
}

static int open_side(struct source *source, size_t n_bytes, struct error *err)
{
    const struct log_side_record *records = (const struct log_side_record *)source->loaded->payload;
    bool has_memory = true;

    for (uint32_t i = 0; has_memory && i < n_bytes / sizeof(*records); i++) {
        struct log_record record;
        if (!read_side_record(&records[i], &record))
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

static int push_source(struct event_stream *stream, struct source *source, struct error *err)
{
    struct heap_entry *heap =
        growing_reserve(stream->heap, &stream->heap_capacity, stream->n_heap + 1, sizeof(*heap));

    if (!heap)
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->heap = heap;
    heap[stream->n_heap] = (struct heap_entry){.key = key_of(source), .source = source};
    sift_up(stream, stream->n_heap++);
    return 0;
}

/* Makes a source of a segment that was read, and queues it unless it holds no event. */
static int open_source(struct event_stream *stream, struct loaded_segment *loaded,
                       struct error *err)
{
    struct source *source = new_source(stream);
    const struct log_segment_ref *ref;
    bool has_event;
    int r = 0;

    if (!source) {
        read_ahead_release(stream->ahead, loaded);
        return error_set(err, ERROR_NOMEM, "out of memory");
    }
    source->loaded = loaded;
    source->input = stream->set->inputs[stream->set->order[loaded->place].input];
    ref = ref_of(source);
    source->reader = (struct log_record_reader){
        .at = loaded->payload,
        .end = loaded->payload + ref->raw_bytes / sizeof(uint64_t),
        .base_ticks = ref->base_ticks,
        .thread = ref->thread,
    };
    source->payload_end = source->reader.end;
    if (stream->n_heap >= MANY_SOURCES && ref->kind == LOG_SEGMENT_EVENTS
        && ref->raw_bytes > WINDOW_BYTES)
        keep_window(source, 0, WINDOW_WORDS);
    source->thread_index = ref->thread;
    source->thread = log_names_thread(&source->input->names, ref->thread);
    if (ref->kind == LOG_SEGMENT_SIDE) {
        r = open_side(source, ref->raw_bytes, err);
        has_event = source->items && advance(stream, source);
    } else {
        has_event = advance(stream, source);
    }
    if (r == 0 && has_event)
        return push_source(stream, source, err);
    close_source(stream, source);
    return r;
}

static void report_unreadable(struct event_stream *stream, const struct loaded_segment *loaded)
{
    const struct log_input *input = stream->set->inputs[stream->set->order[loaded->place].input];
    const struct log_segment_ref *ref = &input->segments.refs[loaded->ref];

    log_damage_add(stream->damage, LOG_DAMAGE_CHECKSUM, input->files[ref->file]->path, ref->offset,
                   ref->raw_bytes, "segment of events cannot be read");
}

static int open_next(struct event_stream *stream, struct error *err)
{
    struct log_set *set = stream->set;
    struct loaded_segment *loaded = read_ahead_take(stream->ahead);
    const struct segment_place *place = &set->order[stream->n_opened];
    int r;

    if (!loaded) /* the reader ends early for one reason only */
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->opened_bytes += set->inputs[place->input]->segments.refs[place->ref].raw_bytes;
    stream->n_opened++;
    stream->next_due =
        stream->n_opened < set->n_order ? set->order[stream->n_opened].first_time : UINT64_MAX;
    if (loaded->result == 0)
        return open_source(stream, loaded, err);
    r = loaded->result;
    if (r == ERROR_FORMAT) {
        report_unreadable(stream, loaded);
        r = 0;
    } else if (err) {
        *err = loaded->err;
    }
    read_ahead_release(stream->ahead, loaded);
    return r;
}

static bool is_next_due(const struct event_stream *stream)
{
    if (stream->n_heap == 0)
        return stream->n_opened < stream->set->n_order;
    return stream->next_due <= stream->heap[0].key >> 1;
}

static void emit(struct event_stream *stream, struct source *source, struct event *ret)
{
    const struct log_record *record = &source->record;

    if (record->thread != source->thread_index) {
        source->thread_index = record->thread;
        source->thread = log_names_thread(&source->input->names, record->thread);
    }
    log_record_decode(record, source->half, &source->input->names, source->thread,
                      &stream->n_lost_nodes, ret);
    if (source->time < stream->last_time)
        stream->n_backward++;
    else
        stream->last_time = source->time;
    ret->time_ns = stream->last_time >> CLOCK_MAP_FRACTION_BITS;
    if (source->half != LOG_RECORD_WHOLE)
        ret->pair = (uint64_t)source->loaded->place * LOG_SEGMENT_BYTES
                    + (uint64_t)(record->words - source->loaded->payload) + 1;
}

/* The root of the heap moved on or ended. */
static void settle_root(struct event_stream *stream)
{
    struct source *source = stream->heap[0].source;

    if (advance(stream, source)) {
        stream->heap[0].key = key_of(source);
    } else {
        close_source(stream, source);
        stream->heap[0] = stream->heap[--stream->n_heap];
    }
    if (stream->n_heap > 1)
        sift_down(stream, 0);
}

static void add_count(struct event_stream *stream, enum log_damage_kind kind, uint64_t n,
                      const char *what)
{
    if (n == 0)
        return;
    log_damage_add(stream->damage, kind, log_input_path(stream->set->inputs[0]), 0, 0, what);
    stream->damage->count[kind] += n - 1;
}

static void finish(struct event_stream *stream)
{
    add_count(stream, LOG_DAMAGE_NODE, stream->n_lost_nodes,
              "events whose stack the log does not hold");
    add_count(stream, LOG_DAMAGE_TIME, stream->n_backward,
              "events whose time lies before the one before");
    add_count(stream, LOG_DAMAGE_UNKNOWN, stream->n_unknown, "records of an unknown kind");
    stream->n_lost_nodes = stream->n_backward = stream->n_unknown = 0;
    stream->set->is_damage_complete = true;
    stream->damage = &stream->ignored;
}

int event_stream_next(struct event_stream *stream, struct event *ret_event, struct error *err)
{
    if (stream->heaptrack)
        return heaptrack_events_next(stream->heaptrack, ret_event, err);
    while (is_next_due(stream)) {
        int r = open_next(stream, err);
        if (r != 0)
            return r;
    }
    if (stream->n_heap == 0) {
        finish(stream);
        return 0;
    }
    emit(stream, stream->heap[0].source, ret_event);
    settle_root(stream);
    return 1;
}

int event_stream_open(struct log_set *set, struct event_stream **ret, struct error *err)
{
    struct event_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream)
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->set = set;
    stream->next_due = set->n_order > 0 ? set->order[0].first_time : UINT64_MAX;
    stream->damage = &stream->ignored;
    if (!set->is_damage_complete) {
        set->damage = set->opening_damage;
        stream->damage = &set->damage;
    }
    r = set->heaptrack ? heaptrack_events_open(set->heaptrack, &stream->heaptrack, err)
                       : read_ahead_open(set, &stream->ahead, err);
    if (r != 0) {
        free(stream);
        return r;
    }
    *ret = stream;
    return 0;
}

void event_stream_close(struct event_stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; i < stream->n_heap; i++)
        close_source(stream, stream->heap[i].source);
    while (stream->spare) {
        struct source *next = stream->spare->next;
        free(stream->spare);
        stream->spare = next;
    }
    if (stream->heaptrack)
        heaptrack_events_close(stream->heaptrack);
    else
        read_ahead_close(stream->ahead);
    free(stream->heap);
    free(stream);
}

double event_stream_progress(const struct event_stream *stream)
{
    uint64_t total = stream->set->total_bytes;

    if (stream->heaptrack)
        return heaptrack_events_progress(stream->heaptrack);
    return total == 0 ? 1.0 : (double)stream->opened_bytes / (double)total;
}
