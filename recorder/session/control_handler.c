/* SPDX-License-Identifier: MIT */
#include "recorder/session/control_handler.h"

#include "lib/base/monotonic.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One pass over the recordings of one process, or of all. */
struct round {
    pid_t pid; /* 0: all */
    const struct command *command;
    uint32_t n, n_given, n_waiting, n_full, n_replaced;
    bool must_agree; /* send the command only to processes that it would change */
    bool is_for_new; /* and to processes that never got one */
    uint64_t rss_bytes, begun_ns;
    uint32_t window; /* the first open one */
    bool is_open;
    bool is_recorder_absent; /* at present; more images may begin */
};

static const uint64_t NEWCOMER_NS = 1000000000; /* to find logs of new children */

static const char g_is_executing[] = "the program is in the middle of an exec; try again";

/* The next image is not known yet, or is another of these recordings. */
static bool is_replaced(const struct recording *recording)
{
    return atomic_load_explicit(&recording->live.seen.end_kind, memory_order_relaxed)
           == LOG_END_EXEC;
}

static bool would_change(const struct recording *recording, const struct command *command)
{
    return collector_commands_is_idle(&recording->commands, &recording->live)
           && recording->live.has_begun
           && collector_commands_is_window_open(&recording->live)
                  != (command->command == LOG_COMMAND_START);
}

static bool give(void *context, struct recording *recording)
{
    struct round *round = context;

    if (round->pid && recording->pid != round->pid)
        return true;
    if (is_replaced(recording)) {
        round->n_replaced++;
        return true;
    }
    round->n++;
    if (round->command && (!round->must_agree || would_change(recording, round->command))
        && (!round->is_for_new || !collector_commands_are_any(&recording->commands))) {
        round->n_given++;
        round->n_full += !collector_commands_ask(&recording->commands, round->command);
    }
    recording_step_commands(recording);
    round->n_waiting += !collector_commands_is_idle(&recording->commands, &recording->live);
    if (!recording->live.has_begun)
        return true;
    if (!round->is_open) /* of the first process that has one */
        round->window = collector_commands_window(&recording->live);
    round->is_open = round->window != 0;
    if (recording->samples.rss_bytes > round->rss_bytes)
        round->rss_bytes = recording->samples.rss_bytes;
    if (round->begun_ns == 0 || recording->live.seen.start_monotonic_ns < round->begun_ns)
        round->begun_ns = recording->live.seen.start_monotonic_ns;
    return true;
}

static struct round go_round(const struct control_handler *handler, struct round round)
{
    if (handler->recording)
        (void)give(&round, handler->recording);
    if (handler->children)
        children_each(handler->children, give, &round);
    round.is_recorder_absent = round.n == 0;
    if (round.n == 0 && round.n_replaced)
        round.n = round.n_waiting = 1;
    return round;
}

/* The recorder's own PID means all processes that it records. */
static pid_t pid_of(const struct control_request *request)
{
    return request->pid == getpid() ? 0 : request->pid;
}

static struct command command_of(const struct control_request *request)
{
    return (struct command){.reason = LOG_SWITCH_CONTROL,
                            .command = request->verb == CONTROL_START  ? LOG_COMMAND_START
                                       : request->verb == CONTROL_STOP ? LOG_COMMAND_STOP
                                                                       : LOG_COMMAND_MARK};
}

static bool begin_report(const struct control_handler *handler, uint32_t *ret_number,
                         char *ret_text, size_t n_bytes)
{
    if (!handler->recording) {
        (void)snprintf(ret_text, n_bytes,
                       handler->has_ended
                           ? "the program has ended"
                           : "no report can be made after the program has executed another: start "
                             "mtrace-record with --report-signal, which prepares for that");
        return false;
    }
    *ret_number = handler->reports->n + 1;
    if (!handler->reports->is_asked)
        periodic_reports_ask(handler->reports);
    return true;
}

static bool begin_detaching(struct control_handler *handler, char *ret_text, size_t n_bytes)
{
    handler->must_leave = handler->is_attached;
    handler->leave_error = NULL;
    if (!handler->is_attached)
        (void)snprintf(
            ret_text, n_bytes,
            "mtrace-record started the program and cannot detach it: --ctl PID stop ends the "
            "recording");
    return handler->is_attached;
}

struct imaging {
    pid_t pid;
    struct recording *recording; /* NULL: not recorded, or between two images */
};

static bool find_recording(void *context, struct recording *recording)
{
    struct imaging *imaging = context;

    if (recording->pid == imaging->pid && !is_replaced(recording))
        imaging->recording = recording;
    return !imaging->recording;
}

