/* SPDX-License-Identifier: MIT */
#include "remote/sender/sender.h"

#include "lib/base/monotonic.h"
#include "lib/base/units.h"
#include "lib/logfile/log_name.h"
#include "lib/logfile/log_rotation.h"
#include "remote/sender/sender_process.h"
#include "remote/sender/sender_rx.h"
#include "remote/sender/sender_state.h"
#include "remote/sender/sender_tx.h"
#include "remote/wire/discovery.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the final message ----------------------------------------------------------------------- */

static void report_what_is_left(const struct sender *sender, uint64_t n_left)
{
    const struct sender_settings *settings = sender->settings;
    char size[UNITS_TEXT_BYTES];

    (void)fprintf(stderr,
                  "mtrace-record: not sent to '%s': %s (%s); send the rest later: mtrace-record "
                  "--send '%s' %s\n",
                  settings->to, units_format_bytes((int64_t)n_left, size),
                  *sender->why ? sender->why : "there was no time", settings->log, settings->same);
}

/* Data that a dead recorder had not packed was not sent. */
static void report_what_is_live(const struct sender *sender)
{
    const char *log = sender->settings->log;

    if (log_name_has_live(log))
        (void)fprintf(
            stderr,
            "mtrace-record: the end of '%s' is in '%s.live' and was not sent: when its program "
            "has ended, 'mtrace-record --pack %s', then send it again\n",
            log, log, log);
}

/* False: the file is not the one that was sent, or its recorder has not finished it. */
static bool remove_log(const struct sent_log *log)
{
    struct stat status;

    if (!log->tail.has_trailer || lstat(log->path, &status) != 0
        || status.st_dev != log->tail.device || status.st_ino != log->tail.inode)
        return false;
    log_rotation_remove(log->path);
    return unlink(log->path) == 0;
}

/* Used if all logs were sent. */
static const char *what_became_of_them(const struct sender *sender)
{
    int64_t n_kept = 0;

    if (!sender->settings->gives_back)
        return "";
    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_kept += log->state == SENT_STATE_SENT && !remove_log(log);
    }
    return n_kept ? "; kept here is what its recorder did not finish (--no-local)"
                  : "; removed here (--no-local)";
}

/* Prints it on stderr. With --no-local, removes files of completely sent logs before. */
static void sent_summary_print(const struct sender *sender)
{
    char size[UNITS_TEXT_BYTES];
    char logs[UNITS_TEXT_BYTES];
    uint64_t n_bytes = 0;
    uint64_t n_left = 0;
    int64_t n_sent = 0;
    const char *status = "";

    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_bytes += log->acked_bytes;
        n_sent += log->state == SENT_STATE_SENT;
        n_left += sent_log_bytes_left(log);
    }
    if (sent_logs_are_sent(&sender->logs))
        status = what_became_of_them(sender);
    if (!sent_logs_are_sent(&sender->logs))
        report_what_is_left(sender, n_left);
    else if (n_sent && !sender->settings->is_quiet)
        (void)fprintf(stderr, "mtrace-record: sent to '%s': %s, %s%s\n", sender->settings->to,
                      units_format_counted(n_sent, "log", logs),
                      units_format_bytes((int64_t)n_bytes, size), status);
    report_what_is_live(sender);
}

enum {
    CONNECT_MS = 5000,
    MIN_CONNECT_MS = 500, /* one attempt is always made */
    FIND_SHARE = 50,      /* looking for later logs takes at most 1/50 of the time */
};

static const uint64_t ms_ns = 1000000;
static const uint64_t look_ns = 100 * UINT64_C(1000000);  /* between looks at the files */
static const uint64_t find_ns = UINT64_C(1000000000);     /* between looks for later logs */
static const uint64_t ping_ns = UINT64_C(10000000000);    /* the receiver's limit is a minute */
static const uint64_t silence_ns = UINT64_C(30000000000); /* without an answer of the receiver */
static const uint64_t quiet_ns = UINT64_C(60000000000);   /* the terminal is the program's */
static const uint64_t min_pause_ns = 200 * UINT64_C(1000000);
static const uint64_t max_pause_ns = UINT64_C(5000000000);

