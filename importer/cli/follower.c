/* SPDX-License-Identifier: MIT */
#include "importer/cli/follower.h"

#include "importer/cli/checkpoint_writer.h"
#include "importer/cli/incremental_import.h"
#include "importer/cli/program_cpu.h"
#include "importer/read/log_set.h"
#include "lib/base/monotonic.h"
#include "lib/process/cut_request.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIN_REST_NS UINT64_C(100000000)
#define MAX_REST_NS UINT64_C(30000000000)
/* Least pause between two checks of the program's processor time. */
#define WORK_REST_NS UINT64_C(100000000)
/* Pause between two checks whether a program still waits for an answer. */
#define ASKED_REST_NS UINT64_C(20000000)
/* The rest is at least this many times the import's work before its first event: with short rests
 * that work would dominate. */
#define OPENING_REST 40
/* Before the first import, because the first request comes soon; and after a full disk, for a
 * bounded log. */
#define LONG_REST_NS UINT64_C(1000000000)
/* Pause between two checks of the size of a bounded log. */
#define STATE_REST_NS UINT64_C(50000000)
/* After an answer, and in total, because a bounded log must not grow. */
#define ASKED_WAIT_NS     UINT64_C(1000000000)
#define MAX_ASKED_WAIT_NS UINT64_C(5000000000)
/* The wait also ends at this backlog, a quarter of the size at which the recorder drops events
 * (log_rotation.h). */
#define PATIENT_BYTES (UINT64_C(64) << 20)
/* Pause between pieces of a backlog, in which requests are answered. */
#define PIECE_REST_NS UINT64_C(1000000)
/* The rest is at least this many times the processor time of a check, which grows with the number
 * of files in the folder. */
#define STATE_LOOK_REST 50

enum {
    MIN_MAPPED_BYTES = 1 << 17,
    ORDER_WAIT_MS = 1000, /* for the requester's extent; nothing is imported while waiting (KP-3) */
};

struct follower {
    const struct import_options *options;
    struct progress *progress;
    struct incremental_import *incremental;
    struct checkpoint_writer state;
    bool has_state;
    bool is_of_instants; /* a request named a time, which the log does not show in advance */
    uint64_t unasked_ns; /* any time that a program requests is later; 0: unknown */
    uint64_t taken_ns;   /* bounded log: time of the last unrequested import */
    uint64_t patient_ns; /* bounded log: end of the wait for a pending request; 0: none */
    uint64_t rest_ns;    /* pause while the log does not grow */
    /* of the next import: limited by the cost of the last one; also by rest_ns */
    uint64_t earliest_ns, due_ns;
    /* least program_cpu_ns for the next import, and the time when it may start regardless */
    uint64_t work_ns, latest_ns;
    struct program_cpu program;
};

static bool is_interrupted(const struct follower *follower)
{
    return follower->progress->interrupted && *follower->progress->interrupted;
}

static int advance(struct follower *follower, uint64_t now_ns, struct error *err)
{
    return incremental_import_advance(
        follower->incremental, now_ns > FOLLOWER_MARGIN_NS ? now_ns - FOLLOWER_MARGIN_NS : 0, err);
}

