/* SPDX-License-Identifier: MIT */
#include "recorder/session/session.h"

#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/writer_liveness.h"
#include "recorder/pack/module_files.h"
#include "recorder/session/exit_summary.h"
#include "recorder/session/session_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MIN_SLEEP_NS = 1000000,
    MAX_SLEEP_NS = 20000000,
    MAX_SLEEP_NS_ASKED = 4000000,
    MAX_SLEEP_NS_SAMPLED =
        100000000, /* few blocks are recorded, so the live log lasts for seconds */
    NEW_PROCESS_WAIT_NS = 200000000,
    DETACH_TIMEOUT_NS = 1500000000, /* limit until children have noticed the detaching */
    RESTORE_AFTER_NS = 200000000,   /* until then idle children are not restored by a remote call */
    LOOK_NS = 50000000,             /* between checks whether the image still exists */
    BUSY_SEGMENTS = 8,              /* so many at a time: poll more often */
};

/* ---- signals --------------------------------------------------------------------------------- */

/* From here on signals are blocked and read by sigtimedwait: SIGIO reports a client of --ctl
 * (control_server.h), most others are forwarded. Job control signals stay unblocked, because the
 * terminal stops and continues the program together with us. So do fault signals: the kernel kills
 * a process that blocks its own. */
static void prepare_signals(struct session *session)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    static const int left_alone[] = {SIGTSTP, SIGCONT, SIGTTIN, SIGTTOU, SIGSEGV,
                                     SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP};

    sigfillset(&session->signals);
    for (size_t i = 0; i < sizeof(left_alone) / sizeof(*left_alone); i++)
        sigdelset(&session->signals, left_alone[i]);
    sigprocmask(SIG_BLOCK, &session->signals, &session->state.mask);
    sigaction(SIGCHLD, &standard, &session->state.child_action);
    sigaction(SIGPIPE, &ignore, &session->state.pipe_action);
    sigaction(SIGXFSZ, &ignore, &session->state.size_action);
}

/* Each followed child takes two descriptors. Helper processes inherit the limit: an importer of
 * many logs needs as many. */
static void raise_descriptors(struct program_state *state)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &state->descriptors) != 0)
        return;
    state->has_descriptors = true;
    most = state->descriptors;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

/* From a timer that expired before it was taken (program_take_timers). */
static bool is_of_timer(int number)
{
    return number == SIGALRM || number == SIGVTALRM || number == SIGPROF;
}

/* Caused by our own writes. */
static bool is_of_write(const siginfo_t *info)
{
    return (info->si_signo == SIGPIPE || info->si_signo == SIGXFSZ) && info->si_pid == getpid();
}

/* Forwards signals sent by processes. The terminal's reach the program by itself; others from the
 * kernel concern us. */
static void hand_on(const struct session *session, siginfo_t *info)
{
    const pid_t pid = session->program.pid;
    const bool is_from_kernel = info->si_code > 0 && !is_of_timer(info->si_signo);

    if (is_from_kernel || info->si_pid == pid || is_of_write(info))
        return;
    if (info->si_code == SI_QUEUE) /* with its value */
        (void)syscall(SYS_rt_sigqueueinfo, pid, info->si_signo, info);
    else
        (void)kill(pid, info->si_signo);
}

static uint64_t peak_bytes(const struct rusage *usage)
{
    return (uint64_t)usage->ru_maxrss * 1024;
}

/* The waitid system call, including the rusage that libc's wrapper omits. */
static long look_at_ended(pid_t pid, siginfo_t *ret_info, struct rusage *ret_usage)
{
    return syscall(SYS_waitid, pid < 0 ? P_ALL : P_PID, pid < 0 ? 0 : (id_t)pid, ret_info,
                   WEXITED | WNOHANG | WNOWAIT, ret_usage);
}

/* Non-blocking wait (-1: for any child) with resource usage. The kernel's ru_maxrss is the maximum
 * over the process, its earlier images and the children it reaped; only a value above that of
 * earlier images is its own. */
