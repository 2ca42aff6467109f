/* SPDX-License-Identifier: MIT */
#include "recorder/session/recording.h"

#include "lib/base/clock_pair.h"
#include "lib/base/fault_point.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_name.h"
#include "lib/logfile/log_rotation.h"
#include "lib/logfile/successor_logs.h"
#include "lib/process/writer_liveness.h"
#include "recorder/pack/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    AGGREGATE_ELIDE_BYTES = 4096, /* a peak is too low by a segment of these, for each thread */
};

static const uint64_t samples_every_ns = 1000000000;
/* With a follower, which reads no event that a later sample may precede (log_set_watermark). */
static const uint64_t samples_every_ns_for_follower = 100000000;

static uint64_t random_run_id(void)
{
    uint64_t run_id = 0;

    if (getrandom(&run_id, sizeof(run_id), GRND_NONBLOCK) != sizeof(run_id) || run_id == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        run_id = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) << 16 | (uint32_t)getpid();
    }
    return run_id;
}

static struct recording *new_recording(void)
{
    struct recording *recording = malloc(sizeof(*recording));

    if (!recording)
        return NULL;
    memset(recording, 0, offsetof(struct recording, samples.samples));
    recording->live.fd = -1;
    recording->packed.fd = -1;
    recording->service.answer_fd = -1;
    recording->pack = pack_new();
    if (!recording->pack) {
        free(recording);
        return NULL;
    }
    return recording;
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    report_service_done(&recording->service);
    packing_free(recording->packing);
    rotated_log_done(&recording->ring);
    pack_free(recording->pack);
    live_log_close(&recording->live);
    packed_log_close(&recording->packed);
    free(recording);
}

static int prepare_packing(struct recording *recording, const struct recording_settings *settings,
                           struct error *err)
{
    recording->packing =
        packing_new(&recording->live, &recording->packed, recording->pack, settings->zstd_level);
    if (!recording->packing)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    recording->packing->process_tree = settings->process_tree;
    recording->packing->module_files = settings->module_files;
    recording->programs = settings->programs;
    recording->service.follower = settings->follower;
    recording->service.pid = recording->pid;
    recording->service.images.warn = settings->warn;
    recording->takes_exit_image = settings->takes_exit_image;
    recording->image_rss_bytes = settings->image_rss_bytes;
    image_service_remove_old(recording->packed.path);
    if (recording->is_aggregate) {
        rotated_log_init(&recording->ring, recording->packed.path, &settings->follower->ring);
        recording->packing->ring = &recording->ring;
        recording->packing->settings.zstd_level = 0; /* the file is temporary */
    }
    uint64_t elide_bytes = recording->is_aggregate ? AGGREGATE_ELIDE_BYTES : UINT64_MAX;
    if (settings->elide_ns
        && !packing_start_eliding(recording->packing, settings->elide_ns, elide_bytes))
        return error_set(err, ERROR_NOMEM, "not enough memory");
    if (settings->elide_ns)
        packing_expect_readers(recording->packing);
    return 0;
}

/* A smaller live log if RLIMIT_FSIZE requires it; the program can still extend it. */
static uint32_t pool_segments(void)
{
    struct rlimit limit;
    rlim_t n = LIVE_LOG_POOL_SEGMENTS;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
        && limit.rlim_cur < LOG_FILE_HEADER_BYTES + n * LOG_SEGMENT_BYTES)
        n = limit.rlim_cur < LOG_FILE_HEADER_BYTES
                ? 0
                : (limit.rlim_cur - LOG_FILE_HEADER_BYTES) / LOG_SEGMENT_BYTES;
    return n ? (uint32_t)n : 1;
}

static int check_killed_recording(const char *path, const char *live_path, struct error *err)
{
    if (access(live_path, F_OK) != 0 || file_lock_is_taken(path))
        return 0;
    return error_set(err, ERROR_EXISTS,
                     "'%s' is left over from a killed recording; merge it with 'mtrace-record "
                     "--pack %s', or use --force to delete it",
                     live_path, path);
}

