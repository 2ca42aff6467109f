/* SPDX-License-Identifier: MIT */
/*
 * image_service: takes heap images of one recorded process, and writes them to LOG.image1,
 * LOG.image2, … while the process goes on.
 *
 * Threads: one. Errors: one line to `warn`, and no image.
 */
#ifndef MTRACE_RECORDER_IMAGE_SERVICE_H
#define MTRACE_RECORDER_IMAGE_SERVICE_H

#include "lib/abi/attr.h"
#include "lib/logfile/live_log.h"
#include "recorder/image/image_capture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero but `warn`: no image was taken. */
struct image_service {
    void (*warn)(const char *format, ...) MTRACE_PRINTF(1, 2);
    pthread_t writer;
    struct image_capture *capture; /* what the writer writes; NULL: it does not run */
    _Atomic bool has_written;
    uint32_t n_images; /* numbers given */
    uint32_t n_refused;
    int code; /* of the writer */
    struct error err;
    char *target;
};

/* Removes images of an earlier log of that name. */
void image_service_remove_old(const char *log_path);

/* Takes an image and begins to write it. pid 0: the process is in another PID namespace. Call it
 * only if image_service_is_idle. */
int image_service_take(struct image_service *service, const struct live_log *live, pid_t pid,
                       const struct image_request *request, struct error *err);

/* The request of a program, which follows LOG_HEAP_IMAGE_WORDS. Prints a failure; returns an errno
 * value. */
int image_service_answer(struct image_service *service, const struct live_log *live, pid_t pid,
                         const char *log_path, const char *words);

/* No image is being written. Ends the writer when it is done. */
bool image_service_is_idle(struct image_service *service);

/* Waits until all images are written. */
void image_service_done(struct image_service *service);

#endif