static pid_t wait_for(pid_t pid, uint64_t earlier_bytes, struct recording_end *ret_end)
{
    struct rusage usage = {.ru_maxrss = 0};
    siginfo_t info = {.si_pid = 0};
    int status;

    if (look_at_ended(pid, &info, &usage) != 0)
        return -1;
    if (info.si_pid == 0)
        return 0;
    bool is_own = peak_bytes(&usage) > earlier_bytes && !writer_liveness_has_waited(info.si_pid);
    pid_t ended = waitpid(info.si_pid, &status, WNOHANG);

    if (ended > 0)
        *ret_end = (struct recording_end){.wait_status = status,
                                          .max_rss_bytes = is_own ? peak_bytes(&usage) : 0};
    return ended;
}

/* Signals that ask mtrace-record to end. Attached processes, and processes that outlive the
 * program, do not get them. */
static bool is_request_to_end(int number)
{
    static const int others[] = {SIGCHLD, SIGIO,   SIGUSR1,  SIGUSR2,
                                 SIGPIPE, SIGXFSZ, SIGWINCH, SIGURG};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (number == others[i])
            return false;
    return number > 0;
}

/* A second signal while detaching is tried cancels it, and recording continues. */
static void request_detach(struct session *session, int number)
{
    if (!is_request_to_end(number))
        return;
    session->control_handler.must_leave = !session->is_trying;
    session->is_trying = false;
    if (!session->control_handler.must_leave)
        exit_summary_warn("process %d is still recorded", (int)session->program.pid);
}

/* Sleeps up to ns; true if the program has ended. */
static bool sleep_until_signal(struct session *session, uint64_t ns)
{
    const struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000),
                                     .tv_nsec = (long)(ns % 1000000000)};
    siginfo_t info;
    int number = sigtimedwait(&session->signals, &info, &timeout);

    if (number == SIGCHLD && !session->attachment.pid) /* else it is not our child */
        return wait_for(session->program.pid, session->fork_bytes, &session->end)
               == session->program.pid;
    if (number > 0 && number == session->options->report_signal)
        periodic_reports_ask(&session->reports);
    else if (number > 0 && session->attachment.pid)
        request_detach(session, number);
    else if (number > 0)
        hand_on(session, &info);
    return session->attachment.pid && attachment_has_ended(&session->attachment);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Reports a problem once until it is solved; --max-local only once, because it comes and goes with
 * the network. A full bounded log is reported in the exit summary. */
static void complain(struct session *session, int code, const struct error *err)
{
    bool is_full = session->recording->packed.is_full;

    if (code && !session->is_complaining && !(is_full && session->has_said_full)
        && !session->recording->ring.is_full)
        exit_summary_warn("%s; events wait in '%s.live'", err->text, session->name);
    session->is_complaining = code != 0;
    session->has_said_full |= is_full;
}

/* Scheduled work and children, which may be short-lived, are polled as often as a live log that
 * fills. */
static uint64_t max_sleep_ns(const struct session *session)
{
    const struct options *options = session->options;

    if (recording_is_awaited(session->recording) || control_server_is_busy(&session->control))
        return MAX_SLEEP_NS_ASKED;
    if (options->sample_bytes == 0 || options->follows_children || options->report_every_ns
        || own_windows_are_any(&session->windows))
        return MAX_SLEEP_NS;
    return MAX_SLEEP_NS_SAMPLED;
}

static void adapt_sleep(struct session *session, uint32_t n_packed)
{
    uint64_t max_ns = max_sleep_ns(session);

    if (session->is_complaining)
        session->sleep_ns = max_ns;
    else if (n_packed >= BUSY_SEGMENTS)
        session->sleep_ns /= 2;
    else if (n_packed <= BUSY_SEGMENTS / 4)
        session->sleep_ns += session->sleep_ns / 4;
    if (session->sleep_ns < MIN_SLEEP_NS)
        session->sleep_ns = MIN_SLEEP_NS;
    if (session->sleep_ns > max_ns)
        session->sleep_ns = max_ns;
}

