/* SPDX-License-Identifier: MIT */
#include "server/api/live.h"

#include "lib/base/error.h"
#include "server/core/file_state.h"
#include "server/core/recordings.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum {
    LOOK_MS = 200,
    LOOKS_PER_COMMENT = 25,
};

/* The last state of one recording that was sent to a client. */
struct reported {
    struct stat database;
    bool is_growing;
    bool is_any;
};

static void emit(const struct recording *recording, const char *event, bool is_growing, FILE *out)
{
    struct recording now;

    recordings_read_again(recording, &now);
    (void)fprintf(
        out,
        "event: %s\ndata: {\"recording\":\"%s\",\"is_growing\":%s,\"duration_ns\":%" PRId64 "}\n\n",
        event, recording->id, is_growing ? "true" : "false", now.duration_ns);
    recordings_read_done(&now);
}

static void look(const struct recording *recording, struct reported *reported, FILE *out)
{
    bool is_growing = recording_is_growing(recording); /* before the file is looked at */
    struct stat now = reported->database;

    (void)stat(recording->path, &now);
    if (!reported->is_any || file_state_has_changed(&now, &reported->database))
        emit(recording, "data", is_growing, out);
    if (reported->is_any && reported->is_growing && !is_growing)
        emit(recording, "end", is_growing, out);
    *reported = (struct reported){.database = now, .is_growing = is_growing, .is_any = true};
}

static void emit_until_gone(const struct recordings *recordings, struct reported *reported,
                            struct exchange *exchange)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int n_looks = 0;

    while (!exchange->is_abandoned(exchange->client) && !ferror(exchange->out)) {
        for (size_t i = 0; i < recordings->n_items; i++)
            look(&recordings->items[i], &reported[i], exchange->out);
        if (++n_looks % LOOKS_PER_COMMENT == 0)
            (void)fputs(":\n\n", exchange->out);
        (void)fflush(exchange->out);
        (void)nanosleep(&pause, NULL);
    }
}

int live_answer(const struct recordings *recordings, struct exchange *exchange, struct error *err)
{
    struct reported *reported = calloc(recordings->n_items + 1, sizeof(*reported));

    if (!reported)
        return error_set(err, ERROR_NOMEM, "no memory for events");
    exchange->content_type = "text/event-stream";
    exchange->send_now(exchange->client);
    emit_until_gone(recordings, reported, exchange);
    free(reported);
    return 0;
}