/* KP-3 */
static int advance_unasked(struct follower *follower, struct error *err)
{
    return follower->unasked_ns
               ? incremental_import_advance(follower->incremental, follower->unasked_ns, err)
               : advance(follower, monotonic_now_ns(), err);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Processor time of the program; 0: unknown. */
static uint64_t work_of_program(struct follower *follower)
{
    const struct log_set *logs = incremental_import_logs(follower->incremental);

    return logs ? program_cpu_ns(&follower->program, log_set_definitions(logs)) : 0;
}

/* KP-3: sets the time up to which no request can come. A program that holds the request slot may
 * have written its marker already, or may want a second database. */
static bool is_asked(struct follower *follower)
{
    const struct log_set *logs = incremental_import_logs(follower->incremental);
    uint64_t now_ns = monotonic_now_ns();
    bool is_asked = logs && !follower->is_of_instants && log_set_is_asked(logs);

    follower->unasked_ns = logs && !follower->is_of_instants && !is_asked ? now_ns : 0;
    if (!is_asked || now_ns >= follower->latest_ns)
        return false;
    follower->due_ns = now_ns + ASKED_REST_NS;
    return true;
}

/* KP-2: may the next import start now? */
static bool has_worked(struct follower *follower)
{
    uint64_t began_ns = own_cpu_ns();
    uint64_t work_ns = work_of_program(follower);
    uint64_t rest_ns = (own_cpu_ns() - began_ns) * FOLLOWER_REST;
    uint64_t now_ns = monotonic_now_ns();

    if (work_ns == 0 || work_ns >= follower->work_ns || now_ns >= follower->latest_ns)
        return true;
    follower->work_ns += rest_ns; /* reading the times of many processes has a cost, too */
    follower->due_ns =
        now_ns + later(later(WORK_REST_NS, rest_ns), (follower->work_ns - work_ns) / 4);
    if (follower->due_ns > follower->latest_ns)
        follower->due_ns = follower->latest_ns;
    return false;
}

/* KP-2. Errors are ignored: a later attempt may succeed, and a requester gets the reason. */
static void look(struct follower *follower)
{
    uint64_t n_kept = incremental_import_n_kept(follower->incremental);
    uint64_t began_ns = own_cpu_ns();
    struct error err;
    int code = advance_unasked(follower, &err);
    uint64_t work_ns = work_of_program(follower);
    uint64_t now_ns = monotonic_now_ns();
    uint64_t rest_ns = later((own_cpu_ns() - began_ns) * FOLLOWER_REST,
                             incremental_import_opening_ns(follower->incremental) * OPENING_REST);
    bool is_still = code || incremental_import_n_kept(follower->incremental) == n_kept;

    follower->rest_ns = is_still ? follower->rest_ns * 2 : MIN_REST_NS;
    if (follower->rest_ns > MAX_REST_NS)
        follower->rest_ns = MAX_REST_NS;
    follower->earliest_ns = now_ns + rest_ns;
    follower->due_ns = later(follower->earliest_ns, now_ns + follower->rest_ns);
    follower->work_ns = work_ns + rest_ns;
    follower->latest_ns = later(follower->due_ns, now_ns + MAX_REST_NS);
}

/* KP-3: while a request is pending, nothing after its time is imported, since it could not be cut
 * there any more. A request that takes too long, or a log that grows too fast for its bound, ends
 * this. Before the log is opened this is unknown, and nothing is imported. */
static uint64_t instant_to_take_in(struct follower *follower)
{
    const struct log_set *logs = incremental_import_logs(follower->incremental);
    uint64_t now_ns = monotonic_now_ns();

    if (!logs)
        return 0;
    if (!log_set_is_asked(logs)) {
        follower->unasked_ns = now_ns;
        follower->patient_ns = 0;
    } else if (follower->patient_ns == 0) {
        follower->patient_ns = now_ns + MAX_ASKED_WAIT_NS;
    }
    return follower->patient_ns > now_ns && follower->state.seen_bytes < PATIENT_BYTES
               ? earlier(now_ns, follower->unasked_ns + FOLLOWER_MARGIN_NS)
               : now_ns;
}

/* The requester may want a second database as of that time, minus a margin. Later requests name
 * later times. */
static void note_answer(struct follower *follower, uint64_t asked_ns)
{
    if (asked_ns > FOLLOWER_MARGIN_NS)
        follower->unasked_ns = later(follower->unasked_ns, asked_ns - FOLLOWER_MARGIN_NS);
    follower->patient_ns = 0;
}

/* Imports events of a bounded log. After a full disk it tries again; any other failure ends the
 * follower, and another one starts with the last checkpoint. */
static int take_in(struct follower *follower, struct error *err)
{
    uint64_t began_ns = own_cpu_ns();
    bool is_due = checkpoint_writer_is_due(&follower->state);
    uint64_t instant_ns = instant_to_take_in(follower);
    uint64_t look_ns = own_cpu_ns() - began_ns;
    uint64_t rest_ns = later(STATE_REST_NS, look_ns * STATE_LOOK_REST);
    int code = 0;

    if (is_due) {
        follower->taken_ns = monotonic_now_ns();
        incremental_import_take_pieces(follower->incremental,
                                       checkpoint_writer_piece_bytes(&follower->state));
        code = advance(follower, instant_ns, err);
        if (code == 0)
            code = checkpoint_writer_save(&follower->state, follower->incremental, err);
        if (code && error_is_disk_full(err)) { /* exiting would free the reserved space */
            rest_ns = later(LONG_REST_NS, (own_cpu_ns() - began_ns) * STATE_LOOK_REST);
            code = 0;
        } else if (follower->state.is_behind) {
            rest_ns = PIECE_REST_NS;
        }
    }
    follower->due_ns = monotonic_now_ns() + rest_ns;
    return code;
}

/* ---- requests ---- */

static struct import_options options_of(const struct follower *follower,
                                        const struct cut_request *request,
                                        const struct cut_order *order)
{
    struct import_options options = *follower->options;

    options.target = request->target;
    options.force = true;
    options.is_passing = true;
    options.until_ns = request->until_ns;
    options.until_marker = *request->until_marker ? request->until_marker : NULL;
    options.marker_ticks = request->marker_ticks;
    options.run_id = request->run_id;
    options.is_aggregate = follower->has_state && order->extent == CUT_ROWS;
    options.slim = order->extent < CUT_ROWS || options.is_aggregate;
    options.left_out =
        order->extent < CUT_SLIM ? (enum left_out)(CUT_SLIM - order->extent) : LEFT_OUT_NOTHING;
    options.no_symbols = !order->has_symbols;
    return options;
}

/* The first request reads everything: the part up to shortly before its time is kept for later
 * ones. */
static int open_cut(struct follower *follower, const struct cut_request *request, struct error *err)
{
    const struct cut_order any = {.extent = CUT_SLIM};
    struct import_options options = options_of(follower, request, &any);
    int code = 0;

    follower->is_of_instants |= !options.until_marker;
    if (incremental_import_n_beginnings(follower->incremental) == 0)
        code = advance(follower, request->asked_ns, err);
    return code ? code : incremental_import_open_cut(follower->incremental, &options, err);
}

/* The requester may ask again, in a bounded log for the same time. What is kept must end before it,
 * because nothing can be read again. */
static void look_soon(struct follower *follower, uint64_t asked_ns)
{
    if (follower->has_state) {
        note_answer(follower, asked_ns);
        uint64_t wait_ns =
            earlier(monotonic_now_ns() + ASKED_WAIT_NS, follower->taken_ns + MAX_ASKED_WAIT_NS);
        follower->due_ns = later(follower->due_ns, wait_ns);
        return;
    }
    uint64_t soon_ns = later(follower->earliest_ns, monotonic_now_ns() + MIN_REST_NS);

    follower->rest_ns = MIN_REST_NS;
    if (follower->due_ns > soon_ns)
        follower->due_ns = soon_ns;
}

static int cut(struct follower *follower, const struct cut_request *request,
               const struct cut_order *order, struct error *err)
{
    const struct import_options options = options_of(follower, request, order);
    struct import_result result;

    return incremental_import_cut(follower->incremental, &options, &result, err);
}

/* CR-1. The log is opened while the requester determines its extent. The first import, which reads
 * everything, waits for the extent, since the requester may need nothing. */
static void serve(struct follower *follower, const struct cut_request *request, int reply_fd)
{
    bool is_soon = incremental_import_n_beginnings(follower->incremental) > 0;
    struct error err = {.code = 0};
    struct cut_reply reply = {.code = is_soon ? open_cut(follower, request, &err) : 0};
    struct cut_order order;

    if (!cut_request_receive(reply_fd, ORDER_WAIT_MS, &order))
        return;
    if (!is_soon)
        reply.code = open_cut(follower, request, &err);
    if (reply.code == 0)
        reply.code = cut(follower, request, &order, &err);
    reply.has_no_room = error_is_disk_full(&err);
    (void)snprintf(reply.text, sizeof reply.text, "%s", err.text);
    cut_request_reply(reply_fd, &reply);
    look_soon(follower, request->asked_ns);
}

/* Returns false if no requester is left. */
static bool take(struct follower *follower)
{
    struct cut_request request;
    int reply_fd;
    int n = cut_request_take(STDIN_FILENO, &request, &reply_fd);

    if (n > 0) {
        serve(follower, &request, reply_fd);
        close(reply_fd);
    }
    return n != 0 && n != -ENOTCONN && n != -ENOTSOCK && n != -EBADF;
}

/* Signals are blocked between the check and ppoll, so that one which arrives in between ends the
 * wait. */
static bool await_request(const struct follower *follower, uint64_t ns)
{
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
    const struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000),
                                     .tv_nsec = (long)(ns % 1000000000)};
    sigset_t all;
    sigset_t before;
    bool has_come;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    has_come = !is_interrupted(follower) && ppoll(&end, 1, &timeout, &before) > 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return has_come;
}

