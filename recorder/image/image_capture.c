/* SPDX-License-Identifier: MIT */
#include "recorder/image/image_capture.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/fault_point.h"
#include "lib/base/file_io.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/image_modules.h"
#include "lib/logfile/log_name.h"
#include "lib/process/proc_files.h"
#include "recorder/image/image_writer.h"
#include "recorder/image/pointer_filter.h"
#include "recorder/image/stopped_process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PAGE_MAP_BATCH = 4096, /* pages per read */
    PAGE_BYTES = 4096,     /* where images are taken */
    COPY_BYTES = 1 << 20,  /* per read */
    COPY_PARTS = 256,
    RED_ZONE_BYTES = 128, /* below the stack pointer; readers of images count it in */
};

static const uint64_t STOP_NS = 1000000000; /* until all threads have stopped */
static const uint64_t HOLD_NS = 2000000000;
static const uint64_t GIB_BYTES = (uint64_t)1 << 30;

struct image_capture {
    struct image_request request;
    struct image_header header;
    uint8_t *threads;
    size_t n_thread_bytes, thread_capacity;
    struct image_range *ranges;
    size_t n_ranges, range_capacity;
    char *paths;
    size_t n_path_bytes, path_capacity;
    struct image_pages *pages;
    size_t n_pages, page_capacity;
    struct iovec *copied; /* memory whose pointers are noted */
    size_t n_copied, copied_capacity;
    int words_fd;
    uint64_t n_word_bytes;
    uint64_t *used_bytes; /* resident or swapped, of each range */
    size_t used_capacity;
    uint64_t own_end; /* of the collector's library, with its .bss; 0: not seen yet */
    uint64_t began_ns, until_ns;
};

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "not enough memory");
}

