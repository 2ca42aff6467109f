/* SPDX-License-Identifier: MIT */
#include "recorder/session/memory_sampler.h"

#include "lib/abi/glibc_heap.h"
#include "lib/process/proc_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000;
static const char heap_name[] = "[heap]";

enum {
    MAX_RUNS = 4096,      /* of a mapping */
    PAGE_MAP_BATCH = 512, /* pages per read */
    MAX_PAGES = 1 << 20,  /* limit per sample: 8 MiB to read */
};

void memory_sampler_init(struct memory_sampler *samples, pid_t pid, uint64_t interval_ms,
                         uint64_t now_ns)
{
    samples->pid = pid;
    samples->n_samples = 0;
    samples->rss_bytes = samples->parts_rss_bytes = 0;
    samples->library_file_bytes = samples->library_private_bytes = 0;
    samples->log_fd = -1;
    samples->log_file = (struct process_mapped_file){0};
    samples->interval_ns = interval_ms * 1000000;
    samples->totals = (struct memory_sampler_pace){now_ns, samples->interval_ns, 0};
    samples->heaps = (struct memory_sampler_pace){now_ns + second_ns / 20, second_ns / 20, 0};
    samples->parts = (struct memory_sampler_pace){now_ns + second_ns / 50, second_ns / 20, 0};
}

static void add(struct memory_sampler *samples, struct log_sample sample, uint64_t now_ns)
{
    sample.monotonic_ns = now_ns;
    if (samples->n_samples < MEMORY_SAMPLER_MAX)
        samples->samples[samples->n_samples++] = sample;
}

static FILE *open_proc(const struct memory_sampler *samples, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)samples->pid, name);
    return fopen(path, "re");
}

static void take_totals(struct memory_sampler *samples, uint64_t now_ns)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = open_proc(samples, "statm");
    uint64_t resident;
    uint64_t shared;

    if (!file)
        return;
    if (fscanf(file, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) == 2 && resident) {
        samples->rss_bytes = resident * page_bytes;
        if (samples->own_bytes)
            add(samples,
                (struct log_sample){.kind = LOG_SAMPLE_OWN,
                                    .a = samples->own_bytes + samples->library_file_bytes,
                                    .b = samples->library_private_bytes},
                now_ns);
        add(samples,
            (struct log_sample){.kind = LOG_SAMPLE_MEMORY,
                                .a = resident * page_bytes,
                                .b = (resident > shared ? resident - shared : 0) * page_bytes,
                                .c = shared * page_bytes},
            now_ns);
    }
    fclose(file);
}

/* Writable anonymous memory where an arena can begin, followed by the arena's reserved rest. */
static bool is_arena(uint64_t arena_bytes, const struct process_mapping *mapping,
                     const struct process_mapping *next)
{
    uint64_t limit = mapping->start + arena_bytes;

    if (mapping->start % arena_bytes != 0 || mapping->inode != 0 || mapping->end > limit
        || strncmp(mapping->permissions, "rw-p", 4) != 0)
        return false;
    return mapping->end == limit
           || (next && next->start == mapping->end && next->end == limit
               && strncmp(next->permissions, "---p", 4) == 0);
}

static void add_heap(struct memory_sampler *samples, const struct process_mapping *mapping,
                     const struct process_mapping *next, uint64_t now_ns)
{
    uint64_t kind = LOG_HEAP_BRK;

    if (strcmp(mapping->path, heap_name) != 0) {
        if (!is_arena(glibc_heap_arena_bytes(samples->word_bytes), mapping, next))
            return;
        kind = LOG_HEAP_ARENA;
    }
    add(samples,
        (struct log_sample){
            .kind = LOG_SAMPLE_HEAP, .a = mapping->start, .b = mapping->end, .c = kind},
        now_ns);
}

/* Walks pairs of neighbouring mappings. */
struct heap_walk {
    struct memory_sampler *samples;
    uint64_t now_ns;
    struct process_mapping last; /* end 0: none yet; its path is "" or a heap's */
};

static bool see_mapping(const struct process_mapping *mapping, void *context)
{
    struct heap_walk *walk = context;

    if (!process_mapping_is_replaced(&walk->last, mapping) && walk->last.end)
        add_heap(walk->samples, &walk->last, mapping, walk->now_ns);
    walk->last = *mapping;
    walk->last.path = strcmp(mapping->path, heap_name) == 0 ? heap_name : "";
    return true;
}

