/* SPDX-License-Identifier: MIT */
#include "importer/log/log_input.h"

#include "importer/log/process_logs.h"
#include "lib/base/dynamic_array.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

/* Path of a log's other file; the caller frees it. */
static char *partner_path(const char *path)
{
    char *partner;

    if (process_logs_is_live(path))
        return process_logs_packed_path(path);
    return asprintf(&partner, "%s%s", path, PROCESS_LOGS_POOL_SUFFIX) < 0 ? NULL : partner;
}

int log_input_add_file(struct log_input *input, struct log_file_reader *file)
{
    struct log_file_reader **files = dynamic_array_reserve(
        input->files, &input->files_capacity, input->n_files + 1, sizeof(*input->files));

    if (!files) {
        log_file_close(file);
        return ERROR_NOMEM;
    }
    input->files = files;
    files[input->n_files++] = file;
    return 0;
}

/* The packed file comes first. A live log of another run is ignored. */
static int add_partner(struct log_input *input, struct log_file_reader *partner)
{
    if (partner->header.run_id != input->files[0]->header.run_id
        || partner->header.form == input->files[0]->header.form) {
        log_file_close(partner);
        return 0;
    }
    if (log_input_add_file(input, partner) != 0)
        return ERROR_NOMEM;
    if (input->files[0]->header.form == LOG_FORM_RAW) {
        input->files[1] = input->files[0];
        input->files[0] = partner;
    }
    return 0;
}

/* Not there, or its recorder has not written the header of the program, which has just begun. */
static bool is_blank(const char *path)
{
    struct log_header header = {.clock = 0};
    int fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, &header, sizeof(header), 0) : 0;

    if (fd >= 0)
        close(fd);
    return n == 0 || (n == sizeof(header) && header.clock == 0 && header.start_ticks == 0);
}

/* One of the two files suffices: a packed file that was cut inside its header, or never begun, is
 * no loss if the live log exists. */
static int open_files(struct log_input *input, const char *path, struct log_damage_report *damage,
                      struct text_arena *arena, struct error *err)
{
    struct log_file_reader *named = NULL;
    struct log_file_reader *partner = NULL;
    char *other = partner_path(path);
    bool was_blank = is_blank(path);
    int r;

    if (!other)
        return out_of_memory(err);
    r = log_file_open(path, arena, &named, err);
    if (log_file_open(other, arena, &partner, NULL) != 0)
        partner = NULL;
    if (r == 0) {
        r = log_input_add_file(input, named);
        if (r == 0 && partner)
            r = add_partner(input, partner);
        else
            log_file_close(partner);
        r = r == 0 ? 0 : out_of_memory(err);
    } else if (partner && (r == ERROR_FORMAT || r == ERROR_IO)) {
        /* No damage: the named file was removed after packing, or is still empty. Then the other
         * file has everything. */
        const char *copy = was_blank ? NULL : text_arena_copy(arena, path, strlen(path));
        if (copy)
            log_damage_add(damage, LOG_DAMAGE_HEADER, copy, 0, 0,
                           "file cannot be used; read the other file of the log");
        r = log_input_add_file(input, partner) == 0 ? 0 : out_of_memory(err);
    } else {
        log_file_close(partner);
    }
    free(other);
    return r;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Counters only grow, and the end is written once. */
static void merge_header(struct log_header *header, const struct log_header *other)
{
    header->flags |= other->flags;
    if (other->last_monotonic_ns > header->last_monotonic_ns) {
        header->last_monotonic_ns = other->last_monotonic_ns;
        header->last_ticks = other->last_ticks;
    }
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        header->dropped[i] = later(header->dropped[i], other->dropped[i]);
    header->n_rotated_logs = (uint32_t)later(header->n_rotated_logs, other->n_rotated_logs);
    if (header->end_kind == LOG_END_UNKNOWN) {
        header->end_kind = other->end_kind;
        header->end_value = other->end_value;
    }
    header->max_rss_bytes = later(header->max_rss_bytes, other->max_rss_bytes);
    if (!header->unseen_allocator[0]) {
        memcpy(header->unseen_allocator, other->unseen_allocator, sizeof(header->unseen_allocator));
        memcpy(header->unseen_why, other->unseen_why, sizeof(header->unseen_why));
    }
    if (!header->embedded_allocator[0])
        memcpy(header->embedded_allocator, other->embedded_allocator,
               sizeof(header->embedded_allocator));
    header->n_children = (uint32_t)later(header->n_children, other->n_children);
    header->n_unreported_modules =
        (uint32_t)later(header->n_unreported_modules, other->n_unreported_modules);
    header->n_deepbound = (uint32_t)later(header->n_deepbound, other->n_deepbound);
    header->n_elsewhere = (uint32_t)later(header->n_elsewhere, other->n_elsewhere);
    header->n_foreign = (uint32_t)later(header->n_foreign, other->n_foreign);
    header->n_pointers = (uint32_t)later(header->n_pointers, other->n_pointers);
    header->unwind_checked = (uint32_t)later(header->unwind_checked, other->unwind_checked);
    header->unwind_mismatches =
        (uint32_t)later(header->unwind_mismatches, other->unwind_mismatches);
}

/* A damaged header may lack the NUL. */
static void end_text(char *text, size_t n_bytes)
{
    text[n_bytes - 1] = '\0';
}

static int scan_file(struct log_input *input, size_t index, struct log_scan *scan,
                     struct error *err)
{
    size_t first = scan->list.n;
    int r = input->n_files > 1 ? log_file_refresh(input->files[index], err) : 0;

