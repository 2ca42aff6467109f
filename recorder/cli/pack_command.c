/* SPDX-License-Identifier: MIT */
#include "recorder/cli/pack_command.h"

#include "lib/logfile/columns.h"
#include "lib/logfile/live_log.h"
#include "lib/logfile/log_name.h"
#include "lib/logfile/log_rotation.h"
#include "lib/logfile/successor_logs.h"
#include "lib/process/output_file.h"
#include "lib/process/writer_liveness.h"
#include "recorder/pack/frame_index.h"
#include "recorder/pack/packed_log.h"
#include "recorder/pack/packing.h"
#include "recorder/session/exit_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ZSTD_LEVEL = 1, /* speed does not matter here */
};

/* The files of a log. */
struct source {
    char *path;      /* the packed log, or a raw one without a recorder */
    char *live_path; /* the live log, which may not exist */
    struct frame_index frames;
    struct live_log live;
    bool has_frames;
    bool has_live;
    bool is_raw;           /* path itself is what `live` maps */
    bool is_rotated;       /* `frames` are those of the newest rotated file (packed_log.h) */
    uint32_t n_rotated;    /* its number; 0: there is none */
    int64_t rotated_begin; /* offset of its first frame */
};

/* The results for the first log and the other logs of its run. */
struct outcome {
    struct exit_summary exit_summary;
    bool is_bounded; /* the first one is */
};

/* ---- finding the parts ----------------------------------------------------------------------- */

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path);
    size_t n_suffix = strlen(suffix);

    return n > n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

static int name_parts(struct source *source, const char *input, struct error *err)
{
    if (has_suffix(input, ".live"))
        source->path = strndup(input, strlen(input) - strlen(".live"));
    else
        source->path = strdup(input);
    source->live_path = source->path ? log_name_live(source->path) : NULL;
    return source->live_path ? 0 : error_set(err, ERROR_NOMEM, "not enough memory");
}

static enum log_form form_of(const char *path)
{
    struct log_header file = {.form = 0};
    int fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a FIFO */
    ssize_t n = fd >= 0 ? pread(fd, &file, sizeof(file), 0) : -1;

    if (fd >= 0)
        close(fd);
    return n == sizeof(file) ? (enum log_form)file.form : 0;
}

/* Its lock and its heartbeat show the recorder in any PID namespace; on overlayfs only the
 * heartbeat does. The lock is tested first: the program can write recorder_pid, and in a
 * child's log it is 0 until the recorder adopts the child. */
static enum writer_liveness_state liveness_of_recorder(const struct source *source)
{
    const struct live_log *live = &source->live;
    bool has_packed = !source->is_raw && access(source->path, F_OK) == 0;

    if (has_packed && file_lock_is_taken(source->path))
        return WRITER_LIVENESS_ALIVE;
    if (atomic_load_explicit(&live->seen.recorder_pid, memory_order_relaxed) == 0)
        return WRITER_LIVENESS_DEAD;
    if (recorder_heartbeat_advances(live->fd))
        return WRITER_LIVENESS_ALIVE;
    return writer_liveness_of_recorder(&live->seen, live->fd);
}

/* OF-2. `whose`: "written by process 1", say. */
static int check_dead(const struct source *source, enum writer_liveness_state state,
                      const char *whose, bool is_forced, struct error *err)
{
    const char *path = source->live.path;

    if (state == WRITER_LIVENESS_ALIVE)
        return error_set(err, ERROR_EXISTS, "'%s' is being %s; wait until it has ended", path,
                         whose);
    if (state == WRITER_LIVENESS_UNKNOWN && !is_forced)
        return error_set(err, ERROR_EXISTS,
                         "whether '%s' is still being %s is unknown; if it is not, --force packs "
                         "the log",
                         path, whose);
    if (state == WRITER_LIVENESS_UNKNOWN)
        exit_summary_warn(
            "whether '%s' is still being %s is unknown; --force assumes that it is not", path,
            whose);
    return 0;
}

static int check_not_growing(const struct source *source, bool is_forced, struct error *err)
{
    const struct log_header *header = &source->live.seen;
    bool is_ended =
        atomic_load_explicit(&header->end_kind, memory_order_relaxed) != LOG_END_UNKNOWN;
    int recorder = (int)atomic_load_explicit(&header->recorder_pid, memory_order_relaxed);
    char whose[96];
    int code;

    (void)snprintf(whose, sizeof(whose),
                   recorder ? "packed by mtrace-record %d (of its pid namespace)"
                            : "packed by mtrace-record",
                   recorder);
    code = check_dead(source, liveness_of_recorder(source), whose, is_forced, err);
    if (code || is_ended)
        return code;
    (void)snprintf(whose, sizeof(whose), "written by process %d%s", (int)header->pid,
                   writer_liveness_knows_pid(header) ? "" : " of another pid namespace");
    return check_dead(source, writer_liveness_of_writer(header, source->live.fd), whose, is_forced,
                      err);
}

