/* SPDX-License-Identifier: MIT */
#include "importer/read/event_stream.h"

#include "importer/read/segment_source.h"
#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Beyond this many open segments, further ones are windowed: thousands of concurrent threads
     * then cost time, not memory. */
    MANY_SOURCES = 1024
};

struct heap_entry {
    uint64_t key; /* of key_of */
    struct segment_source *source;
};

struct event_stream {
    struct segment_sources sources;
    struct heaptrack_events *heaptrack; /* the whole stream, or NULL */
    struct heap_entry *heap;
    size_t n_heap, heap_capacity;
    struct segment_source *spare;
    size_t n_opened;        /* places of set->order */
    uint64_t next_due;      /* first time of the next place, UINT64_MAX if there is none */
    uint64_t last_time;     /* handed out */
    uint64_t mark;          /* UINT64_MAX: the end of the log */
    uint64_t reported_mark; /* SX-4: earlier events are handed out at this time; 0: none */
    uint64_t bound;         /* the root is next while its key is less; 0: unknown */
    struct log_damage_report ignored; /* receives the damage of a second reading */
    bool is_cut; /* everything that follows is after the end in the set's options */
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

/* At equal times the free of a block comes before the next allocation at its address. */
static uint64_t key_of(const struct segment_source *source)
{
    return source->time << 1 | !log_record_ends_block(&source->record, source->half);
}

static struct segment_source *new_source(struct event_stream *stream)
{
    struct segment_source *source = stream->spare;

    if (!source)
        return calloc(1, sizeof(*source));
    stream->spare = source->next;
    return source;
}

static void close_source(struct event_stream *stream, struct segment_source *source)
{
    segment_source_close(&stream->sources, source);
    source->n_reported = 0;
    source->next = stream->spare;
    stream->spare = source;
}

static int save_source(struct event_stream *stream, const struct segment_source *source,
                       bool is_at_end, struct error *err)
{
    if (!stream->sources.state || segment_source_save(&stream->sources, source, is_at_end) == 0)
        return 0;
    return error_set(err, ERROR_NOMEM, "out of memory");
}

static int push_source(struct event_stream *stream, struct segment_source *source,
                       struct error *err)
{
    struct heap_entry *heap = dynamic_array_reserve(stream->heap, &stream->heap_capacity,
                                                    stream->n_heap + 1, sizeof(*heap));

    if (!heap)
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->heap = heap;
    heap[stream->n_heap] = (struct heap_entry){.key = key_of(source), .source = source};
    sift_up(stream, stream->n_heap++);
    return 0;
}

/* Queues a loaded segment, unless it has no event. */
static int open_source(struct event_stream *stream, struct loaded_segment *loaded,
                       struct error *err)
{
    struct segment_source *source = new_source(stream);
    bool has_event;

    if (!source) {
        read_ahead_release(stream->sources.ahead, loaded);
        return error_set(err, ERROR_NOMEM, "out of memory");
    }
    int r = segment_source_open(&stream->sources, source, loaded, stream->n_heap >= MANY_SOURCES,
                                &has_event, err);
    if (r == 0 && has_event)
        return push_source(stream, source, err);
    if (r == 0)
        r = save_source(stream, source, true, err);
    close_source(stream, source);
    return r;
}

/* Data unreadable at one mark is taken for lost at the next. */
static bool is_for_good(const struct event_stream *stream)
{
    return stream->mark != UINT64_MAX && stream->sources.state;
}

static int report_unreadable(struct event_stream *stream, const struct loaded_segment *loaded,
                             struct error *err)
{
    const struct log_input *input =
        stream->sources.set->inputs[stream->sources.set->order[loaded->place].input];
    const struct log_segment_ref *ref = &input->segments.refs[loaded->ref];

