/* SPDX-License-Identifier: MIT */
#include "remote/receiver/receiver_session.h"

#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int answer(struct receiver_session *intake, enum wire_kind kind, uint32_t number,
                  uint64_t offset, const void *payload, uint32_t n_bytes, struct error *err)
{
    const struct wire_head head = {
        .kind = kind, .log = number, .offset = offset, .n_bytes = n_bytes};

    return intake->put(intake->context, &head, payload, err);
}

/* NULL: there is none, or another connection has taken it over. */
static struct receiver_session_log *find(const struct receiver_session *intake, uint32_t number)
{
    for (size_t i = 0; i < RECEIVER_SESSION_LOGS; i++) {
        struct receiver_session_log *place = &intake->logs[i];
        if (place->log && place->number == number)
            return place->log->owner == intake->owner ? place : NULL;
    }
    return NULL;
}

static struct receiver_session_log *find_place(const struct receiver_session *intake)
{
    for (size_t i = 0; i < RECEIVER_SESSION_LOGS; i++)
        if (!intake->logs[i].log)
            return &intake->logs[i];
    return NULL;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int greet(struct receiver_session *intake, const struct wire_head *head, const void *payload,
                 struct error *err)
{
    struct wire_hello hello;
    int code = wire_check_hello(head, payload, err);

    if (code)
        return code;
    intake->logs = calloc(RECEIVER_SESSION_LOGS, sizeof(*intake->logs));
    if (!intake->logs)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    intake->has_greeted = true;
    wire_make_hello(&hello);
    return answer(intake, WIRE_HELLO, 0, 0, &hello, sizeof(hello), err);
}

static ssize_t read_log(void *context, void *bytes, size_t n_bytes, uint64_t offset)
{
    const struct store_log *log = context;

    return pread(log->fd, bytes, n_bytes, (off_t)offset);
}

static int emit_what_there_is(struct receiver_session *intake, struct receiver_session_log *place,
                              struct error *err)
{
    uint64_t hash;
    int code = wire_hash(read_log, place->log, place->log->size_bytes, &hash, err);

    place->acked_bytes = place->log->size_bytes;
    if (code)
        return code;
    return answer(intake, WIRE_HAVE, place->number, place->log->size_bytes, &hash, sizeof(hash),
                  err);
}

static int count(struct receiver_session *intake, uint32_t n_bytes, struct error *err)
{
    intake->share->n_bytes += n_bytes;
    return intake->share->n_bytes <= intake->max_bytes
               ? 0
               : error_set(err, ERROR_IO, "this sender has reached its limit (--max-sender-bytes)");
}

/* Begins a log in a free slot. */
static int begin_in(struct receiver_session *intake, struct receiver_session_log *place,
                    const struct wire_head *head, const uint8_t *page, bool is_again,
                    struct error *err)
{
    const struct store_offer offer = {.page = page,
                                      .program = (const char *)page + LOG_FILE_HEADER_BYTES,
                                      .n_program = head->n_bytes - LOG_FILE_HEADER_BYTES};
    size_t n_before = intake->store->n_logs;
    int code = count(intake, LOG_FILE_HEADER_BYTES, err);

    if (code == 0)
        code = store_begin(intake->store, &offer, is_again, intake->owner, &place->log, err);
    if (code)
        return code;
    place->number = head->log;
    place->is_reported = intake->store->n_logs > n_before;
    if (place->is_reported)
        intake->emit(intake->context, RECEIVER_SESSION_BEGUN, place->log, NULL);
    return emit_what_there_is(intake, place, err);
}

static int begin(struct receiver_session *intake, const struct wire_head *head, const void *page,
                 struct error *err)
{
    struct receiver_session_log *place = find_place(intake);

