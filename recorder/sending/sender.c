/* SPDX-License-Identifier: MIT */
#include "recorder/sending/sender.h"

#include "recorder/family/log_name.h"
#include "recorder/sending/giving_back.h"
#include "recorder/sending/sender_process.h"
#include "recorder/sending/sent_logs.h"
#include "recorder/sending/sent_objects.h"
#include "support/error.h"
#include "support/monotonic.h"
#include "support/printable.h"
#include "support/units.h"
#include "transfer/channel.h"
#include "transfer/discovery.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECT_MS = 5000,
    LEAST_CONNECT_MS = 500,     /* one try is made in any case */
    WAITING_BYTES = 256 * 1024, /* that are put into the channel at a time */
    ASK_BYTES =
        16 * WIRE_MAX_BYTES,    /* of an object, until the receiver is asked whether it is there */
    FIND_SHARE = 50,            /* looking for later logs takes a fiftieth of our time */
    MAX_PROGRAM_WAIT = 1 << 20, /* of a log that does not say what its program is */
};

static const uint64_t ms_ns = 1000000;
static const uint64_t look_ns = 100 * UINT64_C(1000000);  /* between looks at the files */
static const uint64_t find_ns = UINT64_C(1000000000);     /* between looks for later logs */
static const uint64_t ping_ns = UINT64_C(10000000000);    /* the receiver waits a minute */
static const uint64_t silence_ns = UINT64_C(30000000000); /* of the receiver, which should answer */
static const uint64_t quiet_ns = UINT64_C(60000000000);   /* it is the program's terminal */
static const uint64_t least_pause_ns = 200 * UINT64_C(1000000);
static const uint64_t most_pause_ns = UINT64_C(5000000000);

struct sender {
    const struct sender_settings *settings;
    struct sent_logs logs;
    struct sent_objects objects;
    bool is_asked_for_objects; /* by the receiver, of --fetch-objects, when it was last heard */
    struct channel channel;
    struct wire_reader *reader;
    bool is_connected;
    bool has_greeted;
    bool is_over;     /* nobody writes any more */
    bool is_finished; /* and all files are whole */
    bool has_complained;
    bool has_no_holes; /* the file system of the logs */
    uint64_t now_ns, over_ns, retry_ns, pause_ns, look_due_ns, find_due_ns;
    uint64_t heard_ns, asked_ns; /* asked_ns: 0, or since when an answer is due */
    uint64_t put_ns;
    uint64_t progress_ns;       /* something was acknowledged */
    uint64_t said_ns;           /* 0, or when it was last said that it does not go on */
    char why[ERROR_TEXT_BYTES]; /* it does not go on */
};

/* ---- the connection ---- */