    if (r == 0)
        r = log_scan_file(scan, input->files[index], err);
    for (size_t k = first; k < scan->list.n; k++)
        scan->list.refs[k].file = (uint16_t)index;
    return r;
}

/* Number of places where events may be lost. */
static uint64_t n_losses(const struct log_damage_report *damage)
{
    return damage->count[LOG_DAMAGE_TRUNCATED] + damage->count[LOG_DAMAGE_CHECKSUM]
           + damage->count[LOG_DAMAGE_HEADER];
}

static int scan_rotated_log(struct log_input *input, size_t index, struct log_scan *scan,
                            struct error *err)
{
    uint64_t n_before = n_losses(scan->damage);
    uint64_t bytes_before = scan->damage->lost_bytes;
    int r = scan_file(input, index, scan, err);

    input->files[index]->n_losses = n_losses(scan->damage) - n_before;
    input->files[index]->lost_bytes = scan->damage->lost_bytes - bytes_before;
    if (r == 0)
        log_grown_rest_rotated(input, index);
    return r;
}

/* Added after all other files; put_live_last moves the live log after them. */
static int add_rotated_logs(struct log_input *input, struct log_scan *scan,
                            struct text_arena *arena, struct error *err)
{
    struct log_rotation ring;
    int r = log_rotation_find(input->files[0]->path, &ring);

