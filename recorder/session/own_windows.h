/* SPDX-License-Identifier: MIT */
/*
 * own_windows: windows that mtrace-record itself begins and ends, after a time or at a size.
 *
 * Model:   --start-after counts from when the first image began, --start-at-rss looks at what is sampled of the program: what comes
 *          first begins one window. --stop-after ends each window, whoever began it, when it is that old.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_OWN_WINDOWS_H
#define MTRACE_RECORDER_OWN_WINDOWS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

struct own_windows {
    uint64_t start_after_ns, stop_after_ns, start_rss_bytes; /* 0: not asked for */
    uint64_t begun_ns;       /* the first image that was seen; 0: none was */
    uint64_t window;         /* of it that was open at the last look */
    uint64_t image_begun_ns; /* at the last look */
    uint64_t open_since_ns;  /* 0: no window is known to be open */
    bool has_started;        /* by itself */
    bool has_stopped;        /* asked for; it may not be obeyed yet */
};

/* What of the program is seen now. */
struct own_windows_sight {
    uint64_t now_ns, begun_ns; /* begun_ns: of the image; 0: it has not */
    uint64_t rss_bytes;
    bool is_open;
    uint64_t window; /* while open: another number for another one of the image */
};

static inline bool own_windows_are_any(const struct own_windows *windows)
{
    return windows->start_after_ns || windows->stop_after_ns || windows->start_rss_bytes;
}

/* True: begin (LOG_ORDER_START) or end a window, and why. */
bool own_windows_step(struct own_windows *windows, const struct own_windows_sight *sight,
                      enum log_order *ret_order, enum log_switch *ret_reason);

#endif