static void take_heaps(struct memory_sampler *samples, uint64_t now_ns)
{
    struct heap_walk walk = {.samples = samples, .now_ns = now_ns};

    (void)process_maps_visit(samples->pid, see_mapping, &walk);
    if (walk.last.end)
        add_heap(samples, &walk.last, NULL, now_ns);
}

/* ---- parts of resident memory ---- */

/* The resident pages of a mapping; opened at the first use, closed by the caller. */
struct page_map {
    pid_t pid;
    int fd; /* -1: not open, or not readable */
    uint64_t page_bytes;
    uint64_t n_left; /* pages that may still be read */
};

static int open_page_map(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Runs of resident pages of one mapping: samples from `first` on. */
struct runs {
    struct memory_sampler *samples;
    struct log_sample form; /* kind and time */
    uint32_t first;
    uint64_t
        unit_bytes; /* runs that meet in a unit of addresses are one; grows with their number */
    uint64_t present_bytes;
};

static bool is_same_run(const struct runs *runs, const struct log_sample *run, uint64_t start)
{
    return run->b == start || (run->b - 1) / runs->unit_bytes == start / runs->unit_bytes;
}

static void merge_runs(struct runs *runs)
{
    struct log_sample *all = runs->samples->samples;

    while (runs->samples->n_samples - runs->first > MAX_RUNS / 2) {
        uint32_t n = runs->first + 1;
        runs->unit_bytes *= 2;
        for (uint32_t i = n; i < runs->samples->n_samples; i++) {
            if (!is_same_run(runs, &all[n - 1], all[i].a)) {
                all[n++] = all[i];
                continue;
            }
            all[n - 1].b = all[i].b;
            all[n - 1].c += all[i].c;
        }
        runs->samples->n_samples = n;
    }
}

static void add_page(struct runs *runs, uint64_t address, uint64_t page_bytes)
{
    struct memory_sampler *samples = runs->samples;
    struct log_sample *last =
        samples->n_samples > runs->first ? &samples->samples[samples->n_samples - 1] : NULL;

    runs->present_bytes += page_bytes;
    if (last && is_same_run(runs, last, address)) {
        last->b = address + page_bytes;
        last->c += page_bytes;
        return;
    }
    runs->form.a = address;
    runs->form.b = address + page_bytes;
    runs->form.c = page_bytes;
    add(samples, runs->form, runs->form.monotonic_ns);
    if (samples->n_samples - runs->first >= MAX_RUNS)
        merge_runs(runs);
}

/* False: the pages are not known. */
static bool read_pages(struct page_map *map, const struct process_mapping *mapping,
                       struct runs *runs)
{
    uint64_t entries[PAGE_MAP_BATCH];
    uint64_t at = mapping->start;

    if ((mapping->end - at) / map->page_bytes > map->n_left)
        return false;
    if (map->fd < 0 && (map->fd = open_page_map(map->pid)) < 0)
        return false;
    while (at < mapping->end) {
        uint64_t n = (mapping->end - at) / map->page_bytes;
        n = n < PAGE_MAP_BATCH ? n : PAGE_MAP_BATCH;
        if (n == 0
            || pread(map->fd, entries, n * sizeof(*entries),
                     (off_t)(at / map->page_bytes * sizeof(*entries)))
                   != (ssize_t)(n * sizeof(*entries)))
            return false;
        map->n_left -= n;
        for (uint64_t i = 0; i < n; i++, at += map->page_bytes)
            if (entries[i] >> 63)
                add_page(runs, at, map->page_bytes);
    }
    return true;
}

/* What a mapping of smaps is. */
enum memory_kind {
    MEMORY_PRIVATE, /* without a file */
    MEMORY_STACK,
    MEMORY_FILE,
    MEMORY_SHARED,
    MEMORY_LOG,
    MEMORY_LIBRARY, /* of mtrace */
    MEMORY_OTHER,   /* of the kernel */
};

/* A mapping of smaps. */
struct memory_mapping {
    struct process_mapping mapping; /* its path is no longer valid */
    enum memory_kind kind;
    bool is_behind_data;    /* begins where writable data of a file ends */
    bool is_behind_library; /* the same of mtrace's library */
    bool is_not_dumped;
    uint64_t rss_bytes, anonymous_bytes;
};

struct parts_walk {
    struct memory_sampler *samples;
    uint64_t now_ns;
    struct page_map map;
    struct memory_mapping mapping;                   /* not counted yet; `end` 0: none yet */
    struct memory_mapping counted;                   /* the one before it */
    uint64_t anonymous_bytes, file_bytes;            /* all */
    uint64_t stack_bytes, shared_bytes, files_bytes; /* without own */
    uint64_t log_bytes, library_file_bytes, library_private_bytes;
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_own_library(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && begins_with(slash, "/libmtrace") && strstr(slash, ".so");
}

static enum memory_kind kind_of(const struct process_mapping *mapping,
                                const struct process_mapped_file *log)
{
    static const char *const shared[] = {"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero",
                                         "[anon_shmem:"};

    if (log->inode && process_mapping_is_of(mapping, log))
        return MEMORY_LOG;
    if (is_own_library(mapping->path))
        return MEMORY_LIBRARY;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (begins_with(mapping->path, shared[i]))
            return MEMORY_SHARED;
    if (mapping->inode)
        return MEMORY_FILE;
    if (strcmp(mapping->path, "[stack]") == 0)
        return MEMORY_STACK;
    return mapping->path[0] == '\0' || strcmp(mapping->path, heap_name) == 0
                   || begins_with(mapping->path, "[anon:")
               ? MEMORY_PRIVATE
               : MEMORY_OTHER;
}

/* The kernel merges adjacent mappings that a program mapped one by one; the position of resident
 * pages shows to which they belong. First the whole mapping is reported as empty, so that gaps
 * between runs are known, too. */
static void add_private(struct parts_walk *walk, const struct memory_mapping *mapping)
{
    struct memory_sampler *samples = walk->samples;
    uint64_t rss_bytes = mapping->rss_bytes;
    struct runs runs = {.samples = samples,
                        .unit_bytes = walk->map.page_bytes,
                        .form = {.kind = mapping->is_not_dumped    ? LOG_SAMPLE_NOT_DUMPED
                                         : mapping->is_behind_data ? LOG_SAMPLE_MODULE_DATA
                                                                   : LOG_SAMPLE_PRIVATE,
                                 .a = mapping->mapping.start,
                                 .b = mapping->mapping.end,
                                 .c = rss_bytes,
                                 .monotonic_ns = walk->now_ns}};
    struct log_sample whole = runs.form;

    if (rss_bytes == mapping->mapping.end - mapping->mapping.start) {
        add(samples, whole, walk->now_ns);
        return;
    }
    whole.c = 0;
    add(samples, whole, walk->now_ns);
    runs.first = samples->n_samples;
    if (rss_bytes == 0)
        return;
    if (!read_pages(&walk->map, &mapping->mapping, &runs) || !runs.present_bytes) {
        samples->n_samples = runs.first - 1;
        whole.c = rss_bytes;
        add(samples, whole, walk->now_ns);
    }
    /* pagemap has pages of zeros that were read but not written; smaps does not count them */
    for (uint32_t i = runs.first; runs.present_bytes > rss_bytes && i < samples->n_samples; i++)
        samples->samples[i].c = (uint64_t)((double)samples->samples[i].c * (double)rss_bytes
                                           / (double)runs.present_bytes);
}

static void add_file(struct parts_walk *walk, const struct memory_mapping *mapping)
{
    if (mapping->rss_bytes >= MEMORY_SAMPLER_FILE_MIN_BYTES)
        add(walk->samples,
            (struct log_sample){.kind = LOG_SAMPLE_MAPPING,
                                .a = mapping->mapping.start,
                                .b = mapping->mapping.end,
                                .c = mapping->rss_bytes},
            walk->now_ns);
}

static void count_mapping(struct parts_walk *walk)
{
    const struct memory_mapping *mapping = &walk->counted;
    uint64_t file_bytes = mapping->rss_bytes > mapping->anonymous_bytes
                              ? mapping->rss_bytes - mapping->anonymous_bytes
                              : 0;

    walk->anonymous_bytes += mapping->rss_bytes - file_bytes;
    walk->file_bytes += file_bytes;
    if (mapping->kind == MEMORY_LOG)
        walk->log_bytes += file_bytes;
    else if (mapping->kind == MEMORY_LIBRARY || mapping->is_behind_library) {
        walk->library_private_bytes += mapping->rss_bytes - file_bytes;
        walk->library_file_bytes += file_bytes;
    } else if (mapping->kind == MEMORY_PRIVATE && mapping->rss_bytes - file_bytes < 65536
               && mapping->is_behind_data && mapping->mapping.end - mapping->mapping.start < 65536)
        walk->files_bytes += mapping->rss_bytes;
    else if (mapping->kind == MEMORY_PRIVATE)
        add_private(walk, mapping);
    else if (mapping->kind == MEMORY_STACK)
        walk->stack_bytes += mapping->rss_bytes;
    else if (mapping->kind != MEMORY_OTHER) {
        *(mapping->kind == MEMORY_SHARED ? &walk->shared_bytes : &walk->files_bytes) +=
            mapping->rss_bytes;
        add_file(walk, mapping);
    }
}

static void end_mapping(struct parts_walk *walk)
{
    uint64_t mapped_bytes = walk->mapping.mapping.end - walk->mapping.mapping.start;

    if (!walk->mapping.mapping.end)
        return;
    walk->counted = walk->mapping;
    if (walk->counted.rss_bytes > mapped_bytes) /* of a mapping that was cut */
        walk->counted.rss_bytes = mapped_bytes;
    count_mapping(walk);
}

static void begin_mapping(struct parts_walk *walk, const struct process_mapping *mapping)
{
    const struct memory_mapping *last = &walk->counted;
    enum memory_kind kind = kind_of(mapping, &walk->samples->log_file);
    bool is_behind = kind == MEMORY_PRIVATE && mapping->path[0] == '\0' && last->mapping.end
                     && last->mapping.end == mapping->start && last->mapping.permissions[1] == 'w';
    struct memory_mapping next = {.mapping = *mapping,
                                  .kind = kind,
                                  .is_behind_data = is_behind && last->kind == MEMORY_FILE,
                                  .is_behind_library = is_behind && last->kind == MEMORY_LIBRARY};

    /* it grew over mappings that are counted */
    if (next.mapping.start < last->mapping.end)
        next.mapping.start = last->mapping.end;
    next.mapping.path = "";
    walk->mapping = next;
}

static void see_line(struct parts_walk *walk, char *line)
{
    struct process_mapping mapping;

    /* each mapping has some twenty lines that begin with a capital */
    if (!isupper((unsigned char)line[0])) {
        if (process_maps_parse(line, &mapping)) {
            if (!process_mapping_is_replaced(&walk->mapping.mapping, &mapping))
                end_mapping(walk);
            begin_mapping(walk, &mapping);
        }
    } else if (begins_with(line, "Rss:"))
        walk->mapping.rss_bytes = strtoull(line + strlen("Rss:"), NULL, 10) * 1024;
    else if (begins_with(line, "Anonymous:"))
        walk->mapping.anonymous_bytes = strtoull(line + strlen("Anonymous:"), NULL, 10) * 1024;
    else if (begins_with(line, "VmFlags:"))
        walk->mapping.is_not_dumped = strstr(line, " dd") != NULL;
}

/* Fills the two places that wait for the sums, and adds PARTS. */
static void end_parts(const struct parts_walk *walk, uint32_t place)
{
    struct memory_sampler *samples = walk->samples;
    uint64_t rss_bytes = walk->anonymous_bytes + walk->file_bytes;
    bool is_complete = samples->n_samples < MEMORY_SAMPLER_MAX;

    samples->samples[place] = (struct log_sample){.monotonic_ns = walk->now_ns,
                                                  .kind = LOG_SAMPLE_OWN,
                                                  .a = walk->log_bytes + walk->library_file_bytes,
                                                  .b = walk->library_private_bytes};
    samples->samples[place + 1] = (struct log_sample){.monotonic_ns = walk->now_ns,
                                                      .kind = LOG_SAMPLE_MEMORY,
                                                      .a = rss_bytes,
                                                      .b = walk->anonymous_bytes,
                                                      .c = walk->file_bytes};
    if (is_complete)
        add(samples,
            (struct log_sample){.kind = LOG_SAMPLE_PARTS,
                                .a = walk->stack_bytes,
                                .b = walk->shared_bytes,
                                .c = walk->files_bytes},
            walk->now_ns);
    samples->rss_bytes = samples->parts_rss_bytes = rss_bytes;
    samples->library_file_bytes = walk->library_file_bytes;
    samples->library_private_bytes = walk->library_private_bytes;
}

bool memory_sampler_read_parts(struct memory_sampler *samples, FILE *smaps, uint64_t now_ns)
{
    struct parts_walk walk = {.samples = samples,
                              .now_ns = now_ns,
                              .map = {.pid = samples->pid,
                                      .fd = -1,
                                      .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                                      .n_left = MAX_PAGES}};
    uint32_t place = samples->n_samples;
    char line[PATH_MAX + 128];

    /* most programs are short, and have exited by now */
    if (!fgets(line, sizeof(line), smaps))
        return false;
    if (samples->log_fd >= 0 && !samples->log_file.inode)
        (void)process_maps_find_file(samples->log_fd, &samples->log_file);
    samples->n_samples += 2;
    take_heaps(samples, now_ns);
    do
        see_line(&walk, line);
    while (fgets(line, sizeof(line), smaps));
    end_mapping(&walk);
    if (walk.map.fd >= 0)
        (void)close(walk.map.fd);
    if (walk.anonymous_bytes + walk.file_bytes == 0) {
        samples->n_samples = place;
        return false;
    }
    end_parts(&walk, place);
    return true;
}

/* False: there are none, because the process has exited or access is denied. */
static bool take_parts(struct memory_sampler *samples, uint64_t now_ns)
{
    FILE *file = samples->n_samples + 2 < MEMORY_SAMPLER_MAX ? open_proc(samples, "smaps") : NULL;
    bool is_taken = file && memory_sampler_read_parts(samples, file, now_ns);

    if (file)
        fclose(file);
    return is_taken;
}

/* The thread's own time: on a busy machine the duration of a walk says nothing about its cost. */
static uint64_t processor_ns(void)
{
    struct timespec now;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0
               ? (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec
               : 0;
}

/* The earliest time at which the walk keeps to its share. */
static uint64_t possible_ns(const struct memory_sampler_pace *pace)
{
    const uint64_t credit_ns = (uint64_t)MEMORY_SAMPLER_CREDIT_NS * MEMORY_SAMPLER_MAX_SHARE;

    return pace->paid_ns > credit_ns ? pace->paid_ns - credit_ns : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sets the next time after a walk that began at now_ns and at began_ns of the processor's time. */
static void slow_down(struct memory_sampler_pace *pace, uint64_t now_ns, uint64_t began_ns,
                      uint64_t max_interval_ns)
{
    uint64_t cost_ns = processor_ns() - began_ns;

    pace->paid_ns = later(pace->paid_ns, now_ns) + cost_ns * MEMORY_SAMPLER_MAX_SHARE;
    pace->next_ns = later(now_ns + pace->interval_ns, possible_ns(pace));
    if (pace->interval_ns < max_interval_ns)
        pace->interval_ns += pace->interval_ns / 4;
}

/* Is the last total so different from that of the parts that these no longer explain it? */
static bool has_changed(const struct memory_sampler *samples)
{
    const uint64_t few_bytes = 256 * 1024;
    uint64_t now = samples->rss_bytes;
    uint64_t then = samples->parts_rss_bytes;
    uint64_t difference = now > then ? now - then : then - now;

    return difference > then / 8 + few_bytes;
}

/* Makes the parts due as early as their share permits. */
static void hurry_parts(struct memory_sampler *samples)
{
    samples->parts.next_ns = earlier(samples->parts.next_ns, possible_ns(&samples->parts));
}

void memory_sampler_hurry(struct memory_sampler *samples)
{
    samples->totals.next_ns = 0;
    hurry_parts(samples);
}

uint64_t memory_sampler_take(struct memory_sampler *samples, uint64_t now_ns)
{
    uint64_t began_ns = processor_ns();

    if (samples->interval_ns == 0)
        return UINT64_MAX;
    if (now_ns >= samples->parts.next_ns) {
        if (take_parts(samples, now_ns))
            samples->totals.next_ns = now_ns + samples->totals.interval_ns;
        slow_down(&samples->parts, now_ns, began_ns, 10 * second_ns);
        samples->heaps.next_ns = later(samples->heaps.next_ns, now_ns + samples->heaps.interval_ns);
    } else if (now_ns >= samples->heaps.next_ns) {
        take_heaps(samples, now_ns);
        slow_down(&samples->heaps, now_ns, began_ns, second_ns);
    }
    if (now_ns >= samples->totals.next_ns) {
        take_totals(samples, now_ns);
        samples->totals.next_ns = now_ns + samples->totals.interval_ns;
        if (has_changed(samples))
            hurry_parts(samples);
    }
    return earlier(samples->totals.next_ns,
                   earlier(samples->heaps.next_ns, samples->parts.next_ns));
}
