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

/* What a client was told last of one recording. */
struct told {
    struct stat database;
    bool is_growing;
    bool is_any;
};

static void tell(const struct recording *recording, const char *event, bool is_growing, FILE *out)
{
    struct recording now;

    recordings_read_again(recording, &now);
    (void)fprintf(
        out,
        "event: %s\ndata: {\"recording\":\"%s\",\"is_growing\":%s,\"duration_ns\":%" PRId64 "}\n\n",
        event, recording->id, is_growing ? "true" : "false", now.duration_ns);
    recordings_read_done(&now);
}

static void look(const struct recording *recording, struct told *told, FILE *out)
{
    bool is_growing = recording_is_growing(recording); /* before the file is looked at */
    struct stat now = told->database;

    (void)stat(recording->path, &now);
    if (!told->is_any || file_state_has_changed(&now, &told->database))
        tell(recording, "data", is_growing, out);
    if (told->is_any && told->is_growing && !is_growing)
        tell(recording, "end", is_growing, out);
    *told = (struct told){.database = now, .is_growing = is_growing, .is_any = true};
}

static void tell_until_gone(const struct recordings *recordings, struct told *told,
                            struct exchange *exchange)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int n_looks = 0;

    while (!exchange->is_abandoned(exchange->client) && !ferror(exchange->out)) {
        for (size_t i = 0; i < recordings->n_items; i++)
            look(&recordings->items[i], &told[i], exchange->out);
        if (++n_looks % LOOKS_PER_COMMENT == 0)
            (void)fputs(":\n\n", exchange->out);
        (void)fflush(exchange->out);
        (void)nanosleep(&pause, NULL);
    }
}

int live_answer(const struct recordings *recordings, struct exchange *exchange, struct error *err)
{
    struct told *told = calloc(recordings->n_items + 1, sizeof(*told));

    if (!told)
        return error_set(err, ERROR_NOMEM, "no memory for events");
    exchange->content_type = "text/event-stream";
    exchange->send_now(exchange->client);
    tell_until_gone(recordings, told, exchange);
    free(told);
    return 0;
}
