/* SPDX-License-Identifier: MIT */
#include "lib/abi/elf_loader.h"
#include "lib/abi/settings.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_name.h"
#include "lib/process/proc_files.h"
#include "recorder/pack/module_files.h"
#include "recorder/session/collector_library.h"
#include "recorder/session/exit_summary.h"
#include "recorder/session/output_path.h"
#include "recorder/session/session_parts.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    ZSTD_LEVEL = 1
};

static uint64_t own_peak_bytes(void)
{
    struct rusage usage = {.ru_maxrss = 0};

    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* A sample stands for many blocks. */
static uint64_t elide_ns(const struct options *options)
{
    if (options->is_aggregate)
        return options->sample_bytes ? 0 : UINT64_MAX;
    return options->elide_ms * 1000000;
}

static void get_settings(struct session *session, struct recording_settings *ret_settings)
{
    *ret_settings = (struct recording_settings){
        .force = session->options->force,
        .zstd_level = session->options->is_compressed ? ZSTD_LEVEL : 0,
        .elide_ns = elide_ns(session->options),
        .sample_ms = session->options->sample_ms,
        .max_live_bytes = session->options->max_live_bytes,
        .max_packed_bytes = session->options->max_local_bytes / 2,
        .rotates = session->options->gives_back,
        .programs = &session->programs,
        .follower = &session->follower,
        .is_aggregate = session->options->is_aggregate,
        .process_tree = session->process_tree,
        .module_files = session->module_files,
        .warn = exit_summary_warn,
        .takes_exit_image = session->options->takes_exit_image,
        .image_rss_bytes = session->options->image_rss_bytes,
    };
}

static int choose_name(struct session *session, struct error *err)
{
    const struct log_name_values values = {
        .program = session->attachment.pid ? session->program.path : session->options->argv[0],
        .unix_seconds = (int64_t)time(NULL),
        .pid = session->program.pid};
    const char *pattern = session->options->output ? session->options->output : LOG_NAME_DEFAULT;
    int code = log_name_expand(pattern, &values, &session->name, err);

    if (code)
        return code;
    session->path = log_name_absolute(session->name);
    if (!session->path)
        return error_set_errno(err, errno, "cannot find the working directory");
    if (!settings_can_hold(session->path))
        return error_set(
            err, ERROR_USAGE,
            "the working directory has a line break or a unit separator (0x1f) in its name; "
            "give a whole path with -o");
    return 0;
}

static int release(struct session *session, const char *library, struct error *err)
{
    const struct patch_plan *plan = &session->allocator.plan;
    char *settings = NULL;
    int code;

    if (asprintf(&settings, "%sMTRACE_POOL=%s\nMTRACE_OUTPUT=%s\nMTRACE_RECORDER_PID=%d\n%s%s%s",
                 session->options->settings, session->recording->live.path, session->path,
                 (int)getpid(), plan->text ? "MTRACE_INSIDE=" : "", plan->text ? plan->text : "",
                 plan->text ? "\n" : "")
        < 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    code = program_release(&session->program, library, settings, err);
    free(settings);
    return code;
}

/* Warns of a live log in another folder: children's logs go there, too, and are found only by a
 * link beside the first log. */
static void emit_of_weakness(const struct session *session)
{
    const struct live_log *live = &session->recording->live;

    if (!live->weakness)
        return;
    exit_summary_warn(
        "the live log is '%s': beside '%s' %s; events that are not packed yet are lost if the "
        "machine crashes",
        live->path, session->name, live->weakness);
    if (session->options->follows_children && !live->link_path)
        exit_summary_warn("children will not be recorded: beside '%s' no links can be made; choose "
                          "another folder with -o",
                          session->name);
}

static int make_files(struct session *session, const char *path, struct error *err)
{
    struct recording_settings settings;
    int code = output_path_check(session->path, err);

    if (code)
        return code;
    session->process_tree = process_tree_new();
    session->module_files = module_files_new(session->options->keep_symbols_bytes);
    if (!session->process_tree || !session->module_files)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    module_files_open(session->module_files, session->program.path);
    session->follower.ring.log_path = session->path;
    session->follower.is_bounded = session->options->is_aggregate;
    get_settings(session, &settings);
    session->reports.follower = &session->follower;
    code = recording_create(path, session->program.pid, &settings, &session->recording, err);
    if (code == 0) {
        bool is_following = session->options->follows_children;
        session->children =
            children_new(session->path, session->program.pid, is_following, &settings);
        if (!session->children)
            code = error_set(err, ERROR_NOMEM, "not enough memory");
    }
    return code;
}

/* An earlier recording of this name is kept under another one. */
static int keep_earlier(const struct session *session, struct error *err)
{
    int code = output_path_keep(session->path, err);

    if (code == 0)
        exit_summary_print(session->options->quiet,
                           "'%s' exists: it is '%s.old' now; --force would replace it",
                           session->name, session->name);
    return code;
}

/* Each of our wakeups would preempt a thread of the program. SCHED_BATCH lets it finish its time
 * slice; the live log lasts longer. */
static void be_patient(void)
{
    const struct sched_param no_priority = {0};

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &no_priority);
}

/* Before anything is started, so that a missing permission is reported immediately. */
static int prepare_sending(struct session *session, struct error *err)
{
    if (!session->options->has_receiver)
        return 0;
    session->sender_program = program_find_sibling(PROGRAM_SENDER);
    return sender_process_check(session->sender_program, &session->options->sending, err);
}

/* A bounded run needs a follower; without one it would stop at its first 512 MiB. */
static int find_programs(struct session *session, struct error *err)
{
    char why[ERROR_TEXT_BYTES / 2];

    session->programs.import = program_find_sibling("mtrace-import");
    session->programs.query = program_find_sibling("mtrace-query");
    if (!session->options->is_aggregate || session->programs.import)
        return 0;
    program_explain_sibling("mtrace-import", why, sizeof(why));
    return error_set(
        err, ERROR_USAGE,
        "--aggregate needs mtrace-import, which takes the events in while they come: %s", why);
}

static int find_library(const struct session *session, char **ret_library, struct error *err)
{
    const struct program_look look = program_look(session->program.path);
    char *library = NULL;
    int code;

    if (look.is_not_of_glibc)
        return 0;
    /* What a static program starts is likely of the recorder's own kind. */
    code = collector_library_find(look.is_elf && !look.has_no_loader ? &look.kind : NULL,
                                  session->allocator.has_operators, &library, err);
    if (code || !library || !look.has_no_loader) {
        *ret_library = library;
        return code;
    }
    if (asprintf(ret_library, "%s%s", ELF_LOADER_ROOT, library) < 0)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    free(library);
    return code;
}

static int begin_attached(struct session *session, struct error *err)
{
    char *settings = NULL;
    int code;

    if (asprintf(&settings, "%sMTRACE_POOL=%s\nMTRACE_OUTPUT=%s\nMTRACE_RECORDER_PID=%d\n",
                 session->options->settings, session->recording->live.path, session->path,
                 (int)getpid())
        < 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    code = attachment_begin(&session->attachment, settings, err);
    free(settings);
    return code;
}

/* The process runs as this user and must open the live log: root can attach to other users'
 * processes. */
static void give_pool(const struct session *session)
{
    const pid_t pid = session->program.pid;
    struct thread_status status;

    if (thread_status_read(pid, pid, &status) && status.uid != geteuid())
        (void)!fchown(session->recording->live.fd, status.uid, (gid_t)-1);
}

/* Files that --force replaces stay until the process has the log. */
static int make_files_beside(struct session *session, struct error *err)
{
    char *beside = NULL;
    int code = output_path_beside(session->path, &beside, err);

    if (code == 0)
        code = make_files(session, beside, err);
    free(beside);
    return code;
}

static int take_place(struct session *session, bool is_kept, struct error *err)
{
    struct error failure;
    bool is_busy;
    int code = is_kept ? keep_earlier(session, err) : 0;

    if (code == 0)
        code = output_path_take(session->recording, session->path, err);
    if (code)
        (void)attachment_detach_step(&session->attachment, &is_busy, &failure);
    return code;
}

int session_attach(struct session *session, struct error *err)
{
    bool is_kept = false;
    bool may_replace = session->options->force;
    int code = attachment_look(&session->attachment, session->options->attached,
                               &session->program.path, err);

    if (code == 0)
        code = attachment_check(&session->attachment, err);
    session->program.pid = session->options->attached;
    session->program.settings_pipe = session->program.failure_pipe = -1;
    if (code == 0)
        code = prepare_sending(session, err);
    if (code == 0)
        code = find_programs(session, err);
    if (code == 0)
        code = choose_name(session, err);
    if (code == 0 && !may_replace)
        may_replace = is_kept = output_path_is_finished(session->path);
    if (code == 0)
        code =
            may_replace ? make_files_beside(session, err) : make_files(session, session->path, err);
    if (code == 0)
        give_pool(session);
    if (code == 0)
        code = attachment_take_over(&session->attachment, err);
    if (code == 0)
        code = begin_attached(session, err);
    if (code == 0 && may_replace)
        code = take_place(session, is_kept, err);
    if (code && session->recording)
        recording_discard(session->recording);
    if (code)
        return code;
    emit_of_weakness(session);
    be_patient();
    if (session->sender_program)
        sender_process_start(&session->sender, session->sender_program, &session->options->sending,
                             session->path);
    if (session->options->attached_for_ns)
        session->leave_due_ns = monotonic_now_ns() + session->options->attached_for_ns;
    exit_summary_print(
        session->options->quiet,
        "attached to process %d, one thread of it was held up for %.1f ms; ^C or 'mtrace-record --detach %d' leaves it",
        (int)session->program.pid, (double)session->attachment.pause_ns / 1e6,
        (int)session->program.pid);
    if (session->attachment.n_children > 0)
        exit_summary_print(session->options->quiet,
                           "warning: its %s (%s) and will not be recorded: attach to each",
                           session->attachment.n_children == 1 ? "child runs already"
                                                               : "children run already",
                           session->attachment.children);
    if (session->attachment.lacks_executable)
        exit_summary_warn(
            "warning: no call by '%s' itself is recorded, only those by its libraries: it has an "
            "allocator inside, or its calls cannot be redirected; start it under mtrace-record",
            session->program.path);
    return 0;
}

/* What will be missing, while there is time to do something about it. */
static void warn_of_unseen(const struct session *session)
{
    const struct options *options = session->options;
    const char *path = session->program.path;
    const char *reason = program_explain(path);
    const char *starter =
        options->follows_children ? NULL : program_starts_others(path, options->argv);
    const struct patch_plan *plan = &session->allocator.plan;

    /* Whether AddressSanitizer accepts the collector is seen when the program has run. */
    if (reason && !allocator_wants_to_be_first(path, getenv("LD_PRELOAD")))
        exit_summary_print(options->quiet, "warning: nothing will be recorded of '%s': %s", path,
                           reason);
    else if (plan->allocator && !plan->text)
        exit_summary_print(options->quiet,
                           "warning: blocks of %s inside '%s' will not be recorded (%s)",
                           plan->allocator, path, plan->why);
    if (starter)
        exit_summary_print(options->quiet,
                           "warning: processes that %s starts will not be recorded; "
                           "--follow-children records them, too",
                           starter);
}

int session_start(struct session *session, struct error *err)
{
    char *library = NULL;
    int code = program_find(session->options->argv, &session->program, err);

    if (code == 0)
        code = prepare_sending(session, err);
    if (code == 0)
        code = find_programs(session, err);
    if (code)
        return code;
    allocator_look(session->program.path, getenv("LD_PRELOAD"), session->options->patch,
                   &session->allocator);
    code = find_library(session, &library, err);
    if (session->options->waits_for_children)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* see has_orphans */
    if (code == 0)
        code = program_start(&session->program, &session->state, err);
    session->fork_bytes = own_peak_bytes();
    if (code == 0)
        code = choose_name(session, err);
    if (code == 0 && !session->options->force && output_path_is_finished(session->path))
        code = keep_earlier(session, err);
    if (code == 0)
        code = make_files(session, session->path, err);
    if (code == 0) {
        emit_of_weakness(session);
        warn_of_unseen(session);
        code = release(session, library, err);
    }
    be_patient();
    if (code == 0 && session->sender_program)
        sender_process_start(&session->sender, session->sender_program, &session->options->sending,
                             session->path);
    if (code && session->recording)
        recording_discard(session->recording);
    free(library);
    return code;
}