/* Creates both files with the disk space that they need to begin. */
static int make_files(struct recording *recording, const char *path, bool force, struct error *err)
{
    char *live_path = log_name_live(path);
    int code = live_path ? packed_log_create(path, force, &recording->packed, err)
                         : error_set(err, ERROR_NOMEM, "not enough memory");

    if (code == 0) {
        recording->packed.added_flags = recording->is_aggregate ? LOG_FLAG_BOUNDED : 0;
        recording->packed.rotates = recording->rotates;
        if (force)
            unlink(live_path);
        code = live_log_create(live_path, random_run_id(), pool_segments(), &recording->live, err);
    }
    if (code == 0) {
        live_log_read_header(&recording->live);
        code = packed_log_write_header(&recording->packed, &recording->live.seen, err);
    }
    free(live_path);
    return code;
}

/* RG-2: created under another name, then renamed over the old files. */
static int replace_files(struct recording *recording, const char *path, const char *live_path,
                         struct error *err)
{
    char *temporary = NULL;
    int code = packed_log_check_target(path, true, err);

    if (code == 0 && asprintf(&temporary, "%s.replacing", path) < 0) {
        temporary = NULL;
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    }
    if (code == 0)
        code = make_files(recording, temporary, true, err);
    if (code == 0) {
        successor_logs_remove(path);
        log_rotation_remove(path);
        code = live_log_rename(&recording->live, live_path, err);
    }
    if (code == 0)
        code = packed_log_rename(&recording->packed, path, err);
    free(temporary);
    return code;
}

static int create_files(struct recording *recording, const char *path, bool force,
                        struct error *err)
{
    char *live_path = log_name_live(path);
    int code = live_path ? 0 : error_set(err, ERROR_NOMEM, "not enough memory");

    if (code == 0 && (recording->is_aggregate || recording->rotates))
        code = rotated_log_check(path, err);
    if (code == 0 && force) {
        code = replace_files(recording, path, live_path, err);
    } else if (code == 0) {
        code = check_killed_recording(path, live_path, err);
        code = code ? code : make_files(recording, path, false, err);
        if (code == 0)
            log_rotation_remove(path); /* of an old log */
    }
    if (code)
        recording_discard(recording);
    free(live_path);
    return code;
}

/* The PID in logs: for a process in another PID namespace, its PID there. */
static pid_t process_tree_pid(const struct recording *recording)
{
    return recording->pid ? recording->pid : (pid_t)recording->live.seen.pid;
}

static void note_begin(const struct recording *recording)
{
    struct process_tree *process_tree = recording->packing->process_tree;
    const struct log_header *header = &recording->live.seen;

    if (!process_tree)
        return;
    process_tree_note_log(process_tree, process_tree_pid(recording), recording->pid != 0);
    if (recording->pid == 0 && header->image == 0)
        process_tree_note_renamed(process_tree, (pid_t)header->parent_pid);
}

int recording_create(const char *path, pid_t pid, const struct recording_settings *settings,
                     struct recording **ret_recording, struct error *err)
{
    struct recording *recording = new_recording();
    int code;

    if (!recording)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    recording->pid = pid;
    recording->is_aggregate = settings->is_aggregate;
    recording->rotates = settings->rotates;
    code = create_files(recording, path, settings->force, err);
    if (code == 0) {
        code = prepare_packing(recording, settings, err);
        if (code)
            recording_discard(recording);
    }
    if (code) {
        recording_free(recording);
        return code;
    }
    recording->packed.max_bytes = settings->max_packed_bytes;
    live_log_limit(&recording->live, settings->max_live_bytes);
    note_begin(recording);
    memory_sampler_init(&recording->samples, pid, settings->sample_ms, 0);
    *ret_recording = recording;
    return 0;
}

int recording_adopt(const char *live_path, const char *path,
                    const struct recording_settings *settings, struct recording **ret_recording,
                    struct error *err)
{
    struct recording *recording = new_recording();
    int code;

    if (!recording)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    recording->is_aggregate = settings->is_aggregate;
    recording->rotates = settings->rotates;
    code = live_log_open(live_path, true, &recording->live, err);
    live_log_limit(&recording->live, settings->max_live_bytes);
    if (code == 0 && (recording->is_aggregate || recording->rotates))
        code = rotated_log_check(path, err);
    if (code == 0)
        code = packed_log_create(path, settings->force, &recording->packed, err);
    if (code == 0) {
        recording->packed.added_flags = recording->is_aggregate ? LOG_FLAG_BOUNDED : 0;
        recording->packed.rotates = recording->rotates;
        log_rotation_remove(path); /* of an old log */
    }
    if (code == 0) {
        recording->pid =
            writer_liveness_knows_pid(&recording->live.seen) ? (pid_t)recording->live.seen.pid : 0;
        code = prepare_packing(recording, settings, err);
    }
    if (code) {
        recording_free(recording);
        return code;
    }
    recording->packed.max_bytes = settings->max_packed_bytes;
    recording->is_adopted = true;
    note_begin(recording);
    atomic_store_explicit(&recording->live.file->recorder_pid, (uint32_t)getpid(),
                          memory_order_relaxed);
    memory_sampler_init(&recording->samples, recording->pid, settings->sample_ms, 0);
    *ret_recording = recording;
    return 0;
}