static void finish_recording(struct session *session, const struct recording_end *end)
{
    session->finish_code =
        recording_finish(session->recording, end, &session->totals, &session->finish_err);
    session->has_totals = true;
}

/* Reports by time and signal are written beside the first log even after an exec. */
static bool is_replaced(struct session *session, uint64_t now_ns)
{
    if (now_ns < session->look_due_ns || session->is_complaining
        || session->options->report_every_ns || session->options->report_signal)
        return false;
    session->look_due_ns = now_ns + LOOK_NS;
    return recording_is_replaced(session->recording);
}

static bool hold(void *context, struct recording *recording)
{
    const uint64_t *instant_ns = context;

    recording_hold_until(recording, *instant_ns);
    return true;
}

static void step_reports(struct session *session)
{
    uint64_t instant_ns = periodic_reports_step(&session->reports, monotonic_now_ns(),
                                                session->recording, session->path);

    recording_hold_until(session->recording, instant_ns);
    if (session->children && instant_ns)
        children_each(session->children, hold, &instant_ns);
}

static uint32_t step_recording(struct session *session, uint64_t now_ns)
{
    uint32_t n_packed = 0;
    struct error err;

    if (session->has_totals)
        return 0;
    complain(session, recording_step(session->recording, now_ns, &n_packed, &err), &err);
    step_reports(session);
    if (is_replaced(session, now_ns))
        finish_recording(session, NULL);
    return n_packed;
}

static void step_control(struct session *session, uint64_t now_ns)
{
    struct control_target target = control_handler_target(&session->control_handler);

    session->control_handler.recording = session->has_totals ? NULL : session->recording;
    session->control_handler.has_ended = session->has_ended;
    control_handler_step(&session->control_handler, &session->windows, now_ns);
    control_server_step(&session->control, now_ns, &target);
}

/* The sample interval is honoured, but does not shorten the sleep below that of other sessions. */
static uint64_t sleep_until_due(const struct session *session, uint64_t now_ns)
{
    uint64_t due_ns = session->has_totals ? UINT64_MAX : session->recording->samples_due_ns;
    uint64_t later_ns = session->children ? children_samples_due_ns(session->children) : UINT64_MAX;

    due_ns = later_ns < due_ns ? later_ns : due_ns;
    if (session->sleep_ns <= MAX_SLEEP_NS || due_ns >= now_ns + session->sleep_ns)
        return session->sleep_ns;
    return due_ns > now_ns + MAX_SLEEP_NS ? due_ns - now_ns : MAX_SLEEP_NS;
}

/* Returns how long to sleep. */
static uint64_t step(struct session *session)
{
    uint64_t now_ns = monotonic_now_ns();
    uint32_t n_packed = step_recording(session, now_ns);

    if (session->children)
        n_packed += children_step(session->children, now_ns);
    step_control(session, now_ns);
    sender_process_step(&session->sender, now_ns);
    adapt_sleep(session, n_packed);
    return n_packed >= PACKING_STEP_MAX ? 0 : sleep_until_due(session, now_ns);
}

/* An exec successor has had the collector since its start and keeps it; a command makes it stop
 * recording (detach_followed). */
static void leave_executed(const struct session *session)
{
    exit_summary_print(
        session->options->quiet,
        "process %d has executed another program, which keeps the collector and records nothing "
        "more",
        (int)session->program.pid);
}

/* True: the process was detached, or has executed another program. Else recording continues. */
static bool leave(struct session *session)
{
    static struct error err;
    bool is_busy;

    if (session->has_totals || recording_is_replaced(session->recording)) {
        leave_executed(session);
        return true;
    }
    if (attachment_detach_step(&session->attachment, &is_busy, &err) == 0)
        return true;
    session->control_handler.leave_error = err.text;
    session->control_handler.must_leave = is_busy;
    if (!is_busy)
        exit_summary_warn("%s", err.text);
    else if (!session->is_trying)
        exit_summary_warn("%s; still recording, and trying to detach; another ^C cancels that",
                          err.text);
    session->is_trying = is_busy;
    return false;
}