/* ---- connection ------------------------------------------------------------------------------ */

static void disconnect(struct sender *sender, const struct error *err)
{
    if (sender->is_connected)
        channel_close(&sender->channel);
    sender->is_connected = false;
    sender->has_greeted = false;
    sent_logs_wait(&sender->logs);
    sender->pause_ns = sender->pause_ns ? 2 * sender->pause_ns : min_pause_ns;
    if (sender->pause_ns > max_pause_ns)
        sender->pause_ns = max_pause_ns;
    sender->retry_ns = monotonic_now_ns() + sender->pause_ns;
    (void)snprintf(sender->why, sizeof(sender->why), "%s", err->text);
    if (sender->has_complained
        || (sender->said_ns && monotonic_now_ns() - sender->said_ns < quiet_ns))
        return;
    (void)fprintf(stderr,
                  "mtrace-record: cannot send to '%s' now: %s; the log is kept in '%s', and "
                  "sending is tried again\n",
                  sender->settings->to, err->text, sender->settings->log);
    sender->has_complained = true;
    sender->said_ns = monotonic_now_ns();
}

static uint64_t due_ns(const struct sender *sender)
{
    uint64_t since_ns = sender->settings->end_pipe < 0 && sender->progress_ns > sender->over_ns
                            ? sender->progress_ns
                            : sender->over_ns;

    return sender->is_over ? since_ns + sender->settings->timeout_ns : UINT64_MAX;
}

/* Time limit for one step of the connection (SN-3). */
static int time_limit_ms(const struct sender *sender)
{
    uint64_t due = due_ns(sender);
    uint64_t now = monotonic_now_ns();
    uint64_t left_ms = due > now ? (due - now) / ms_ns : 0;

    if (left_ms < MIN_CONNECT_MS)
        return MIN_CONNECT_MS;
    return left_ms < CONNECT_MS ? (int)left_ms : CONNECT_MS;
}

/* The limit is for the whole handshake: the peer could send one byte at a time. */
static int shake(struct sender *sender, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + (uint64_t)time_limit_ms(sender) * ms_ns;
    int code;

    while ((code = channel_shake(&sender->channel, err)) > 0) {
        struct pollfd ready = {.fd = sender->channel.fd,
                               .events = channel_events(&sender->channel, true)};
        uint64_t now = monotonic_now_ns();
        if (now >= until_ns || poll(&ready, 1, (int)((until_ns - now) / ms_ns) + 1) == 0)
            return error_set(err, ERROR_IO, "the peer does not answer");
    }
    return code;
}

static int connect_now(struct sender *sender, struct error *err)
{
    const struct sender_settings *settings = sender->settings;
    struct address address = settings->address;
    struct wire_hello hello;
    int fd;
    int code = 0;

    if (settings->is_discovering)
        code = discovery_find_one(settings->security, settings->discovery_port, &address, err);
    if (code == 0)
        code = address_connect(&address, settings->security->is_insecure, time_limit_ms(sender),
                               &fd, err);
    if (code)
        return code;
    code = channel_open(fd, settings->security, false, address.host, &sender->channel, err);
    if (code)
        return code;
    sender->is_connected = true;
    wire_reader_init(sender->reader);
    code = shake(sender, err);
    sender->now_ns = monotonic_now_ns();
    sender->received_ns = sender->now_ns;
    sender->asked_ns = 0;
    wire_make_hello(&hello);
    return code ? code : sender_tx_send(sender, WIRE_HELLO, 0, 0, &hello, sizeof(hello), err);
}

/* ---- main loop ------------------------------------------------------------------------------- */