void recording_hold_until(struct recording *recording, uint64_t monotonic_ns)
{
    packing_hold_until(recording->packing, monotonic_ns);
}

int recording_take_image(struct recording *recording, enum image_cause cause, const char *name,
                         struct error *err)
{
    struct image_request request = {.log_path = recording->packed.path, .cause = cause};

    if (!image_service_is_idle(&recording->service.images))
        return error_set(err, ERROR_IO, "another one is being written; try again");
    (void)snprintf(request.name, sizeof(request.name), "%s", name);
    recording_hold_until(recording, monotonic_now_ns());
    return image_service_take(&recording->service.images, &recording->live, recording->pid,
                              &request, err);
}

bool recording_is_awaited(const struct recording *recording)
{
    return report_service_is_awaited(&recording->service);
}

static uint64_t flush_every_ns(const struct recording *recording)
{
    return follower_process_request_fd(recording->service.follower) < 0 && !recording->is_aggregate
               ? samples_every_ns
               : samples_every_ns_for_follower;
}

static int write_samples(struct recording *recording, struct error *err)
{
    struct memory_sampler *samples = &recording->samples;
    int code = 0;

    for (uint32_t n = 0, at = 0; code == 0 && at < samples->n_samples; at += n) {
        n = samples->n_samples - at < PACK_SAMPLES_MAX ? samples->n_samples - at : PACK_SAMPLES_MAX;
        code = packing_append_samples(recording->packing, samples->samples + at, n, err);
    }
    if (code == 0)
        samples->n_samples = 0;
    return code;
}

/* Before any event if a bounded log was full: the follower reads no further than the last sample
 * (log_set_watermark). */
static int write_due_samples(struct recording *recording, uint64_t now_ns, struct error *err)
{
    if (now_ns < recording->samples_flush_ns)
        return 0;
    int code = write_samples(recording, err);
    if (code == 0)
        recording->samples_flush_ns = now_ns + flush_every_ns(recording);
    return code;
}

/* Pages of the log that the program has touched stay in its memory. Segments are filled to their
 * end, and a large log grew only because all of it was in use. */
static uint64_t touched_bytes(const struct live_log *log)
{
    const uint32_t many_segments = 4096;
    uint64_t n_used = 0;

    if (log->n_mapped > many_segments)
        return LOG_FILE_HEADER_BYTES + (uint64_t)log->n_mapped * LOG_SEGMENT_BYTES;
    for (uint32_t i = live_log_next_used(log, 0); i < log->n_mapped;
         i = live_log_next_used(log, i + 1))
        n_used++;
    return LOG_FILE_HEADER_BYTES + n_used * LOG_SEGMENT_BYTES;
}

void recording_step_commands(struct recording *recording)
{
    if (collector_commands_are_any(&recording->commands))
        collector_commands_step(&recording->commands, &recording->live);
}

static void take_samples(struct recording *recording, uint64_t now_ns)
{
    recording->samples.own_bytes = touched_bytes(&recording->live);
    recording->samples.word_bytes = recording->live.file->word_bytes;
    recording->samples.log_fd = recording->live.fd;
    recording->samples_due_ns = memory_sampler_take(&recording->samples, now_ns);
}

/* Keeps a follower of a bounded run running; after a kill, the next one continues from its
 * checkpoint. */
static void keep_up(struct recording *recording, uint64_t now_ns)
{
    struct follower_process *follower = recording->service.follower;

    if (!recording->is_aggregate || !recording->programs)
        return;
    follower_process_keep_up(follower, now_ns, recording->programs->import);
}