    stream->sources.lost = input;
    if (is_for_good(stream)) {
        struct segment_position *position =
            stream_state_get(stream->sources.state, input->header.run_id, ref->sequence);
        if (!position)
            return error_set(err, ERROR_NOMEM, "out of memory");
        position->is_done = true;
        stream->sources.lost_bytes += ref->file_bytes;
        return 0;
    }
    log_damage_add(stream->sources.damage, LOG_DAMAGE_CHECKSUM, input->files[ref->file]->path,
                   ref->offset, ref->file_bytes, "segment of events cannot be read");
    return 0;
}

static int open_next(struct event_stream *stream, struct error *err)
{
    struct log_set *set = stream->sources.set;
    struct loaded_segment *loaded = read_ahead_take(stream->sources.ahead);
    int r;

    if (!loaded) /* the only reason for an early end */
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->n_opened++;
    stream->next_due =
        stream->n_opened < set->n_order ? set->order[stream->n_opened].first_time : UINT64_MAX;
    if (loaded->result == 0)
        return open_source(stream, loaded, err);
    r = loaded->result;
    if (r == ERROR_FORMAT) {
        r = report_unreadable(stream, loaded, err);
    } else if (err) {
        *err = loaded->err;
    }
    read_ahead_release(stream->sources.ahead, loaded);
    return r;
}

static bool is_next_due(const struct event_stream *stream)
{
    if (stream->n_heap == 0)
        return stream->n_opened < stream->sources.set->n_order && stream->next_due <= stream->mark;
    return stream->next_due <= stream->heap[0].key >> 1 && stream->next_due <= stream->mark;
}

/*
 * The first event of a segment may free a block that the last event of the previous segment
 * allocated at the same coarse time: the thread's own order takes precedence.
 */
static void keep_own_order(struct event_stream *stream)
{
    struct heap_entry *root = &stream->heap[0];
    const struct segment_source *first = root->source;

    root->source->is_at_first = false;
    for (size_t i = 1; i < stream->n_heap; i++) {
        const struct segment_source *other = stream->heap[i].source;
        if (other->time == first->time && other->input == first->input
            && other->record.thread == first->record.thread) {
            root->key |= 1;
            sift_down(stream, 0);
            return;
        }
    }
}

static void emit(struct event_stream *stream, struct segment_source *source, struct event *ret)
{
    segment_source_event(&stream->sources, source, ret);
    stream->sources.n_backward += source->is_backward || source->time < stream->last_time;
    if (source->time >= stream->last_time)
        stream->last_time = source->time;
    source->reported_time = source->time;
    source->n_reported++;
    ret->time_ns = stream->last_time >> CLOCK_MAP_FRACTION_BITS;
}

/* EV-5 */
static MTRACE_COLD void emit_loss(struct event_stream *stream, struct event *ret)
{
    MTRACE_ASSERT(stream->sources.lost);
    const struct log_names *names = &stream->sources.lost->names;

    stream->sources.lost = NULL;
    *ret = (struct event){.kind = EVENT_LOST,
                          .time_ns = stream->last_time >> CLOCK_MAP_FRACTION_BITS,
                          .process = names->process,
                          .thread = log_names_thread(names, 0),
                          .backtrace = DEFINITIONS_NO_BACKTRACE};
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Key below which nothing interrupts the root: no other source, no unopened segment, and not the
 * mark. A thread that runs alone makes hundreds of events between two calls. */
static uint64_t find_bound(const struct event_stream *stream)
{
    uint64_t bound = UINT64_MAX;

    for (size_t i = 1; i < stream->n_heap && i <= 2; i++)
        bound = lesser(bound, stream->heap[i].key);
    if (stream->next_due <= UINT64_MAX >> 1)
        bound = lesser(bound, stream->next_due << 1);
    if (stream->mark < UINT64_MAX >> 1)
        bound = lesser(bound, (stream->mark + 1) << 1);
    return bound;
}

/* Restores the heap after its root advanced or ended. */
static int settle_root(struct event_stream *stream, bool is_at_event, struct error *err)
{
    struct segment_source *source = stream->heap[0].source;

    if (mtrace_likely(is_at_event)) {
        stream->heap[0].key = key_of(source);
        if (mtrace_likely(stream->heap[0].key < stream->bound))
            return 0;
    } else {
        int r = save_source(stream, source, true, err);
        if (r != 0)
            return r;
        close_source(stream, source);
        stream->heap[0] = stream->heap[--stream->n_heap];
    }
    stream->bound = 0;
    if (stream->n_heap > 1)
        sift_down(stream, 0);
    return 0;
}

static void add_count(struct event_stream *stream, enum log_damage_kind kind, uint64_t n,
                      const char *what)
{
    if (n == 0)
        return;
    log_damage_add(stream->sources.damage, kind, log_input_path(stream->sources.set->inputs[0]), 0,
                   0, what);
    stream->sources.damage->count[kind] += n - 1;
}

static void finish(struct event_stream *stream)
{
    add_count(stream, LOG_DAMAGE_NODE, stream->sources.n_lost_nodes,
              "events whose stack is not in the log");
    add_count(stream, LOG_DAMAGE_TIME, stream->sources.n_backward,
              "events that are earlier than their predecessor");
    add_count(stream, LOG_DAMAGE_RECORD, stream->sources.n_impossible,
              "records of impossible events");
    add_count(stream, LOG_DAMAGE_UNKNOWN, stream->sources.n_unknown, "records of an unknown kind");
    if (stream->sources.n_lost_parts)
        stream->sources.damage->lost_bytes += stream->sources.lost_bytes;
    add_count(stream, LOG_DAMAGE_MISSING_PART, stream->sources.n_lost_parts,
              "parts of the log could not be read while it grew");
    stream->sources.n_lost_nodes = stream->sources.n_backward = stream->sources.n_unknown = 0;
    stream->sources.n_impossible = stream->sources.n_lost_parts = stream->sources.lost_bytes = 0;
    stream->sources.set->is_damage_complete = true;
    stream->sources.damage = &stream->ignored;
}

/* At the mark: stores the stream's position in the state. */
static int stop(struct event_stream *stream, struct error *err)
{
    struct stream_state *state = stream->sources.state;
    int r = 0;

    for (size_t i = 0; r == 0 && i < stream->n_heap; i++)
        r = save_source(stream, stream->heap[i].source, false, err);
    if (r != 0)
        return r;
    state->mark = stream->mark;
    state->last_time = stream->last_time;
    state->claimed_bytes = stream->sources.claimed_bytes;
    state->n_lost_nodes = stream->sources.n_lost_nodes;
    state->n_backward = stream->sources.n_backward;
    state->n_impossible = stream->sources.n_impossible;
    state->n_lost_parts = stream->sources.n_lost_parts;
    state->lost_bytes = stream->sources.lost_bytes;
    state->n_unknown = stream->sources.n_unknown;
    for (size_t i = 0; i < stream->n_heap; i++)
        if (stream->heap[i].source->n_reported)
            state->n_unknown += stream->heap[i].source->reader.n_unknown;
    state->has_begun = true;
    return 0;
}

/* Counts impossible records before the position where a segment is left at the mark, since a later
 * stream does not read them again; in a FALLBACK segment, all. */
static void take_impossible(struct event_stream *stream)
{
    struct segment_sources *sources = &stream->sources;

    for (size_t i = 0; !sources->lost && i < stream->n_heap; i++) {
        struct segment_source *source = stream->heap[i].source;
        if (source->n_reported && !source->items)
            segment_source_take_impossible(sources, source);
    }
}

/* True if no event up to the mark is left. There may be later ones. */
static bool is_at_mark(const struct event_stream *stream)
{
    return stream->mark != UINT64_MAX
           && (stream->n_heap == 0 || stream->heap[0].key >> 1 > stream->mark);
}

enum found {
    FOUND_NOTHING,
    FOUND_ROOT,
    FOUND_LOSS
};

/* Determines what comes next; negative on failure. */
static int find_next(struct event_stream *stream, struct error *err)
{
    struct segment_sources *sources = &stream->sources;

    stream->bound = 0;
    while (!sources->lost && is_next_due(stream)) {
        int r = open_next(stream, err);
        if (r != 0)
            return r;
    }
    if (is_at_mark(stream))
        take_impossible(stream);
    if (sources->lost && is_for_good(stream)) {
        sources->n_lost_parts++;
        return FOUND_LOSS;
    }
    if (is_at_mark(stream)) {
        int r = stop(stream, err);
        return r ? r : FOUND_NOTHING;
    }
    if (sources->lost)
        return FOUND_LOSS;
    if (stream->n_heap == 0) {
        finish(stream);
        return FOUND_NOTHING;
    }
    while (stream->heap[0].source->is_at_first)
        keep_own_order(stream);
    if (stream->heap[0].source->time < stream->reported_mark
        && stream->last_time < stream->reported_mark)
        stream->last_time = stream->reported_mark;
    stream->bound = find_bound(stream);
    return FOUND_ROOT;
}

static int next(struct event_stream *stream, struct event *ret_event, struct error *err)
{
    if (mtrace_unlikely(stream->bound == 0 || stream->sources.lost)) {
        if (stream->heaptrack)
            return heaptrack_events_next(stream->heaptrack, ret_event, err);
        int found = find_next(stream, err);
        if (found == FOUND_LOSS)
            emit_loss(stream, ret_event);
        if (found != FOUND_ROOT)
            return found == FOUND_LOSS ? 1 : found;
    }
    struct segment_source *source = stream->heap[0].source;
    emit(stream, source, ret_event);
    int r = settle_root(stream, segment_source_advance(&stream->sources, source), err);
    return r ? r : 1;
}

/* No event with a key below this is after the end in the set's options. */
static uint64_t bound_of_end(const struct event_stream *stream)
{
    uint64_t until_ns = stream->sources.set->until_ns;

    return until_ns == 0 || until_ns >= UINT64_MAX >> (CLOCK_MAP_FRACTION_BITS + 1)
               ? UINT64_MAX
               : (until_ns + 1) << (CLOCK_MAP_FRACTION_BITS + 1);
}

/* Takes plain events as long as nothing interrupts them. */
static int take_plain(struct event_stream *stream, struct event *events, size_t most, size_t *ret_n,
                      struct error *err)
{
    struct plain_run run = {.bound = lesser(stream->bound, bound_of_end(stream)),
                            .last_time = stream->last_time,
                            .most = most};

    *ret_n = 0;
    if (stream->bound == 0 || stream->is_cut || stream->sources.lost
        || stream->heap[0].key >= run.bound)
        return 0;
    struct segment_source *source = stream->heap[0].source;
    segment_source_take_run(&stream->sources, source, &run, events);
    stream->last_time = run.last_time;
    *ret_n = run.n;
    if (run.n == 0)
        return 0;
    return settle_root(stream, run.is_at_next || segment_source_advance(&stream->sources, source),
                       err);
}

/* Is this event the requested end? */
static bool is_end(const struct log_set *set, const struct event *event)
{
    return set->until_marker && event->kind == EVENT_MARKER && event->text
           && (event->time_ns ? event->time_ns : 1) == set->until_ns
           && strcmp(event->text, set->until_marker) == 0;
}

static MTRACE_COLD void cut(struct event_stream *stream, bool is_at_end)
{
    stream->is_cut = true;
    if (stream->sources.state)
        stream->sources.state->is_cut = is_at_end;
    finish(stream);
}

int event_stream_next(struct event_stream *stream, struct event *ret_event, struct error *err)
{
    int r = stream->is_cut ? 0 : next(stream, ret_event, err);

    if (r <= 0)
        return r;
    bool is_too_late = log_set_is_after_end(stream->sources.set, ret_event->time_ns);

    bool is_at_end = !is_too_late && is_end(stream->sources.set, ret_event);

    if (is_too_late || is_at_end)
        cut(stream, is_at_end || !stream->sources.set->until_marker);
    return is_too_late ? 0 : r;
}

int event_stream_take(struct event_stream *stream, struct event *events, size_t most, size_t *ret_n,
                      struct error *err)
{
    int more = 1;

    *ret_n = 0;
    while (more > 0 && *ret_n < most) {
        size_t n;
        int r = take_plain(stream, events + *ret_n, most - *ret_n, &n, err);
        *ret_n += n;
        if (r != 0)
            return r;
        if (*ret_n == most)
            break;
        more = event_stream_next(stream, &events[*ret_n], err);
        *ret_n += more > 0;
    }
    return more;
}

int event_stream_open(struct log_set *set, struct event_stream **ret, struct error *err)
{
    return event_stream_resume(set, NULL, UINT64_MAX, ret, err);
}

int event_stream_resume(struct log_set *set, struct stream_state *state, uint64_t mark,
                        struct event_stream **ret, struct error *err)
{
    struct event_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream)
        return error_set(err, ERROR_NOMEM, "out of memory");
    stream->sources.set = set;
    stream->sources.state = state;
    stream->mark = mark;
    if (state) {
        stream->reported_mark = state->has_begun ? state->mark : 0;
        stream->last_time = state->last_time;
        stream->sources.claimed_bytes = state->claimed_bytes;
        stream->sources.n_lost_nodes = state->n_lost_nodes;
        stream->sources.n_backward = state->n_backward;
        stream->sources.n_lost_parts = state->n_lost_parts;
        stream->sources.lost_bytes = state->lost_bytes;
        stream->sources.n_unknown = state->n_unknown;
        stream->sources.n_impossible = state->n_impossible;
    }
    stream->next_due = set->n_order > 0 ? set->order[0].first_time : UINT64_MAX;
    stream->sources.damage = &stream->ignored;
    if (!set->is_damage_complete) {
        set->damage = set->opening_damage;
        stream->sources.damage = &set->damage;
    }
    r = set->heaptrack ? heaptrack_events_open(set->heaptrack, &stream->heaptrack, err)
                       : read_ahead_open(set, &stream->sources.ahead, err);
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
        struct segment_source *next = stream->spare->next;
        free(stream->spare);
        stream->spare = next;
    }
    if (stream->heaptrack)
        heaptrack_events_close(stream->heaptrack);
    else
        read_ahead_close(stream->sources.ahead);
    free(stream->heap);
    free(stream);
}
