/* SPDX-License-Identifier: MIT */
/*
 * image_capture: notes what a heap image needs of a process while all its threads stand still:
 * registers, mappings, which pages are resident, and the pointers in private, changed pages.
 *
 * Pointers lie in an unlinked file beside the log, mode 0600. No other contents of memory are kept.
 *
 * Invariants
 *   IC-1 The process stands still for at most 2 s and 0.5 s for each GiB of resident memory; if
 *        that does not suffice, it goes on and there is no image.
 *
 * Threads: image_capture_take blocks the caller, whose process must not wait for children in other
 * threads; the others any. Errors: one line; the process goes on.
 */
#ifndef MTRACE_RECORDER_IMAGE_CAPTURE_H
#define MTRACE_RECORDER_IMAGE_CAPTURE_H

#include "lib/base/error.h"
#include "lib/logfile/image_format.h"

#include <stdint.h>
#include <sys/types.h>

struct image_request {
    pid_t pid;
    uint64_t run_id;
    const char *log_path; /* the file of pointers lies beside it */
    enum image_cause cause;
    char name[IMAGE_NAME_BYTES];
    pid_t tid;                   /* thread that requests the image; 0: none */
    uint64_t sp;                 /* lowest address of its stack that is not the collector's */
    _Atomic uint32_t *heartbeat; /* increments before the process goes on; NULL: none */
};

struct image_capture;

/* Free it with image_capture_free. */
int image_capture_take(const struct image_request *request, struct image_capture **ret_capture,
                       struct error *err);

/* Writes the image; see image_writer_write. */
int image_capture_write(const struct image_capture *capture, const char *target, struct error *err);

/* Takes NULL. */
void image_capture_free(struct image_capture *capture);

#endif