static void take_image_at_rss(struct recording *recording)
{
    struct error err;

    if (!recording->image_rss_bytes || recording->samples.rss_bytes < recording->image_rss_bytes
        || !image_service_is_idle(&recording->service.images))
        return;
    recording->image_rss_bytes = 0;
    if (recording_take_image(recording, IMAGE_CAUSE_RSS, "", &err) != 0)
        recording->service.images.warn("no heap image of process %d: %s", (int)recording->pid,
                                       err.text);
}

int recording_step(struct recording *recording, uint64_t now_ns, uint32_t *ret_n_packed,
                   struct error *err)
{
    bool is_asked = recording->programs
                    && report_service_is_asked(&recording->service, &recording->live, now_ns);
    int code = recording->ring.is_full ? write_due_samples(recording, now_ns, err) : 0;

    if (is_asked) /* its marker was written since the last step */
        packing_hold_until(recording->packing, monotonic_now_ns());
    if (code == 0)
        code = packing_step(recording->packing, ret_n_packed, err);
    else
        packing_note_watermark(recording->packing);
    /* most programs are short and need only the first segments */
    if (recording->live.n_unprepared
        && atomic_load_explicit(&recording->live.seen.next_sequence, memory_order_relaxed)
               > LIVE_LOG_FIRST_SEGMENTS / 2)
        live_log_prepare(&recording->live, LIVE_LOG_POOL_SEGMENTS);
    if (is_asked) {
        memory_sampler_hurry(&recording->samples);
        recording->samples_due_ns = 0;
    }
    /* memory samples of the next image do not belong into this log */
    if (now_ns >= recording->samples_due_ns && recording->packing->has_header
        && atomic_load_explicit(&recording->live.seen.end_kind, memory_order_relaxed)
               != LOG_END_EXEC)
        take_samples(recording, now_ns);
    take_image_at_rss(recording);
    if (is_asked || recording->samples.n_samples >= PACK_SAMPLES_MAX)
        recording->samples_flush_ns = 0;
    if (code == 0)
        code = write_due_samples(recording, now_ns, err);
    keep_up(recording, now_ns);
    recording_step_commands(recording);
    report_service_step(&recording->service, &recording->live, recording->packed.path,
                        recording->programs);
    return code;
}

static bool is_unmapped(struct recording *recording)
{
    bool is_known;

    return !writer_liveness_maps(recording->pid, recording->live.fd, &is_known) && is_known;
}

static bool has_said(const struct recording *recording, enum log_end end)
{
    return atomic_load_explicit(&recording->live.seen.end_kind, memory_order_relaxed) == end;
}

/* The announcement of an exec precedes it, and the exec may fail; only then the log stays
 * mapped. */
bool recording_is_replaced(struct recording *recording)
{
    return has_said(recording, LOG_END_EXEC) && is_unmapped(recording);
}

/* While the log is mapped, a thread may still be recording an event. */
bool recording_is_detached(struct recording *recording)
{
    return has_said(recording, LOG_END_DETACHED) && is_unmapped(recording);
}

/* Adds what the program could not write about its end. */
static void complete_end(struct log_header *file, const struct recording_end *end,
                         bool has_earlier_image)
{
    uint32_t kind = atomic_load_explicit(&file->end_kind, memory_order_relaxed);
    int status = end->wait_status;

    if (kind == LOG_END_EXEC)
        return;
    file->max_rss_bytes = has_earlier_image ? 0 : end->max_rss_bytes;
    if (WIFSIGNALED(status) && !(kind == LOG_END_ABORT && WTERMSIG(status) == SIGABRT)) {
        atomic_store_explicit(&file->end_kind, LOG_END_SIGNAL, memory_order_relaxed);
        atomic_store_explicit(&file->end_value, WTERMSIG(status), memory_order_relaxed);
    } else if (WIFEXITED(status) && kind == LOG_END_UNKNOWN) {
        atomic_store_explicit(&file->end_kind, LOG_END_IMMEDIATE, memory_order_relaxed);
        atomic_store_explicit(&file->end_value, WEXITSTATUS(status), memory_order_relaxed);
    }
}

/* A late second reading of both clocks gives the most exact tick rate. */
static void complete_clock(struct log_header *file)
{
    uint64_t ticks;
    uint64_t ns;

    if (file->clock != LOG_CLOCK_TSC || !clock_pair_read(file, &ticks, &ns))
        return;
    file->last_ticks = ticks;
    file->last_monotonic_ns = ns;
}

