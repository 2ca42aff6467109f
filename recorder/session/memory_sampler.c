/* SPDX-License-Identifier: MIT */
#include "recorder/session/memory_sampler.h"

#include "lib/abi/glibc_heap.h"
#include "lib/base/monotonic.h"
#include "lib/process/proc_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000;
static const char heap_name[] = "[heap]";

enum {
    MAX_REPORTED = PACK_SAMPLES_MAX / 2, /* the other half is for other samples */
    MAX_RUNS = 64,                       /* of a mapping; with more it is reported as one */
    PAGE_MAP_BATCH = 512,                /* pages per read */
    MAX_PAGES = 1 << 20,                 /* limit per sample: 8 MiB to read */
};

void memory_sampler_init(struct memory_sampler *samples, pid_t pid, uint64_t interval_ms,
                         uint64_t now_ns)
{
    samples->pid = pid;
    samples->n_samples = 0;
    samples->rss_bytes = 0;
    samples->interval_ns = interval_ms * 1000000;
    samples->totals = (struct memory_sampler_pace){now_ns, samples->interval_ns};
    samples->heaps = (struct memory_sampler_pace){now_ns + second_ns / 20, second_ns / 20};
    samples->mappings = (struct memory_sampler_pace){now_ns + second_ns / 20, second_ns / 20};
}

static void add(struct memory_sampler *samples, struct log_sample sample, uint64_t now_ns)
{
    sample.monotonic_ns = now_ns;
    if (samples->n_samples < PACK_SAMPLES_MAX)
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
            add(samples, (struct log_sample){.kind = LOG_SAMPLE_OWN, .a = samples->own_bytes},
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

    if (walk->last.end)
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

static void add_resident(struct memory_sampler *samples, uint64_t start, uint64_t end,
                         uint64_t bytes, uint64_t now_ns)
{
    add(samples, (struct log_sample){.kind = LOG_SAMPLE_MAPPING, .a = start, .b = end, .c = bytes},
        now_ns);
}

/* The resident pages of a mapping; opened at the first use, closed by the caller. */
struct page_map {
    pid_t pid;
    int fd; /* -1: not open, or not readable */
    uint64_t page_bytes;
    uint64_t n_left; /* pages that may still be read */
};

/* A run of resident pages. */
struct run {
    uint64_t start, end;
};

static int open_page_map(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Stores the first max_runs runs of [mapping->start, mapping->end). Returns how many there are, 0
 * if unknown. */
static size_t find_runs(struct page_map *map, const struct process_mapping *mapping,
                        struct run *runs, size_t max_runs)
{
    uint64_t entries[PAGE_MAP_BATCH];
    uint64_t at = mapping->start;
    size_t n_runs = 0;
    bool is_open = false;

    if ((mapping->end - at) / map->page_bytes > map->n_left)
        return 0;
    if (map->fd < 0 && (map->fd = open_page_map(map->pid)) < 0)
        return 0;
    while (at < mapping->end) {
        uint64_t n = (mapping->end - at) / map->page_bytes;
        n = n < PAGE_MAP_BATCH ? n : PAGE_MAP_BATCH;
        if (n == 0
            || pread(map->fd, entries, n * sizeof(*entries),
                     (off_t)(at / map->page_bytes * sizeof(*entries)))
                   != (ssize_t)(n * sizeof(*entries)))
            return 0;
        map->n_left -= n;
        for (uint64_t i = 0; i < n; i++, at += map->page_bytes) {
            bool is_present = entries[i] >> 63;
            if (is_present && !is_open && n_runs++ < max_runs)
                runs[n_runs - 1].start = at;
            if (is_present && n_runs <= max_runs)
                runs[n_runs - 1].end = at + map->page_bytes;
            is_open = is_present;
        }
    }
    return n_runs;
}

/* The kernel merges adjacent mappings that a program mapped one by one; the position of resident
 * pages shows to which they belong. First the whole mapping is reported as empty, so that gaps
 * between runs are known, too. */
static void add_mapping(struct memory_sampler *samples, struct page_map *map,
                        const struct process_mapping *mapping, uint64_t resident_bytes,
                        uint64_t now_ns)
{
    struct run runs[MAX_RUNS];
    size_t n_runs = 0;

    if (resident_bytes < mapping->end - mapping->start)
        n_runs = find_runs(map, mapping, runs, MAX_RUNS);
    if (n_runs == 0 || n_runs > MAX_RUNS || samples->n_samples + n_runs > MAX_REPORTED) {
        add_resident(samples, mapping->start, mapping->end, resident_bytes, now_ns);
        return;
    }
    add_resident(samples, mapping->start, mapping->end, 0, now_ns);
    for (size_t i = 0; i < n_runs; i++)
        add_resident(samples, runs[i].start, runs[i].end, runs[i].end - runs[i].start, now_ns);
}

static void take_mappings(struct memory_sampler *samples, uint64_t now_ns)
{
    struct page_map map = {.pid = samples->pid,
                           .fd = -1,
                           .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                           .n_left = MAX_PAGES};
    FILE *file = open_proc(samples, "smaps");
    struct process_mapping mapping = {0};
    struct process_mapping next;
    uint64_t resident_kib;
    char line[512];

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        bool is_detail = isupper((unsigned char)line[0]); /* each mapping has twenty such lines */
        if (!is_detail && process_maps_parse(line, &next))
            mapping = next;
        else if (line[0] == 'R' && sscanf(line, "Rss: %" SCNu64 " kB", &resident_kib) == 1
                 && resident_kib * 1024 >= MEMORY_SAMPLER_MAPPING_MIN_BYTES)
            add_mapping(samples, &map, &mapping, resident_kib * 1024, now_ns);
    }
    fclose(file);
    if (map.fd >= 0)
        (void)close(map.fd);
}

/* Sets the next time: after a long walk the pause is longer. */
static void slow_down(struct memory_sampler_pace *pace, uint64_t began_ns, uint64_t max_interval_ns)
{
    uint64_t ended_ns = monotonic_now_ns();
    uint64_t least_ns = (ended_ns - began_ns) * MEMORY_SAMPLER_MAX_SHARE;
    uint64_t pause_ns = pace->interval_ns > least_ns ? pace->interval_ns : least_ns;

    pace->next_ns = ended_ns + pause_ns;
    if (pace->interval_ns < max_interval_ns)
        pace->interval_ns += pace->interval_ns / 4;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void memory_sampler_hurry(struct memory_sampler *samples)
{
    samples->totals.next_ns = 0;
}

uint64_t memory_sampler_take(struct memory_sampler *samples, uint64_t now_ns)
{
    if (samples->interval_ns == 0)
        return UINT64_MAX;
    if (now_ns >= samples->totals.next_ns) {
        take_totals(samples, now_ns);
        samples->totals.next_ns = now_ns + samples->totals.interval_ns;
    }
    if (now_ns >= samples->heaps.next_ns) {
        take_heaps(samples, now_ns);
        slow_down(&samples->heaps, now_ns, second_ns);
    }
    if (now_ns >= samples->mappings.next_ns) {
        take_mappings(samples, now_ns);
        slow_down(&samples->mappings, now_ns, 10 * second_ns);
    }
    return earlier(samples->totals.next_ns,
                   earlier(samples->heaps.next_ns, samples->mappings.next_ns));
}
