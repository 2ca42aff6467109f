/* SPDX-License-Identifier: MIT */
#include "recorder/session/children.h"

#include "lib/abi/file_systems.h"
#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/logfile/successor_logs.h"
#include "lib/process/writer_liveness.h"
#include "recorder/pack/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const char live_suffix[] = ".live";
static const uint64_t look_every_ns = 50000000;
static const uint64_t look_elsewhere_every_ns = 200000000; /* it may examine all processes */
static const uint64_t list_every_ns = 50000000;            /* without inotify */

/* A log that was found. It is adopted when its process has finished creating it. */
struct child {
    struct child *next;
    char *live_path;
    struct recording *recording; /* NULL: not adopted */
    uint64_t look_due_ns;        /* next check of the process, or try to adopt */
    struct recording_end end;
    bool has_end;     /* `end` is known */
    bool is_known;    /* its process was found; else it only may exist */
    bool is_over;     /* no process can write to it; its helper processes must end */
    bool is_refused;  /* it stays raw (CH-2), or does not exist */
    bool is_word;     /* a link that says why there is no log */
    bool is_raw;      /* the last try to adopt it failed */
    bool is_finished; /* can be removed from the list */
};

struct children {
    char *folder;
    char *first; /* file name of FILE */
    struct recording_settings settings;
    struct child *list;
    struct recording_totals totals;
    uint32_t n_logs;
    uint32_t n_unpacked;
    struct error unpacked_err; /* of the first */
    struct error raw_err;      /* of the latest that is_raw */
    pid_t program_pid;
    struct recording_end program_end;
    bool is_program_over;
    bool has_program_end; /* program_end is known */
    bool is_following;
    uint32_t n_images; /* images of the program with packed logs: their names need no lookup */
    int inotify_fd;    /* -1: none */
    bool has_missed;   /* inotify's queue overflowed */
    uint64_t list_due_ns;
};

/* The collector left a link in place of this log, because the disk was full. */
static bool is_word(const char *live_path)
{
    char target[sizeof(FILE_SYSTEMS_NO_ROOM) + 1]; /* a longer one means something else */

    return file_io_link_target(live_path, target, sizeof(target))
           && strcmp(target, FILE_SYSTEMS_NO_ROOM) == 0;
}

/* Links left by a run whose recorder was killed do not belong to this one. */
static void remove_old_words(const struct children *children)
{
    DIR *folder = opendir(children->folder);
    const struct dirent *entry;
    char *path;

    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        if (!successor_logs_is_name(children->first, entry->d_name, live_suffix)
            || asprintf(&path, "%s/%s", children->folder, entry->d_name) < 0)
            continue;
        if (is_word(path))
            (void)unlink(path);
        free(path);
    }
    closedir(folder);
}

struct children *children_new(const char *path, pid_t program_pid, bool is_following,
                              const struct recording_settings *settings)
{
    struct children *children = calloc(1, sizeof(*children));
    const char *slash = strrchr(path, '/');

    if (!children)
        return NULL;
    children->settings = *settings;
    children->program_pid = program_pid;
    children->inotify_fd = -1;
    children->folder = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    children->first = strdup(slash + 1);
    if (!children->folder || !children->first) {
        children_free(children);
        return NULL;
    }
    children->is_following = is_following;
    remove_old_words(children);
    if (is_following)
        children->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (children->inotify_fd >= 0
        && inotify_add_watch(children->inotify_fd, children->folder, IN_CREATE | IN_ONLYDIR) < 0) {
        close(children->inotify_fd);
        children->inotify_fd = -1;
    }
    return children;
}

void children_free(struct children *children)
{
    struct child *next;

    if (!children)
        return;
    for (struct child *child = children->list; child; child = next) {
        next = child->next;
        recording_free(child->recording);
        free(child->live_path);
        free(child);
    }
    if (children->inotify_fd >= 0)
        close(children->inotify_fd);
    free(children->folder);
    free(children->first);
    free(children);
}

