/* SPDX-License-Identifier: MIT */
#include "recorder/attach/attaching.h"

#if defined(__x86_64__)

#    include "lib/base/fault_point.h"
#    include "lib/base/monotonic.h"
#    include "lib/process/proc_files.h"
#    include "lib/process/writer_liveness.h"
#    include "recorder/attach/call_stub.h"
#    include "recorder/attach/remote_call.h"
#    include "recorder/attach/safe_point.h"
#    include "recorder/attach/target.h"
#    include "recorder/attach/tracee.h"

#    include <errno.h>
#    include <fcntl.h>
#    include <pthread.h>
#    include <stdio.h>
#    include <stdlib.h>
#    include <string.h>
#    include <sys/file.h>
#    include <unistd.h>

/* ---- choosing a thread ----------------------------------------------------------------------- */

static bool is_filtered(const struct tracee *tracee)
{
    struct thread_status status;

    return !thread_status_read(tracee->target->pid, tracee->tid, &status)
           || thread_status_is_filtered(&status);
}

/* The collector would make system calls in that thread, too. */
static int check_filters(pid_t pid, struct error *err)
{
    struct thread_status status;
    pid_t *tids;
    ssize_t n = process_threads_list(pid, &tids);
    int code = 0;

    for (ssize_t i = 0; i < n && code == 0; i++)
        if (thread_status_read(pid, tids[i], &status) && thread_status_is_filtered(&status))
            code = error_set(err, ERROR_IO,
                             "process %d has a thread with a seccomp filter, which may kill it for "
                             "a system call of mtrace: start it under mtrace-record",
                             (int)pid);
    free(tids);
    return code;
}

static bool is_ready(struct tracee *tracee, struct safe_point *place, const char **ret_why)
{
    *ret_why = "a thread behind a seccomp filter";
    if (is_filtered(tracee))
        return false;
    *ret_why = "a sequence that the kernel may restart";
    if (!tracee_get_regs(tracee, &tracee->regs) || tracee_is_in_rseq(tracee)
        || tracee_has_large_vectors(tracee))
        return false;
    return safe_point_is(place, tracee->tid, ret_why);
}

/* 1: the thread is not at a safe point now. */
static int try_thread(struct tracee *tracee, struct safe_point *place,
                      const struct attaching_call *call, const char **ret_why,
                      struct remote_call_result *ret_answer, struct error *err)
{
    int code = 1;

    err->code = 0;
    if (!tracee_stop(tracee, err)) {
        *ret_why = tracee->is_given_up ? "a signal" : *ret_why;
        return err->code ? err->code : 1;
    }
    if (is_ready(tracee, place, ret_why)) {
        code = remote_call_run(tracee, call, ret_answer, err);
        *ret_why = "a signal"; /* used if the result is 1 */
    } else {
        tracee_let_go(tracee);
    }
    return code;
}

/* 1: no thread is at a safe point now. The threads that a stop may delay are tried last. */
static int try_threads(struct tracee *tracee, struct safe_point *place,
                       const struct attaching_call *call, const char **ret_why,
                       struct remote_call_result *ret_answer, struct error *err)
{
    pid_t *tids;
    ssize_t n = process_threads_list(call->pid, &tids);
    int code = 1;

    for (ssize_t i = 0; i < 2 * n && code == 1; i++) {
        tracee->tid = tids[i % n];
        if (tracee_may_lose_time(call->pid, tracee->tid) == (i >= n))
            code = try_thread(tracee, place, call, ret_why, ret_answer, err);
    }
    free(tids);
    if (n < 0)
        return error_set(err, ERROR_IO, "the threads of process %d cannot be listed",
                         (int)call->pid);
    return n ? code : error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)call->pid);
}

static bool is_thread_outside(struct tracee *tracee)
{
    struct error err;
    bool is_outside;

    if (!tracee_stop(tracee, &err))
        return false;
    is_outside = tracee_get_regs(tracee, &tracee->regs) && remote_call_is_outside(tracee);
    tracee_let_go(tracee);
    return is_outside;
}

/* AT-5. Threads that began since were never redirected. */
static void mend(struct tracee *tracee)
{
    pid_t *tids;
    ssize_t n;
    bool is_outside = true;

    if (!remote_call_has_remains(tracee))
        return;
    n = process_threads_list(tracee->target->pid, &tids);
    for (ssize_t i = 0; i < n && is_outside; i++) {
        tracee->tid = tids[i];
        is_outside = is_thread_outside(tracee);
    }
    if (n > 0 && is_outside)
        remote_call_clear_remains(tracee);
    free(tids);
}

