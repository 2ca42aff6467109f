/* SPDX-License-Identifier: MIT */
#include "recorder/command/attachment.h"

#include "common/attach_answer.h"
#include "recorder/attaching/attaching.h"
#include "recorder/command/closing.h"
#include "recorder/command/collector_library.h"
#include "recorder/command/program.h"
#include "recorder/family/log_name.h"
#include "support/process_maps.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t search_ns = 2000000000; /* for a thread at a safe place */
static const uint64_t leave_ns = 300000000;   /* of a recorder, which must pack meanwhile */
static const char library_name[] = "libmtrace-attach.so";

/* Beside the library that is preloaded. */
static int find_library(char **ret_path, struct error *err)
{
    char *preloaded = NULL;
    int code = collector_library_find(NULL, false, &preloaded, err);
    const char *slash = preloaded ? strrchr(preloaded, '/') : NULL;

    if (code)
        return code;
    if (!slash
        || asprintf(ret_path, "%.*s/%s", (int)(slash - preloaded), preloaded, library_name) < 0)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    else if (access(*ret_path, R_OK) != 0)
        code = error_set_errno(err, errno, "cannot read '%s'", *ret_path);
    free(preloaded);
    return code;
}

struct sought {
    const char *names[2];
    bool is_there;
};

static bool is_none_of(const struct process_mapping *mapping, void *context)
{
    struct sought *sought = context;

    for (int i = 0; i < 2; i++)
        sought->is_there = sought->is_there || strstr(mapping->path, sought->names[i]);
    return !sought->is_there;
}

/* A library of one of these names. */
static bool has_loaded(pid_t pid, const char *name, const char *other)
{
    struct sought sought = {.names = {name, other}};

    return process_maps_visit(pid, is_none_of, &sought) && sought.is_there;
}

static char *read_program(pid_t pid)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    return strdup(path);
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
        return errno == ESRCH ? error_set(err, ERROR_USAGE, "there is no process %d", (int)pid)
                              : error_set_errno(err, errno, "cannot watch process %d", (int)pid);
    *ret_path = read_program(pid);
    if (!*ret_path && errno == ENOENT)
        return error_set(err, ERROR_USAGE,
                         "process %d has no program any more: it, or its main thread, has ended",
                         (int)pid);
    if (!*ret_path)
        return error_set(
            err, ERROR_IO,
            "process %d may not be looked at: attach as root, or as the user it runs as", (int)pid);
    if (has_loaded(pid, "/libmtrace.so", "/libmtrace-new.so"))
        return error_set(
            err, ERROR_EXISTS,
            "process %d was started with the collector: 'mtrace-record --ctl %d start' "
            "begins a window of it",
            (int)pid, (int)pid);
    return find_library(&attachment->library, err);
}