/* The recorder's own PID means the program. */
static struct recording *recording_of(const struct control_handler *handler,
                                      const struct control_request *request)
{
    struct imaging imaging = {.pid = pid_of(request) ? request->pid : handler->program_pid};

    if (handler->recording)
        (void)find_recording(&imaging, handler->recording);
    if (handler->children && !imaging.recording)
        children_each(handler->children, find_recording, &imaging);
    return imaging.recording;
}

static void begin_image(const struct control_handler *handler,
                        const struct control_request *request, char *ret_text, size_t n_bytes)
{
    struct recording *recording = recording_of(handler, request);
    struct error err;

    if (!recording)
        (void)snprintf(ret_text, n_bytes, "%s", g_is_executing);
    else if (recording_take_image(recording, IMAGE_CAUSE_CONTROL, request->name, &err) != 0)
        (void)snprintf(ret_text, n_bytes, "no heap image: %s", err.text);
}

static bool is_image_done(const struct control_handler *handler,
                          const struct control_request *request, char *ret_text, size_t n_bytes,
                          bool *ret_has_failed)
{
    struct recording *recording = recording_of(handler, request);
    struct image_service *images = recording ? &recording->service.images : NULL;

    if (images && !image_service_is_idle(images)) {
        (void)snprintf(ret_text, n_bytes, "the heap image is still being written");
        return false;
    }
    *ret_has_failed = images && images->code;
    if (!images)
        (void)snprintf(ret_text, n_bytes, "the heap image is beside the log");
    else if (images->code)
        (void)snprintf(ret_text, n_bytes, "%s", images->err.text);
    else
        (void)snprintf(ret_text, n_bytes, "%s.image%" PRIu32, recording->packed.path,
                       images->n_images);
    return true;
}

/* The exec successor has not begun yet, or its log was not found yet. */
static bool is_between_images(const struct control_handler *handler,
                              const struct control_request *request)
{
    return !handler->has_ended && (request->pid == handler->program_pid || pid_of(request) == 0);
}

/* Keeps the command for processes that begin later. */
static void keep_for_newcomers(struct control_handler *handler, const struct command *command,
                               bool is_to_all)
{
    handler->last_command = *command;
    handler->last_until_ns = is_to_all ? monotonic_now_ns() + NEWCOMER_NS : 0;
}

static bool begin(void *context, struct control_request *request, uint32_t *ret_number,
                  char *ret_text, size_t n_bytes)
{
    struct control_handler *handler = context;
    struct command command = command_of(request);
    struct round round;

    if (go_round(handler, (struct round){.pid = pid_of(request)}).n == 0
        && !is_between_images(handler, request))
        return false;
    if (request->verb == CONTROL_DETACH)
        return begin_detaching(handler, ret_text, n_bytes);
    if (request->verb == CONTROL_REPORT)
        return begin_report(handler, ret_number, ret_text, n_bytes);
    if (request->verb == CONTROL_HEAP_IMAGE) {
        begin_image(handler, request, ret_text, n_bytes);
        return !*ret_text;
    }
    if (command.command == LOG_COMMAND_MARK && !request->name[0])
        (void)snprintf(request->name, sizeof(request->name), "snapshot %u", ++handler->n_snapshots);
    memcpy(command.name, request->name, sizeof(command.name));
    if (command.command != LOG_COMMAND_MARK) {
        *ret_number = ++handler->n_commands;
        keep_for_newcomers(handler, &command, pid_of(request) == 0);
    }
    round = go_round(handler, (struct round){.pid = pid_of(request), .command = &command});
    if (command.command == LOG_COMMAND_MARK && round.n_given == 0)
        (void)snprintf(ret_text, n_bytes, "%s", g_is_executing);
    else if (round.n_full)
        (void)snprintf(ret_text, n_bytes,
                       "too many snapshots wait: the program neither allocates nor frees");
    return !*ret_text;
}

static bool is_report_done(const struct control_handler *handler, uint32_t number, char *ret_text,
                           size_t n_bytes, bool *ret_has_failed)
{
    const char *why;

    if (!periodic_reports_is_done(handler->reports, number, &why))
        return false;
    *ret_has_failed = *why != '\0';
    if (*ret_has_failed)
        (void)snprintf(ret_text, n_bytes, "report %" PRIu32 " could not be made: %s", number, why);
    else if ((size_t)snprintf(ret_text, n_bytes, "%s.report.%" PRIu32 ".txt", handler->log_path,
                              number)
             >= n_bytes - 1) /* one byte of the answer precedes it */
        (void)snprintf(ret_text, n_bytes, "report %" PRIu32 " is beside the log", number);
    return true;
}

static void describe_leaving(const struct control_handler *handler, char *ret_text, size_t n_bytes)
{
    int n = snprintf(ret_text, n_bytes, "detached; the log is '%s'", handler->log_path);

    if (handler->n_unheard && n > 0 && (size_t)n < n_bytes)
        (void)snprintf(ret_text + n, n_bytes - (size_t)n,
                       "; %" PRIu32 " of its processes were idle: each ends its log "
                       "with its next allocation",
                       handler->n_unheard);
}