/* ---- finding --------------------------------------------------------------------------------- */

static void note(struct children *children, const char *name)
{
    struct child *child;
    char *path = NULL;

    if (!successor_logs_is_name(children->first, name, live_suffix)
        || asprintf(&path, "%s/%s", children->folder, name) < 0)
        return;
    for (child = children->list; child; child = child->next)
        if (strcmp(child->live_path, path) == 0)
            break;
    if (child || !(child = calloc(1, sizeof(*child)))) {
        free(path);
        return;
    }
    child->live_path = path;
    child->next = children->list;
    children->list = child;
}

static void note_new(struct children *children)
{
    _Alignas(struct inotify_event) char events[4096];
    ssize_t n;

    while ((n = read(children->inotify_fd, events, sizeof(events))) > 0) {
        for (char *at = events; at < events + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;
            if (event->len)
                note(children, event->name);
            children->has_missed |= (event->mask & IN_Q_OVERFLOW) != 0;
            at += sizeof(*event) + event->len;
        }
    }
}

static bool is_there(const struct children *children, uint32_t image, const char *suffix,
                     char **ret_name)
{
    struct stat status;
    char *path = NULL;
    bool is_found;

    *ret_name = NULL;
    if (asprintf(ret_name, "%s.%d.%" PRIu32 "%s", children->first, (int)children->program_pid,
                 image, suffix)
        < 0) {
        *ret_name = NULL;
        return false;
    }
    is_found =
        asprintf(&path, "%s/%s", children->folder, *ret_name) >= 0 && lstat(path, &status) == 0;
    free(path);
    return is_found;
}

/* The first free number belongs to the next image. */
static void note_images(struct children *children)
{
    bool is_found = true;

    for (uint32_t image = children->n_images; is_found; image++) {
        char *live_name;
        char *name;
        bool is_live = is_there(children, image, live_suffix, &live_name);
        is_found = is_there(children, image, "", &name) || is_live;
        if (is_live)
            note(children, live_name);
        else if (is_found && image == children->n_images)
            children->n_images++;
        free(live_name);
        free(name);
    }
}

static void note_all(struct children *children)
{
    DIR *folder = opendir(children->folder);
    const struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder)))
        note(children, entry->d_name);
    closedir(folder);
}

/* ---- states of a log ------------------------------------------------------------------------- */

static void note_unpacked(struct children *children, const struct error *err)
{
    if (children->n_unpacked++ == 0)
        children->unpacked_err = *err;
}

/* Dropped events are missing whether or not the log was packed. */
static void finish(struct children *children, struct child *child)
{
    struct recording_totals totals;
    struct error err;

    if (recording_finish(child->recording, child->has_end ? &child->end : NULL, &totals, &err)
        == 0) {
        children->n_logs++;
        child->is_finished = true;
    } else {
        child->is_refused = true;
        note_unpacked(children, &err);
        recording_abandon(child->recording);
    }
    recording_add_totals(&children->totals, &totals);
    recording_free(child->recording);
    child->recording = NULL;
}

static pid_t pid_of(const struct children *children, const struct child *child)
{
    return successor_logs_get_pid(children->first, strrchr(child->live_path, '/') + 1);
}

static void note_raw(struct children *children, struct child *child)
{
    child->is_refused = true;
    if (children->settings.process_tree)
        process_tree_note_raw(children->settings.process_tree, pid_of(children, child));
}

/* The link stays while image numbers are looked up (note_images); else the next image could get its
 * number. */
static bool take_word(const struct children *children, struct child *child)
{
    if (!is_word(child->live_path))
        return false;
    child->is_refused = child->is_word = true;
    if (children->is_following)
        child->is_finished = unlink(child->live_path) == 0;
    if (children->settings.process_tree)
        process_tree_note_no_room(children->settings.process_tree, pid_of(children, child));
    return true;
}

