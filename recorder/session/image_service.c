/* SPDX-License-Identifier: MIT */
#include "recorder/session/image_service.h"

#include "lib/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const char *log_path, uint32_t number)
{
    char *path = NULL;

    return asprintf(&path, "%s.image%" PRIu32, log_path, number) < 0 ? NULL : path;
}

void image_service_remove_old(const char *log_path)
{
    bool is_removed = true;

    for (uint32_t number = 1; is_removed; number++) {
        char *path = path_of(log_path, number);
        is_removed = path && unlink(path) == 0;
        free(path);
    }
}

static void *write_image(void *context)
{
    struct image_service *service = context;

    service->code = image_capture_write(service->capture, service->target, &service->err);
    atomic_store_explicit(&service->has_written, true, memory_order_release);
    return NULL;
}

static int check(const struct live_log *live, pid_t pid, struct error *err)
{
    const struct log_file *seen = &live->seen;

    if (pid == 0)
        return error_set(err, ERROR_USAGE, "the process runs in another PID namespace");
    if (seen->sample_bytes)
        return error_set(err, ERROR_USAGE,
                         "only samples are recorded, and other blocks may hold them");
    if (live->file->flags & LOG_FLAG_FOREIGN_MALLOC)
        return error_set(err, ERROR_USAGE,
                         "the program has an allocator that is not recorded (a sanitizer?)");
    return 0;
}

int image_service_take(struct image_service *service, const struct live_log *live, pid_t pid,
                       const struct image_request *request, struct error *err)
{
    struct image_request whole = *request;
    struct image_capture *capture;
    int code = check(live, pid, err);

    if (code)
        return code;
    whole.pid = pid;
    whole.run_id = live->seen.run_id;
    whole.heartbeat = &live_log_mailbox(live)->heartbeat;
    service->target = path_of(request->log_path, service->n_images + 1);
    if (!service->target)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    code = image_capture_take(&whole, &capture, err);
    if (code == 0) {
        service->capture = capture;
        service->has_written = false;
        service->n_images++;
        if (pthread_create(&service->writer, NULL, write_image, service) == 0)
            return 0;
        code = error_set(err, ERROR_NOMEM, "cannot start a thread");
        service->capture = NULL;
        service->n_images--;
        image_capture_free(capture);
    }
    free(service->target);
    service->target = NULL;
    return code;
}

/* What follows LOG_HEAP_IMAGE_WORDS. */
static bool parse(const char *words, struct image_request *request)
{
    size_t n_cause = strcspn(words, " ");
    char *at = (char *)(uintptr_t)words + n_cause;

    errno = 0;
    request->cause = strncmp(words, "exit", n_cause) == 0 ? IMAGE_CAUSE_EXIT : IMAGE_CAUSE_PROGRAM;
    request->tid = (pid_t)strtol(at, &at, 10);
    request->sp = strtoull(at, &at, 10);
    if (errno || *at != ' ' || strlen(at + 1) >= sizeof(request->name))
        return false;
    (void)snprintf(request->name, sizeof(request->name), "%s", at + 1);
    utf8_clean(request->name);
    return true;
}

int image_service_answer(struct image_service *service, const struct live_log *live, pid_t pid,
                         const char *log_path, const char *words)
{
    struct image_request request = {.log_path = log_path};
    struct error err;

    if (!parse(words, &request))
        return EINVAL;
    if (image_service_take(service, live, pid, &request, &err) == 0)
        return 0;
    service->n_refused++;
    service->warn("no heap image of process %d: %s", (int)pid, err.text);
    return EIO;
}

static void end_writer(struct image_service *service)
{
    (void)pthread_join(service->writer, NULL);
    image_capture_free(service->capture);
    service->capture = NULL;
    if (service->code) {
        service->warn("%s", service->err.text);
        service->n_images--;
        service->n_refused++;
    }
    free(service->target);
    service->target = NULL;
}

bool image_service_is_idle(struct image_service *service)
{
    if (service->capture && atomic_load_explicit(&service->has_written, memory_order_acquire))
        end_writer(service);
    return !service->capture;
}

void image_service_done(struct image_service *service)
{
    if (service->capture)
        end_writer(service);
}