enum {
    EAGER_NS = 50000000, /* in total */
    EAGER_REST_NS = 500000,
    PARTS_OF_REST = 16, /* later, pauses are this many times as long as a search */
    MAX_REST_NS = 900000000
};

static uint64_t rest(const struct attaching_pace *pace, uint64_t until_ns)
{
    const uint64_t end_ns = pace->rest_until_ns < until_ns ? pace->rest_until_ns : until_ns;
    const uint64_t now_ns = monotonic_now_ns();

    if (end_ns > now_ns)
        tracee_nap(end_ns - now_ns);
    return monotonic_now_ns();
}

static void note_search(struct attaching_pace *pace, uint64_t began_ns)
{
    const uint64_t now_ns = monotonic_now_ns();
    uint64_t rest_ns = (now_ns - began_ns) * PARTS_OF_REST;

    pace->searched_ns += now_ns - began_ns;
    if (pace->searched_ns < EAGER_NS)
        rest_ns = EAGER_REST_NS;
    pace->rest_until_ns = now_ns + (rest_ns < MAX_REST_NS ? rest_ns : MAX_REST_NS);
}

static int try_at_pace(struct tracee *tracee, struct safe_point *place,
                       const struct attaching_call *call, struct attaching_pace *pace,
                       uint64_t until_ns, struct remote_call_result *ret_answer, struct error *err)
{
    const uint64_t began_ns = rest(pace, until_ns);
    int code;

    if (began_ns < pace->rest_until_ns)
        return 1;
    code = try_threads(tracee, place, call, &pace->why, ret_answer, err);
    note_search(pace, began_ns);
    return code;
}

static int search(struct tracee *tracee, const struct attaching_call *call,
                  struct remote_call_result *ret_answer, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + call->time_limit_ns;
    struct attaching_pace own_pace = {.why = NULL};
    struct attaching_pace *pace = call->pace ? call->pace : &own_pace;
    struct safe_point *place;
    int code;

    fault_point("looked");
    if (!call->function) {
        ret_answer->result = remote_call_has_remains(tracee);
        return 0;
    }
    place = safe_point_new(tracee->target, call->library);
    if (!place)
        return error_set(err, ERROR_IO, "process %d cannot be inspected", (int)call->pid);
    mend(tracee);
    do {
        code = try_at_pace(tracee, place, call, pace, until_ns, ret_answer, err);
    } while (code == 1 && writer_liveness_is_alive(call->pid) && !target_is_replaced(tracee->target)
             && monotonic_now_ns() < until_ns);
    safe_point_free(place);
    ret_answer->is_busy = code == 1;
    return code == 1
               ? error_set(err, ERROR_IO,
                           "process %d was never at a safe point, where it can be interrupted; it "
                           "was last in %s",
                           (int)call->pid, pace->why ? pace->why : "a call that does not end")
               : code;
}

static bool is_thread_left(struct tracee *tracee, struct safe_point *place)
{
    struct error err;
    bool is_left = false;

    if (!tracee_stop(tracee, &err))
        return false;
    is_left = safe_point_is_outside(place, tracee->tid);
    tracee_let_go(tracee);
    return is_left;
}

