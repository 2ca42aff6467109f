/* SPDX-License-Identifier: MIT */
/* The second pass: allocations and frees, with generated times and addresses. */
#include "importer/read/heaptrack_reader.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>

enum {
    /* Generated addresses of blocks are multiples of it; none is 8. */
    ADDRESS_STEP = 16,
    NOT_LIVE_ADDRESS = 8,
    LAST_BATCH_NS = 1000000, /* events after the last clock line */
};

struct heaptrack_events {
    struct heaptrack_reader *reader;
    struct heaptrack_text text;
    struct heaptrack_grammar grammar;
    uint64_t n_events;
    uint64_t last_ns; /* time of the previous event; 0 before the first */
    size_t next_instant;
    uint32_t *youngest; /* by info: number of its newest live block, 0 none */
    uint32_t *older;    /* by block: the next older one of its info, or the next unused block */
    size_t older_capacity;
    uint32_t n_blocks, first_unused;
    uint64_t claimed_bytes; /* of all events so far: EV-6 */
};

int heaptrack_events_open(struct heaptrack_reader *reader, struct heaptrack_events **ret,
                          struct error *err)
{
    struct heaptrack_events *events = calloc(1, sizeof(*events));
    int r;

    if (!events)
        return error_set(err, ERROR_NOMEM, "out of memory");
    events->reader = reader;
    events->youngest = calloc((size_t)reader->grammar.n_infos + 1, sizeof(*events->youngest));
    r = heaptrack_text_open(reader->path, &events->text, err);
    if (r == 0 && !events->youngest)
        r = error_set(err, ERROR_NOMEM, "out of memory");
    if (r != 0) {
        heaptrack_events_close(events);
        return r;
    }
    *ret = events;
    return 0;
}

void heaptrack_events_close(struct heaptrack_events *events)
{
    if (!events)
        return;
    heaptrack_text_close(&events->text);
    free(events->youngest);
    free(events->older);
    free(events);
}

/* Spreads events evenly between the clock lines around them, each at least 1 ns later, so that a
 * peak between two events of one ms is visible. */
static uint64_t next_time(struct heaptrack_events *events)
{
    const struct heaptrack_reader *reader = events->reader;
    const struct heaptrack_instant *instants = reader->instants;
    size_t at = events->next_instant;
    uint64_t first;
    uint64_t first_ns;
    uint64_t n;
    uint64_t length_ns;
    uint64_t ns;

    while (at < reader->n_instants && instants[at].n_events <= events->n_events)
        at++;
    events->next_instant = at;
    first = at > 0 ? instants[at - 1].n_events : 0;
    first_ns = at > 0 ? instants[at - 1].ns : 0;
    n = (at < reader->n_instants ? instants[at].n_events : reader->n_events) - first;
    length_ns = at < reader->n_instants ? instants[at].ns - first_ns : LAST_BATCH_NS;
    ns = first_ns
         + (uint64_t)((double)length_ns * (double)(events->n_events - first) / (double)(n ? n : 1));
    if (events->n_events > 0 && ns <= events->last_ns)
        ns = events->last_ns + 1;
    events->n_events++;
    return events->last_ns = ns;
}

static uint32_t node_of(const struct heaptrack_events *events, uint64_t trace)
{
    uint32_t backtrace = 0;

    if (trace == 0)
        return DEFINITIONS_NO_BACKTRACE;
    if (trace < UINT32_MAX / 2)
        backtrace = log_names_backtrace(&events->reader->input->names,
                                        (uint32_t)trace + LOG_NODE_FIRST - 1);
    return backtrace ? backtrace : DEFINITIONS_LOST_BACKTRACE;
}

/* A number for a new block of an info, 0 without memory. */
static uint32_t push_block(struct heaptrack_events *events, uint32_t info)
{
    uint32_t block = events->first_unused;

    if (block != 0) {
        events->first_unused = events->older[block];
    } else {
        uint32_t *older = dynamic_array_reserve(events->older, &events->older_capacity,
                                                (size_t)events->n_blocks + 2, sizeof(*older));
        if (!older)
            return 0;
        events->older = older;
        block = ++events->n_blocks;
    }
    events->older[block] = events->youngest[info];
    events->youngest[info] = block;
    return block;
}

/* Frees the newest block of an info; 0: none is live. */
static uint32_t pop_block(struct heaptrack_events *events, uint32_t info)
{
    uint32_t block = events->youngest[info];

    if (block == 0)
        return 0;
    events->youngest[info] = events->older[block];
    events->older[block] = events->first_unused;
    events->first_unused = block;
    return block;
}

/* EV-6. A block beyond the sum becomes one of 0 bytes, since frees are identified by number. */
static uint64_t size_within_sum(struct heaptrack_events *events, uint64_t size)
{
    if (size > EVENT_MAX_SUM - events->claimed_bytes)
        return 0;
    events->claimed_bytes += size;
    return size;
}

static int fill_by_info(struct heaptrack_events *events, const struct heaptrack_line *line,
                        struct event *ret, struct error *err)
{
    const struct heaptrack_info *info = &events->reader->infos[line->info];
    uint32_t block;

    if (line->kind == HEAPTRACK_FREE) {
        block = pop_block(events, line->info);
        ret->address = block ? (uint64_t)block * ADDRESS_STEP : NOT_LIVE_ADDRESS;
        return 0;
    }
    block = push_block(events, line->info);
    if (block == 0)
        return error_set(err, ERROR_NOMEM, "out of memory");
    ret->address = (uint64_t)block * ADDRESS_STEP;
    ret->size = size_within_sum(events, info->size);
    ret->backtrace = node_of(events, info->trace);
    return 0;
}

static int fill(struct heaptrack_events *events, const struct heaptrack_line *line,
                struct event *ret, struct error *err)
{
    *ret = (struct event){.time_ns = next_time(events),
                          .process = 1,
                          .thread = events->reader->input->names.unknown_thread,
                          .backtrace = DEFINITIONS_NO_BACKTRACE,
                          .kind = line->kind == HEAPTRACK_ALLOC ? EVENT_ALLOC : EVENT_FREE,
                          .call = line->kind == HEAPTRACK_ALLOC ? EVENT_CALL_UNKNOWN : 0};
    if (!heaptrack_grammar_has_addresses(&events->grammar))
        return fill_by_info(events, line, ret, err);
    ret->address = line->c;
    if (line->kind == HEAPTRACK_FREE)
        return 0;
    ret->size = size_within_sum(events, line->a);
    ret->backtrace = node_of(events, line->b);
    return 0;
}

int heaptrack_events_next(struct heaptrack_events *events, struct event *ret, struct error *err)
{
    struct heaptrack_line line;
    char *bytes;
    size_t n_bytes;
    int more;

    while ((more = heaptrack_text_next(&events->text, &bytes, &n_bytes, err)) == 1) {
        /* If the file changed between the passes, the tables must not be exceeded. */
        if (events->n_events == events->reader->n_events)
            return 0;
        heaptrack_line_parse(&events->grammar, bytes, n_bytes, &line);
        if (line.is_bad || (line.kind != HEAPTRACK_ALLOC && line.kind != HEAPTRACK_FREE)
            || line.info > events->reader->grammar.n_infos)
            continue;
        return fill(events, &line, ret, err) == 0 ? 1 : ERROR_NOMEM;
    }
    return more;
}
