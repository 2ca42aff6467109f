/* SPDX-License-Identifier: MIT */
#include "importer/cli/follower.h"

#include "importer/cli/checkpoint_writer.h"
#include "importer/cli/incremental_import.h"
#include "importer/read/log_set.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/cut_request.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* After a round; also before the first one, because the first request comes soon, and after a full
 * disk. */
#define MIN_REST_NS UINT64_C(1000000000)
#define MAX_REST_NS UINT64_C(30000000000)
/* Between two checks of the size of a bounded log; a check costs time for each file in its
 * folder. */
#define LOOK_REST_NS UINT64_C(50000000)

enum {
    LOOK_REST = 50,
    MIN_MAPPED_BYTES = 1 << 17,
};

struct follower {
    const struct import_options *options;
    struct progress *progress;
    struct incremental_import *incremental;
    struct checkpoint_writer state;
    bool has_state;
    bool has_failed; /* of a bounded log: the checkpoint could not be loaded */
    uint64_t due_ns; /* of the next round */
};

static bool is_interrupted(const struct follower *follower)
{
    return follower->progress->interrupted && *follower->progress->interrupted;
}

static uint64_t between(uint64_t ns, uint64_t least, uint64_t most)
{
    return ns < least ? least : ns > most ? most : ns;
}

/* In a bounded log a late request cannot be served, so there is more time for it. */
static uint64_t end_of_certain(const struct follower *follower)
{
    uint64_t now_ns = monotonic_now_ns();
    uint64_t margin_ns = follower->has_state ? IDLE_TIME_LIMIT_NS : FOLLOWER_MARGIN_NS;

    return now_ns > margin_ns ? now_ns - margin_ns : 0;
}

/* Continues with the last checkpoint of a bounded log. Without it nothing may be imported. */
static int begin(struct follower *follower, struct error *err)
{
    incremental_import_close(follower->incremental);
    follower->incremental = NULL;
    int code =
        incremental_import_open(follower->options, follower->progress, &follower->incremental, err);

    if (code == 0 && follower->has_state) {
        incremental_import_be_bounded(follower->incremental);
        code = checkpoint_writer_load(&follower->state, follower->incremental, err);
    }
    follower->has_failed = code != 0;
    return code;
}

static int advance(struct follower *follower, struct error *err)
{
    int code = incremental_import_advance(follower->incremental, end_of_certain(follower), err);

    if (!incremental_import_is_lost(follower->incremental))
        return code;
    code = begin(follower, err); /* there may be more names than the statistics had room for */
    return code ? code
                : incremental_import_advance(follower->incremental, end_of_certain(follower), err);
}

/* KP-2. Errors are ignored: a later attempt may succeed, and a requester gets the reason. */
static void make_round(struct follower *follower)
{
    uint64_t began_ns = own_cpu_ns();

    (void)advance(follower, NULL);
    follower->due_ns =
        monotonic_now_ns()
        + between((own_cpu_ns() - began_ns) * FOLLOWER_REST, MIN_REST_NS, MAX_REST_NS);
}

static int import_and_save(struct follower *follower, struct error *err)
{
    int lock = log_rotation_lock_for_removal(follower->options->logs[0]);
    int code = 0;

    if (lock < 0) /* an import reads the log */
        return 0;
    code = advance(follower, err);
    if (code == 0)
        code = checkpoint_writer_save(&follower->state, follower->incremental, err);
    close(lock);
    return code;
}

/* After a full disk the next round tries again, because exiting would free the reserved space. Any
 * other failure ends the follower, and another one starts with the last checkpoint. */
static int make_bounded_round(struct follower *follower, struct error *err)
{
    uint64_t began_ns = own_cpu_ns();
    bool is_due = checkpoint_writer_is_due(&follower->state);
    uint64_t rest_ns = between((own_cpu_ns() - began_ns) * LOOK_REST, LOOK_REST_NS, MAX_REST_NS);
    int code = is_due ? import_and_save(follower, err) : 0;

    if (code && error_is_disk_full(err)) {
        rest_ns = between(rest_ns, MIN_REST_NS, MAX_REST_NS);
        code = 0;
    }
    follower->due_ns = monotonic_now_ns() + rest_ns;
    return code;
}

/* ---- requests ---- */

static struct import_options options_of(const struct follower *follower,
                                        const struct cut_request *request)
{
    struct import_options options = *follower->options;

    options.target = request->target;
    options.force = true;
    options.is_passing = true;
    options.until_ns = request->until_ns;
    options.until_marker = *request->until_marker ? request->until_marker : NULL;
    options.marker_ticks = request->marker_ticks;
    options.run_id = request->run_id;
    options.is_aggregate = follower->has_state; /* with rows of live blocks */
    options.slim = !request->has_rows || follower->has_state;
    options.no_symbols = !request->has_symbols;
    return options;
}

static int cut(struct follower *follower, const struct cut_request *request, struct error *err)
{
    const struct import_options options = options_of(follower, request);
    struct import_result result;
    int code = incremental_import_cut(follower->incremental, &options, end_of_certain(follower),
                                      &result, err);

    if (!incremental_import_is_lost(follower->incremental))
        return code;
    code = begin(follower, err);
    return code ? code
                : incremental_import_cut(follower->incremental, &options, end_of_certain(follower),
                                         &result, err);
}

static void serve(struct follower *follower, const struct cut_request *request, int reply_fd)
{
    struct error err = {.code = 0};
    struct cut_reply reply = {.code = cut(follower, request, &err)};

    reply.has_no_room = error_is_disk_full(&err);
    (void)snprintf(reply.text, sizeof reply.text, "%s", err.text);
    cut_request_reply(reply_fd, &reply);
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
                                .due_ns = monotonic_now_ns() + MIN_REST_NS};
    bool is_asked_for = true;
    if (has_state)
        checkpoint_writer_begin(&follower.state, options->logs[0]);
    int code = begin(&follower, err);

    while (code == 0 && is_asked_for && !follower.has_failed && !is_interrupted(&follower)) {
        if (wait_for_request(&follower))
            is_asked_for = take(&follower);
        else if (has_state)
            code = make_bounded_round(&follower, err);
        else if (!is_interrupted(&follower))
            make_round(&follower);
    }
    checkpoint_writer_done(&follower.state);
    incremental_import_close(follower.incremental);
    return is_interrupted(&follower) ? 0 : code; /* the sender of the signal knows the reason */
}