/* AT-4; the lock belongs to the open file and ends with it. */
static bool is_alone(int memory)
{
    uint64_t until_ns = monotonic_now_ns() + REMOTE_CALL_CALL_NS;
    int result;

    while ((result = flock(memory, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK
           && monotonic_now_ns() < until_ns)
        tracee_nap(20000000);
    return result == 0;
}

/* Threads that began since were never in the library. */
static bool look_whether_left(pid_t pid, const char *library)
{
    struct target target;
    struct tracee tracee = {.target = &target, .memory = -1};
    struct safe_point *place = NULL;
    pid_t *tids = NULL;
    ssize_t n = 0;
    bool is_left;
    char path[64];
    struct error err;

    target_begin(pid, &target);
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    tracee.memory = open(path, O_RDWR | O_CLOEXEC);
    if (tracee.memory < 0)
        return false;
    if (!is_alone(tracee.memory) || target_look(&target, library, &err) != 0) {
        close(tracee.memory);
        return false;
    }
    n = process_threads_list(pid, &tids);
    is_left = n > 0;
    place = is_left ? safe_point_new(&target, library) : NULL;
    for (ssize_t i = 0; i < n && is_left && place; i++) {
        tracee.tid = tids[i];
        is_left = is_thread_left(&tracee, place);
    }
    is_left = is_left && place;
    close(tracee.memory);
    free(tids);
    safe_point_free(place);
    target_done(&target);
    return is_left;
}

/* ret_is_replaced: it failed because the process was in an exec or had executed another program;
 * ret_is_early: because it has just begun. */
static int look_and_call_once(const struct attaching_call *call,
                              struct remote_call_result *ret_answer, bool *ret_is_replaced,
                              bool *ret_is_early, struct error *err)
{
    struct target target;
    struct tracee tracee = {.target = &target};
    char path[64];
    int code;

    target_begin(call->pid, &target);
    *ret_is_replaced = *ret_is_early = ret_answer->is_busy = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)call->pid);
    tracee.memory = open(path, O_RDWR | O_CLOEXEC);
    if (tracee.memory >= 0 && !is_alone(tracee.memory)) {
        close(tracee.memory);
        return error_set(err, ERROR_IO,
                         "another mtrace-record is just attaching to process %d, or detaching",
                         (int)call->pid);
    }
    code = target_look(&target, call->library, err);
    if (code == 0 && tracee.memory < 0)
        code = target_report_denial(call->pid, "traced", err);
    if (code == 0) {
        code = call->begins ? check_filters(call->pid, err) : 0;
        code = code ? code : search(&tracee, call, ret_answer, err);
        target_done(&target);
    }
    *ret_is_replaced = code && tracee.memory >= 0 && target_is_replaced(&target);
    *ret_is_early = code && target.lacks_libc;
    if (tracee.memory >= 0)
        close(tracee.memory);
    return code;
}

/* After an exec the new image is examined again. */
static int look_and_call(const struct attaching_call *call, struct remote_call_result *ret_answer,
                         struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + call->time_limit_ns;
    bool is_replaced;
    bool is_early;
    int code;

    *ret_answer = (struct remote_call_result){.result = 0};
    if (call->function
        && strlen(call->library) + strlen(call->function) + strlen(call->argument) + 3
               > CALL_STUB_TEXT_BYTES)
        return error_set(err, ERROR_USAGE, "the settings of the collector are too long");
    while ((code = look_and_call_once(call, ret_answer, &is_replaced, &is_early, err)) != 0
           && (is_replaced || is_early) && writer_liveness_is_alive(call->pid)
           && monotonic_now_ns() < until_ns)
        tracee_nap(1000000);
    ret_answer->is_busy |= is_replaced;
    return is_replaced ? error_set(err, ERROR_IO,
                                   "process %d executes one program after another, and was "
                                   "between two of them at each attempt",
                                   (int)call->pid)
                       : code;
}

/* ---- the tracing thread ---------------------------------------------------------------------- */

struct job {
    const struct attaching_call *call;
    struct remote_call_result *answer; /* NULL: only check whether the library is unused */
    struct error *err;
    int code;
};

static void *do_job(void *context)
{
    struct job *job = context;

    job->code = job->answer ? look_and_call(job->call, job->answer, job->err)
                            : look_whether_left(job->call->pid, job->call->library);
    return NULL;
}

/* AT-3: the kernel releases a thread's tracees when it ends. */
static bool do_in_thread(struct job *job)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, do_job, job) == 0 && pthread_join(thread, NULL) == 0;
}

bool attaching_is_left(pid_t pid, const char *library)
{
    const struct attaching_call call = {.pid = pid, .library = library};
    struct job job = {.call = &call};

    return do_in_thread(&job) && job.code;
}

int attaching_run(const struct attaching_call *call, struct remote_call_result *ret_answer,
                  struct error *err)
{
    struct job job = {.call = call, .answer = ret_answer, .err = err};

    *ret_answer = (struct remote_call_result){.result = 0};
    if (!do_in_thread(&job))
        return error_set(err, ERROR_NOMEM, "cannot start a thread");
    if (job.code == 0 || writer_liveness_is_alive(call->pid))
        return job.code;
    ret_answer->is_busy = false; /* whatever could not be done */
    return error_set(err, ERROR_NOT_FOUND, "process %d has ended", (int)call->pid);
}

#else

/* Remote calls are not implemented for this processor. */
int attaching_run(const struct attaching_call *call, struct remote_call_result *ret_answer,
                  struct error *err)
{
    *ret_answer = (struct remote_call_result){.result = 0};
    return error_set(
        err, ERROR_USAGE,
        "process %d cannot be attached to on this processor: start it under mtrace-record",
        (int)call->pid);
}

bool attaching_is_left(pid_t pid, const char *library)
{
    (void)pid, (void)library;
    return false;
}

#endif
