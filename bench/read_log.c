/* SPDX-License-Identifier: MIT */
/* read_log: how fast the log reader alone is: definitions, decoding and merging, nothing stored. */
#include "importer/read/event_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int read_all(struct log_set *set, uint64_t *ret_n, struct error *err)
{
    struct event_stream *stream;
    struct event event;
    int r = event_stream_open(set, &stream, err);

    if (r != 0)
        return r;
    *ret_n = 0;
    while ((r = event_stream_next(stream, &event, err)) == 1)
        ++*ret_n;
    event_stream_close(stream);
    return r;
}

static void print_damage(const struct log_damage_report *damage)
{
    for (int i = 0; i < LOG_DAMAGE_KINDS; i++)
        if (damage->count[i] > 0)
            printf("damage.%s %" PRIu64 "\n", log_damage_name((enum log_damage_kind)i),
                   damage->count[i]);
    for (size_t i = 0; i < damage->n_kept; i++)
        printf("%s at %" PRIu64 ": %s (%" PRIu64 " bytes)\n", damage->kept[i].path,
               damage->kept[i].offset, damage->kept[i].what, damage->kept[i].bytes);
}

int main(int argc, char **argv)
{
    const char *const *paths = (const char *const *)argv + 1;
    struct log_set *set;
    struct error err;
    struct rusage usage;
    uint64_t n = 0;
    double begin = seconds();
    double opened;
    double end;
    int r;

    if (argc < 2) {
        fputs("usage: read_log FILE…\n", stderr);
        return 2;
    }
    r = log_set_open(paths, (size_t)argc - 1, NULL, &set, &err);
    opened = seconds();
    if (r == 0)
        r = read_all(set, &n, &err);
    end = seconds();
    if (r != 0) {
        fprintf(stderr, "read_log: %s\n", err.text);
        return error_exit_status(r);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("events %" PRIu64 "\nopen_s %.3f\nread_s %.3f\nevents_per_s %.0f\npeak_rss_kib %ld\n", n,
           opened - begin, end - opened, (double)n / (end - opened), usage.ru_maxrss);
    printf("processes %zu\nthreads %zu\nbacktraces %zu\nframes %zu\n",
           log_set_definitions(set)->n_processes, log_set_definitions(set)->n_threads,
           log_set_definitions(set)->n_backtraces, log_set_definitions(set)->n_frames);
    print_damage(log_set_damage(set));
    log_set_close(set);
    return 0;
}
