/* SPDX-License-Identifier: MIT */
#include "recorder/session/own_windows.h"

static bool is_time_to_start(const struct own_windows *windows,
                             const struct own_windows_sight *sight, enum log_switch *ret_reason)
{
    *ret_reason = LOG_SWITCH_TIME;
    if (windows->start_after_ns && sight->now_ns >= windows->begun_ns + windows->start_after_ns)
        return true;
    *ret_reason = LOG_SWITCH_SIZE;
    return windows->start_rss_bytes && sight->rss_bytes >= windows->start_rss_bytes;
}

static bool is_time_to_stop(struct own_windows *windows, const struct own_windows_sight *sight)
{
    if (!sight->is_open) {
        windows->open_since_ns = 0;
        windows->has_stopped = false;
        return false;
    }
    /* A window may have ended between two polls. One that continues after an exec has another
     * number there. */
    bool is_another =
        windows->image_begun_ns == sight->begun_ns && windows->window != sight->window;

    if (windows->open_since_ns == 0 || is_another) {
        windows->open_since_ns = sight->now_ns;
        windows->has_stopped = false;
    }
    windows->image_begun_ns = sight->begun_ns;
    windows->window = sight->window;
    return windows->stop_after_ns && !windows->has_stopped
           && sight->now_ns - windows->open_since_ns >= windows->stop_after_ns;
}

bool own_windows_step(struct own_windows *windows, const struct own_windows_sight *sight,
                      enum log_command *ret_order, enum log_switch *ret_reason)
{
    if (sight->begun_ns == 0 || sight->now_ns < sight->begun_ns)
        return false;
    if (windows->begun_ns == 0)
        windows->begun_ns = sight->begun_ns;
    if (!windows->has_started && is_time_to_start(windows, sight, ret_reason)) {
        windows->has_started = true;
        *ret_order = LOG_COMMAND_START;
        if (!sight->is_open)
            return true;
    }
    if (!is_time_to_stop(windows, sight))
        return false;
    windows->has_stopped = true;
    *ret_order = LOG_COMMAND_STOP;
    *ret_reason = LOG_SWITCH_TIME;
    return true;
}