    if (r != 0)
        return out_of_memory(err);
    for (size_t i = 0; r == 0 && i < ring.n; i++) {
        bool is_ours;
        r = log_grown_open_rotated(input, ring.numbers[i], arena, &is_ours, err);
        if (r == 0 && is_ours && input->n_files > UINT16_MAX)
            r = error_set(err, ERROR_FORMAT, "'%s' has more than %d parts", input->files[0]->path,
                          UINT16_MAX);
        if (r == 0 && is_ours)
            r = scan_rotated_log(input, input->n_files - 1, scan, err);
        input->n_rotated_logs += r == 0 && is_ours;
    }
    log_rotation_done(&ring);
    return r;
}

static int fail_missing(const char *log_path, char *missing, struct error *err)
{
    int r =
        missing ? error_set(
            err, ERROR_FORMAT,
            "'%s' is missing: '%s' was recorded with --aggregate, and its events are in '%s.gN' "
            "and '%s.state' beside it; all of these must be in one folder; a checkpoint that "
            "cannot be read can be renamed to '%s.state" LOG_ROTATION_UNREADABLE_SUFFIX "'",
            missing, log_path, log_path, log_path, log_path)
                : out_of_memory(err);

    free(missing);
    return r;
}

static bool is_there(char *name)
{
    bool is_it = name && access(name, F_OK) == 0;

    free(name);
    return is_it;
}

/* True also for an unreadable checkpoint that the user renamed: its loss is known. */
static bool has_state_beside(const struct log_file_reader *log)
{
    char *state = process_logs_checkpoint_path(log->path);
    char *fallback = NULL;
    bool has_fallback = state
                        && asprintf(&fallback, "%s" LOG_ROTATION_UNREADABLE_SUFFIX, state) >= 0
                        && is_there(fallback);

    return is_there(state) || is_there(log_rotation_state_name(log->path)) || has_fallback;
}

/* Rotated logs are removed when a checkpoint contains them. If there is no checkpoint and the first
 * rotated log is missing, they were left behind when the log was moved. A log with its end has
 * their number; one without end and live log had some. */
static int check_moved(const struct log_input *input, bool has_live_log, struct error *err)
{
    const struct log_file_reader *log = input->files[0];
    bool has_first = input->n_rotated_logs > 0 && input->files[1]->rotated_number == 1;
    bool had_none = log->header.n_rotated_logs == 0 && log->header.end_kind != LOG_END_UNKNOWN;

    if (has_first || has_live_log || had_none || has_state_beside(log))
        return 0;
    /* the first one is removed only after a checkpoint */
    return fail_missing(log->path,
                        log->header.n_rotated_logs != 1 || input->n_rotated_logs > 0
                            ? process_logs_checkpoint_path(log->path)
                            : log_rotation_name(log->path, 1),
                        err);
}

static uint32_t last_rotated_number(const struct log_input *input)
{
    uint32_t last = input->header.n_rotated_logs;

    if (input->n_rotated_logs && input->files[input->n_rotated_logs]->rotated_number > last)
        last = input->files[input->n_rotated_logs]->rotated_number;
    return last;
}

uint64_t log_input_n_missing(const struct log_input *input, uint32_t first, uint32_t end)
{
    uint32_t next = first ? first : 1;
    uint64_t n = 0;

    for (size_t i = 1; i <= input->n_rotated_logs && next < end; i++) {
        uint32_t number = input->files[i]->rotated_number;
        if (number < next)
            continue;
        n += (number < end ? number : end) - next;
        next = number + 1;
    }
    return n + (next < end ? end - next : 0);
}

static uint32_t first_missing(const struct log_input *input, uint32_t first)
{
    uint32_t next = first ? first : 1;

    for (size_t i = 1; i <= input->n_rotated_logs; i++) {
        if (input->files[i]->rotated_number > next)
            break;
        if (input->files[i]->rotated_number == next)
            next++;
    }
    return next;
}

static void add_losses(struct log_input *input, uint64_t n, uint64_t n_bytes, const char *path,
                       const char *what, struct log_damage_report *damage)
{
    if (n == 0)
        return;
    if (!path)
        path = log_input_path(input);
    log_damage_add(damage, LOG_DAMAGE_MISSING_PART, path, 0, n_bytes, what);
    damage->count[LOG_DAMAGE_MISSING_PART] += n - 1;
    input->has_lost_events = true;
}

/* The checkpoint may contain some of their events, read in the live log before they were packed;
 * which ones is unknown. */
static const char *describe_missing(struct log_input *input, uint64_t n, bool is_there)
{
    const char *status = is_there ? "has no header of this recording" : "is missing";
    char others[48] = "";
    char what[192];

    if (n > 1)
        (void)snprintf(others, sizeof(others), " (and %" PRIu64 " more)", n - 1);
    int length = snprintf(what, sizeof(what),
                          "this rotated log (--aggregate) %s%s; events that only %s had are lost",
                          status, others, n > 1 ? "they" : "it");
    const char *copy = text_arena_copy(input->names.arena, what, (size_t)length);

    return copy ? copy : "rotated logs (--aggregate) are missing";
}

void log_input_check_rotated_logs(struct log_input *input, uint32_t first, uint64_t n_losses_before,
                                  uint64_t lost_bytes, struct log_damage_report *damage)
{
    uint64_t n = log_input_n_missing(input, first, last_rotated_number(input) + 1);
    char *name = n ? log_rotation_name(log_input_path(input), first_missing(input, first)) : NULL;
    const char *path = name ? text_arena_copy(input->names.arena, name, strlen(name)) : NULL;
    const char *what = n ? describe_missing(input, n, name && access(name, F_OK) == 0) : NULL;

    add_losses(input, n_losses_before, lost_bytes, NULL,
               "events were missing or unreadable in rotated logs that were removed later", damage);
    add_losses(input, n, 0, path, what, damage);
    free(name);
}

/* The live log was files[1]. Packed files come before it (LS-2). */
static void put_live_last(struct log_input *input, struct log_scan *scan)
{
    struct log_file_reader *pool = input->files[1];
    size_t last = input->n_files - 1;

    memmove(&input->files[1], &input->files[2], (last - 1) * sizeof(*input->files));
    input->files[last] = pool;
    for (size_t i = 0; i < scan->list.n; i++) {
        struct log_segment_ref *ref = &scan->list.refs[i];
        ref->file = (uint16_t)(ref->file == 0 ? 0 : ref->file == 1 ? last : ref->file - 1u);
    }
}

static int list_samples(struct log_input *input)
{
    for (size_t i = 0; i < input->n_files; i++) {
        const struct log_file_reader *file = input->files[i];
        struct log_samples_ref *samples =
            dynamic_array_reserve(input->samples, &input->samples_capacity,
                                  input->n_samples + file->n_samples + 1, sizeof(*samples));
        if (!samples)
            return ERROR_NOMEM;
        input->samples = samples;
        for (size_t k = 0; k < file->n_samples; k++)
            samples[input->n_samples++] =
                (struct log_samples_ref){.offset = file->samples[k], .file = (uint32_t)i};
    }
    return 0;
}

int log_input_read_samples(const struct log_input *input, size_t index, struct pack *pack,
                           struct log_sample *samples, size_t *ret_n, struct error *err)
{
    const struct log_samples_ref *ref = &input->samples[index];

