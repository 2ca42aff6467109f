/* SPDX-License-Identifier: MIT */
#include "remote/sender/sender_tx.h"

#include "remote/sender/sender_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    WAITING_BYTES = 256 * 1024, /* put into the channel at a time */
    MAX_PROGRAM_WAIT = 1 << 20, /* of a log without the program's name */
};

int sender_tx_send(struct sender *sender, enum wire_kind kind, uint32_t number, uint64_t offset,
                   const void *payload, size_t n_bytes, struct error *err)
{
    const struct wire_head head = {
        .kind = kind, .log = number, .offset = offset, .n_bytes = (uint32_t)n_bytes};

    sender->put_ns = sender->now_ns;
    if (sender->asked_ns == 0)
        sender->asked_ns = sender->now_ns;
    return channel_put(&sender->channel, &head, payload, err);
}

int sender_tx_send_begin(struct sender *sender, enum wire_kind kind, uint32_t number,
                         struct sent_log *log, struct error *err)
{
    uint8_t payload[LOG_FILE_HEADER_BYTES + LOG_TAIL_PROGRAM_BYTES];
    size_t n_program = strlen(log->tail.program);

    memcpy(payload, log->page, sizeof(log->page));
    memcpy(payload + sizeof(log->page), log->tail.program, n_program);
    log->state = SENT_STATE_BEGUN;
    return sender_tx_send(sender, kind, number, 0, payload, sizeof(log->page) + n_program, err);
}

/* ---- logs ------------------------------------------------------------------------------------ */

/* The first frames name the program; a log that never does has no name. */
static int begin(struct sender *sender, uint32_t number, struct sent_log *log, struct error *err)
{
    if (!log_tail_read_header(&log->tail, log->page)) {
        log->state = sender->is_over ? SENT_STATE_NO_LOG : SENT_STATE_WAITING;
        return 0;
    }
    if (!*log->tail.program && log->tail.begin == LOG_FILE_HEADER_BYTES && !sender->is_over
        && log->tail.end < MAX_PROGRAM_WAIT)
        return 0;
    return sender_tx_send_begin(sender, WIRE_BEGIN, number, log, err);
}

static int send_header(struct sender *sender, uint32_t number, struct sent_log *log,
                       struct error *err)
{
    uint8_t page[LOG_FILE_HEADER_BYTES];

    if (!log_tail_read_header(&log->tail, page) || memcmp(page, log->page, sizeof(page)) == 0)
        return 0;
    memcpy(log->page, page, sizeof(page));
    return sender_tx_send(sender, WIRE_HEADER, number, 0, page, sizeof(page), err);
}

static int send_bytes(struct sender *sender, uint32_t number, struct sent_log *log,
                      struct error *err)
{
    uint8_t bytes[WIRE_MAX_BYTES];
    int code = 0;

    while (code == 0 && log->sent_bytes < log->tail.end
           && channel_waits(&sender->channel) < WAITING_BYTES) {
        uint64_t left = log->tail.end - log->sent_bytes;
        ssize_t n = log_tail_read(&log->tail, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
                                  log->sent_bytes);
        if (n <= 0)
            return error_set_errno(err, n ? errno : EIO, "cannot read '%s'", log->path);
        code = sender_tx_send(sender, WIRE_DATA, number, log->sent_bytes, bytes, (size_t)n, err);
        log->sent_bytes += (uint64_t)n;
        if (code == 0)
            code = channel_flush(&sender->channel, err);
    }
    return code;
}

/* The receiver's answer allows to remove a rotated file. */
static bool is_sync_due(const struct sent_log *log)
{
    uint64_t wanted = log_tail_removable_at(&log->tail);

    return log->acked_bytes >= wanted && log->asked_sync < wanted;
}

static int send_log(struct sender *sender, uint32_t number, struct sent_log *log, struct error *err)
{
    int code = send_bytes(sender, number, log, err);

    if (code == 0)
        code = send_header(sender, number, log, err);
    if (code == 0 && sender->settings->gives_back && is_sync_due(log)) {
        log->asked_sync = log->acked_bytes;
        code = sender_tx_send(sender, WIRE_SYNC, number, 0, NULL, 0, err);
    }
    if (code || !sender->is_over || log->sent_bytes < log->tail.end)
        return code;
    log->state = SENT_STATE_ENDING;
    return sender_tx_send(sender, log->tail.has_trailer ? WIRE_END : WIRE_CUT, number,
                          log->sent_bytes, NULL, 0, err);
}

int sender_tx_send_logs(struct sender *sender, struct error *err)
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
