/* SPDX-License-Identifier: MIT */
#include "importer/read/sample_stream.h"

#include "importer/read/log_set.h"

#include <stdlib.h>
#include <string.h>

struct sample_cursor {
    struct log_sample *samples; /* of one frame; NULL after the last */
    size_t n_samples, at;
    size_t next_frame;
    uint64_t last_ns, n_at; /* as struct sample_place */
};

struct sample_stream {
    struct log_set *set;
    struct pack *pack;
    struct sample_cursor *cursors; /* by process - 1 */
};

static int keep(struct sample_cursor *cursor, const struct log_sample *samples, size_t n,
                struct error *err)
{
    if (n == 0)
        return 0;
    cursor->samples = malloc(n * sizeof *samples);
    if (!cursor->samples)
        return error_set(err, ERROR_NOMEM, "out of memory for samples");
    memcpy(cursor->samples, samples, n * sizeof *samples);
    cursor->n_samples = n;
    return 0;
}

/* The samples of a heaptrack recording are one frame, already in memory. */
static int copy_heaptrack(struct sample_stream *stream, struct error *err)
{
    size_t n;
    const struct log_sample *samples = heaptrack_reader_samples(stream->set->heaptrack, &n);

    return keep(&stream->cursors[0], samples, n, err);
}

/* Loads the next readable frame. */
static int next_frame(struct sample_stream *stream, uint32_t process, struct error *err)
{
    static _Thread_local struct log_sample
        samples[PACK_PAYLOAD_MAX_BYTES / sizeof(struct log_sample) + 1];
    struct sample_cursor *cursor = &stream->cursors[process - 1];
    const struct log_input *input = stream->set->inputs[process - 1];

    free(cursor->samples);
    cursor->samples = NULL;
    cursor->n_samples = cursor->at = 0;
    while (!cursor->samples && cursor->next_frame < input->n_samples) {
        size_t n = 0;
        int r = log_input_read_samples(input, cursor->next_frame++, stream->pack, samples, &n, err);
        if (r == ERROR_FORMAT)
            continue;
        if (r == 0)
            r = keep(cursor, samples, n, err);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Counts a sample as handed out. */
static void count_reported(struct sample_cursor *cursor, const struct log_sample *sample)
{
    cursor->n_at = sample->monotonic_ns == cursor->last_ns ? cursor->n_at + 1 : 1;
    cursor->last_ns = sample->monotonic_ns;
}

static int skip_reported(struct sample_stream *stream, uint32_t process,
                         const struct sample_place *place, struct error *err)
{
    struct sample_cursor *cursor = &stream->cursors[process - 1];
    uint64_t n_at = place->n_at;
    int r = next_frame(stream, process, err);

    while (r == 0 && cursor->samples) {
        uint64_t ns = cursor->samples[cursor->at].monotonic_ns;
        if (ns > place->last_ns || (ns == place->last_ns && n_at-- == 0))
            return 0;
        if (++cursor->at == cursor->n_samples)
            r = next_frame(stream, process, err);
    }
    return r;
}

/* Goes to the first sample that an earlier stream did not hand out. */
static int go_to(struct sample_stream *stream, uint32_t process, const struct sample_place *place,
                 struct error *err)
{
    struct sample_cursor *cursor = &stream->cursors[process - 1];
    int r;

    if (place) {
        cursor->last_ns = place->last_ns;
        cursor->n_at = place->n_at;
    }
    if (place && place->is_by_time)
        return skip_reported(stream, process, place, err);
    cursor->next_frame = place ? place->frame : 0;
    r = next_frame(stream, process, err);
    if (r != 0 || !place || !cursor->samples)
        return r;
    if (cursor->next_frame - 1 == place->frame)
        cursor->at = place->at;
    return cursor->at < cursor->n_samples ? 0 : next_frame(stream, process, err);
}

struct sample_place sample_stream_place(const struct sample_stream *stream, uint32_t process)
{
    const struct sample_cursor *cursor = &stream->cursors[process - 1];

    return (struct sample_place){.frame =
                                     cursor->samples ? cursor->next_frame - 1 : cursor->next_frame,
                                 .at = cursor->samples ? cursor->at : 0,
                                 .last_ns = cursor->last_ns,
                                 .n_at = cursor->n_at};
}

int sample_stream_open(struct log_set *set, const struct sample_place *from,
                       struct sample_stream **ret, struct error *err)
{
    struct sample_stream *stream = calloc(1, sizeof *stream);
    int r = 0;

    if (stream) {
        stream->set = set;
        stream->pack = pack_new();
        stream->cursors = calloc(set->n_inputs + 1, sizeof *stream->cursors);
    }
    if (!stream || !stream->pack || !stream->cursors)
        r = error_set(err, ERROR_NOMEM, "out of memory for samples");
    for (uint32_t process = 1; r == 0 && process <= set->n_inputs; process++)
        r = go_to(stream, process, from ? &from[process - 1] : NULL, err);
    if (r == 0 && set->heaptrack)
        r = copy_heaptrack(stream, err);
    if (r != 0) {
        sample_stream_close(stream);
        return r;
    }
    *ret = stream;
    return 0;
}

void sample_stream_close(struct sample_stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; stream->cursors && i < stream->set->n_inputs; i++)
        free(stream->cursors[i].samples);
    free(stream->cursors);
    pack_free(stream->pack);
    free(stream);
}

static uint64_t time_of(const struct sample_stream *stream, const struct log_sample *sample)
{
    uint64_t origin_ns = stream->set->origin_ns;

    return sample->monotonic_ns > origin_ns ? sample->monotonic_ns - origin_ns : 0;
}

/* The next sample is after the requested end, and so are all later ones. */
static bool is_cut(const struct sample_stream *stream, const struct sample_cursor *cursor)
{
    return log_set_is_after_end(stream->set, time_of(stream, &cursor->samples[cursor->at]));
}

uint64_t sample_stream_time(const struct sample_stream *stream, uint32_t process)
{
    const struct sample_cursor *cursor = &stream->cursors[process - 1];

    return cursor->samples && !is_cut(stream, cursor)
               ? time_of(stream, &cursor->samples[cursor->at])
               : UINT64_MAX;
}

/* Known kinds, with numbers that a kernel can report. */
static bool is_possible(const struct log_sample *sample)
{
    switch (sample->kind) {
    case LOG_SAMPLE_MEMORY:
        return sample->a <= EVENT_MAX_SUM && (sample->b <= EVENT_MAX_SUM || sample->b == UINT64_MAX)
               && (sample->c <= EVENT_MAX_SUM || sample->c == UINT64_MAX);
    case LOG_SAMPLE_OWN:
        return sample->a <= EVENT_MAX_SUM && sample->b <= EVENT_MAX_SUM;
    case LOG_SAMPLE_PARTS:
        return sample->a <= EVENT_MAX_SUM && sample->b <= EVENT_MAX_SUM
               && sample->c <= EVENT_MAX_SUM;
    case LOG_SAMPLE_HEAP:
    case LOG_SAMPLE_MAPPING:
    case LOG_SAMPLE_PRIVATE:
    case LOG_SAMPLE_MODULE_DATA:
    case LOG_SAMPLE_NOT_DUMPED:
        return sample->a <= sample->b && sample->b <= UINT64_C(1) << LOG_ADDRESS_BITS
               && sample->c <= EVENT_MAX_SUM;
    default:
        return false;
    }
}

int sample_stream_read(struct sample_stream *stream, uint32_t process, uint64_t until_ns,
                       sample_fn *on_sample, void *context, struct error *err)
{
    struct sample_cursor *cursor = &stream->cursors[process - 1];
    int r = 0;

    while (r == 0 && cursor->samples && !is_cut(stream, cursor)
           && sample_stream_time(stream, process) <= until_ns) {
        const struct log_sample *from = &cursor->samples[cursor->at++];
        struct sample sample = {.process = process,
                                .time_ns = time_of(stream, from),
                                .kind = (enum log_sample_kind)from->kind,
                                .a = from->a,
                                .b = from->b,
                                .c = from->c};
        count_reported(cursor, from);
        if (is_possible(from))
            r = on_sample(context, &sample);
        if (r == 0 && cursor->at == cursor->n_samples)
            r = next_frame(stream, process, err);
    }
    return r;
}