/* Of a log of --no-local: what is still here continues its newest rotated file. */
static int open_newest_rotated(struct source *source, struct error *err)
{
    struct log_rotation rotation;
    char *name = NULL;
    int code;

    source->is_rotated = true;
    frame_index_done(&source->frames);
    source->has_frames = false;
    if (log_rotation_find(source->path, &rotation) != 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    source->rotated_begin = LOG_FILE_HEADER_BYTES;
    for (size_t i = rotation.n; i > 0 && source->n_rotated == 0; i--) {
        free(name);
        name = log_rotation_name(source->path, rotation.numbers[i - 1]);
        if (!name || log_rotation_is_part(name)) /* else it has no header yet */
            source->n_rotated = rotation.numbers[i - 1];
    }
    log_rotation_done(&rotation);
    if (source->n_rotated == 0) {
        free(name);
        return 0;
    }
    code = name ? frame_index_open(name, &source->frames, err)
                : error_set(err, ERROR_NOMEM, "not enough memory");
    source->has_frames = code == 0;
    if (code == 0)
        memcpy(&source->rotated_begin, source->frames.bytes + LOG_ROTATED_BEGIN_AT,
               sizeof(source->rotated_begin));
    free(name);
    return code;
}

static int open_parts(struct source *source, bool is_forced, struct error *err)
{
    bool is_live = access(source->live_path, F_OK) == 0;
    int code = 0;

    source->is_raw = form_of(source->path) == LOG_FORM_RAW;
    if (!source->is_raw && (packed_log_is_begun(source->path) || !is_live)) {
        /* close_parts frees both names. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        code = frame_index_open(source->path, &source->frames, err);
        source->has_frames = code == 0;
        if (code == 0 && source->frames.is_rotated)
            code = open_newest_rotated(source, err);
    }
    if (code == 0 && (source->is_raw || is_live)) {
        code = live_log_open(source->is_raw ? source->path : source->live_path, false,
                             &source->live, err);
        source->has_live = code == 0;
    }
    if (code == 0 && source->has_live)
        code = check_not_growing(source, is_forced, err);
    if (code == 0 && source->has_live && source->has_frames) {
        const struct log_header *file = (const void *)source->frames.bytes;
        if (file->run_id != source->live.seen.run_id)
            code = error_set(err, ERROR_FORMAT, "'%s' and '%s' are of different recordings",
                             source->path, source->live_path);
    }
    return code;
}

static void close_parts(struct source *source)
{
    frame_index_done(&source->frames);
    live_log_close(&source->live);
    free(source->path);
    free(source->live_path);
}

/* ---- copying --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static bool is_events(const struct log_frame *frame)
{
    return frame->kind == LOG_FRAME_SEGMENT
           && (frame->segment.kind == LOG_SEGMENT_EVENTS
               || frame->segment.kind == LOG_SEGMENT_FALLBACK);
}

/* Copies frames unchanged. */
static int copy_frames(const struct source *source, struct packing *packing, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < source->frames.n_frames; i++) {
        const struct log_frame *frame = frame_index_get(&source->frames, i);
        if (frame->kind == LOG_FRAME_TRAILER)
            continue;
        packing->n_events += frame->n_events;
        code = packed_log_append(packing->packed, frame, pack_frame_bytes(frame), err);
    }
    return code;
}

/* Marks segments of the (private) live log that are in a frame. */
static int mark_packed(struct source *source, struct error *err)
{
    uint64_t *sequences = calloc(source->frames.n_frames + 1, sizeof(*sequences));
    size_t n_sequences = 0;

    if (!sequences)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    for (size_t i = 0; i < source->frames.n_frames; i++) {
        const struct log_frame *frame = frame_index_get(&source->frames, i);
        if (is_events(frame))
            sequences[n_sequences++] = frame->segment.sequence;
    }
    qsort(sequences, n_sequences, sizeof(*sequences), by_value);
    for (uint32_t i = live_log_next_used(&source->live, 0); i < source->live.n_mapped;
         i = live_log_next_used(&source->live, i + 1)) {
        struct log_segment *segment = live_log_segment(&source->live, i);
        if ((segment->kind == LOG_SEGMENT_EVENTS || segment->kind == LOG_SEGMENT_FALLBACK)
            && bsearch(&segment->sequence, sequences, n_sequences, sizeof(*sequences), by_value))
            atomic_store_explicit(&segment->state, LOG_STATE_PACKED, memory_order_relaxed);
    }
    free(sequences);
    return 0;
}

static void get_file(const struct source *source, struct log_header *ret_file)
{
    if (source->has_live)
        memcpy(ret_file, &source->live.seen, sizeof(*ret_file));
    else
        frame_index_get_file(&source->frames, ret_file);
}

/* From the packed file, because the program does not know it. */
static uint32_t bounded_flag(const struct source *source)
{
    struct log_header file = {.flags = 0};

    if (source->has_frames && !source->is_rotated)
        frame_index_get_file(&source->frames, &file);
    return file.flags & LOG_FLAG_BOUNDED;
}

/* LI-3: packed frames are copied unchanged, so the rest must use their time shift. */
static void keep_time_shift(const struct source *source, struct packing *packing)
{
    for (size_t i = 0; i < source->frames.n_frames && !packing->has_packed_events; i++) {
        const struct log_frame *frame = frame_index_get(&source->frames, i);
        const uint8_t *payload = (const uint8_t *)(frame + 1);
        if (frame->kind != LOG_FRAME_SEGMENT || frame->segment.kind != LOG_SEGMENT_EVENTS)
            continue;
        packing->settings.time_shift =
            frame->codec == LOG_CODEC_COLUMNS && *payload <= COLUMNS_MAX_TIME_SHIFT ? *payload : 0;
        packing->has_packed_events = true;
    }
}

static int write_all(struct source *source, struct packing *packing, struct error *err)
{
    struct log_header file;
    int code = 0;

    get_file(source, &file);
    packing_set_clock(packing, &file);
    if (source->has_frames)
        keep_time_shift(source, packing);
    if (source->has_frames && !source->is_rotated)
        code = copy_frames(source, packing, err);
    if (code == 0 && source->has_frames && source->has_live)
        code = mark_packed(source, err);
    if (code)
        return code;
    return source->has_live ? packing_finish(packing, &file, err)
                            : packing_append_trailer(packing, &file, err);
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* Opens the log to append what the live log still has. */
static int resume(const struct source *source, struct packed_log *ret_packed, struct error *err)
{
    const struct frame_index *frames = &source->frames;
    size_t end = LOG_FILE_HEADER_BYTES;

    if (frames->n_frames)
        end = frames->offsets[frames->n_frames - 1]
              + pack_frame_bytes(frame_index_get(frames, frames->n_frames - 1));
    return packed_log_resume(source->path, source->n_rotated, source->rotated_begin,
                             source->rotated_begin + (int64_t)end - LOG_FILE_HEADER_BYTES,
                             ret_packed, err);
}

static int replace(const struct source *source, const char *temporary, const char *target,
                   bool may_replace, struct error *err)
{
    int code = output_file_place(temporary, target, may_replace, err);

    if (code)
        return code;
    if (source->has_live && !source->is_raw && strcmp(target, source->path) == 0)
        live_log_remove(&source->live);
    return 0;
}

static void take_outcome(const struct packing *packing, const struct source *source,
                         struct outcome *ret_outcome)
{
    struct recording_totals *totals = &ret_outcome->exit_summary.totals;
    struct log_header file;

    get_file(source, &file);
    ret_outcome->is_bounded = bounded_flag(source);
    ret_outcome->exit_summary.is_beginning_given = source->is_rotated;
    /* Frames are copied unread. */
    totals->has_allocations = packing->has_allocations || source->has_frames;
    totals->n_events = packing->n_events;
    totals->file_bytes = (uint64_t)packing->packed->end_offset;
    totals->n_threads = atomic_load_explicit(&file.n_threads, memory_order_relaxed);
    memcpy(totals->unseen, packing->unseen, sizeof(totals->unseen));
    recording_count_drops(&file, totals);
}

static int pack_into(struct source *source, const struct options *options, const char *temporary,
                     const char *target, struct outcome *ret_outcome, struct error *err)
{
    struct packed_log packed = {.fd = -1};
    struct pack *pack = pack_new();
    struct packing *packing =
        packing_new(&source->live, &packed, pack, options->is_compressed ? ZSTD_LEVEL : 0);
    int code = 0;

    if (!pack || !packing)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    if (code == 0)
        code = source->is_rotated ? resume(source, &packed, err)
                                  : packed_log_create(temporary, true, &packed, err);
    if (code == 0 && source->is_rotated) {
        code = write_all(source, packing, err);
        if (code == 0)
            live_log_remove(&source->live);
    } else if (code == 0) {
        packed.added_flags = bounded_flag(source); /* the rotated files stay where they are */
        code = write_all(source, packing, err);
        if (code == 0)
            code = replace(source, temporary, target, options->force || !options->has_output, err);
        if (code)
            packed_log_remove(&packed);
    }
    if (code == 0)
        take_outcome(packing, source, ret_outcome);
    packing_free(packing);
    packed_log_close(&packed);
    pack_free(pack);
    return code;
}

/* The rest of a bounded log's live log goes into the file that its rotated files lie beside. */
static int check_ring(const struct source *source, const struct options *options, struct error *err)
{
    if (!bounded_flag(source) || !options->has_output)
        return 0;
    return error_set(err, ERROR_USAGE,
                     "'%s' was recorded with --aggregate: it is packed in its place, without "
                     "--output",
                     options->input);
}

/* Its other events are on another machine. */
static int check_rotated(const struct source *source, const struct options *options,
                         struct error *err)
{
    if (!source->is_rotated)
        return 0;
    if (options->has_output)
        return error_set(err, ERROR_USAGE,
                         "'%s' was recorded with --no-local: it is packed in its place, without "
                         "--output",
                         options->input);
    return source->has_live ? 0
                            : error_set(err, ERROR_USAGE,
                                        "'%s' has nothing to pack: 'mtrace-record --send %s "
                                        "--no-local' sends what is still here",
                                        options->input, options->input);
}

/* Only options->input. */
static int pack_log(const struct options *options, struct outcome *ret_outcome, struct error *err)
{
    struct source source = {.live.fd = -1};
    const char *target;
    char *temporary = NULL;
    int code = name_parts(&source, options->input, err);

    if (code == 0)
        code = open_parts(&source, options->force, err);
    if (code == 0)
        code = check_rotated(&source, options, err);
    if (code == 0)
        code = check_ring(&source, options, err);
    if (code == 0) {
        target = options->has_output ? options->output : source.path;
        if (options->has_output)
            code = packed_log_check_target(target, options->force, err);
        if (code == 0 && asprintf(&temporary, "%s.packing", target) < 0) {
            temporary = NULL;
            code = error_set(err, ERROR_NOMEM, "not enough memory");
        }
        if (code == 0)
            /* As above. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
            code = pack_into(&source, options, temporary, target, ret_outcome, err);
    }
    free(temporary);
    close_parts(&source);
    return code;
}

/* ---- other logs of the run ------------------------------------------------------------------- */

struct others {
    const struct options *options;
    struct exit_summary *exit_summary; /* of the first log */
    struct error *err;                 /* of the last failure */
    int code;
};

/* A log that is still being written is not a failure; it is packed later. */
static void pack_other(void *context, const char *path)
{
    struct others *others = context;
    struct options options = *others->options;
    struct outcome outcome = {.is_bounded = false};
    struct error err;

    options.input = path;
    int code = pack_log(&options, &outcome, &err);
    if (code == 0) {
        others->exit_summary->n_children++;
        recording_add_totals(&others->exit_summary->children, &outcome.exit_summary.totals);
    } else if (code == ERROR_EXISTS) {
        exit_summary_print(options.quiet, "%s", err.text);
    } else {
        if (others->code)
            exit_summary_warn("%s", others->err->text);
        others->code = code;
        *others->err = err;
    }
}

static void report_what_came(const struct outcome *outcome)
{
    const struct exit_summary *exit_summary = &outcome->exit_summary;
    char others[64] = "";

    if (!outcome->is_bounded) {
        exit_summary_sum_up(exit_summary);
        return;
    }
    if (exit_summary->n_children)
        (void)snprintf(others, sizeof(others), "; %u log%s of child processes %s packed, too",
                       exit_summary->n_children, exit_summary->n_children == 1 ? "" : "s",
                       exit_summary->n_children == 1 ? "is" : "are");
    exit_summary_print(exit_summary->is_quiet,
                       "'%s' is complete; its events are in '%s.gN' and '%s.state' beside it%s",
                       exit_summary->name, exit_summary->name, exit_summary->name, others);
}

int pack_command_run(const struct options *options, struct error *err)
{
    struct source named = {.path = NULL};
    struct outcome outcome = {
        .exit_summary = {.is_quiet = options->quiet, .follows_children = true}};
    struct others others = {.options = options, .exit_summary = &outcome.exit_summary, .err = err};
    int code = name_parts(&named, options->input, err);

    if (code == 0)
        code = pack_log(options, &outcome, err);
    if (code == 0 && !options->has_output)
        successor_logs_find(named.path, false, pack_other, &others);
    if (code == 0) {
        outcome.exit_summary.name = outcome.exit_summary.program =
            options->has_output ? options->output : named.path;
        report_what_came(&outcome);
    }
    free(named.path);
    free(named.live_path);
    return code ? code : others.code;
}
