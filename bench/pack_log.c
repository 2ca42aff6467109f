/* SPDX-License-Identifier: MIT */
/*
 * pack_log RAW-LOG...: what packing the events of raw logs costs, alone: processor time and
 * bytes per event, without reading, writing and waiting.
 */
#include "lib/logfile/live_log.h"
#include "lib/logfile/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TIMES = 3,
    TIME_SHIFT = 5, /* 16 ns at 2 GHz and more */
};

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Packs every segment of events; adds up events and bytes. */
static void pack_all(const struct live_log *log, struct pack *pack, uint64_t *n_events,
                     uint64_t *n_bytes)
{
    static uint8_t out[PACK_SEGMENT_MAX_BYTES];
    const struct pack_settings settings = {.zstd_level = 1, .time_shift = TIME_SHIFT};

    for (uint32_t i = live_log_next_used(log, 0); i < log->n_mapped;
         i = live_log_next_used(log, i + 1)) {
        const struct log_segment *segment = live_log_segment(log, i);
        const struct log_frame *frame = (const struct log_frame *)(const void *)out;
        if (segment->kind != LOG_SEGMENT_EVENTS)
            continue;
        *n_bytes += pack_segment(pack, &settings, segment, live_log_payload(segment), 0,
                                 live_log_readable_bytes(segment), out);
        *n_events += frame->n_events;
    }
}

static int measure(const char *path, struct pack *pack)
{
    struct live_log log;
    struct error err;
    uint64_t n_events = 0;
    uint64_t n_bytes = 0;
    double best = 1e9;
    int code = live_log_open(path, false, &log, &err);

    if (code) {
        fprintf(stderr, "pack_log: %s\n", err.text);
        return error_exit_status(code);
    }
    pack_all(&log, pack, &n_events, &n_bytes); /* reads the file */
    for (int i = 0; i < TIMES; i++) {
        double start = cpu_seconds();
        n_events = n_bytes = 0;
        pack_all(&log, pack, &n_events, &n_bytes);
        if (cpu_seconds() - start < best)
            best = cpu_seconds() - start;
    }
    printf("%s: %" PRIu64 " events, %.1f ns and %.3f bytes each\n", path, n_events,
           best * 1e9 / (double)n_events, (double)n_bytes / (double)n_events);
    live_log_close(&log);
    return 0;
}

int main(int argc, char **argv)
{
    struct pack *pack = pack_new();
    int status = pack ? 0 : 1;

    if (argc < 2) {
        fputs("usage: pack_log RAW-LOG…\n", stderr);
        return 2;
    }
    for (int i = 1; i < argc && status == 0; i++)
        status = measure(argv[i], pack);
    pack_free(pack);
    return status;
}