/* Returns false when an import is due. Frequent requests do not delay it, since each would cost
 * more and more. */
static bool wait_for_request(const struct follower *follower)
{
    uint64_t now_ns = monotonic_now_ns();

    return now_ns < follower->due_ns && await_request(follower, follower->due_ns - now_ns);
}

int follower_run(const struct import_options *options, bool has_state, struct progress *progress,
                 struct error *err)
{
    /* A freed block on the heap would be written and so copied by a child process. Blocks of their
     * own mappings are just unmapped. */
    (void)mallopt(M_MMAP_THRESHOLD, MIN_MAPPED_BYTES);
    struct follower follower = {.options = options,
                                .has_state = has_state,
                                .progress = progress,
                                .rest_ns = MIN_REST_NS,
                                .due_ns = monotonic_now_ns() + LONG_REST_NS};
    bool is_asked_for = true;
    int code = incremental_import_open(options, progress, &follower.incremental, err);

    if (code == 0)
        incremental_import_leave_rows_out(follower.incremental);
    if (code == 0 && has_state)
        incremental_import_be_sole(follower.incremental, NULL);
    if (code == 0 && has_state)
        code =
            checkpoint_writer_begin(&follower.state, options->logs[0], follower.incremental, err);
    while (code == 0 && is_asked_for && !is_interrupted(&follower)) {
        if (wait_for_request(&follower))
            is_asked_for = take(&follower) && !incremental_import_is_lost(follower.incremental);
        else if (has_state)
            code = take_in(&follower, err);
        else if (!is_interrupted(&follower) && !is_asked(&follower) && has_worked(&follower))
            look(&follower);
    }
    checkpoint_writer_done(&follower.state);
    program_cpu_done(&follower.program);
    incremental_import_close(follower.incremental);
    return is_interrupted(&follower) ? 0 : code; /* the sender of the signal knows the reason */
}
