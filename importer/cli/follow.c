/* SPDX-License-Identifier: MIT */
#include "importer/cli/follow.h"

#include "importer/cli/incremental_import.h"
#include "lib/abi/log_format.h"
#include "lib/base/monotonic.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(100000000)

static void take_a_nap(void)
{
    struct timespec look = {.tv_nsec = (long)LOOK_NS};

    nanosleep(&look, NULL);
}

/* Waits until a signal, or until the log is complete, since the last round need not wait. */
static void rest(const struct incremental_import *incremental, uint64_t rest_ns,
                 const volatile sig_atomic_t *interrupted)
{
    uint64_t until_ns = monotonic_now_ns() + rest_ns;

    while (!*interrupted && monotonic_now_ns() < until_ns
           && incremental_import_is_growing(incremental))
        take_a_nap();
}

/* Has a program begun to write? The recorder creates the file a moment earlier. */
static bool has_begun(const char *path)
{
    struct log_header header;
    int fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, &header, sizeof(header), 0) : -1;

    if (fd >= 0)
        close(fd);
    return n == sizeof(header) && header.clock != 0;
}

/* Waiting does not turn a directory, a pipe or a loop of links into a log. */
static bool may_become_log(const char *path, bool *ret_is_missing)
{
    struct stat status;

    *ret_is_missing = stat(path, &status) != 0;
    return *ret_is_missing ? errno == ENOENT : S_ISREG(status.st_mode);
}

/* Waits for the log. If it does not appear, the first round reports this. */
static void await_log(const char *path, const volatile sig_atomic_t *interrupted)
{
    uint64_t until_ns = monotonic_now_ns() + FOLLOW_START_NS;
    bool has_said = false;
    bool is_missing;

    while (!*interrupted && monotonic_now_ns() < until_ns && may_become_log(path, &is_missing)
           && !has_begun(path)) {
        if (is_missing && !has_said)
            (void)fprintf(stderr, "mtrace-import: waiting for '%s', which does not exist yet\n",
                          path);
        has_said |= is_missing;
        take_a_nap();
    }
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

/* Processor time of all threads and of the children that wrote databases. */
static uint64_t used_cpu_ns(void)
{
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    uint64_t used_ns = 0;

    for (size_t i = 0; i < sizeof whose / sizeof *whose; i++) {
        struct rusage usage;
        if (getrusage(whose[i], &usage) == 0)
            used_ns += ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
    }
    return used_ns;
}

/* Uses processor time: other processes may delay a round at no cost to them (FO-3). */
static uint64_t pause_after(uint64_t cpu_ns)
{
    uint64_t pause_ns = cpu_ns * FOLLOW_MIN_REST;

    return pause_ns > FOLLOW_PAUSE_NS ? pause_ns : FOLLOW_PAUSE_NS;
}

static int one_round(struct incremental_import *incremental, const struct import_options *round,
                     struct import_result *ret_result, struct error *err)
{
    int code = incremental_import_advance(incremental, UINT64_MAX, err);

    return code ? code : incremental_import_write(incremental, round, false, ret_result, err);
}

/* Makes rounds until the log does not grow any more, or a signal comes. A round may fail for lack
 * of memory; the next one tries again. */
static int make_rounds(struct incremental_import *incremental, struct import_options *round,
                       const volatile sig_atomic_t *interrupted, struct error *err)
{
    struct import_result result = {.is_growing = true};
    bool has_said = false;
    int code = 0;

    while (code == 0 && result.is_growing && !*interrupted) {
        uint64_t cpu_ns = used_cpu_ns();
        code = one_round(incremental, round, &result, err);
        round->force |= code == 0; /* this process created the target */
        if (code == ERROR_NOMEM && !has_said)
            (void)fprintf(stderr, "mtrace-import: %s; it tries again\n", err->text);
        has_said |= code == ERROR_NOMEM;
        code = code == ERROR_NOMEM ? 0 : code;
        if (code == 0 && result.is_growing)
            rest(incremental, pause_after(used_cpu_ns() - cpu_ns), interrupted);
    }
    return *interrupted ? 0 : code;
}

/* After SIGTERM there is time for one more round, so that the database is current. */
static int end_soon(struct incremental_import *incremental, const struct import_options *round,
                    volatile sig_atomic_t *interrupted, struct import_result *ret_result,
                    struct error *err)
{
    sig_atomic_t number = *interrupted;
    int code;

    *interrupted = 0;
    code = one_round(incremental, round, ret_result, err);
    if (!*interrupted)
        *interrupted = number;
    return code ? code : error_set(err, ERROR_INTERRUPTED, "interrupted");
}

int follow_run(const struct import_options *options, struct progress *progress,
               volatile sig_atomic_t *interrupted, struct import_result *ret_result,
               struct error *err)
{
    struct incremental_import *incremental;
    struct import_options round = *options;
    struct import_options last = *options;
    int code;

    await_log(options->logs[0], interrupted);
    code = incremental_import_open(&round, progress, &incremental, err);
    if (code)
        return code;
    round.slim = true;
    round.is_early = !options->slim;
    round.index = false;
    code = make_rounds(incremental, &round, interrupted, err);
    round.is_early = false;
    bool is_soon = code == 0 && *interrupted && *interrupted != SIGINT;
    if (is_soon)
        code = end_soon(incremental, &round, interrupted, ret_result, err);
    incremental_import_close(incremental);
    if (code || is_soon)
        return code;
    *interrupted = 0;
    last.force |= round.force;
    return import_run(&last, progress, ret_result, err);
}