    return log_file_read_samples(input->files[ref->file], ref->offset, pack, samples, ret_n, err);
}

/* While the program writes, only segments up to the current sequence are listed: for each thread
 * everything up to some time, whatever is filled after the scan passed. Definitions are listed
 * afterwards, so that those of all listed events exist (LF-3). */
static int scan_growing_live_log(struct log_input *input, size_t index, struct log_scan *scan,
                                 struct error *err)
{
    int r = log_grown_begin(input, input->files[index], &scan->end_sequence, err);

    scan->part = LOG_SCAN_EVENTS;
    if (r == 0)
        r = scan_file(input, index, scan, err);
    if (r == 0 && input->n_files > 1)
        r = log_grown_copy(input, &scan->list, scan->pack, err);
    if (r == 0)
        r = log_grown_end(input, input->files[index], err);
    if (r == 0)
        r = log_file_refresh(input->files[index], err);
    scan->part = LOG_SCAN_DEFINITIONS;
    if (r == 0)
        r = scan_file(input, index, scan, err);
    scan->part = LOG_SCAN_ALL;
    return r;
}

static int scan_live(struct log_input *input, size_t index, struct log_scan *scan,
                     struct error *err)
{
    return scan->is_growing ? scan_growing_live_log(input, index, scan, err)
                            : scan_file(input, index, scan, err);
}

static int scan_files(struct log_input *input, struct log_scan *scan, struct text_arena *arena,
                      struct error *err)
{
    const struct log_header *header = &input->files[0]->header;
    bool has_live_log = input->n_files > 1;
    int r = 0;