/* Other logs may end and free descriptors. */
static bool is_lack_of_descriptors(const struct error *err)
{
    return err->os_errno == EMFILE || err->os_errno == ENFILE;
}

/* A raw log that cannot be packed stays. One that is being created, or lacks disk space, is tried
 * again. */
static void put_off(struct children *children, struct child *child, const struct error *err,
                    uint64_t now_ns)
{
    bool may_pass = error_is_disk_full(err) || is_lack_of_descriptors(err);

    child->is_raw = may_pass
                    || (!take_word(children, child) && err->code != ERROR_FORMAT
                        && access(child->live_path, F_OK) == 0);
    if (child->is_raw)
        children->raw_err = *err;
    if (may_pass)
        child->look_due_ns = now_ns + look_every_ns;
    else if (child->is_raw)
        note_raw(children, child);
}

static void adopt(struct children *children, struct child *child, uint64_t now_ns)
{
    size_t n = strlen(child->live_path) - (sizeof(live_suffix) - 1);
    char *path = strndup(child->live_path, n);
    struct error err;

    child->is_raw = false;
    if (path
        && recording_adopt(child->live_path, path, &children->settings, &child->recording, &err)
               != 0)
        put_off(children, child, &err, now_ns);
    free(path);
}

/* True: no process can write to the log any more. Also sets how the process ended, where
 * visible. */
static bool look_whether_over(const struct children *children, struct child *child)
{
    const struct live_log *live = &child->recording->live;
    pid_t pid = child->recording->pid;
    enum writer_liveness_state state;

    child->is_known = true;
    if (recording_is_replaced(child->recording) || recording_is_detached(child->recording))
        return true;
    if (pid == children->program_pid) {
        child->end = children->program_end;
        child->has_end = children->has_program_end;
        return children->is_program_over;
    }
    state = writer_liveness_of_program(&live->seen, live->fd);
    child->is_known = state == WRITER_LIVENESS_ALIVE;
    if (state != WRITER_LIVENESS_DEAD)
        return false;
    if (!child->has_end)
        child->has_end = writer_liveness_find_status(pid, &child->end.wait_status);
    return true;
}

static uint32_t step_child(struct children *children, struct child *child, uint64_t now_ns)
{
    uint32_t n_packed = 0;
    struct error err; /* tried again; reported at the end if it never succeeds */

    if (!child->recording && now_ns >= child->look_due_ns)
        adopt(children, child, now_ns);
    if (!child->recording)
        return 0;
    if (!child->is_over && now_ns >= child->look_due_ns) {
        child->look_due_ns =
            now_ns + (child->recording->pid ? look_every_ns : look_elsewhere_every_ns);
        child->is_over = look_whether_over(children, child);
    }
    if (!child->is_over)
        (void)recording_step(child->recording, now_ns, &n_packed, &err);
    else if (report_service_try_done(&child->recording->service))
        finish(children, child);
    return n_packed;
}

/* Frees finished entries: a build may have thousands of short processes. */
static void forget_finished(struct children *children)
{
    for (struct child **link = &children->list; *link;) {
        struct child *child = *link;
        if (!child->is_finished) {
            link = &child->next;
            continue;
        }
        *link = child->next;
        free(child->live_path);
        free(child);
    }
}

static void note_what_is_due(struct children *children, uint64_t now_ns)
{
    if (!children->is_following) {
        note_images(children);
        return;
    }
    if (children->inotify_fd >= 0)
        note_new(children);
    if (!children->has_missed && (children->inotify_fd >= 0 || now_ns < children->list_due_ns))
        return;
    children->has_missed = false;
    children->list_due_ns = now_ns + list_every_ns;
    note_all(children);
}

uint32_t children_step(struct children *children, uint64_t now_ns)
{
    uint32_t n_packed = 0;

    note_what_is_due(children, now_ns);
    for (struct child *child = children->list; child; child = child->next)
        if (!child->is_refused)
            n_packed += step_child(children, child, now_ns);
    forget_finished(children);
    return n_packed;
}

