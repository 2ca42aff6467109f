/* SPDX-License-Identifier: MIT */
/*
 * options: the command line of mtrace-record and its environment variables.
 *
 * An option overrides its variable, the variable overrides the default. Settings of the collector
 * become lines "NAME=value", and only if an option was given, so the user's own variables stay in
 * effect.
 */
#ifndef MTRACE_RECORDER_OPTIONS_H
#define MTRACE_RECORDER_OPTIONS_H

#include "recorder/patch/allocator.h"
#include "recorder/session/control_message.h"
#include "recorder/session/own_windows.h"
#include "remote/sender/sender_process.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OPTIONS_SETTINGS_BYTES = 4096
};

#define OPTIONS_KEEP_SYMBOLS_BYTES ((uint64_t)64 << 20)
#define OPTIONS_MAX_LIVE_BYTES     ((uint64_t)4 << 30)
/* With --aggregate, which bounds disk use. */
#define OPTIONS_MAX_LIVE_BOUNDED_BYTES ((uint64_t)256 << 20)
#define OPTIONS_MAX_LIVE_UNREPORTED    (UINT64_MAX - 1)

struct options {
    const char *output; /* pattern; NULL: not given */
    const char *input;  /* --pack: the log to pack; NULL: record */
    const char *sent;   /* --send: the log to send; NULL: record */
    struct sending sending;
    char **argv;       /* program and its arguments */
    uint64_t elide_ms; /* 0: keep everything */
    uint64_t sample_ms;
    uint64_t sample_bytes;       /* of the collector, too; 0: every block is recorded */
    uint64_t keep_symbols_bytes; /* of the collector, too */
    uint64_t max_live_bytes;     /* of the collector, too */
    uint64_t max_local_bytes;    /* live and packed log together; 0: any */
    uint64_t report_every_ns;    /* 0: never */
    int report_signal;           /* sent to mtrace-record; 0: none */
    struct own_windows windows;
    struct control_request control; /* --ctl, --detach; pid 0: not given */
    pid_t attached;                 /* --attach; 0: not given, -1: attached_name is not found yet */
    const char *attached_name;      /* --attach NAME; NULL: not given */
    uint64_t attached_for_ns;       /* --for; 0: until it ends */
    bool has_output;                /* given as an option, not by the environment */
    bool force;
    bool quiet;
    bool follows_children;
    bool waits_for_children;
    bool is_compressed;
    bool is_aggregate;
    bool takes_exit_image; /* --heap-image=exit; of the collector, too */
    bool has_report;
    bool has_receiver;                     /* --to */
    bool gives_back;                       /* --no-local */
    enum allocator_plan patch;             /* for an allocator inside the program */
    char settings[OPTIONS_SETTINGS_BYTES]; /* for the collector, lines "NAME=value\n" */
};

#endif