static void disconnect(struct sender *sender, const struct error *err)
{
    if (sender->is_connected)
        channel_close(&sender->channel);
    sender->is_connected = false;
    sender->has_greeted = false;
    sent_objects_restart(&sender->objects);
    sent_logs_wait(&sender->logs);
    sender->pause_ns = sender->pause_ns ? 2 * sender->pause_ns : least_pause_ns;
    if (sender->pause_ns > most_pause_ns)
        sender->pause_ns = most_pause_ns;
    sender->retry_ns = monotonic_now_ns() + sender->pause_ns;
    (void)snprintf(sender->why, sizeof(sender->why), "%s", err->text);
    if (sender->has_complained
        || (sender->said_ns && monotonic_now_ns() - sender->said_ns < quiet_ns))
        return;
    (void)fprintf(stderr,
                  "mtrace-record: cannot send to '%s' now: %s; it is tried again, and the log "
                  "is kept in '%s'\n",
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

/* How long a step of the connection may take, SN-3. */
static int patience_ms(const struct sender *sender)
{
    uint64_t due = due_ns(sender);
    uint64_t now = monotonic_now_ns();
    uint64_t left_ms = due > now ? (due - now) / ms_ns : 0;

    if (left_ms < LEAST_CONNECT_MS)
        return LEAST_CONNECT_MS;
    return left_ms < CONNECT_MS ? (int)left_ms : CONNECT_MS;
}

/* All of it is limited, not each part: the other side may send one byte at a time. */
static int shake(struct sender *sender, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + (uint64_t)patience_ms(sender) * ms_ns;
    int code;

    while ((code = channel_shake(&sender->channel, err)) > 0) {
        struct pollfd ready = {.fd = sender->channel.fd,
                               .events = channel_events(&sender->channel, true)};
        uint64_t now = monotonic_now_ns();
        if (now >= until_ns || poll(&ready, 1, (int)((until_ns - now) / ms_ns) + 1) == 0)
            return error_set(err, ERROR_IO, "the other side does not answer");
    }
    return code;
}

static int say(struct sender *sender, enum wire_kind kind, uint32_t number, uint64_t offset,
               const void *payload, size_t n_bytes, struct error *err)
{
    const struct wire_head head = {
        .kind = kind, .log = number, .offset = offset, .n_bytes = (uint32_t)n_bytes};

    sender->put_ns = sender->now_ns;
    if (sender->asked_ns == 0)
        sender->asked_ns = sender->now_ns;
    return channel_put(&sender->channel, &head, payload, err);
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
        code = address_connect(&address, settings->security->is_insecure, patience_ms(sender), &fd,
                               err);
    if (code)
        return code;
    code = channel_open(fd, settings->security, false, address.host, &sender->channel, err);
    if (code)
        return code;
    sender->is_connected = true;
    wire_reader_init(sender->reader);
    code = shake(sender, err);
    sender->now_ns = monotonic_now_ns();
    sender->heard_ns = sender->now_ns;
    sender->asked_ns = 0;
    wire_make_hello(&hello);
    return code ? code : say(sender, WIRE_HELLO, 0, 0, &hello, sizeof(hello), err);
}

/* ---- what the receiver says ---- */

/* It goes well: more has arrived than ever. */
static void note_progress(struct sender *sender)
{
    sender->progress_ns = sender->now_ns;
    sender->pause_ns = 0;
    if (sender->has_complained && !sender->settings->is_quiet)
        (void)fprintf(stderr, "mtrace-record: sending to '%s' goes on\n", sender->settings->to);
    sender->has_complained = false;
}

static void note_acked(struct sender *sender, struct sent_log *log, uint64_t acked_bytes)
{
    log->acked_bytes = acked_bytes;
    if (acked_bytes <= log->most_bytes)
        return;
    log->most_bytes = acked_bytes;
    note_progress(sender);
}

static int say_begin(struct sender *sender, enum wire_kind kind, uint32_t number,
                     struct sent_log *log, struct error *err)
{
    uint8_t payload[LOG_FILE_HEADER_BYTES + LOG_TAIL_PROGRAM_BYTES];
    size_t n_program = strlen(log->tail.program);

    memcpy(payload, log->page, sizeof(log->page));
    memcpy(payload + sizeof(log->page), log->tail.program, n_program);
    log->state = SENT_STATE_BEGUN;
    return say(sender, kind, number, 0, payload, sizeof(log->page) + n_program, err);
}

/* Whoever has a log whose beginning is given back here must have all of that. */
static int stick(struct sender *sender, struct sent_log *log)
{
    log->state = SENT_STATE_STUCK;
    (void)snprintf(
        sender->why, sizeof(sender->why),
        "the receiver does not have what it acknowledged of '%s' and was given back here",
        log->path);
    return 0;
}

static int take_have(struct sender *sender, uint32_t number, struct sent_log *log,
                     const struct wire_head *head, const void *payload, struct error *err)
{
    uint64_t ours = 0;
    uint64_t theirs;

    memcpy(&theirs, payload, sizeof(theirs));
    if (head->offset < LOG_FILE_HEADER_BYTES)
        return error_set(err, ERROR_FORMAT, "the receiver has less than nothing of a log");
    if (head->offset > log->tail.end || wire_hash(log->tail.fd, head->offset, &ours, NULL) != 0
        || ours != theirs || head->offset < log->tail.given_back) {
        if (log->tail.given_back)
            return stick(sender, log);
        return say_begin(sender, WIRE_ANEW, number, log, err);
    }
    log->state = SENT_STATE_FLOWING;
    log->sent_bytes = head->offset;
    note_acked(sender, log, head->offset);
    memset(log->page, 0, sizeof(log->page)); /* whatever it has: it is sent again */
    return 0;
}

static void note_wishes(struct sender *sender, const void *payload)
{
    struct wire_hello hello;

    memcpy(&hello, payload, sizeof(hello));
    sender->is_asked_for_objects = (hello.flags & WIRE_WANTS_OBJECTS) != 0;
}

static void note_objects(struct sender *sender)
{
    if (sent_objects_got_further(&sender->objects))
        note_progress(sender);
}

static int take_want(struct sender *sender, const struct wire_head *head, struct error *err)
{
    bool is_cut;

    if (!sent_objects_take(&sender->objects, head->log, head->offset, &is_cut))
        return error_set(err, ERROR_FORMAT, "the receiver wants what was not offered");
    note_objects(sender);
    return is_cut ? say(sender, WIRE_OBJECT_END, 0, 0, NULL, 0, err) : 0;
}

static int take_synced(struct sender *sender, struct sent_log *log, uint64_t synced,
                       struct error *err)
{
    if (log->asked_sync == 0)
        return error_set(err, ERROR_FORMAT, "the receiver says to what it was not asked");
    if (!sender->has_no_holes && !giving_back_take(log, synced)) {
        sender->has_no_holes = true;
        (void)fprintf(stderr,
                      "mtrace-record: the file system of '%s' gives no space back while a log "
                      "grows: --no-local removes it at the end alone\n",
                      log->path);
    }
    return 0;
}

static int take_one(struct sender *sender, const struct wire_head *head, const void *payload,
                    struct error *err)
{
    struct sent_log *log = head->log < sender->logs.n ? sender->logs.logs[head->log] : NULL;

    if (!sender->has_greeted && head->kind != WIRE_REFUSED) {
        int code = wire_check_hello(head, payload, err);
        sender->has_greeted = code == 0;
        if (code == 0)
            note_wishes(sender, payload);
        return code;
    }
    if (head->kind == WIRE_REFUSED)
        return error_set(err, ERROR_IO, "%.*s", (int)head->n_bytes, (const char *)payload);
    if (head->kind == WIRE_PING) {
        note_objects(sender);
        return 0;
    }
    if (head->kind == WIRE_WANT)
        return take_want(sender, head, err);
    if (!log || !sent_log_is_under_way(log))
        return error_set(err, ERROR_FORMAT, "the receiver speaks of an unknown log");
    if (head->kind == WIRE_HAVE && log->state == SENT_STATE_BEGUN)
        return take_have(sender, head->log, log, head, payload, err);
    if (head->offset > log->sent_bytes || head->offset < log->acked_bytes)
        return error_set(err, ERROR_FORMAT, "the receiver has what was not sent");
    note_acked(sender, log, head->offset);
    if (head->kind == WIRE_SYNCED)
        return take_synced(sender, log, head->offset, err);
    if (head->kind == WIRE_DONE && log->state == SENT_STATE_ENDING) {
        log->state = SENT_STATE_SENT;
        note_progress(sender);
        log_tail_close(&log->tail);
    }
    return 0;
}

static int take_all(struct sender *sender, struct error *err)
{
    struct wire_head head;
    const void *payload;
    size_t n_room;
    ssize_t n;
    int code;

    do {
        void *room = wire_reader_room(sender->reader, &n_room);
        n = channel_get(&sender->channel, room, n_room, err);
        if (n <= 0)
            return (int)n;
        wire_reader_add(sender->reader, (size_t)n);
        while ((code = wire_reader_next(sender->reader, &head, &payload, err)) > 0) {
            code = take_one(sender, &head, payload, err);
            if (code)
                return code;
            sender->heard_ns = sender->now_ns;
            sender->asked_ns = 0;
        }
    } while (code == 0);
    return code;
}

/* ---- what we say ---- */

/* Its first frames say what the program is; of one that says nothing until it ends no name is known. */
static int begin(struct sender *sender, uint32_t number, struct sent_log *log, struct error *err)
{
    if (!log_tail_read_header(&log->tail, log->page)) {
        log->state = sender->is_over ? SENT_STATE_NO_LOG : SENT_STATE_WAITING;
        return 0;
    }
    if (!*log->tail.program && !log->tail.given_back && !sender->is_over
        && log->tail.end < MAX_PROGRAM_WAIT)
        return 0;
    return say_begin(sender, WIRE_BEGIN, number, log, err);
}

static int send_header(struct sender *sender, uint32_t number, struct sent_log *log,
                       struct error *err)
{
    uint8_t page[LOG_FILE_HEADER_BYTES];

    if (!log_tail_read_header(&log->tail, page) || memcmp(page, log->page, sizeof(page)) == 0)
        return 0;
    memcpy(log->page, page, sizeof(page));
    return say(sender, WIRE_HEADER, number, 0, page, sizeof(page), err);
}

static int send_bytes(struct sender *sender, uint32_t number, struct sent_log *log,
                      struct error *err)
{
    uint8_t bytes[WIRE_MAX_BYTES];
    int code = 0;

    while (code == 0 && log->sent_bytes < log->tail.end
           && channel_waits(&sender->channel) < WAITING_BYTES) {
        uint64_t left = log->tail.end - log->sent_bytes;
        ssize_t n = pread(log->tail.fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
                          (off_t)log->sent_bytes);
        if (n <= 0)
            return error_set_errno(err, n ? errno : EIO, "cannot read '%s'", log->path);
        code = say(sender, WIRE_DATA, number, log->sent_bytes, bytes, (size_t)n, err);
        log->sent_bytes += (uint64_t)n;
        if (code == 0)
            code = channel_flush(&sender->channel, err);
    }
    return code;
}

static int send_log(struct sender *sender, uint32_t number, struct sent_log *log, struct error *err)
{
    int code = send_bytes(sender, number, log, err);

    if (code == 0)
        code = send_header(sender, number, log, err);
    if (code == 0 && sender->settings->gives_back && !sender->has_no_holes
        && giving_back_is_due(log)) {
        log->asked_sync = log->acked_bytes;
        code = say(sender, WIRE_SYNC, number, 0, NULL, 0, err);
    }
    if (code || !sender->is_over || log->sent_bytes < log->tail.end)
        return code;
    log->state = SENT_STATE_ENDING;
    return say(sender, log->tail.has_trailer ? WIRE_END : WIRE_CUT, number, log->sent_bytes, NULL,
               0, err);
}

/* ---- objects ---- */

static int send_object_bytes(struct sender *sender, struct error *err)
{
    struct sent_objects *objects = &sender->objects;
    uint8_t bytes[WIRE_MAX_BYTES];
    uint64_t left = objects->size_bytes - objects->sent_bytes;
    ssize_t n = pread(objects->fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
                      (off_t)objects->sent_bytes);
    int code = 0;

    if (n > 0)
        code = say(sender, WIRE_OBJECT_DATA, 0, objects->sent_bytes, bytes, (size_t)n, err);
    objects->sent_bytes += n > 0 ? (uint64_t)n : 0;
    if (code == 0 && objects->sent_bytes % ASK_BYTES == 0) /* for a word of life */
        code = say(sender, WIRE_PING, 0, 0, NULL, 0, err);
    if (code || (n > 0 && objects->sent_bytes < objects->size_bytes))
        return code;
    sent_objects_end(objects); /* also one that was cut meanwhile: the receiver throws it away */
    return say(sender, WIRE_OBJECT_END, 0, 0, NULL, 0, err);
}

static void learn_objects(struct sender *sender)
{
    for (size_t i = 0; i < sender->logs.n; i++) {
        struct sent_log *log = sender->logs.logs[i];
        if (log->tail.fd >= 0)
            sent_objects_learn(&sender->objects, &log->tail, &log->objects_at);
    }
}

/* They take what room the logs leave. */
static int send_objects(struct sender *sender, struct error *err)
{
    struct wire_object offer;
    uint32_t number;
    int code = 0;

    if (!sender->is_asked_for_objects)
        return 0;
    learn_objects(sender);
    while (code == 0 && sent_objects_flowing(&sender->objects)
           && channel_waits(&sender->channel) < WAITING_BYTES) {
        code = send_object_bytes(sender, err);
        if (code == 0)
            code = channel_flush(&sender->channel, err);
    }
    if (code == 0 && sent_objects_next(&sender->objects, &offer, &number))
        code = say(sender, WIRE_OBJECT, number, 0, &offer, sizeof(offer), err);
    return code;
}

static bool are_objects_over(const struct sender *sender)
{
    return !sender->is_asked_for_objects || sent_objects_are_settled(&sender->objects);
}

static int send_all(struct sender *sender, struct error *err)
{
    size_t n_under_way = sent_logs_n_under_way(&sender->logs);
    int code = 0;

    for (size_t i = 0; code == 0 && i < sender->logs.n; i++) {
        struct sent_log *log = sender->logs.logs[i];
        if (log->tail.fd < 0)
            continue;
        if (log->state == SENT_STATE_WAITING && n_under_way < SENT_LOGS_AT_ONCE
            && sent_logs_may_begin(&sender->logs, log)) {
            code = begin(sender, (uint32_t)i, log, err);
            n_under_way += log->state == SENT_STATE_BEGUN;
        } else if (log->state == SENT_STATE_FLOWING) {
            code = send_log(sender, (uint32_t)i, log, err);
        }
    }
    return code;
}

/* ---- all of it ---- */

/* What a recorder that died left can still be packed: behind its last frame nothing counts. */
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

static void hear_of_end(struct sender *sender)
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
    int code = take_all(sender, err);

    if (code == 0 && sender->has_greeted)
        code = send_all(sender, err);
    if (code == 0 && sender->has_greeted)
        code = send_objects(sender, err);
    if (code == 0 && sender->now_ns - sender->put_ns > ping_ns)
        code = say(sender, WIRE_PING, 0, 0, NULL, 0, err);
    if (code == 0)
        code = channel_flush(&sender->channel, err);
    if (code == 0 && sender->asked_ns && sender->now_ns - sender->asked_ns > silence_ns)
        code = error_set(err, ERROR_IO, "the other side does not answer");
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
        hear_of_end(sender);
}

static bool is_too_late(const struct sender *sender)
{
    return monotonic_now_ns() > due_ns(sender);
}

static void say_what_is_left(const struct sender *sender, uint64_t n_left)
{
    const struct sender_settings *settings = sender->settings;
    char size[UNITS_TEXT_BYTES];

    (void)fprintf(stderr,
                  "mtrace-record: not sent to '%s': %s (%s); send the rest later: mtrace-record "
                  "--send '%s' %s\n",
                  settings->to, units_format_bytes((int64_t)n_left, size),
                  *sender->why ? sender->why : "there was no time", settings->log, settings->same);
}

/* What a recorder that died had not packed is not in what was sent. */
static void say_what_is_live(const struct sender *sender)
{
    const char *log = sender->settings->log;

    if (log_name_has_live(log))
        (void)fprintf(
            stderr,
            "mtrace-record: the end of '%s' is in '%s.live' and was not sent: when its program "
            "has ended, 'mtrace-record --pack %s', then send it again\n",
            log, log, log);
}

/* All of them are sent. */
static const char *what_became_of_them(const struct sender *sender)
{
    int64_t n_kept = 0;

    if (!sender->settings->gives_back)
        return "";
    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_kept += log->state == SENT_STATE_SENT && !giving_back_remove(log);
    }
    return n_kept ? "; kept here is what its recorder did not finish (--no-local)"
                  : "; removed here (--no-local)";
}