static bool is_leaving_done(const struct control_handler *handler, char *ret_text, size_t n_bytes,
                            bool *ret_has_failed)
{
    *ret_has_failed = handler->leave_error && !handler->must_leave;
    (void)snprintf(ret_text, n_bytes, "%s%s", handler->leave_error ? handler->leave_error : "",
                   handler->leave_error && handler->must_leave ? "; mtrace-record is still trying"
                                                               : "");
    if (handler->has_ended)
        describe_leaving(handler, ret_text, n_bytes);
    return handler->has_ended || *ret_has_failed;
}

static bool is_done(void *context, const struct control_request *request, uint32_t number,
                    char *ret_text, size_t n_bytes, bool *ret_has_failed)
{
    const struct control_handler *handler = context;
    struct command command = command_of(request);
    struct round round = {.pid = pid_of(request), .must_agree = true};

    if (request->verb == CONTROL_DETACH)
        return is_leaving_done(handler, ret_text, n_bytes, ret_has_failed);
    if (request->verb == CONTROL_REPORT)
        return is_report_done(handler, number, ret_text, n_bytes, ret_has_failed);
    if (request->verb == CONTROL_HEAP_IMAGE)
        return is_image_done(handler, request, ret_text, n_bytes, ret_has_failed);
    /* include processes that began since; but do not undo a later command */
    round.command =
        request->verb == CONTROL_SNAPSHOT || number != handler->n_commands ? NULL : &command;
    round = go_round(handler, round);
    if (round.is_recorder_absent)
        (void)snprintf(ret_text, n_bytes, "%s", g_is_executing);
    if (round.n_waiting || (round.n == 0 && is_between_images(handler, request)))
        return false;
    *ret_has_failed = round.n == 0;
    if (round.n == 0)
        (void)snprintf(ret_text, n_bytes, "the process has ended");
    else if (request->verb == CONTROL_SNAPSHOT)
        (void)snprintf(ret_text, n_bytes, "%s", request->name);
    else
        (void)snprintf(ret_text, n_bytes, "%s %" PRIu32 " process%s",
                       request->verb == CONTROL_START ? "recording" : "no longer recording",
                       round.n, round.n == 1 ? "" : "es");
    return true;
}

static bool is_recorded(void *context, pid_t pid)
{
    return pid > 0 && go_round(context, (struct round){.pid = pid}).n != 0;
}

struct taking {
    uint64_t run_id;
    int fd;
    bool is_taken;
};

static bool take_if(void *context, struct recording *recording)
{
    struct taking *taking = context;

    if (!recording->live.has_begun) /* a program may ask at its start */
        live_log_read_header(&recording->live);
    if (recording->live.has_begun && recording->live.seen.run_id == taking->run_id)
        taking->is_taken =
            recording->programs && report_service_take(&recording->service, taking->fd);
    return !taking->is_taken;
}

static bool take(void *context, const struct control_request *request, int fd)
{
    const struct control_handler *handler = context;
    struct taking taking = {.run_id = request->run_id, .fd = fd};

    if (handler->recording)
        (void)take_if(&taking, handler->recording);
    if (handler->children && !taking.is_taken)
        children_each(handler->children, take_if, &taking);
    return taking.is_taken;
}

struct control_target control_handler_target(struct control_handler *handler)
{
    return (struct control_target){.context = handler,
                                   .begin = begin,
                                   .is_done = is_done,
                                   .is_recorded = is_recorded,
                                   .take = take};
}

static void step_windows(struct control_handler *handler, struct own_windows *windows,
                         uint64_t now_ns)
{
    struct command command = {.name = ""};
    struct own_windows_sight sight = {.now_ns = now_ns};
    struct round round =
        go_round(handler, (struct round){.pid = handler->has_ended ? 0 : handler->program_pid});

    sight.is_open = round.is_open;
    sight.window = round.window;
    sight.rss_bytes = round.rss_bytes;
    sight.begun_ns = round.begun_ns;
    if (own_windows_step(windows, &sight, &command.command, &command.reason)) {
        keep_for_newcomers(handler, &command, true);
        (void)go_round(handler, (struct round){.command = &command});
    }
}

void control_handler_step(struct control_handler *handler, struct own_windows *windows,
                          uint64_t now_ns)
{
    struct round round;

    if (own_windows_are_any(windows))
        step_windows(handler, windows, now_ns);
    if (now_ns >= handler->last_until_ns)
        return;
    round = go_round(
        handler,
        (struct round){.command = &handler->last_command, .must_agree = true, .is_for_new = true});
    if (round.n_waiting) /* until then children inherit the old state */
        handler->last_until_ns = now_ns + NEWCOMER_NS;
}
