/* SPDX-License-Identifier: MIT */
#include "recorder/session/attachment.h"

#include "lib/abi/attach_answer.h"
#include "lib/base/file_io.h"
#include "lib/base/monotonic.h"
#include "lib/process/proc_files.h"
#include "recorder/attach/attaching.h"
#include "recorder/attach/target.h"
#include "recorder/session/collector_commands.h"
#include "recorder/session/collector_library.h"
#include "recorder/session/exit_summary.h"
#include "recorder/session/mapped_log.h"
#include "recorder/session/program.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t search_ns = 2000000000; /* of a search for a safe point */
static const uint64_t leave_ns = 300000000;   /* for a recorder, which still has to pack */
static const uint64_t handle_ns = 300000000;  /* for a process that executes events */

enum {
    MAX_LISTED = 8 /* of the children that run */
};

/* File names of mtrace's libraries, each with a slash. */
enum {
    ATTACH_LIBRARY,
    PRELOAD_LIBRARY,
    PRELOAD_NEW_LIBRARY,
    N_LIBRARIES
};

static const char *const g_libraries[N_LIBRARIES] = {"/libmtrace-attach.so", "/libmtrace.so",
                                                     "/libmtrace-new.so"};

/* Looks beside the preloaded library. */
static int find_library(char **ret_path, struct error *err)
{
    char *preloaded = NULL;
    int code = collector_library_find(NULL, false, &preloaded, err);
    const char *slash = preloaded ? strrchr(preloaded, '/') : NULL;

    if (code)
        return code;
    if (!slash
        || asprintf(ret_path, "%.*s%s", (int)(slash - preloaded), preloaded,
                    g_libraries[ATTACH_LIBRARY])
               < 0)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    else if (access(*ret_path, R_OK) != 0)
        code = error_set_errno(err, errno, "cannot read '%s'", *ret_path);
    free(preloaded);
    return code;
}

/* mtrace's libraries and log in a process's mappings. */
struct parts {
    char *libraries[N_LIBRARIES]; /* paths; owned */
    struct mapped_log log;
    pid_t pid;
};

static bool note_part(const struct process_mapping *mapping, void *context)
{
    struct parts *parts = context;

    for (int i = 0; i < N_LIBRARIES; i++) {
        if (!parts->libraries[i] && strstr(mapping->path, g_libraries[i]))
            parts->libraries[i] = strdup(mapping->path);
    }
    if (!parts->log.is_writing && mapping->permissions[3] == 's'
        && mapping->offset == 0) /* a log is mapped from its start */
        mapped_log_take(&parts->log, parts->pid, mapping);
    return true;
}

static void parts_done(struct parts *parts)
{
    for (int i = 0; i < N_LIBRARIES; i++)
        free(parts->libraries[i]);
    mapped_log_done(&parts->log);
    *parts = (struct parts){.log.fd = -1};
}

/* False: the mappings cannot be read. */
static bool parts_find(pid_t pid, struct parts *ret_parts)
{
    *ret_parts = (struct parts){.log.fd = -1, .pid = pid};
    return process_maps_visit(pid, note_part, ret_parts);
}

/* The process has had the collector since its start, by LD_PRELOAD. */
static bool is_preloaded(const struct parts *parts)
{
    return parts->libraries[PRELOAD_LIBRARY] || parts->libraries[PRELOAD_NEW_LIBRARY];
}

/* The process has the library that attaching loads, recording or not; also true if unknown. */
static bool has_attached(pid_t pid)
{
    struct parts parts;
    bool is_there = !parts_find(pid, &parts) || parts.libraries[ATTACH_LIBRARY];

    parts_done(&parts);
    return is_there;
}

static char *read_program(pid_t pid)
{
    char link[64];
    char path[PATH_MAX];

    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    return file_io_link_target(link, path, sizeof(path)) ? strdup(path) : NULL;
}

int attachment_look(struct attachment *attachment, pid_t pid, char **ret_path, struct error *err)
{
    *attachment = (struct attachment){.pid = pid};
    attachment->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (attachment->pidfd < 0 && (errno == ENOENT || errno == EINVAL))
        return error_set(err, ERROR_USAGE,
                         "%d is a thread: attach to its process (Tgid in /proc/%d/status)",
                         (int)pid, (int)pid);
    if (attachment->pidfd < 0)
        return errno == ESRCH ? error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)pid)
                              : error_set_errno(err, errno, "cannot watch process %d", (int)pid);
    *ret_path = read_program(pid);
    if (!*ret_path && errno == ENOENT)
        return error_set(err, ERROR_USAGE, "process %d has ended, or its main thread has",
                         (int)pid);
    if (!*ret_path)
        return target_report_denial(pid, "looked at", err);
    return find_library(&attachment->library, err);
}

