/* SPDX-License-Identifier: MIT */
#include "remote/sender/sender_rx.h"

#include "remote/sender/sender_state.h"
#include "remote/sender/sender_tx.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_READS = 16 /* before other work is done */
};

/* More was acknowledged than ever before. */
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
    if (acked_bytes <= log->max_bytes)
        return;
    log->max_bytes = acked_bytes;
    note_progress(sender);
}

/* A receiver that continues a log whose beginning was removed here must have all of that. */
static int stick(struct sender *sender, struct sent_log *log)
{
    log->state = SENT_STATE_STUCK;
    (void)snprintf(sender->why, sizeof(sender->why),
                   "the receiver does not have what it acknowledged of '%s' and was removed here",
                   log->path);
    return 0;
}

static ssize_t read_tail(void *context, void *bytes, size_t n_bytes, uint64_t offset)
{
    return log_tail_read(context, bytes, n_bytes, offset);
}

static int take_have(struct sender *sender, uint32_t number, struct sent_log *log,
                     const struct wire_head *head, const void *payload, struct error *err)
{
    uint64_t ours = 0;
    uint64_t theirs;

    memcpy(&theirs, payload, sizeof(theirs));
    if (head->offset < LOG_FILE_HEADER_BYTES)
        return error_set(err, ERROR_FORMAT, "the receiver has less than nothing of a log");
    if (head->offset > log->tail.end
        || wire_hash(read_tail, &log->tail, head->offset, &ours, NULL) != 0 || ours != theirs
        || head->offset < log->tail.begin) {
        if (log->tail.begin > LOG_FILE_HEADER_BYTES)
            return stick(sender, log);
        return sender_tx_send_begin(sender, WIRE_AGAIN, number, log, err);
    }
    log->state = SENT_STATE_FLOWING;
    log->sent_bytes = head->offset;
    note_acked(sender, log, head->offset);
    memset(log->page, 0, sizeof(log->page)); /* whatever it has, the page is sent again */
    return 0;
}

static int take_synced(struct sent_log *log, uint64_t synced, struct error *err)
{
    if (log->asked_sync == 0)
        return error_set(err, ERROR_FORMAT, "the receiver sends a reply without a request");
    log_tail_remove(&log->tail, synced);
    return 0;
}

static int take_one(struct sender *sender, const struct wire_head *head, const void *payload,
                    struct error *err)
{
    struct sent_log *log = head->log < sender->logs.n ? sender->logs.logs[head->log] : NULL;

    if (!sender->has_greeted && head->kind != WIRE_REFUSED) {
        int code = wire_check_hello(head, payload, err);
        sender->has_greeted = code == 0;
        return code;
    }
    if (head->kind == WIRE_REFUSED)
        return error_set(err, ERROR_IO, "%.*s", (int)head->n_bytes, (const char *)payload);
    if (head->kind == WIRE_PING)
        return 0;
    if (!log || !sent_log_is_under_way(log))
        return error_set(err, ERROR_FORMAT, "the receiver names an unknown log");
    if (head->kind == WIRE_HAVE && log->state == SENT_STATE_BEGUN)
        return take_have(sender, head->log, log, head, payload, err);
    if (head->offset > log->sent_bytes || head->offset < log->acked_bytes)
        return error_set(err, ERROR_FORMAT, "the receiver acknowledges bytes that were not sent");
    note_acked(sender, log, head->offset);
    if (head->kind == WIRE_SYNCED)
        return take_synced(log, head->offset, err);
    if (head->kind == WIRE_DONE && log->state == SENT_STATE_ENDING) {
        log->state = SENT_STATE_SENT;
        note_progress(sender);
        log_tail_close(&log->tail);
    }
    return 0;
}

/* At most MAX_READS (SN-3), so that a flood of messages does not stop other work or delay the
 * end. */
int sender_rx_take_all(struct sender *sender, struct error *err)
{
    struct wire_head head;
    const void *payload;
    size_t n_room;
    ssize_t n;
    int code = 0;

    for (int i = 0; code == 0 && i < MAX_READS; i++) {
        void *room = wire_reader_room(sender->reader, &n_room);
        n = channel_get(&sender->channel, room, n_room, err);
        if (n <= 0)
            return (int)n;
        wire_reader_add(sender->reader, (size_t)n);
        while ((code = wire_reader_next(sender->reader, &head, &payload, err)) > 0) {
            code = take_one(sender, &head, payload, err);
            if (code)
                return code;
            sender->received_ns = sender->now_ns;
            sender->asked_ns = 0;
        }
    }
    return code;
}
