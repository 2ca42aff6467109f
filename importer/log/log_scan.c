/* SPDX-License-Identifier: MIT */
#include "importer/log/log_scan.h"

#include "lib/base/dynamic_array.h"
#include "lib/logfile/columns.h"
#include "lib/logfile/log_header.h"

#include <stdlib.h>
#include <string.h>

enum {
    RESYNC_BYTES = 1 << 16
};

void log_segment_list_done(struct log_segment_list *list)
{
    free(list->refs);
    memset(list, 0, sizeof(*list));
}

static int append_ref(struct log_segment_list *list, const struct log_segment_ref *ref,
                      struct error *err)
{
    struct log_segment_ref *refs =
        dynamic_array_reserve(list->refs, &list->capacity, list->n + 1, sizeof(*refs));

    if (!refs)
        return error_set(err, ERROR_NOMEM, "out of memory");
    list->refs = refs;
    list->refs[list->n++] = *ref;
    return 0;
}

static bool is_zero(const void *bytes, size_t n)
{
    const char *p = bytes;
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Payload bytes of a raw segment that are written according to its header. */
static uint32_t written_bytes(const struct log_segment *segment)
{
    uint32_t n = LOG_SEGMENT_PAYLOAD_BYTES;

    if (segment->kind == LOG_SEGMENT_EVENTS)
        n = segment->committed_bytes;
    else if (segment->kind != LOG_SEGMENT_NODES)
        n = segment->reserved_bytes;
    return n < LOG_SEGMENT_PAYLOAD_BYTES ? n & ~7u : LOG_SEGMENT_PAYLOAD_BYTES;
}

static bool is_sound(const struct log_segment *segment, uint64_t run_id)
{
    return segment->run_id == run_id && segment->sequence != 0
           && segment->kind >= LOG_SEGMENT_EVENTS && segment->kind <= LOG_SEGMENT_NODES
           && segment->state <= LOG_STATE_PACKED
           && (segment->kind != LOG_SEGMENT_EVENTS
               || segment->committed_bytes <= LOG_SEGMENT_PAYLOAD_BYTES);
}

static struct log_segment_ref make_ref(const struct log_segment *segment, uint64_t offset)
{
    return (struct log_segment_ref){.sequence = segment->sequence,
                                    .offset = offset,
                                    .base_ticks = segment->base_ticks,
                                    .first_node = segment->first_node,
                                    .thread = segment->thread,
                                    .kind = (uint8_t)segment->kind,
                                    .is_filling = segment->state == LOG_STATE_FILLING,
                                    .is_complete = segment->kind == LOG_SEGMENT_EVENTS
                                                   && (segment->state == LOG_STATE_SEALED
                                                       || segment->state == LOG_STATE_PACKED)};
}

static int add_segment(struct log_scan *scan, const struct log_segment *segment,
                       const struct log_segment_ref *ref, struct error *err)
{
    if (clock_map_add(scan->clock, segment->base_ticks, segment->base_monotonic_ns) != 0)
        return error_set(err, ERROR_NOMEM, "out of memory");
    return ref->raw_bytes > 0 ? append_ref(&scan->list, ref, err) : 0;
}

static bool is_wanted(const struct log_scan *scan, const struct log_segment *segment)
{
    bool is_event = segment->kind == LOG_SEGMENT_EVENTS || segment->kind == LOG_SEGMENT_FALLBACK;

    if (!is_event)
        return scan->part != LOG_SCAN_EVENTS;
    return scan->part != LOG_SCAN_DEFINITIONS
           && (scan->end_sequence == 0 || segment->sequence < scan->end_sequence);
}

static int scan_raw_segment(struct log_scan *scan, struct log_file_reader *file, uint64_t offset,
                            const struct log_segment *segment, struct error *err)
{
    struct log_segment_ref ref = make_ref(segment, offset);
    uint64_t left = file->size_bytes - offset - LOG_SEGMENT_HEADER_BYTES;

    if (segment->sequence == 0)
        return 0; /* reserved, never used */
    if (!is_sound(segment, file->header.run_id)) {
        if (scan->part != LOG_SCAN_DEFINITIONS)
            log_damage_add(scan->damage, LOG_DAMAGE_HEADER, file->path, offset, LOG_SEGMENT_BYTES,
                           "segment header makes no sense");
        return 0;
    }
    if (!is_wanted(scan, segment))
        return 0;
    if (scan->is_bounded && (segment->state == LOG_STATE_FREE || segment->state == LOG_STATE_PACKED)
        && (segment->kind == LOG_SEGMENT_EVENTS || segment->kind == LOG_SEGMENT_FALLBACK))
        return 0; /* no spare: the packed copy may have been imported and removed long ago */
    ref.raw_bytes = written_bytes(segment);
    if (ref.raw_bytes > left) {
        log_damage_add(scan->damage, LOG_DAMAGE_TRUNCATED, file->path, file->size_bytes,
                       ref.raw_bytes - left, "file ends inside a segment");
        ref.raw_bytes = (uint32_t)left & ~7u;
    }
    ref.file_bytes = ref.raw_bytes;
    return add_segment(scan, segment, &ref, err);
}

static int scan_raw(struct log_scan *scan, struct log_file_reader *file, struct error *err)
{
    uint64_t announced_bytes =
        LOG_FILE_HEADER_BYTES + (uint64_t)file->header.n_segments * LOG_SEGMENT_BYTES;
    uint64_t offset = LOG_FILE_HEADER_BYTES;
    struct log_segment segment;
    size_t n;

    for (; offset < file->size_bytes; offset += LOG_SEGMENT_BYTES) {
        int r = log_file_read_at(file, &segment, sizeof(segment), offset, &n, err);
        if (r == 0 && n < sizeof(segment))
            break;
        if (r == 0 && !is_zero(&segment, sizeof(segment)))
            r = scan_raw_segment(scan, file, offset, &segment, err);
        if (r != 0)
            return r;
    }
    if (announced_bytes > file->size_bytes && scan->part != LOG_SCAN_DEFINITIONS)
        log_damage_add(scan->damage, LOG_DAMAGE_TRUNCATED, file->path, file->size_bytes,
                       announced_bytes - file->size_bytes, "file ends before its last segment");
    return 0;
}

static int add_samples(struct log_file_reader *file, uint64_t offset, struct error *err)
{
    uint64_t *samples = dynamic_array_reserve(file->samples, &file->samples_capacity,
                                              file->n_samples + 1, sizeof(*samples));

    if (!samples)
        return error_set(err, ERROR_NOMEM, "out of memory");
    file->samples = samples;
    file->samples[file->n_samples++] = offset;
    return 0;
}

/* Compares the fields that never change. */
static bool is_later_copy(const struct log_header *trailer, const struct log_header *header)
{
    return trailer->version == header->version && trailer->form == header->form
           && trailer->arch == header->arch && trailer->word_bytes == header->word_bytes
           && trailer->byte_order == header->byte_order
           && trailer->segment_bytes == header->segment_bytes && trailer->clock == header->clock
           && trailer->run_id == header->run_id;
}

/* The trailer is a later copy of the checked header; that of another log is damage. */
static int take_trailer(struct log_scan *scan, struct log_file_reader *file, uint64_t offset,
                        struct error *err)
{
    static _Thread_local uint64_t payload[PACK_PAYLOAD_MAX_BYTES / sizeof(uint64_t)];
    const struct log_header *trailer = (const struct log_header *)payload;
    struct log_segment_ref ref = {
        .offset = offset, .is_packed = true, .raw_bytes = sizeof(*trailer)};
    int r = log_file_read(file, &ref, scan->pack, payload, err);

    if (r != 0 && r != ERROR_FORMAT)
        return r;
    if (r == ERROR_FORMAT || !is_later_copy(trailer, &file->header)) {
        log_damage_add(scan->damage, LOG_DAMAGE_CHECKSUM, file->path, offset, sizeof(*trailer),
                       "trailer cannot be read");
        return 0;
    }
    memcpy(&file->header, trailer, sizeof(*trailer));
    file->has_trailer = true;
    return 0;
}

/* All event segments are packed with the same time shift. */
static int learn_time_shift(struct log_scan *scan, struct log_file_reader *file, uint64_t offset,
                            const struct log_frame *frame, struct error *err)
{
    uint8_t first = 0;
    size_t n = 0;
    int r = 0;

    if (frame->codec == LOG_CODEC_COLUMNS)
        r = log_file_read_at(file, &first, sizeof first, offset + sizeof *frame, &n, err);
    scan->time_shift = first <= COLUMNS_MAX_TIME_SHIFT ? first : 0;
    scan->has_time_shift = true;
    return r;
}

static int scan_frame(struct log_scan *scan, struct log_file_reader *file, uint64_t offset,
                      const struct log_frame *frame, struct error *err)
{
    struct log_segment_ref ref = make_ref(&frame->segment, offset);

    if (frame->kind == LOG_FRAME_SAMPLES)
        return add_samples(file, offset, err);
    if (frame->kind == LOG_FRAME_TRAILER)
        return take_trailer(scan, file, offset, err);
    if (frame->kind != LOG_FRAME_SEGMENT) {
        log_damage_add(scan->damage, LOG_DAMAGE_UNKNOWN, file->path, offset, 0,
                       "frame of an unknown kind");
        return 0;
    }
    ref.is_packed = ref.is_complete = true;
    ref.is_filling = false;
    ref.raw_bytes = frame->raw_bytes & ~7u;
    ref.file_bytes = (uint32_t)pack_frame_bytes(frame);
    ref.first_byte = frame->first_byte;
    ref.n_events = frame->n_events > LOG_SEGMENT_BYTES ? 0 : (uint32_t)frame->n_events;
    if (!is_sound(&frame->segment, file->header.run_id) || frame->first_byte % 8 != 0
        || (uint64_t)frame->first_byte + frame->raw_bytes > LOG_SEGMENT_PAYLOAD_BYTES) {
        log_damage_add(scan->damage, LOG_DAMAGE_HEADER, file->path, offset, pack_frame_bytes(frame),
                       "segment header of a frame makes no sense");
        return 0;
    }
    if (frame->segment.kind == LOG_SEGMENT_EVENTS && !scan->has_time_shift) {
        int r = learn_time_shift(scan, file, offset, frame, err);
        if (r != 0)
            return r;
    }
    return add_segment(scan, &frame->segment, &ref, err);
}

/* Finds the next valid frame header after a broken one, or the end of the file. */
static int resync(struct log_file_reader *file, uint64_t offset, uint64_t *ret_offset,
                  struct error *err)
{
    static _Thread_local uint64_t window[RESYNC_BYTES / sizeof(uint64_t)];
    struct log_frame frame;
    size_t n;

    for (;;) {
        int r = log_file_read_at(file, window, sizeof(window), offset, &n, err);
        *ret_offset = file->size_bytes;
        if (r != 0 || n < sizeof(frame))
            return r;
        for (size_t i = 0; i + sizeof(frame) <= n; i += 8) {
            memcpy(&frame, (const char *)window + i, sizeof(frame));
            if (frame.magic != LOG_FRAME_MAGIC || pack_check_header(&frame, 0, NULL) != 0)
                continue;
            *ret_offset = offset + i;
            return 0;
        }
        offset += (n - sizeof(frame) + 8) & ~(size_t)7;
    }
}

static int skip_damage(struct log_scan *scan, struct log_file_reader *file, uint64_t *offset,
                       struct error *err)
{
    uint64_t next;
    int r = resync(file, *offset + 8, &next, err);

    if (r == 0)
        log_damage_add(scan->damage, LOG_DAMAGE_HEADER, file->path, *offset, next - *offset,
                       "frame header does not match its checksum");
    *offset = next;
    return r;
}

static int check_not_rotated(struct log_file_reader *file, struct error *err)
{
    char mark[sizeof(LOG_ROTATED_MAGIC) - 1];
    size_t n;
    int r = log_file_read_at(file, mark, sizeof(mark), LOG_FILE_HEADER_BYTES, &n, err);

    if (r != 0 || !log_header_is_rotated(mark, n))
        return r;
    return error_set(err, ERROR_FORMAT,
                     "'%s' was recorded with --no-local: its events are at the receiver, or wait "
                     "to be sent by 'mtrace-record --send'; import the log there",
                     file->path);
}

/* Is the frame's segment certainly still in the live log? An earlier segment may have been replaced
 * there. */
static bool is_in_pool(const struct log_scan *scan, const struct log_frame *frame)
{
    const struct log_segment *segment = &frame->segment;
    const bool is_definition =
        segment->kind == LOG_SEGMENT_DEFS || segment->kind == LOG_SEGMENT_NODES;

    for (size_t i = 0; i < scan->list.n; i++) {
        const struct log_segment_ref *ref = &scan->list.refs[i];

        if (!ref->is_packed && ref->sequence == segment->sequence && ref->kind == segment->kind
            && (!is_definition || ref->raw_bytes >= (uint64_t)frame->first_byte + frame->raw_bytes))
            return true;
    }
    return false;
}

/* n_bytes: of its header that exist. A torn frame of samples or of the trailer is no damage:
 * nothing else refers to it. */
static bool is_lost(const struct log_scan *scan, const struct log_frame *frame, size_t n_bytes)
{
    bool is_segment = n_bytes == sizeof(*frame) && frame->kind == LOG_FRAME_SEGMENT;

    return !scan->has_live_log || (is_segment && !is_in_pool(scan, frame));
}

static int scan_packed(struct log_scan *scan, struct log_file_reader *file, struct error *err)
{
    uint64_t offset = LOG_FILE_HEADER_BYTES;
    struct log_frame frame;
    size_t n;

    file->scanned_bytes = offset;
    if (offset < file->size_bytes) {
        int r = check_not_rotated(file, err);
        if (r != 0)
            return r;
    }
    while (offset < file->size_bytes) {
        int r = log_file_read_at(file, &frame, sizeof(frame), offset, &n, err);
        uint64_t left = file->size_bytes - offset;
        if (r != 0)
            return r;
        if (n == sizeof(frame) && pack_check_header(&frame, (int64_t)offset, NULL) != 0) {
            r = skip_damage(scan, file, &offset, err);
            if (r != 0)
                return r;
            continue;
        }
        file->scanned_bytes = offset;
        if (n < sizeof(frame) || sizeof(frame) + frame.payload_bytes > left) {
            /* the rest of a growing file comes later */
            if (!scan->is_growing && is_lost(scan, &frame, n))
                log_damage_add(scan->damage, LOG_DAMAGE_TRUNCATED, file->path, offset, left,
                               "file ends inside a frame");
            return 0;
        }
        r = scan_frame(scan, file, offset, &frame, err);
        if (r != 0)
            return r;
        offset += pack_frame_bytes(&frame);
        file->scanned_bytes = offset;
    }
    return 0;
}

int log_scan_grown(struct log_file_reader *file, struct log_segment_list *list, struct error *err)
{
    struct log_frame frame;
    size_t n;
    int r = log_file_refresh(file, err);

    if (file->scanned_bytes < LOG_FILE_HEADER_BYTES) /* begun since then */
        file->scanned_bytes = LOG_FILE_HEADER_BYTES;
    while (r == 0 && file->scanned_bytes < file->size_bytes) {
        uint64_t offset = file->scanned_bytes;
        r = log_file_read_at(file, &frame, sizeof(frame), offset, &n, err);
        if (r != 0 || n < sizeof(frame) || pack_check_header(&frame, (int64_t)offset, NULL) != 0
            || pack_frame_bytes(&frame) > file->size_bytes - offset)
            break;
        if (frame.kind == LOG_FRAME_SEGMENT && frame.first_byte == 0
            && frame.raw_bytes <= LOG_SEGMENT_PAYLOAD_BYTES
            && is_sound(&frame.segment, file->header.run_id)) {
            struct log_segment_ref ref = make_ref(&frame.segment, offset);
            ref.is_packed = ref.is_complete = true;
            ref.is_filling = false;
            ref.raw_bytes = frame.raw_bytes & ~7u;
            ref.n_events = frame.n_events > LOG_SEGMENT_BYTES ? 0 : (uint32_t)frame.n_events;
            ref.file_bytes = (uint32_t)pack_frame_bytes(&frame);
            r = append_ref(list, &ref, err);
        }
        file->scanned_bytes = offset + pack_frame_bytes(&frame);
    }
    return r;
}

int log_scan_file(struct log_scan *scan, struct log_file_reader *file, struct error *err)
{
    return file->header.form == LOG_FORM_RAW ? scan_raw(scan, file, err)
                                             : scan_packed(scan, file, err);
}