static int report_refused(pid_t pid, int why, struct error *err)
{
    if (why == ATTACH_ANSWER_ATTACHED)
        return error_set(err, ERROR_EXISTS,
                         "process %d is attached to already: 'mtrace-record --detach %d' ends that",
                         (int)pid, (int)pid);
    if (why == ATTACH_ANSWER_RECORDED) /* since a moment ago */
        return error_set(
            err, ERROR_EXISTS,
            "process %d is already recorded by the mtrace-record that started it: 'mtrace-record --ctl "
            "%d start' begins a window of it",
            (int)pid, (int)pid);
    if (why == ATTACH_ANSWER_NO_LOADER)
        return error_set(err, ERROR_IO,
                         "process %d has an ld.so whose list of modules cannot be locked: start it "
                         "under mtrace-record",
                         (int)pid);
    return error_set(
        err, ERROR_IO,
        "process %d cannot map a log where -o says: its user must be allowed to open files "
        "there, and its limits (ulimit -v) to map one",
        (int)pid);
}

static void add_child(struct attachment *attachment, pid_t pid)
{
    struct thread_status status;
    char *text = attachment->children;
    size_t used = strlen(text);

    if (pid == getpid() || !thread_status_read(pid, pid, &status) || status.state == 'Z')
        return;
    if (attachment->n_children++ < MAX_LISTED)
        (void)snprintf(text + used, sizeof(attachment->children) - used, "%s%d", used ? ", " : "",
                       (int)pid);
}

/* The kernel lists the children of each thread; it may be built without these lists. */
static void find_children(struct attachment *attachment)
{
    char path[64];
    size_t used;
    DIR *folder;
    const struct dirent *entry;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)attachment->pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        char name[PATH_MAX];
        FILE *file;
        int pid;

        (void)snprintf(name, sizeof(name), "%s/%s/children", path, entry->d_name);
        file = fopen(name, "re");
        while (file && fscanf(file, "%d", &pid) == 1)
            add_child(attachment, pid);
        if (file)
            (void)fclose(file);
    }
    if (folder)
        (void)closedir(folder);
    used = strlen(attachment->children);
    if (attachment->n_children > MAX_LISTED)
        (void)snprintf(attachment->children + used, sizeof(attachment->children) - used,
                       " and %" PRIu32 " more", attachment->n_children - MAX_LISTED);
}