static int check_time(const struct image_capture *capture, struct error *err)
{
    if (monotonic_now_ns() <= capture->until_ns)
        return 0;
    return error_set(err, ERROR_IO, "process %d would have to stand still for more than %.1f s",
                     (int)capture->request.pid,
                     (double)(capture->until_ns - capture->began_ns) / 1e9);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Of the thread that requests the image, the frames of the collector hold no blocks. */
static int add_thread(struct image_capture *capture, const struct stopped_thread *stopped,
                      struct error *err)
{
    const struct image_request *request = &capture->request;
    bool is_requester = request->tid == stopped->tid && request->sp >= stopped->sp;
    struct image_thread thread = {.tid = (uint32_t)stopped->tid,
                                  .n_words = STOPPED_PROCESS_REGISTERS,
                                  .sp = is_requester ? request->sp + RED_ZONE_BYTES : stopped->sp,
                                  .thread_pointer = stopped->thread_pointer,
                                  .is_in_collector = is_requester};
    size_t n_bytes = sizeof(thread) + thread.n_words * sizeof(uint64_t);
    uint8_t *threads =
        dynamic_array_reserve(capture->threads, &capture->thread_capacity,
                              capture->n_thread_bytes + n_bytes, sizeof(*capture->threads));

    if (!threads)
        return no_memory(err);
    capture->threads = threads;
    memcpy(threads + capture->n_thread_bytes, &thread, sizeof(thread));
    memcpy(threads + capture->n_thread_bytes + sizeof(thread), stopped->registers,
           thread.n_words * sizeof(uint64_t));
    capture->n_thread_bytes += n_bytes;
    return 0;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static int find_path(struct image_capture *capture, const char *path, uint32_t *ret_path,
                     struct error *err)
{
    size_t n_bytes = strlen(path) + 1;
    char *paths;

    for (size_t at = 0; at < capture->n_path_bytes; at += strlen(capture->paths + at) + 1)
        if (strcmp(capture->paths + at, path) == 0) {
            *ret_path = (uint32_t)at;
            return 0;
        }
    paths = dynamic_array_reserve(capture->paths, &capture->path_capacity,
                                  capture->n_path_bytes + n_bytes, 1);
    if (!paths)
        return no_memory(err);
    capture->paths = paths;
    *ret_path = (uint32_t)capture->n_path_bytes;
    memcpy(paths + capture->n_path_bytes, path, n_bytes);
    capture->n_path_bytes += n_bytes;
    return 0;
}

/* Where the module at `start` ends, with its .bss; 0: unknown. */
static uint64_t end_of_module(pid_t pid, uint64_t start)
{
    uint8_t bytes[PAGE_BYTES];
    struct iovec local = {bytes, sizeof(bytes)};
    struct iovec remote = {(void *)(uintptr_t)start, sizeof(bytes)};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(bytes)
               ? image_module_end(bytes, sizeof(bytes), start)
               : 0;
}

static uint32_t flags_of(const struct image_capture *capture, const struct process_mapping *mapping)
{
    const char *permissions = mapping->permissions;
    uint32_t flags = 0;

    flags |= permissions[0] == 'r' ? IMAGE_READ : 0;
    flags |= permissions[1] == 'w' ? IMAGE_WRITE : 0;
    flags |= permissions[2] == 'x' ? IMAGE_EXECUTE : 0;
    flags |= permissions[3] == 's' ? IMAGE_SHARED : 0;
    if (mapping->end <= capture->own_end || image_module_is_own(mapping->path)
        || log_name_is_live(mapping->path))
        flags |= IMAGE_OWN;
    else if ((flags & IMAGE_READ) && strncmp(mapping->path, "[v", 2) != 0
             && (!(flags & IMAGE_SHARED)
                 || ((flags & IMAGE_WRITE) && image_module_is_shared_memory(mapping->path))))
        flags |= IMAGE_SCANNED;
    return flags;
}

static int add_range(struct image_capture *capture, const struct process_mapping *mapping,
                     uint64_t used_bytes_known, struct error *err)
{
    struct image_range range = {.start = mapping->start,
                                .end = mapping->end,
                                .file_offset = mapping->offset,
                                .flags = flags_of(capture, mapping)};
    struct image_range *ranges = dynamic_array_reserve(capture->ranges, &capture->range_capacity,
                                                       capture->n_ranges + 1, sizeof(*ranges));
    uint64_t *used_bytes = dynamic_array_reserve(capture->used_bytes, &capture->used_capacity,
                                                 capture->n_ranges + 1, sizeof(*used_bytes));

    if (ranges)
        capture->ranges = ranges;
    if (used_bytes)
        capture->used_bytes = used_bytes;
    if (!ranges || !used_bytes)
        return no_memory(err);
    used_bytes[capture->n_ranges] = used_bytes_known;
    ranges[capture->n_ranges++] = range;
    return find_path(capture, mapping->path, &ranges[capture->n_ranges - 1].path, err);
}

/* The kernel adds later mappings of the program to the .bss of the collector. */
static int add_mapping(struct image_capture *capture, const struct process_mapping *mapping,
                       struct error *err)
{
    struct process_mapping part = *mapping;
    int code = 0;

    if (image_module_is_own(mapping->path) && mapping->offset == 0)
        capture->own_end = end_of_module(capture->request.pid, mapping->start);
    if (!*mapping->path && mapping->start < capture->own_end && mapping->end > capture->own_end) {
        part.end = capture->own_end;
        code = add_range(capture, &part, 1, err); /* its share is unknown */
        part.start = part.end;
        part.end = mapping->end;
    }
    return code ? code : add_range(capture, &part, 0, err);
}

static bool read_kib(const char *line, const char *key, uint64_t *sum)
{
    size_t n = strlen(key);

    if (strncmp(line, key, n) != 0)
        return false;
    *sum += strtoull(line + n, NULL, 10) * 1024;
    return true;
}

static int see_line(struct image_capture *capture, char *line, struct error *err)
{
    struct process_mapping mapping;
    struct image_range *last;
    uint64_t rss_bytes = 0;

    if (!isupper((unsigned char)line[0]))
        return process_maps_parse(line, &mapping) ? add_mapping(capture, &mapping, err) : 0;
    if (capture->n_ranges == 0)
        return 0;
    last = &capture->ranges[capture->n_ranges - 1];
    if (read_kib(line, "Rss:", &rss_bytes)) {
        capture->used_bytes[capture->n_ranges - 1] += rss_bytes;
        capture->header.rss_bytes += rss_bytes;
    } else if (!read_kib(line, "Swap:", &capture->used_bytes[capture->n_ranges - 1])
               && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd")) {
        last->flags |= IMAGE_NOT_DUMPED;
    }
    return 0;
}

static int read_ranges(struct image_capture *capture, struct error *err)
{
    char line[PATH_MAX + 128];
    uint32_t unused;
    FILE *file;
    int code = find_path(capture, "", &unused, err);

    (void)snprintf(line, sizeof(line), "/proc/%d/smaps", (int)capture->request.pid);
    file = fopen(line, "re");
    if (!file)
        return error_set_errno(err, errno, "cannot read '%s'", line);
    while (code == 0 && fgets(line, sizeof(line), file))
        code = see_line(capture, line, err);
    fclose(file);
    if (code == 0 && capture->header.rss_bytes == 0)
        code = error_set(err, ERROR_NOT_FOUND, "process %d has ended", (int)capture->request.pid);
    capture->until_ns +=
        (uint64_t)((double)capture->header.rss_bytes / (double)GIB_BYTES * 500000000.0);
    return code;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int add_page(struct image_capture *capture, uint64_t address, uint8_t kind,
                    struct error *err)
{
    struct image_pages *last = capture->n_pages ? &capture->pages[capture->n_pages - 1] : NULL;
    struct image_pages *pages;

    if (last && last->kind == kind && last->start + last->n_bytes == address) {
        last->n_bytes += PAGE_BYTES;
        return 0;
    }
    pages = dynamic_array_reserve(capture->pages, &capture->page_capacity, capture->n_pages + 1,
                                  sizeof(*pages));
    if (!pages)
        return no_memory(err);
    capture->pages = pages;
    pages[capture->n_pages++] =
        (struct image_pages){.start = address, .n_bytes = PAGE_BYTES, .kind = kind};
    return 0;
}

static int add_copied(struct image_capture *capture, uint64_t address, struct error *err)
{
    struct iovec *last = capture->n_copied ? &capture->copied[capture->n_copied - 1] : NULL;
    struct iovec *copied;

    if (last && (uint64_t)(uintptr_t)last->iov_base + last->iov_len == address) {
        last->iov_len += PAGE_BYTES;
        return 0;
    }
    copied = dynamic_array_reserve(capture->copied, &capture->copied_capacity,
                                   capture->n_copied + 1, sizeof(*copied));
    if (!copied)
        return no_memory(err);
    capture->copied = copied;
    copied[capture->n_copied++] = (struct iovec){(void *)(uintptr_t)address, PAGE_BYTES};
    return 0;
}

static int see_page(struct image_capture *capture, const struct image_range *range,
                    uint64_t address, uint64_t entry, struct error *err)
{
    bool is_of_file = entry >> 61 & 1; /* or shared */
    bool is_swapped = entry >> 62 & 1;
    bool is_present = entry >> 63;
    int code;

    if (!is_present && !is_swapped)
        return 0;
    code = add_page(capture, address,
                    is_swapped   ? IMAGE_PAGE_SWAPPED
                    : is_of_file ? IMAGE_PAGE_FILE
                                 : IMAGE_PAGE_PRIVATE,
                    err);
    if (code == 0 && (range->flags & IMAGE_SCANNED)
        && (!is_of_file || (range->flags & IMAGE_SHARED)))
        code = add_copied(capture, address, err);
    return code;
}

static int read_pages(struct image_capture *capture, int page_map, const struct image_range *range,
                      struct error *err)
{
    static uint64_t entries[PAGE_MAP_BATCH]; /* one image at a time */
    int code = 0;

    for (uint64_t at = range->start; code == 0 && at < range->end;) {
        uint64_t n = (range->end - at) / PAGE_BYTES;
        n = n < PAGE_MAP_BATCH ? n : PAGE_MAP_BATCH;
        ssize_t n_read = pread(page_map, entries, n * sizeof(*entries),
                               (off_t)(at / PAGE_BYTES * sizeof(*entries)));
        if (n_read < (ssize_t)sizeof(*entries))
            break; /* the kernel's own pages have no entries */
        n = (uint64_t)n_read / sizeof(*entries);
        for (uint64_t i = 0; code == 0 && i < n; i++, at += PAGE_BYTES)
            code = see_page(capture, range, at, entries[i], err);
        code = code ? code : check_time(capture, err);
    }
    return code;
}

static int read_all_pages(struct image_capture *capture, struct error *err)
{
    char path[64];
    int page_map;
    int code = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)capture->request.pid);
    page_map = open(path, O_RDONLY | O_CLOEXEC);
    if (page_map < 0)
        return error_set_errno(err, errno, "cannot read '%s'", path);
    for (size_t i = 0; code == 0 && i < capture->n_ranges; i++)
        if (capture->used_bytes[i])
            code = read_pages(capture, page_map, &capture->ranges[i], err);
    close(page_map);
    return code;
}

/* ---- pointers -------------------------------------------------------------------------------- */

static int open_words(struct image_capture *capture, struct error *err)
{
    char *path;

    if (asprintf(&path, "%s.image-words-XXXXXX", capture->request.log_path) < 0)
        return no_memory(err);
    capture->words_fd = mkostemp(path, O_CLOEXEC);
    int code = capture->words_fd < 0 ? error_set_errno(
                   err, errno, "cannot create a file beside '%s'", capture->request.log_path)
                                     : 0;
    if (code == 0)
        (void)unlink(path);
    free(path);
    return code;
}

/* Parts of memory that one call reads, and what is in them. */
struct batch {
    struct pointer_filter filter;
    struct iovec parts[COPY_PARTS];
    size_t n_parts, n_bytes;
    uint64_t *words; /* of the parts, COPY_BYTES */
    uint8_t *pointers;
    size_t n_pointer_bytes;
};

/* A page that cannot be read, as of a device, becomes zeros. */
static void read_page_by_page(const struct image_capture *capture, struct batch *batch)
{
    uint8_t *to = (uint8_t *)batch->words;

    memset(to, 0, batch->n_bytes);
    for (size_t i = 0; i < batch->n_parts; i++)
        for (size_t n = 0; n < batch->parts[i].iov_len; n += PAGE_BYTES, to += PAGE_BYTES) {
            struct iovec local = {to, PAGE_BYTES};
            struct iovec remote = {(uint8_t *)batch->parts[i].iov_base + n, PAGE_BYTES};
            (void)process_vm_readv(capture->request.pid, &local, 1, &remote, 1, 0);
        }
}

static int write_pointers(struct image_capture *capture, struct batch *batch, struct error *err)
{
    int os_errno = file_io_write(capture->words_fd, batch->pointers, batch->n_pointer_bytes,
                                 capture->n_word_bytes, NULL);

    capture->n_word_bytes += batch->n_pointer_bytes;
    batch->n_pointer_bytes = 0;
    return os_errno ? error_set_errno(err, os_errno, "cannot write a file beside '%s'",
                                      capture->request.log_path)
                    : 0;
}

static int filter_parts(struct image_capture *capture, struct batch *batch, struct error *err)
{
    const uint64_t *words = batch->words;
    int code = 0;

    for (size_t i = 0; i < batch->n_parts; i++)
        for (size_t n = 0; n < batch->parts[i].iov_len && code == 0;
             n += PAGE_BYTES, words += IMAGE_PAGE_WORDS) {
            if (batch->n_pointer_bytes + POINTER_FILTER_PAGE_BYTES > COPY_BYTES)
                code = write_pointers(capture, batch, err);
            batch->n_pointer_bytes += pointer_filter_page(
                &batch->filter, (uint64_t)(uintptr_t)batch->parts[i].iov_base + n, words,
                batch->pointers + batch->n_pointer_bytes);
        }
    return code;
}

static int flush(struct image_capture *capture, struct batch *batch, struct error *err)
{
    struct iovec local = {batch->words, batch->n_bytes};
    int code;

    if (batch->n_bytes == 0)
        return 0;
    if (process_vm_readv(capture->request.pid, &local, 1, batch->parts, batch->n_parts, 0)
        != (ssize_t)batch->n_bytes)
        read_page_by_page(capture, batch);
    fault_point("image_read");
    code = filter_parts(capture, batch, err);
    batch->n_parts = batch->n_bytes = 0;
    return code ? code : check_time(capture, err);
}

static int read_part(struct image_capture *capture, struct batch *batch, const struct iovec *copied,
                     struct error *err)
{
    int code = 0;

    for (size_t at = 0; code == 0 && at < copied->iov_len;) {
        size_t n = copied->iov_len - at;
        n = n < COPY_BYTES - batch->n_bytes ? n : COPY_BYTES - batch->n_bytes;
        batch->parts[batch->n_parts++] = (struct iovec){(uint8_t *)copied->iov_base + at, n};
        batch->n_bytes += n;
        at += n;
        if (batch->n_bytes == COPY_BYTES || batch->n_parts == COPY_PARTS)
            code = flush(capture, batch, err);
    }
    return code;
}

static int read_memory(struct image_capture *capture, struct error *err)
{
    struct batch batch = {.words = malloc(COPY_BYTES), .pointers = malloc(COPY_BYTES)};
    int code = pointer_filter_init(&batch.filter, capture->ranges, capture->n_ranges) == 0
                       && batch.words && batch.pointers
                   ? 0
                   : no_memory(err);

    for (size_t i = 0; code == 0 && i < capture->n_copied; i++)
        code = read_part(capture, &batch, &capture->copied[i], err);
    code = code ? code : flush(capture, &batch, err);
    code = code ? code : write_pointers(capture, &batch, err);
    pointer_filter_done(&batch.filter);
    free(batch.pointers);
    free(batch.words);
    return code;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int copy_stopped(struct image_capture *capture, const struct stopped_process *process,
                        struct error *err)
{
    int code = 0;

    capture->header.monotonic_ns = monotonic_now_ns();
    for (size_t i = 0; i < process->n_threads && code == 0; i++)
        if (process->threads[i].is_stopped)
            code = add_thread(capture, &process->threads[i], err);
    if (code == 0)
        code = read_ranges(capture, err);
    if (code == 0)
        code = read_all_pages(capture, err);
    fault_point("image_stopped");
    return code ? code : read_memory(capture, err);
}

static int take(struct image_capture *capture, struct error *err)
{
    const struct image_request *request = &capture->request;
    struct stopped_process process;
    int code = open_words(capture, err);

    if (code)
        return code;
    capture->began_ns = monotonic_now_ns();
    capture->until_ns = capture->began_ns + HOLD_NS;
    code = stopped_process_stop(request->pid, capture->began_ns + STOP_NS, &process, err);
    if (code == 0)
        code = copy_stopped(capture, &process, err);
    if (request->heartbeat)
        atomic_fetch_add_explicit(request->heartbeat, 1, memory_order_relaxed);
    stopped_process_let_go(&process);
    capture->header.pause_ns = monotonic_now_ns() - capture->began_ns;
    return code;
}

struct job {
    struct image_capture *capture;
    struct error *err;
    int code;
};

/* The kernel releases all threads that this one has seized when it ends. */
static void *do_job(void *context)
{
    struct job *job = context;

    job->code = take(job->capture, job->err);
    return NULL;
}

int image_capture_take(const struct image_request *request, struct image_capture **ret_capture,
                       struct error *err)
{
    struct image_capture *capture = calloc(1, sizeof(*capture));
    struct job job = {capture, err, 0};
    pthread_t thread;

    if (!capture)
        return no_memory(err);
    capture->request = *request;
    capture->words_fd = -1;
    capture->header = (struct image_header){.run_id = request->run_id,
                                            .pid = (uint32_t)request->pid,
                                            .cause = request->cause,
                                            .method = IMAGE_METHOD_STOP,
                                            .is_estimated = 1,
                                            .page_bytes = PAGE_BYTES};
    memcpy(capture->header.name, request->name, sizeof(capture->header.name));
    if (pthread_create(&thread, NULL, do_job, &job) != 0)
        job.code = error_set(err, ERROR_NOMEM, "cannot start a thread");
    else
        (void)pthread_join(thread, NULL);
    if (job.code) {
        image_capture_free(capture);
        return job.code;
    }
    *ret_capture = capture;
    return 0;
}

int image_capture_write(const struct image_capture *capture, const char *target, struct error *err)
{
    const struct image_contents contents = {.header = capture->header,
                                            .threads = capture->threads,
                                            .ranges = capture->ranges,
                                            .paths = capture->paths,
                                            .pages = capture->pages,
                                            .n_thread_bytes = capture->n_thread_bytes,
                                            .n_ranges = capture->n_ranges,
                                            .n_path_bytes = capture->n_path_bytes,
                                            .n_pages = capture->n_pages,
                                            .words_fd = capture->words_fd,
                                            .n_word_bytes = capture->n_word_bytes};

    return image_writer_write(&contents, target, err);
}

void image_capture_free(struct image_capture *capture)
{
    if (!capture)
        return;
    if (capture->words_fd >= 0)
        close(capture->words_fd);
    free(capture->threads);
    free(capture->ranges);
    free(capture->used_bytes);
    free(capture->paths);
    free(capture->pages);
    free(capture->copied);
    free(capture);
}