/* The log of a dead recorder can still be packed; data after its last frame does not count yet. */
static enum sent_growth growth(const struct sender *sender)
{
    if (sender->is_over && sender->settings->end_pipe < 0)
        return SENT_GROWTH_OF_EACH;
    return sender->is_over && sender->is_finished ? SENT_GROWTH_IS_OVER : SENT_GROWTH_GOES_ON;
}

static void find_logs(struct sender *sender)
{
    uint64_t begun_ns = monotonic_now_ns();

    sent_logs_find(&sender->logs, sender->settings->log);
    sender->find_due_ns =
        monotonic_now_ns() + find_ns + FIND_SHARE * (monotonic_now_ns() - begun_ns);
}

static void receive_of_end(struct sender *sender)
{
    char byte;
    ssize_t n = read(sender->settings->end_pipe, &byte, 1);

    if (n < 0)
        return;
    sender->is_finished = n == 1 && byte == SENDER_PROCESS_FINISHED;
    sender->is_over = true;
    sender->over_ns = monotonic_now_ns();
    sender->look_due_ns = sender->find_due_ns = 0;
    sender->retry_ns = 0;
}

static int converse(struct sender *sender, struct error *err)
{
    int code = sender_rx_take_all(sender, err);

    if (code == 0 && sender->has_greeted)
        code = sender_tx_send_logs(sender, err);
    if (code == 0 && sender->now_ns - sender->put_ns > ping_ns)
        code = sender_tx_send(sender, WIRE_PING, 0, 0, NULL, 0, err);
    if (code == 0)
        code = channel_flush(&sender->channel, err);
    if (code == 0 && sender->asked_ns && sender->now_ns - sender->asked_ns > silence_ns)
        code = error_set(err, ERROR_IO, "the peer does not answer");
    return code;
}

static void step(struct sender *sender)
{
    struct error err = {0};
    int code = 0;

    sender->now_ns = monotonic_now_ns();
    if (sender->now_ns >= sender->find_due_ns)
        find_logs(sender);
    if (sender->now_ns >= sender->look_due_ns) {
        sent_logs_look(&sender->logs, growth(sender));
        sender->look_due_ns = sender->now_ns + look_ns;
    }
    if (!sender->is_connected && sender->now_ns < sender->retry_ns)
        return;
    if (!sender->is_connected)
        code = connect_now(sender, &err);
    if (code == 0)
        code = converse(sender, &err);
    if (code)
        disconnect(sender, &err);
}

static void wait_for_more(struct sender *sender)
{
    struct pollfd ready[2] = {
        {.fd = sender->is_over ? -1 : sender->settings->end_pipe, .events = POLLIN},
        {.fd = sender->is_connected ? sender->channel.fd : -1}};

    if (sender->is_connected)
        ready[1].events = channel_events(&sender->channel, false);
    if (poll(ready, 2, (int)(look_ns / ms_ns)) > 0 && ready[0].revents)
        receive_of_end(sender);
}

static bool is_too_late(const struct sender *sender)
{
    return monotonic_now_ns() > due_ns(sender);
}

static void done(struct sender *sender)
{
    if (sender->is_connected)
        channel_close(&sender->channel);
    sent_logs_done(&sender->logs);
    free(sender->reader);
}

bool sender_run(const struct sender_settings *settings)
{
    struct sender sender = {.settings = settings, .channel.fd = -1};
    bool is_sent;

    sender.reader = malloc(sizeof(*sender.reader));
    if (!sender.reader)
        return false;
    sender.is_over = settings->end_pipe < 0;
    sender.over_ns = monotonic_now_ns();
    for (;;) {
        step(&sender);
        if (sender.is_over && (sent_logs_are_over(&sender.logs) || is_too_late(&sender)))
            break;
        wait_for_more(&sender);
    }
    is_sent = sent_logs_are_sent(&sender.logs);
    sent_summary_print(&sender);
    done(&sender);
    return is_sent;
}