/* Detached by a process that cannot reach our socket, for example from another network
 * namespace. */
static bool is_detached_by_other(const struct session *session)
{
    bool is_left = session->attachment.pid && !session->has_totals
                   && recording_is_detached(session->recording);

    if (is_left)
        exit_summary_print(session->options->quiet, "another mtrace-record detached process %d",
                           (int)session->program.pid);
    return is_left;
}

/* --for ends the recording as ^C does. */
static void leave_in_time(struct session *session)
{
    if (session->leave_due_ns && monotonic_now_ns() >= session->leave_due_ns) {
        session->leave_due_ns = 0;
        session->control_handler.must_leave = true;
    }
}

/* Loops until the program ends or is detached. */
static void run(struct session *session)
{
    bool is_left = false;

    while (!is_left && !sleep_until_signal(session, step(session))) {
        leave_in_time(session);
        is_left = is_detached_by_other(session)
                  || (session->control_handler.must_leave && leave(session));
    }
}

static bool is_helper(const struct session *session, pid_t pid)
{
    return pid == session->sender.child.pid || pid == session->follower.child.pid;
}

/* A child other than the sender and the follower runs; false if the kernel does not report
 * children. */
static bool has_other_children(const struct session *session)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    bool has_others = false;
    int pid;

    if (!file)
        return errno == EMFILE || errno == ENFILE;
    while (!has_others && fscanf(file, "%d", &pid) == 1)
        has_others = !is_helper(session, pid);
    fclose(file);
    return has_others;
}

/* A process that just outlived its parent may not have a log yet. With --wait all such processes
 * become our children. Reaps those that have ended. */
static bool has_orphans(struct session *session)
{
    struct recording_end end;
    pid_t pid;

    while ((pid = wait_for(-1, 0, &end)) > 0) {
        children_note_end(session->children, pid, &end);
        sender_process_note_end(&session->sender, pid);
        follower_process_note_end(&session->follower, pid);
    }
    bool has_child = session->sender.child.pid > 0 || session->follower.child.pid > 0;
    return pid == 0 && (!has_child || has_other_children(session));
}

/* Waits for logs of processes that outlive their parent and may be about to create one. */
static uint32_t wait_for_new_processes(struct session *session)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t until_ns = monotonic_now_ns() + NEW_PROCESS_WAIT_NS;
    uint32_t n_running;

    do {
        n_running = children_settle(session->children, monotonic_now_ns());
        if (!session->options->follows_children
            || !process_tree_is_expecting(session->process_tree))
            break;
        nanosleep(&pause, NULL);
    } while (monotonic_now_ns() < until_ns);
    return n_running;
}

static bool request_detach_of(void *unused, struct recording *recording)
{
    static const struct command command = {.command = LOG_COMMAND_DETACH};

    (void)unused;
    if (recording->commands.wanted.command != LOG_COMMAND_DETACH)
        (void)collector_commands_ask(&recording->commands, &command);
    recording_step_commands(recording);
    return true;
}

static bool restore_by_remote_call(void *unused, struct recording *recording)
{
    const pid_t pid = recording->pid;

    (void)unused;
    if (pid)
        attachment_leave_also(pid);
    return true;
}

/* Detaches children and exec successors of a detached process. Returns how many have not noticed
 * it; an idle process ends its log at its next event. */
static uint32_t detach_followed(struct session *session)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const uint64_t begun_ns = monotonic_now_ns();
    bool has_restored = false;
    uint32_t n_left;
    uint64_t now_ns;

    do {
        children_each(session->children, request_detach_of, NULL);
        nanosleep(&pause, NULL);
        now_ns = monotonic_now_ns();
        n_left = children_settle(session->children, now_ns);
        if (n_left && !has_restored && now_ns >= begun_ns + RESTORE_AFTER_NS) {
            children_each(session->children, restore_by_remote_call, NULL);
            has_restored = true;
        }
    } while (n_left && now_ns < begun_ns + DETACH_TIMEOUT_NS);
    return n_left;
}