    clock_map_init(&input->clock, header->clock == LOG_CLOCK_MONOTONIC);
    scan->is_bounded = log_input_is_bounded(input);
    scan->has_live_log = has_live_log;
    input->header.run_id = header->run_id;
    /* The live log first: what the recorder packs in the meantime is in the packed file when that
     * is read. */
    if (has_live_log)
        r = scan_live(input, 1, scan, err);
    if (r == 0 && scan->is_bounded)
        r = add_rotated_logs(input, scan, arena, err);
    if (r == 0)
        r = header->form == LOG_FORM_RAW ? scan_live(input, 0, scan, err)
                                         : scan_file(input, 0, scan, err);
    if (r == 0 && scan->is_bounded)
        r = check_moved(input, has_live_log, err);
    if (r != 0)
        return r;
    if (has_live_log && scan->is_bounded)
        put_live_last(input, scan);
    if (list_samples(input) != 0)
        return out_of_memory(err);
    memcpy(&input->header, header, sizeof(*header));
    if (has_live_log)
        merge_header(&input->header, &input->files[input->n_files - 1]->header);
    end_text(input->header.collector_version, sizeof(input->header.collector_version));
    end_text(input->header.unseen_allocator, sizeof(input->header.unseen_allocator));
    end_text(input->header.unseen_why, sizeof(input->header.unseen_why));
    input->has_time_shift = scan->has_time_shift;
    input->time_shift = scan->time_shift;
    clock_map_round(&input->clock, input->time_shift);
    clock_map_set_last(&input->clock, input->header.last_ticks, input->header.last_monotonic_ns);
    return clock_map_add(&input->clock, header->start_ticks, header->start_monotonic_ns) == 0
               ? 0
               : out_of_memory(err);
}

static int compare_refs(const void *left, const void *right)
{
    const struct log_segment_ref *a = left;
    const struct log_segment_ref *b = right;

    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool is_definition(const struct log_segment_ref *ref)
{
    return ref->kind == LOG_SEGMENT_DEFS || ref->kind == LOG_SEGMENT_NODES;
}

/* Combines the parts of one DEFS or NODES segment. A byte is written once, and is zero in a part
 * that was copied before. So the rest of a definition that was copied while it was written is in a
 * later part; the border may be inside a word. */
static int assemble(struct log_input *input, struct log_segment_ref *refs, size_t n,
                    struct log_scan *scan, uint64_t *image, uint32_t *ret_bytes, struct error *err)
{
    static _Thread_local uint64_t part[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    uint32_t end = 0;

    memset(image, 0, LOG_SEGMENT_BYTES);
    for (size_t i = 0; i < n; i++) {
        struct log_file_reader *file = input->files[refs[i].file];
        int r = log_file_read(file, &refs[i], scan->pack, part, err);
        uint64_t *at = image + refs[i].first_byte / sizeof(*image);
        if (r == ERROR_FORMAT)
            log_damage_add(scan->damage, LOG_DAMAGE_CHECKSUM, file->path, refs[i].offset,
                           refs[i].file_bytes, "definitions cannot be read");
        else if (r != 0)
            return r;
        for (uint32_t k = 0; r == 0 && k < refs[i].raw_bytes / sizeof(*part); k++)
            at[k] |= part[k];
        if (refs[i].first_byte + refs[i].raw_bytes > end)
            end = refs[i].first_byte + refs[i].raw_bytes;
    }
    *ret_bytes = end;
    return 0;
}

static int read_definition(struct log_input *input, struct log_segment_ref *refs, size_t n,
                           struct log_scan *scan, struct error *err)
{
    static _Thread_local uint64_t image[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    uint64_t n_unknown = 0;
    uint32_t n_bytes;
    int r = assemble(input, refs, n, scan, image, &n_bytes, err);

    if (r != 0)
        return r;
    if (refs->kind == LOG_SEGMENT_DEFS)
        r = log_names_add_defs(&input->names, image, n_bytes, &n_unknown);
    else
        r = log_names_add_nodes(&input->names, image, n_bytes, refs->first_node);
    if (n_unknown > 0)
        log_damage_add(scan->damage, LOG_DAMAGE_UNKNOWN, log_input_path(input), refs->offset, 0,
                       "definitions of an unknown kind");
    return r == 0 ? 0 : out_of_memory(err);
}

/* Reads the definitions and removes their segments from the list. */
static int read_definitions(struct log_input *input, struct log_scan *scan, struct error *err)
{
    struct log_segment_ref *refs = scan->list.refs;
    size_t n_kept = 0;
    size_t next;

    if (scan->list.n > 0)
        qsort(refs, scan->list.n, sizeof(*refs), compare_refs);
    for (size_t i = 0; i < scan->list.n; i = next) {
        next = i + 1;
        if (!is_definition(&refs[i])) {
            refs[n_kept++] = refs[i];
            continue;
        }
        while (next < scan->list.n && refs[next].sequence == refs[i].sequence
               && refs[next].kind == refs[i].kind && refs[next].first_node == refs[i].first_node)
            next++;
        int r = read_definition(input, &refs[i], next - i, scan, err);
        if (r != 0)
            return r;
    }
    scan->list.n = n_kept;
    return 0;
}

bool log_input_has_raw_file(const struct log_input *input)
{
    for (size_t i = 0; i < input->n_files; i++)
        if (input->files[i]->header.form == LOG_FORM_RAW)
            return true;
    return false;
}

bool log_input_is_live(const struct log_input *input)
{
    for (size_t i = 0; i < input->n_files; i++)
        if (log_file_is_live(input->files[i]))
            return true;
    return false;
}

/* The recorder removes the live log after the trailer. Without a recorder, a raw log is complete
 * when no process maps it. A single packed file may be from another machine, where its PIDs are
 * meaningless; its writer holds a lock. */
static bool is_being_written(const struct log_input *input)
{
    for (size_t i = 0; i < input->n_files; i++)
        if (log_file_is_locked(input->files[i]) || log_file_may_be_recorded(input->files[i]))
            return true;
    return log_input_is_live(input);
}

bool log_input_still_grows(const struct log_input *input)
{
    return input->is_growing && is_being_written(input);
}

/* All frames are complete, but the trailer is missing, and so is the live log: it is on another
 * machine, or removed. */
static void note_missing_end(const struct log_input *input, struct log_damage_report *damage)
{
    const struct log_file_reader *file = input->files[0];

    if (!log_input_has_raw_file(input))
        log_damage_add(damage, LOG_DAMAGE_TRUNCATED, file->path, file->size_bytes, 0,
                       "the log is incomplete: later events are in its live log, which is missing");
}

/* *ret_is_whole: if the log has its end, everything is listed. */
static int fill(struct log_input *input, const char *path, struct text_arena *arena,
                struct pack *pack, struct log_damage_report *damage, bool *ret_is_whole,
                struct error *err)
{
    struct log_scan scan = {.clock = &input->clock, .damage = damage, .pack = pack};
    bool has_trailer = false;
    int r;

    log_names_init(&input->names, arena);
    r = open_files(input, path, damage, arena, err);
    if (r == 0)
        input->is_growing = is_being_written(
            input); /* before reading: a log that ends in the meantime is read again */
    scan.is_growing = input->had_writer = input->is_growing;
    uint64_t n_damaged = n_losses(damage);
    if (r == 0)
        r = scan_files(input, &scan, arena, err);
    if (r == 0)
        r = read_definitions(input, &scan, err);
    for (size_t i = 0; r == 0 && i < input->n_files; i++)
        has_trailer |= input->files[i]->has_trailer;
    /* the end is checked last: parts of a bounded log may have grown since they were listed */
    *ret_is_whole = !(has_trailer && input->is_growing && scan.is_bounded);
    input->is_growing &= !has_trailer;
    if (r == 0 && !has_trailer && !input->is_growing && n_losses(damage) == n_damaged)
        note_missing_end(input, damage);
    input->has_lost_events = n_losses(damage) > n_damaged;
    input->segments = scan.list;
    return r;
}

static int open_once(const char *path, struct text_arena *arena, struct pack *pack,
                     struct log_damage_report *damage, struct log_input **ret, bool *ret_is_whole,
                     struct error *err)
{
    struct log_input *input = calloc(1, sizeof(*input));
    int r;

    if (!input)
        return out_of_memory(err);
    r = fill(input, path, arena, pack, damage, ret_is_whole, err);
    if (r != 0) {
        log_input_close(input);
        return r;
    }
    *ret = input;
    return 0;
}

/* LI-4: reads again if the log ended during listing; it ends only once. */
int log_input_open(const char *path, struct text_arena *arena, struct pack *pack,
                   struct log_damage_report *damage, struct log_input **ret, struct error *err)
{
    struct log_damage_report before = *damage;
    bool is_whole;
    int r = open_once(path, arena, pack, damage, ret, &is_whole, err);

    if (r != 0 || is_whole)
        return r;
    log_input_close(*ret);
    *damage = before;
    return open_once(path, arena, pack, damage, ret, &is_whole, err);
}

void log_input_close(struct log_input *input)
{
    if (!input)
        return;
    for (size_t i = 0; i < input->n_files; i++)
        log_file_close(input->files[i]);
    free(input->files);
    free(input->samples);
    clock_map_done(&input->clock);
    log_names_done(&input->names);
    log_segment_list_done(&input->segments);
    log_grown_done(input);
    free(input);
}

int log_input_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   size_t *ret_index, struct error *err)
{
    const struct log_segment_ref *refs = input->segments.refs;
    size_t i = index;
    int r;

    for (;; i++) {
        r = refs[i].copy ? log_grown_read_copy(input, i, payload)
                         : log_file_read(input->files[refs[i].file], &refs[i], pack, payload, err);
        *ret_index = i;
        if (r != ERROR_FORMAT || i + 1 == input->segments.n
            || refs[i + 1].sequence != refs[index].sequence)
            break;
    }
    if (r == ERROR_FORMAT && input->had_writer && !refs[i].is_packed)
        r = log_grown_read(input, i, pack, payload, err);
    return r;
}