int attachment_begin(struct attachment *attachment, const char *settings, struct error *err)
{
    struct remote_call_result answer;
    struct error busy;
    char *argument = NULL;
    bool is_left;
    int code;

    find_children(attachment);
    is_left =
        has_attached(attachment->pid) && attaching_is_left(attachment->pid, attachment->library);
    if (asprintf(&argument, "MTRACE_RECORDER=%s%s", settings, is_left ? "MTRACE_IS_LEFT=1\n" : "")
        < 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    program_join_settings(argument);
    code = attaching_run(&(struct attaching_call){.pid = attachment->pid,
                                                  .library = attachment->library,
                                                  .function = "mtrace_attach",
                                                  .argument = argument,
                                                  .begins = true,
                                                  .time_limit_ns = search_ns},
                         &answer, err);
    busy = *err;
    if (answer.is_busy)
        code = error_set(err, ERROR_IO, "%s: try again", busy.text);
    attachment->lacks_executable = code == 0 && answer.result == ATTACH_ANSWER_NO_EXECUTABLE;
    if (code == 0 && answer.result != ATTACH_ANSWER_DONE && !attachment->lacks_executable)
        code = report_refused(attachment->pid, (int)answer.result, err);
    attachment->pause_ns = answer.pause_ns;
    free(argument);
    return code;
}

bool attachment_has_ended(const struct attachment *attachment)
{
    struct pollfd look = {.fd = attachment->pidfd, .events = POLLIN};

    return poll(&look, 1, 0) > 0;
}

static int call_detach(pid_t pid, const char *library, uint64_t time_limit_ns,
                       struct attaching_pace *pace, struct remote_call_result *ret_answer,
                       struct error *err)
{
    return attaching_run(&(struct attaching_call){.pid = pid,
                                                  .library = library,
                                                  .function = "mtrace_detach",
                                                  .argument = "",
                                                  .time_limit_ns = time_limit_ns,
                                                  .pace = pace},
                         ret_answer, err);
}

int attachment_detach_step(struct attachment *attachment, bool *ret_is_busy, struct error *err)
{
    struct remote_call_result answer;
    int code = call_detach(attachment->pid, attachment->library, leave_ns, &attachment->pace,
                           &answer, err);

    *ret_is_busy = answer.is_busy;
    return code;
}

/* Restores the process with any of mtrace's libraries that records there. */
static int restore_by_remote_call(pid_t pid, const struct parts *parts, uint64_t time_limit_ns,
                                  struct error *err)
{
    struct remote_call_result answer = {.result = 1};
    int code = 0;

    for (int i = 0; i < N_LIBRARIES && code == 0 && answer.result != 0; i++)
        if (parts->libraries[i])
            code = call_detach(pid, parts->libraries[i], time_limit_ns, NULL, &answer, err);
    return code;
}

void attachment_leave_also(pid_t pid)
{
    struct parts parts;
    struct error err;

    if (parts_find(pid, &parts))
        (void)restore_by_remote_call(pid, &parts, leave_ns, &err);
    parts_done(&parts);
}

static int detach_patiently(const struct attachment *attachment, int *ret_result, struct error *err)
{
    struct attaching_pace pace = {.why = NULL};
    struct remote_call_result answer;
    int code = call_detach(attachment->pid, attachment->library, search_ns, &pace, &answer, err);

    if (answer.is_busy)
        exit_summary_warn("%s; still trying, ^C ends that", err->text);
    while (answer.is_busy)
        code = call_detach(attachment->pid, attachment->library, search_ns, &pace, &answer, err);
    *ret_result = answer.result;
    return code;
}

/* After attaching, the library stays mapped, or code that leads to it. If the mappings cannot be
 * read, false lets the remote call report the reason. */
static bool never_attached(const struct attachment *attachment)
{
    const struct attaching_call look = {.pid = attachment->pid, .library = attachment->library};
    struct remote_call_result answer;
    struct error err;

    return !has_attached(attachment->pid) && attaching_run(&look, &answer, &err) == 0
           && answer.result == 0;
}

/* ---- processes started with the collector ---------------------------------------------------- */

static bool is_writing(pid_t pid)
{
    struct parts parts;
    bool is_it = !parts_find(pid, &parts) || parts.log.is_writing;

    parts_done(&parts);
    return is_it;
}

/* The process handles the command within its next two events. */
static void order_end(pid_t pid, const struct mapped_log *log)
{
    static const struct command command = {.command = LOG_COMMAND_DETACH};
    static const struct timespec pause = {.tv_nsec = 2000000};
    const uint64_t until_ns = monotonic_now_ns() + handle_ns;
    struct live_log live;
    struct collector_commands commands;
    struct error err;

    if (mapped_log_open(log, &live, &err) != 0)
        return;
    live_log_read_header(&live);
    collector_commands_resume(&commands, &live);
    (void)collector_commands_ask(&commands, &command);
    do {
        collector_commands_step(&commands, &live);
        nanosleep(&pause, NULL);
    } while (is_writing(pid) && monotonic_now_ns() < until_ns);
    live_log_close(&live);
}

/* Ends the log as it is; the process continues unrecorded. */
static int end_log(pid_t pid, const struct parts *parts, struct error *err)
{
    const char *name = parts->log.name ? parts->log.name : "?";
    struct error why = {.text = ""};

    if (parts->log.fd >= 0)
        order_end(pid, &parts->log);
    if (!is_writing(pid)
        || (restore_by_remote_call(pid, parts, search_ns, &why) == 0 && !is_writing(pid)))
        return 0;
    return error_set(err, ERROR_IO,
                     "process %d has the collector from its start and is idle%s%s: with its next "
                     "allocation or free it ends its log '%s'; then run 'mtrace-record --pack %s' "
                     "and try again",
                     (int)pid, *why.text ? ", and " : "", why.text, name, name);
}

static int check_not_recorded(pid_t pid, const struct mapped_log *log, struct error *err)
{
    int recorder = (int)atomic_load_explicit(&log->header.recorder_pid, memory_order_relaxed);

    if (log->fd < 0)
        return error_set(err, ERROR_EXISTS,
                         "process %d writes a log that was removed, or cannot be opened here: "
                         "'mtrace-record --detach %d' ends that",
                         (int)pid, (int)pid);
    if (mapped_log_is_recorded(log))
        return error_set(err, ERROR_EXISTS,
                         "process %d is already recorded, by mtrace-record %d (of its pid "
                         "namespace): 'mtrace-record --ctl %d start' begins a window of it",
                         (int)pid, recorder, (int)pid);
    if (!log->is_live)
        return error_set(err, ERROR_EXISTS,
                         "process %d records itself into '%s', as LD_PRELOAD says: 'mtrace-record "
                         "--detach %d' ends that",
                         (int)pid, log->name, (int)pid);
    return 0;
}

/* The process was started with the collector and writes a log. */
static bool is_left(const struct parts *parts)
{
    return is_preloaded(parts) && parts->log.is_writing && !parts->libraries[ATTACH_LIBRARY];
}

static int check_parts(const struct attachment *attachment, const struct parts *parts,
                       struct error *err)
{
    const struct attaching_call look = {
        .pid = attachment->pid, .library = attachment->library, .time_limit_ns = search_ns};
    struct remote_call_result answer;
    int code;

    if (parts->libraries[ATTACH_LIBRARY] && parts->log.is_writing)
        return report_refused(attachment->pid, ATTACH_ANSWER_ATTACHED, err);
    if (!is_left(parts))
        return 0;
    code = check_not_recorded(attachment->pid, &parts->log, err);
    return code ? code : attaching_run(&look, &answer, err);
}

int attachment_check(const struct attachment *attachment, struct error *err)
{
    struct parts parts;
    int code = parts_find(attachment->pid, &parts) ? check_parts(attachment, &parts, err) : 0;

    parts_done(&parts);
    return code;
}

int attachment_take_over(const struct attachment *attachment, struct error *err)
{
    const pid_t pid = attachment->pid;
    struct parts parts;
    int code = 0;

    if (parts_find(pid, &parts) && is_left(&parts)) {
        code = check_not_recorded(pid, &parts.log, err);
        if (code == 0)
            code = end_log(pid, &parts, err);
        if (code == 0)
            exit_summary_warn(
                "the mtrace-record that recorded process %d has ended, and left the log as "
                "'%s'%s: 'mtrace-record --pack %s' saves it",
                (int)pid, parts.log.name, parts.log.is_elsewhere ? " of its mount namespace" : "",
                parts.log.name);
    }
    parts_done(&parts);
    return code;
}

static int report_not_attached(pid_t pid, struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "process %d is not attached to", (int)pid);
}