    if (!place || find(intake, head->log))
        return error_set(err, ERROR_FORMAT, "it begins too many logs");
    return begin_in(intake, place, head, page, false, err);
}

static int begin_again(struct receiver_session *intake, struct receiver_session_log *place,
                       const struct wire_head *head, const void *page, struct error *err)
{
    store_let_go(place->log);
    place->log = NULL;
    return begin_in(intake, place, head, page, true, err);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Called when data of the log has arrived. */
static void emit_that_it_goes_on(struct receiver_session *intake,
                                 struct receiver_session_log *place)
{
    if (!place->is_reported)
        intake->emit(intake->context, RECEIVER_SESSION_RESUMED, place->log, NULL);
    place->is_reported = true;
    place->log->is_reported_cut = false;
}

static int add(struct receiver_session *intake, struct receiver_session_log *place,
               const struct wire_head *head, const void *payload, struct error *err)
{
    int code;

    if (head->offset != place->log->size_bytes)
        return error_set(err, ERROR_FORMAT, "it sends bytes that do not continue '%s'",
                         place->log->name);
    code = count(intake, head->n_bytes, err);
    if (code == 0)
        code = store_add(intake->store, place->log, payload, head->n_bytes, err);
    if (code == 0)
        emit_that_it_goes_on(intake, place);
    return code;
}

static int sync_now(struct receiver_session *intake, const struct receiver_session_log *place,
                    struct error *err)
{
    int code = store_sync(intake->store, place->log, err);

    return code ? code
                : answer(intake, WIRE_SYNCED, place->number, place->log->size_bytes, NULL, 0, err);
}

static int end(struct receiver_session *intake, struct receiver_session_log *place,
               const struct wire_head *head, struct error *err)
{
    int code;

    if (head->offset != place->log->size_bytes)
        return error_set(err, ERROR_FORMAT, "it ends '%s' at a wrong size", place->log->name);
    code = store_sync(intake->store, place->log, err);
    if (code == 0)
        code = answer(intake, WIRE_DONE, place->number, head->offset, NULL, 0, err);
    if (code)
        return code;
    intake->emit(intake->context,
                 head->kind == WIRE_CUT ? RECEIVER_SESSION_UNENDED : RECEIVER_SESSION_ENDED,
                 place->log, NULL);
    store_let_go(place->log);
    place->log = NULL;
    return 0;
}

static int do_one(struct receiver_session *intake, const struct wire_head *head,
                  const void *payload, struct error *err)
{
    struct receiver_session_log *place;

    if (!intake->has_greeted)
        return greet(intake, head, payload, err);
    if (head->kind == WIRE_PING)
        return answer(intake, WIRE_PING, 0, 0, NULL, 0, err);
    if (head->kind == WIRE_BEGIN)
        return begin(intake, head, payload, err);
    place = find(intake, head->log);
    if (!place)
        return error_set(err, ERROR_FORMAT,
                         "it names a log that it has not begun, or that another sender has now");
    switch (head->kind) {
    case WIRE_AGAIN:
        return begin_again(intake, place, head, payload, err);
    case WIRE_DATA:
        return add(intake, place, head, payload, err);
    case WIRE_HEADER:
        return store_set_header(place->log, payload, err);
    case WIRE_SYNC:
        return sync_now(intake, place, err);
    case WIRE_END:
    case WIRE_CUT:
        return end(intake, place, head, err);
    default:
        return error_set(err, ERROR_FORMAT, "it sends a message that only a receiver may send");
    }
}

static int acknowledge(struct receiver_session *intake, struct error *err)
{
    int code = 0;

    for (size_t i = 0; intake->logs && code == 0 && i < RECEIVER_SESSION_LOGS; i++) {
        struct receiver_session_log *place = &intake->logs[i];
        if (!place->log || place->log->owner != intake->owner
            || place->acked_bytes == place->log->size_bytes)
            continue;
        place->acked_bytes = place->log->size_bytes;
        code = answer(intake, WIRE_ACK, place->number, place->acked_bytes, NULL, 0, err);
    }
    return code;
}

int receiver_session_take(struct receiver_session *intake, struct wire_reader *reader,
                          struct error *err)
{
    struct wire_head head;
    const void *payload;
    int code = 0;
    int n;

    while (code == 0 && (n = wire_reader_next(reader, &head, &payload, err)) != 0)
        code = n < 0 ? n : do_one(intake, &head, payload, err);
    return code ? code : acknowledge(intake, err);
}

bool receiver_session_is_idle(const struct receiver_session *intake)
{
    for (size_t i = 0; intake->logs && i < RECEIVER_SESSION_LOGS; i++)
        if (intake->logs[i].log)
            return false;
    return intake->has_greeted;
}

bool receiver_session_done(struct receiver_session *intake, const char *why)
{
    bool is_reported = false;

    for (size_t i = 0; intake->logs && i < RECEIVER_SESSION_LOGS; i++) {
        struct store_log *log = intake->logs[i].log;
        if (!log || log->owner != intake->owner)
            continue;
        if (!log->is_reported_cut)
            intake->emit(intake->context, RECEIVER_SESSION_CUT, log, why);
        log->is_reported_cut = true;
        is_reported = true;
        store_let_go(log);
    }
    free(intake->logs);
    intake->logs = NULL;
    return is_reported;
}
