/* SPDX-License-Identifier: MIT */
/*
 * own_windows: windows that mtrace-record begins and ends by itself, after a time or at a size.
 *
 * --start-after counts from the beginning of the first image; --start-at-rss compares the program's
 * sampled RSS. The first condition that holds begins one window. --stop-after ends every window at
 * that age.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_OWN_WINDOWS_H
#define MTRACE_RECORDER_OWN_WINDOWS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

struct own_windows {
    uint64_t start_after_ns, stop_after_ns, start_rss_bytes; /* 0: not requested */
    uint64_t begun_ns;                                       /* the first image seen; 0: none */
    uint64_t window;         /* number of the window open at the last poll */
    uint64_t image_begun_ns; /* at the last poll */
    uint64_t open_since_ns;  /* 0: no window is known to be open */
    bool has_started;        /* it has begun its window */
    bool has_stopped;        /* the end was requested; it may not be handled yet */
};

/* The state of the program at one poll. */
struct own_windows_sight {
    uint64_t now_ns, begun_ns; /* begun_ns: of the image; 0: not begun */
    uint64_t rss_bytes;
    bool is_open;
    uint64_t window; /* while open: a different number for each window of the image */
};

static inline bool own_windows_are_any(const struct own_windows *windows)
{
    return windows->start_after_ns || windows->stop_after_ns || windows->start_rss_bytes;
}

/* True: send this command (LOG_COMMAND_START, or the end of a window) with this reason. */
bool own_windows_step(struct own_windows *windows, const struct own_windows_sight *sight,
                      enum log_command *ret_order, enum log_switch *ret_reason);

#endif