void recording_count_drops(const struct log_header *file, struct recording_totals *totals)
{
    for (int i = 0; i < LOG_DROP_REASONS; i++) {
        totals->dropped[i] = atomic_load_explicit(&file->dropped[i], memory_order_relaxed);
        totals->n_dropped += totals->dropped[i];
    }
}

void recording_add_totals(struct recording_totals *sums, const struct recording_totals *totals)
{
    sums->n_events += totals->n_events;
    sums->n_dropped += totals->n_dropped;
    sums->n_started += totals->n_started;
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        sums->dropped[i] += totals->dropped[i];
    sums->has_allocations |= totals->has_allocations;
    sums->n_elided += totals->n_elided;
    sums->file_bytes += totals->file_bytes;
    if (!sums->unseen[0]) /* the first is enough: the import names all */
        memcpy(sums->unseen, totals->unseen, sizeof(sums->unseen));
}

static void take_totals(struct recording *recording, const struct log_header *file,
                        struct recording_totals *ret_totals)
{
    *ret_totals = (struct recording_totals){
        .n_events = recording->packing->n_events,
        .n_elided = recording->packing->n_elided,
        .file_bytes = (uint64_t)recording->packed.end_offset,
        .flags = file->flags | (live_log_is_cut(&recording->live) ? LOG_FLAG_TRUNCATED : 0u),
        .n_threads = atomic_load_explicit(&file->n_threads, memory_order_relaxed),
        .n_started = atomic_load_explicit(&file->n_children, memory_order_relaxed),
        .end_kind = atomic_load_explicit(&file->end_kind, memory_order_relaxed),
        .is_attached = file->start_ticks != 0,
        .has_allocations = recording->packing->has_allocations,
    };
    memcpy(ret_totals->unseen, recording->packing->unseen, sizeof(ret_totals->unseen));
    recording_count_drops(file, ret_totals);
}

/* RG-1: a live log that was not read completely may have more than the packed file. */
static bool is_used_up(const struct live_log *live)
{
    return !live_log_is_cut(live) || live->map.is_short;
}

/* A refusal has its own warning. */
static void warn_of_missing_image(const struct recording *recording, const struct log_header *file)
{
    const struct image_service *images = &recording->service.images;
    uint32_t end = atomic_load_explicit(&file->end_kind, memory_order_relaxed);

    if (!recording->takes_exit_image || images->n_images || images->n_refused
        || file->start_ticks == 0 || end == LOG_END_EXEC || end == LOG_END_DETACHED)
        return;
    images->warn("no heap image of process %d: %s", (int)recording->pid,
                 end == LOG_END_SIGNAL || end == LOG_END_ABORT
                     ? "a signal killed it"
                     : "it ended by a system call that the collector does not see, or has a "
                       "seccomp filter");
}

int recording_finish(struct recording *recording, const struct recording_end *end,
                     struct recording_totals *ret_totals, struct error *err)
{
    struct log_header file;
    int code;

    report_service_done(&recording->service); /* no process waits for an answer any more */
    recording->packed.max_bytes = 0;          /* the rest is small and completes the file */
    recording->ring.is_ending = true;
    code = write_samples(recording, err);
    live_log_read_header(&recording->live);
    file = recording->live.seen;
    complete_clock(&file);
    if (end)
        complete_end(&file, end, recording->is_adopted && !(file.flags & LOG_FLAG_FORKED));
    warn_of_missing_image(recording, &file);
    if (code == 0)
        code = packing_finish(recording->packing, &file, err);
    take_totals(recording, &file, ret_totals);
    if (recording->packing->process_tree) {
        process_tree_note_started(recording->packing->process_tree, ret_totals->n_started);
        process_tree_note_end(recording->packing->process_tree, process_tree_pid(recording),
                              ret_totals->end_kind, file.start_monotonic_ns, ret_totals->n_dropped);
    }
    if (code == 0 && is_used_up(&recording->live)) {
        live_log_remove(&recording->live);
        fault_point("removed");
    }
    return code;
}

void recording_abandon(struct recording *recording)
{
    packing_abandon(recording->packing);
    atomic_store_explicit(&recording->live.file->recorder_pid, 0, memory_order_relaxed);
}

void recording_discard(struct recording *recording)
{
    if (recording->live.path)
        live_log_remove(&recording->live);
    if (recording->packed.path)
        packed_log_remove(&recording->packed);
    if (recording->is_aggregate && recording->packed.path)
        log_rotation_remove(recording->packed.path);
}