static int detach_known(const struct attachment *attachment, const struct parts *parts,
                        struct error *err)
{
    const pid_t pid = attachment->pid;
    int result = 1;
    int code = 0;

    if (!is_preloaded(parts) && never_attached(attachment)) /* the threads need not be examined */
        return report_not_attached(pid, err);
    if (parts->libraries[ATTACH_LIBRARY] || !is_preloaded(parts))
        code = detach_patiently(attachment, &result, err);
    if (code || result == 0)
        return code;
    if (is_preloaded(parts) && parts->log.is_writing)
        return end_log(pid, parts, err);
    if (!is_preloaded(parts))
        return report_not_attached(pid, err);
    return error_set(err, ERROR_NOT_FOUND,
                     "process %d has the collector from its start, but no recorder, and it "
                     "writes no log: 'mtrace-record --attach %d' begins one",
                     (int)pid, (int)pid);
}

static void note_left(const struct mapped_log *log, struct attachment_left *ret_left)
{
    *ret_left = (struct attachment_left){.is_elsewhere = log->is_elsewhere,
                                         .is_removed = log->is_writing && !log->name};
    if (!log->name || !log->is_live)
        return;
    ret_left->log = strdup(log->name);
    ret_left->is_recorded = mapped_log_is_recorded(log);
}

int attachment_detach(pid_t pid, struct attachment_left *ret_left, struct error *err)
{
    struct attachment attachment;
    struct parts parts;
    char *path = NULL;
    int code = attachment_look(&attachment, pid, &path, err);

    (void)parts_find(pid, &parts); /* while the log is mapped */
    note_left(&parts.log, ret_left);
    if (code == 0)
        code = detach_known(&attachment, &parts, err);
    parts_done(&parts);
    free(path);
    attachment_done(&attachment);
    return code;
}

void attachment_done(struct attachment *attachment)
{
    if (attachment->pid && attachment->pidfd >= 0)
        close(attachment->pidfd);
    free(attachment->library);
    *attachment = (struct attachment){.pidfd = -1};
}