/* The program has ended, but recorded children may still run. An exec successor has its PID. */
static void settle_children(struct session *session)
{
    if (!session->attachment.pid)
        children_note_end(session->children, session->program.pid, &session->end);
    else if (attachment_has_ended(&session->attachment))
        children_note_end(session->children, session->program.pid, NULL);

    /* Checked before the logs: then the log of a process that ends in between is still seen. */
    bool has_others = session->options->waits_for_children && has_orphans(session);
    uint32_t n_running = wait_for_new_processes(session);

    if (session->attachment.pid && !attachment_has_ended(&session->attachment)) {
        session->control_handler.n_unheard = detach_followed(session);
        n_running = 0; /* do not wait for detached processes */
    }
    bool is_waiting = session->options->waits_for_children && (n_running || has_others);
    siginfo_t info;

    if (is_waiting)
        exit_summary_print(session->options->quiet,
                           "waiting for processes that still run; ^C ends the recording of them");
    while (is_waiting) {
        const struct timespec pause = {.tv_nsec = MAX_SLEEP_NS};
        bool is_left = is_request_to_end(sigtimedwait(&session->signals, &info, &pause));
        has_others = has_orphans(session);
        n_running = children_settle(session->children, monotonic_now_ns());
        step_control(session, monotonic_now_ns());
        is_waiting = !is_left && (n_running || has_others);
    }
    children_abandon(session->children);
}

static int exit_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* No log, not even a child's, is worth keeping. */
static bool is_empty(const struct exit_summary *exit_summary)
{
    bool is_unseen = !exit_summary->totals.is_attached
                     || ((exit_summary->totals.flags & LOG_FLAG_FOREIGN_MALLOC)
                         && !exit_summary->totals.has_allocations);

    return is_unseen && exit_summary->n_children == 0;
}

/* Ctrl-C aborts sending. */
static void finish_sending(struct session *session, bool is_whole)
{
    const struct timespec pause = {.tv_nsec = MAX_SLEEP_NS};
    siginfo_t info;
    bool is_left = false;

    sender_process_finish(&session->sender, is_whole, monotonic_now_ns());
    while (!is_left && !sender_process_has_ended(&session->sender, monotonic_now_ns())) {
        is_left = is_request_to_end(sigtimedwait(&session->signals, &info, &pause));
    }
    if (is_left)
        sender_process_leave(&session->sender);
    sender_process_abandon(&session->sender);
}

/* A client that asked to detach gets its answer when the log is complete. */
static void answer_last(struct session *session)
{
    struct control_target target = control_handler_target(&session->control_handler);

    session->control_handler.recording = NULL;
    control_server_step(&session->control, monotonic_now_ns(), &target);
    control_server_close(&session->control);
}

/* Explains a delay: the process had to be killed after a wait (HE-1). */
static void report_who_was_killed(const struct session *session)
{
    if (session->follower.was_killed)
        exit_summary_warn(
            "the follower (mtrace-import) did not end within %d s and was killed; no event is lost",
            (int)(CHILD_PROCESS_TIME_LIMIT_NS / 1000000000));
}

/* The sender may have removed a file that was sent. */
static bool is_log_deleted(const struct session *session)
{
    return !session->options->gives_back && access(session->path, F_OK) != 0
           && (errno == ENOENT || errno == ENOTDIR);
}