/* One line for each reason; the name is the program's. */
static void say_lacking(const struct sender *sender, size_t n, const char *why, const char *path)
{
    char example[256] = "";

    if (path)
        (void)snprintf(example, sizeof(example), ", as '%s'", path);
    printable_clean(example);
    (void)fprintf(stderr,
                  "mtrace-record: not all executables and debug files were sent to '%s': %zu of "
                  "%zu %s%s\n",
                  sender->settings->to, n, sender->objects.n + sender->objects.n_beyond, why,
                  example);
}

static void sum_up_objects(const struct sender *sender)
{
    const struct sent_objects *objects = &sender->objects;
    char late[ERROR_TEXT_BYTES + 16];
    const char *path = NULL;
    size_t n_settled = 0;

    for (enum wire_wish outcome = 0; outcome < WIRE_WISHES; outcome++) {
        size_t n = sent_objects_count(objects, outcome, &path);
        n_settled += n;
        if (n && wire_wish_text(outcome))
            say_lacking(sender, n, wire_wish_text(outcome), path);
    }
    if (n_settled < objects->n) {
        (void)snprintf(late, sizeof(late), "not in time (%s)", sender->why);
        say_lacking(sender, objects->n - n_settled, *sender->why ? late : "not in time", NULL);
    }
    if (objects->n_beyond)
        say_lacking(sender, objects->n_beyond, "more than it keeps track of", NULL);
    if (objects->has_missed)
        (void)fprintf(stderr,
                      "mtrace-record: what '%s' named before it was given back here is not known "
                      "any more: executables and debug files that '%s' did not get then are "
                      "missing there (mtrace-import --debug-dir)\n",
                      sender->settings->log, sender->settings->to);
}

