/* SPDX-License-Identifier: MIT */
#include "remote/receiver/receiver_session.h"

#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

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
    hello.flags = intake->fetches_objects ? WIRE_WANTS_OBJECTS : 0;
    intake->object.fd = -1;
    return answer(intake, WIRE_HELLO, 0, 0, &hello, sizeof(hello), err);
}

static int emit_what_there_is(struct receiver_session *intake, struct receiver_session_log *place,
                              struct error *err)
{
    uint64_t hash;
    int code = wire_hash(place->log->fd, place->log->size_bytes, &hash, err);

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

/* ---- objects --------------------------------------------------------------------------------- */

/* IN-2 */
static uint64_t object_room(const struct receiver_session *intake)
{
    const struct receiver_session_share *share = intake->share;
    uint64_t most = intake->max_bytes / 2;
    uint64_t left = share->n_bytes < intake->max_bytes ? intake->max_bytes - share->n_bytes : 0;
    uint64_t own = share->n_object_bytes < most ? most - share->n_object_bytes : 0;

    return left < own ? left : own;
}

static int answer_object(struct receiver_session *intake, enum wire_wish wish, struct error *err)
{
    if (wish != WIRE_WANTED && intake->emit_object)
        intake->emit_object(intake->context, wish);
    return answer(intake, WIRE_WANT, intake->object_number, wish, NULL, 0, err);
}

static int offered(struct receiver_session *intake, const struct wire_head *head,
                   const void *payload, struct error *err)
{
    struct wire_object object;
    enum wire_wish wish;
    int code;

    memcpy(&object, payload, sizeof(object));
    intake->object_number = head->log;
    code = object_store_begin(intake->store, &object, intake->owner, object_room(intake), &wish,
                              &intake->object, err);
    return code ? code : answer_object(intake, wish, err);
}

/* The sender learns of a failure only after it has sent more data, which is skipped. */
static int add_object(struct receiver_session *intake, const struct wire_head *head,
                      const void *payload, struct error *err)
{
    struct object_file *object = &intake->object;
    uint64_t left =
        object->fd >= 0 ? object->size_bytes - object->written_bytes : intake->unwanted_bytes;
    enum wire_wish wish;

    if (head->n_bytes > left)
        return error_set(err, ERROR_FORMAT, "it sends more of a file than it offered");
    if (object->fd < 0) {
        intake->unwanted_bytes -= head->n_bytes;
        return 0;
    }
    wish = head->n_bytes <= object_room(intake)
               ? object_store_add(intake->store, object, payload, head->n_bytes)
               : WIRE_NO_ROOM;
    intake->share->n_bytes += head->n_bytes;
    intake->share->n_object_bytes += head->n_bytes;
    if (wish == WIRE_WANTED)
        return 0;
    intake->is_object_unwanted = true;
    intake->unwanted_bytes = left - head->n_bytes;
    object_store_drop(intake->store, object);
    return answer_object(intake, wish, err);
}

static int end_object(struct receiver_session *intake, struct error *err)
{
    if (!intake->is_object_unwanted)
        return answer_object(intake, object_store_end(intake->store, &intake->object), err);
    intake->is_object_unwanted = false;
    return 0;
}

/* Accepts only requested objects, one at a time. */
static int do_object(struct receiver_session *intake, const struct wire_head *head,
                     const void *payload, struct error *err)
{
    bool is_coming = intake->object.fd >= 0 || intake->is_object_unwanted;

    if (!intake->fetches_objects || is_coming != (head->kind != WIRE_OBJECT))
        return error_set(err, ERROR_FORMAT, "it sends a file that was not requested");
    if (head->kind == WIRE_OBJECT)
        return offered(intake, head, payload, err);
    return head->kind == WIRE_OBJECT_DATA ? add_object(intake, head, payload, err)
                                          : end_object(intake, err);
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
    if (head->kind == WIRE_OBJECT || head->kind == WIRE_OBJECT_DATA
        || head->kind == WIRE_OBJECT_END)
        return do_object(intake, head, payload, err);
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
    if (intake->logs)
        object_store_drop(intake->store, &intake->object);
    free(intake->logs);
    intake->logs = NULL;
    return is_reported;
}