static int say_refused(pid_t pid, int why, struct error *err)
{
    if (why == ATTACH_ANSWER_ATTACHED)
        return error_set(err, ERROR_EXISTS,
                         "process %d is attached to already: 'mtrace-record --detach %d' ends that",
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

int attachment_begin(struct attachment *attachment, const char *settings, struct error *err)
{
    struct attaching_answer answer;
    struct error busy;
    char *argument = NULL;
    bool is_left;
    int code;

    is_left = has_loaded(attachment->pid, library_name, library_name)
              && attaching_is_left(attachment->pid, attachment->library);
    if (asprintf(&argument, "MTRACE_RECORDER=%s%s", settings, is_left ? "MTRACE_IS_LEFT=1\n" : "")
        < 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    program_join_settings(argument);
    code = attaching_run(&(struct attaching_call){.pid = attachment->pid,
                                                  .library = attachment->library,
                                                  .function = "mtrace_attach",
                                                  .argument = argument,
                                                  .patience_ns = search_ns},
                         &answer, err);
    busy = *err;
    if (answer.is_busy)
        code = error_set(err, ERROR_IO, "%s: try again", busy.text);
    if (code == 0 && answer.result != ATTACH_ANSWER_DONE)
        code = say_refused(attachment->pid, (int)answer.result, err);
    attachment->pause_ns = answer.pause_ns;
    free(argument);
    return code;
}

bool attachment_has_ended(const struct attachment *attachment)
{
    struct pollfd look = {.fd = attachment->pidfd, .events = POLLIN};

    return poll(&look, 1, 0) > 0;
}

static int call_detach(const struct attachment *attachment, uint64_t patience_ns,
                       struct attaching_answer *ret_answer, struct error *err)
{
    return attaching_run(&(struct attaching_call){.pid = attachment->pid,
                                                  .library = attachment->library,
                                                  .function = "mtrace_detach",
                                                  .argument = "",
                                                  .patience_ns = patience_ns},
                         ret_answer, err);
}

int attachment_leave(const struct attachment *attachment, bool *ret_is_busy, struct error *err)
{
    struct attaching_answer answer;
    int code = call_detach(attachment, leave_ns, &answer, err);

    *ret_is_busy = answer.is_busy;
    return code;
}

static int detach_patiently(const struct attachment *attachment, int *ret_result, struct error *err)
{
    struct attaching_answer answer;
    int code = call_detach(attachment, search_ns, &answer, err);

    if (answer.is_busy)
        closing_warn("%s; still trying, ^C ends that", err->text);
    while (answer.is_busy)
        code = call_detach(attachment, search_ns, &answer, err);
    *ret_result = answer.result;
    return code;
}

static bool note_log(const struct process_mapping *mapping, void *context)
{
    static const char deleted[] = " (deleted)";
    const size_t n = strlen(mapping->path);
    char **ret_log = context;

    if (!log_name_is_live(mapping->path))
        return true;
    if (n < sizeof(deleted) || strcmp(mapping->path + n + 1 - sizeof(deleted), deleted) != 0)
        *ret_log = strdup(mapping->path);
    return false;
}

/* What was ever attached to has the library mapped for good, or code that leads to it. Where that cannot be seen it is for the call to say why. */
static bool never_attached(const struct attachment *attachment)
{
    const struct attaching_call look = {.pid = attachment->pid, .library = attachment->library};
    struct sought sought = {.names = {library_name, library_name}};
    struct attaching_answer answer;
    struct error err;

    return process_maps_visit(attachment->pid, is_none_of, &sought) && !sought.is_there
           && attaching_run(&look, &answer, &err) == 0 && answer.result == 0;
}

/* Of a program that has the collector from its start, and so keeps it. */
static int say_kept(pid_t pid, const char *log, struct error *err)
{
    if (log)
        return error_set(
            err, ERROR_EXISTS,
            "process %d has the collector from its start, and keeps it; who recorded it "
            "is gone, and left the log as '%s', which the process writes until it "
            "ends: 'mtrace-record --pack %s' saves it then",
            (int)pid, log, log);
    return error_set(
        err, ERROR_EXISTS,
        "process %d has the collector from its start, and keeps it; nobody records it, "
        "and it writes no log",
        (int)pid);
}

static int say_not_attached(pid_t pid, struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "process %d is not attached to", (int)pid);
}

int attachment_detach(pid_t pid, char **ret_log, struct error *err)
{
    struct attachment attachment;
    char *path = NULL;
    int result = 0;
    int code = attachment_look(&attachment, pid, &path, err);

    *ret_log = NULL;
    (void)process_maps_visit(pid, note_log, ret_log); /* while it is mapped */
    if (code == ERROR_EXISTS)
        code = say_kept(pid, *ret_log, err);
    else if (code == 0 && never_attached(&attachment)) /* its threads need not be looked for */
        code = say_not_attached(pid, err);
    else if (code == 0)
        code = detach_patiently(&attachment, &result, err);
    if (code == 0 && result != 0)
        code = say_not_attached(pid, err);
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