static void finish(struct session *session)
{
    struct exit_summary exit_summary = {
        .name = session->name,
        .program = session->program.path,
        .is_eliding = session->options->elide_ms > 0
                      || (session->options->is_aggregate && !session->options->sample_bytes),
        .is_bounded = session->options->is_aggregate,
        .follows_children = session->options->follows_children,
        .process_tree = session->process_tree,
        .starts_by_itself =
            session->options->windows.start_after_ns || session->options->windows.start_rss_bytes,
        .earlier_children = session->attachment.children,
        .is_quiet = session->options->quiet,
        .is_elsewhere = session->options->gives_back};
    session->has_ended = session->control_handler.has_ended = true;
    periodic_reports_done(&session->reports, session->path);
    periodic_reports_describe(&session->reports, exit_summary.reports,
                              sizeof(exit_summary.reports));
    if (!session->options->waits_for_children)
        follower_process_done(&session->follower);
    if (!session->has_totals)
        finish_recording(session, session->attachment.pid ? NULL : &session->end);
    exit_summary.totals = session->totals;
    int code = session->finish_code;

    if (session->children) {
        settle_children(session); /* clients are served until they have ended */
        children_get_totals(session->children, &exit_summary.children, &exit_summary.n_children);
        exit_summary.n_unpacked =
            children_get_unpacked(session->children, &exit_summary.unpacked_err);
        exit_summary.was_left = session->control_handler.n_unheard > 0;
    }
    follower_process_done(&session->follower);
    /* Includes failures during the end. */
    exit_summary.was_disk_full = session->follower.ring.was_disk_full
                                 || error_is_disk_full(&session->finish_err)
                                 || error_is_disk_full(&exit_summary.unpacked_err);
    /* Not earlier: until now the follower removes rotated files of any image. */
    if (exit_summary.is_bounded)
        exit_summary.totals.file_bytes +=
            log_rotation_run_bytes(session->path) + log_rotation_state_bytes(session->path);
    answer_last(session);
    report_who_was_killed(session);
    if (module_files_unkept(session->module_files))
        exit_summary_warn("the limit of --keep-symbols is reached; no symbols are kept of %s",
                          module_files_unkept(session->module_files));
    if (code) {
        exit_summary_warn(
            "%s; the rest is in '%s.live': make room and run 'mtrace-record --pack %s'",
            session->finish_err.text, session->name, session->name);
    } else if (is_empty(&exit_summary)) {
        sender_process_abandon(&session->sender);
        recording_discard(session->recording);
        exit_summary_explain(&exit_summary);
        return;
    }
    exit_summary.is_log_deleted = is_log_deleted(session);
    exit_summary_sum_up(&exit_summary);
    finish_sending(session, code == 0);
    if (session->options->has_report && !exit_summary.is_log_deleted)
        exit_summary_report(session->path);
}

int session_run(const struct options *options, int *ret_status, struct error *err)
{
    struct session session = {.options = options,
                              .sleep_ns = MIN_SLEEP_NS,
                              .reports.every_ns = options->report_every_ns,
                              .windows = options->windows};
    struct error no_control = {0};
    int code;

    prepare_signals(&session);
    if (!options->attached)
        program_take_timers(&session.state);
    raise_descriptors(&session.state);
    if (control_server_open(&session.control, &no_control) != 0)
        exit_summary_print(options->quiet, "%s", no_control.text);
    code = options->attached ? session_attach(&session, err) : session_start(&session, err);
    session.control_handler = (struct control_handler){.children = session.children,
                                                       .reports = &session.reports,
                                                       .log_path = session.path,
                                                       .program_pid = session.program.pid,
                                                       .is_attached = session.attachment.pid != 0};
    if (code == 0) {
        run(&session);
        finish(&session);
        *ret_status = session.attachment.pid ? 0 : exit_status(session.end.wait_status);
    }
    recording_free(session.recording);
    children_free(session.children);
    process_tree_free(session.process_tree);
    module_files_free(session.module_files);
    program_done(&session.program);
    attachment_done(&session.attachment);
    patch_plan_done(&session.allocator.plan);
    free((char *)(uintptr_t)session.programs.import);
    free((char *)(uintptr_t)session.programs.query);
    free(session.sender_program);
    free(session.name);
    free(session.path);
    return code;
}