static void sum_up(const struct sender *sender)
{
    char size[UNITS_TEXT_BYTES];
    char logs[UNITS_TEXT_BYTES];
    uint64_t n_bytes = 0;
    uint64_t n_left = 0;
    int64_t n_sent = 0;
    const char *fate = "";

    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_bytes += log->acked_bytes;
        n_sent += log->state == SENT_STATE_SENT;
        n_left += sent_log_bytes_left(log);
    }
    if (sent_logs_are_sent(&sender->logs))
        fate = what_became_of_them(sender);
    if (!sent_logs_are_sent(&sender->logs))
        say_what_is_left(sender, n_left);
    else if (n_sent && !sender->settings->is_quiet)
        (void)fprintf(stderr, "mtrace-record: sent to '%s': %s, %s%s\n", sender->settings->to,
                      units_format_counted(n_sent, "log", logs),
                      units_format_bytes((int64_t)n_bytes, size), fate);
    if (sender->is_asked_for_objects)
        sum_up_objects(sender);
    say_what_is_live(sender);
}

static void done(struct sender *sender)
{
    if (sender->is_connected)
        channel_close(&sender->channel);
    sent_logs_done(&sender->logs);
    sent_objects_done(&sender->objects);
    free(sender->reader);
}

bool sender_run(const struct sender_settings *settings)
{
    struct sender sender = {.settings = settings, .channel.fd = -1};
    bool is_sent;

    sender.reader = malloc(sizeof(*sender.reader));
    if (!sender.reader)
        return false;
    sent_objects_init(&sender.objects);
    sender.is_over = settings->end_pipe < 0;
    sender.over_ns = monotonic_now_ns();
    for (;;) {
        step(&sender);
        if (sender.is_over
            && ((sent_logs_are_over(&sender.logs) && are_objects_over(&sender))
                || is_too_late(&sender)))
            break;
        wait_for_more(&sender);
    }
    is_sent = sent_logs_are_sent(&sender.logs);
    sum_up(&sender);
    done(&sender);
    return is_sent;
}