void children_each(struct children *children, children_see *see, void *context)
{
    for (struct child *child = children->list; child; child = child->next)
        if (child->recording && !child->is_over && !see(context, child->recording))
            return;
}

uint64_t children_samples_due_ns(const struct children *children)
{
    uint64_t due_ns = UINT64_MAX;

    for (const struct child *child = children->list; child; child = child->next)
        if (child->recording && child->recording->samples_due_ns < due_ns)
            due_ns = child->recording->samples_due_ns;
    return due_ns;
}

void children_note_end(struct children *children, pid_t pid, const struct recording_end *end)
{
    if (pid == children->program_pid && !children->is_program_over) {
        children->has_program_end = end != NULL;
        if (end)
            children->program_end = *end;
        children->is_program_over = true;
        return;
    }
    for (struct child *child = children->list; child; child = child->next) {
        if (!child->recording)
            continue;
        report_service_note_end(&child->recording->service, pid, end->wait_status);
        if (child->recording->pid == pid) {
            child->end = *end;
            child->has_end = true;
        }
    }
}

/* ret_n_waiting: logs that are not adopted yet. */
static uint32_t settle_each(struct children *children, uint64_t now_ns, uint32_t *ret_n_waiting)
{
    uint32_t n_running = 0;

    *ret_n_waiting = 0;
    for (struct child *child = children->list; child; child = child->next) {
        if (child->is_refused)
            continue;
        child->look_due_ns = 0;
        step_child(children, child, now_ns);
        n_running += child->recording && !child->is_over && child->is_known;
        *ret_n_waiting += !child->recording && !child->is_finished && !child->is_refused;
    }
    forget_finished(children);
    return n_running;
}

/* Repeats while finished logs free descriptors for others (is_lack_of_descriptors). */
uint32_t children_settle(struct children *children, uint64_t now_ns)
{
    uint32_t n_running;
    uint32_t n_waiting;
    uint32_t n_before;

    if (children->is_following)
        note_all(children);
    else
        note_images(children);
    do {
        n_before = children->n_logs;
        n_running = settle_each(children, now_ns, &n_waiting);
    } while (n_waiting && children->n_logs > n_before);
    return n_running;
}

/* A process that continues writes to its raw log. */
static bool is_written(const struct child *child, struct log_header *ret_header)
{
    struct live_log live;
    bool is_there;

    if (live_log_open(child->live_path, false, &live, NULL) != 0)
        return false;
    *ret_header = live.seen;
    is_there = writer_liveness_of_program(&live.seen, live.fd) != WRITER_LIVENESS_DEAD;
    live_log_close(&live);
    return is_there;
}

/* The log is not packed, and will not be. */
static void leave_raw(struct children *children, struct child *child)
{
    struct process_tree *process_tree = children->settings.process_tree;
    struct log_header header;

    if (!is_written(child, &header)) {
        note_unpacked(children, &children->raw_err);
        note_raw(children, child);
    } else if (process_tree) {
        process_tree_note_log(process_tree, (pid_t)header.pid, writer_liveness_knows_pid(&header));
    }
}

void children_abandon(struct children *children)
{
    for (struct child *child = children->list; child; child = child->next) {
        if (child->recording && child->is_over)
            finish(children, child);
        else if (child->recording)
            recording_abandon(child->recording);
        else if (child->is_raw)
            leave_raw(children, child);
        else if (child->is_word)
            (void)unlink(child->live_path);
    }
    forget_finished(children);
}

void children_get_totals(const struct children *children, struct recording_totals *ret_totals,
                         uint32_t *ret_n_logs)
{
    *ret_totals = children->totals;
    *ret_n_logs = children->n_logs;
}

uint32_t children_get_unpacked(const struct children *children, struct error *ret_err)
{
    *ret_err = children->unpacked_err;
    return children->n_unpacked;
}
