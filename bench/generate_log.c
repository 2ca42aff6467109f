/* SPDX-License-Identifier: MIT */
/*
 * generate_log: writes a synthetic log of any size, and prints what is in it.
 *
 * One global clock, one simulated heap with last-in-first-out free lists per size class, stacks in
 * a tree whose outer frames are shared. The life of a block is decided when it is allocated: most
 * are freed within a few allocations, some after thousands, some after millions, some never; some
 * grow by realloc, some are freed by another thread. The same options give the same log.
 */
#include "lib/base/error.h"
#include "tests/lib/log_builder.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_CLASSES = 64,
    MODULES = 8,
    FRAMES_PER_STEP = 3, /* nodes made for each new stack beside the shared ones, on average */
    TICKS_PER_STEP = 120,
    OPTION_LIFE = 256,
    OPTION_LEAKED,
    OPTION_DEPTH,
    OPTION_LEVEL,
    OPTION_MARKERS,
    OPTION_MAPPINGS,
    OPTION_SPAN,
    MAPPING_BYTES = 8192,
};

struct settings {
    const char *path;
    uint64_t n_events;
    uint64_t n_stacks;
    uint64_t n_threads;     /* alive at a time */
    uint64_t thread_events; /* in a thread's life; 0: as long as the program */
    uint64_t seed;
    uint64_t depth;
    double leaked_share;
    uint64_t n_markers;
    uint64_t n_mappings;
    uint64_t span_s; /* of all events; 0: as close as TICKS_PER_STEP */
    bool is_packed;
    int zstd_level;
};

struct block {
    uint64_t due; /* step of its free; UINT64_MAX: never */
    uint64_t address;
    uint32_t size_bytes;
    uint32_t stack;
    uint16_t thread; /* slot of the thread that frees it */
    uint16_t n_growths;
};

struct free_list {
    uint64_t *addresses;
    size_t n, capacity;
};

struct generator {
    struct settings settings;
    struct log_builder *builder;
    uint64_t random;
    uint64_t step, ticks;
    struct block *heap; /* live blocks that will be freed, soonest first */
    size_t n_heap, heap_capacity;
    struct free_list free_lists[SIZE_CLASSES];
    uint64_t next_address;
    uint32_t *stacks;         /* nodes of stacks */
    uint32_t *threads;        /* slot -> thread of the log */
    uint64_t *thread_ends_at; /* slot -> step */
    uint32_t n_threads_ever;
    uint64_t n_events, n_allocations, n_frees, n_reallocs, leaked_blocks, leaked_bytes;
};

static void *check_memory(void *memory)
{
    if (!memory) {
        fputs("generate_log: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static uint64_t next_random(struct generator *g)
{
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    return g->random * 0x2545f4914f6cdd1du;
}

static uint64_t below(struct generator *g, uint64_t n)
{
    return (next_random(g) >> 11) % n;
}

/* 1, 2, 4, … with each doubling half as likely: small numbers mostly, large ones sometimes. */
static uint64_t skewed_below(struct generator *g, uint64_t n)
{
    uint64_t bits = 64 - (uint64_t)__builtin_clzll(n | 1);
    return below(g, 1ull << (1 + below(g, bits))) % n;
}

static unsigned size_class(uint64_t size_bytes)
{
    uint64_t rounded = (size_bytes + 8 + 15) / 16;

    if (rounded < 32)
        return (unsigned)rounded;
    return 32 + (unsigned)(64 - __builtin_clzll(rounded)) - 6;
}

static uint64_t take_address(struct generator *g, uint64_t size_bytes)
{
    struct free_list *list = &g->free_lists[size_class(size_bytes) % SIZE_CLASSES];
    uint64_t address = g->next_address;

    if (list->n > 0)
        return list->addresses[--list->n];
    g->next_address += size_class(size_bytes) < 32 ? (size_bytes + 8 + 15) / 16 * 16
                                                   : 1ull << (64 - __builtin_clzll(size_bytes + 8));
    return address;
}

static void give_address(struct generator *g, uint64_t address, uint64_t size_bytes)
{
    struct free_list *list = &g->free_lists[size_class(size_bytes) % SIZE_CLASSES];

    if (list->n == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 1024;
        list->addresses =
            check_memory(realloc(list->addresses, list->capacity * sizeof(*list->addresses)));
    }
    list->addresses[list->n++] = address;
}

static void push_block(struct generator *g, struct block block)
{
    size_t at = g->n_heap++;

    if (g->n_heap > g->heap_capacity) {
        g->heap_capacity = g->heap_capacity ? 2 * g->heap_capacity : 4096;
        g->heap = check_memory(realloc(g->heap, g->heap_capacity * sizeof(*g->heap)));
    }
    for (; at > 0 && block.due < g->heap[(at - 1) / 2].due; at = (at - 1) / 2)
        g->heap[at] = g->heap[(at - 1) / 2];
    g->heap[at] = block;
}

static struct block pop_block(struct generator *g)
{
    struct block first = g->heap[0];
    struct block last = g->heap[--g->n_heap];
    size_t at = 0;

    for (size_t child = 1; child < g->n_heap; child = 2 * at + 1) {
        if (child + 1 < g->n_heap && g->heap[child + 1].due < g->heap[child].due)
            child++;
        if (g->heap[child].due >= last.due)
            break;
        g->heap[at] = g->heap[child];
        at = child;
    }
    g->heap[at] = last;
    return first;
}

static uint64_t lifetime(struct generator *g)
{
    uint64_t kind = below(g, 1000);

    if ((double)kind < 1000 * g->settings.leaked_share)
        return UINT64_MAX;
    if (kind < 600)
        return 1 + below(g, 4);
    if (kind < 950)
        return 1 + skewed_below(g, 1 << 14);
    return 1 + skewed_below(g, 1 << 21);
}

/* A thread of a slot that lived long enough makes room for a new one. */
static uint32_t thread_of(struct generator *g, uint64_t slot)
{
    if (g->step >= g->thread_ends_at[slot]) {
        if (g->threads[slot] != 0)
            log_builder_thread_end(g->builder, g->threads[slot], g->ticks);
        g->threads[slot] =
            log_builder_thread(g->builder, 1000 + g->n_threads_ever++, "worker", g->ticks);
        g->thread_ends_at[slot] = g->settings.thread_events
                                      ? g->step + g->settings.n_threads * g->settings.thread_events
                                      : UINT64_MAX;
    }
    return g->threads[slot];
}

static struct block new_block(struct generator *g, uint64_t slot, uint64_t size_bytes,
                              uint32_t stack, unsigned n_growths)
{
    uint64_t life = n_growths > 0 ? 1 + below(g, 64) : lifetime(g);
    struct block block = {.due = life == UINT64_MAX ? life : g->step + life,
                          .address = take_address(g, size_bytes),
                          .size_bytes = (uint32_t)size_bytes,
                          .stack = stack,
                          .thread = (uint16_t)slot,
                          .n_growths = (uint16_t)n_growths};

    if (below(g, 20) == 0)
        block.thread = (uint16_t)below(g, g->settings.n_threads);
    g->n_allocations++;
    if (block.due == UINT64_MAX) {
        g->leaked_blocks++;
        g->leaked_bytes += size_bytes;
    }
    return block;
}

static void keep_block(struct generator *g, const struct block *block)
{
    if (block->due != UINT64_MAX)
        push_block(g, *block);
}

static void allocate(struct generator *g)
{
    uint64_t slot = below(g, g->settings.n_threads);
    uint32_t stack = g->stacks[skewed_below(g, g->settings.n_stacks)];
    uint64_t size = below(g, 100) < 95 ? 1 + stack * 7919 % 500 : 1 + skewed_below(g, 1 << 20);
    unsigned n_growths = stack % 20 == 0 ? 1 + (unsigned)below(g, 6) : 0;
    struct block block = new_block(g, slot, size, stack, n_growths);

    log_builder_malloc(g->builder, thread_of(g, slot), g->ticks, block.address, size, stack);
    keep_block(g, &block);
}

static void grow(struct generator *g, const struct block *old)
{
    uint64_t size = old->size_bytes < 1u << 24 ? old->size_bytes * 2u : old->size_bytes;
    struct block block = new_block(g, old->thread, size, old->stack, old->n_growths - 1u);

    give_address(g, old->address, old->size_bytes);
    log_builder_realloc(g->builder, thread_of(g, old->thread), g->ticks - 40, g->ticks,
                        old->address, block.address, size, old->stack);
    g->n_reallocs++;
    keep_block(g, &block);
}

static void end_block(struct generator *g)
{
    struct block block = pop_block(g);

    if (block.n_growths > 0) {
        grow(g, &block);
        return;
    }
    log_builder_free(g->builder, thread_of(g, block.thread), g->ticks, block.address, block.stack);
    give_address(g, block.address, block.size_bytes);
    g->n_frees++;
}

/* ---- markers and mappings ---- */

static void set_marker(struct generator *g, uint64_t number)
{
    const uint64_t words[3] = {LOG_MARK, 0, number};
    const struct log_def def = {.kind = LOG_DEF_MARKER, .id = (uint32_t)number};
    char name[32];
    int length = snprintf(name, sizeof(name), "marker %" PRIu64, number);

    log_builder_def(g->builder, &def, name, (size_t)length);
    log_builder_event(g->builder, thread_of(g, 0), g->ticks, words, 3);
}

/* All are mapped together: none touches another. */
static void map_all(struct generator *g, bool is_mapped)
{
    for (uint64_t i = 0; i < g->settings.n_mappings; i++) {
        uint64_t address = 0x600000000000 + 2 * MAPPING_BYTES * i;
        const uint64_t map[6] = {LOG_MMAP | (uint64_t)g->stacks[0] << 32, address, MAPPING_BYTES,
                                 3 | 0x22 << 16, UINT32_MAX};
        const uint64_t unmap[3] = {LOG_MUNMAP | (uint64_t)g->stacks[0] << 32, address,
                                   MAPPING_BYTES};

        g->ticks += TICKS_PER_STEP;
        log_builder_event(g->builder, thread_of(g, 0), g->ticks, is_mapped ? map : unmap,
                          is_mapped ? 6 : 3);
    }
}

static void run(struct generator *g)
{
    uint64_t ticks = g->settings.span_s * UINT64_C(1000000000) / g->settings.n_events;
    uint64_t n_marked = 0;

    if (ticks == 0)
        ticks = TICKS_PER_STEP;

    for (; g->n_events < g->settings.n_events; g->n_events++) {
        while (n_marked * g->settings.n_events < g->n_events * g->settings.n_markers)
            set_marker(g, ++n_marked);
        g->step++;
        g->ticks += ticks / 2 + below(g, ticks);
        if (g->n_heap > 0 && g->heap[0].due <= g->step)
            end_block(g);
        else
            allocate(g);
    }
    for (size_t i = 0; i < g->n_heap; i++) {
        g->leaked_blocks++;
        g->leaked_bytes += g->heap[i].size_bytes;
    }
}

/* Stacks branch off earlier ones near their inner end, as calls in a program do. */
static void make_stacks(struct generator *g)
{
    uint32_t module[MODULES];
    uint64_t depth = g->settings.depth;
    uint32_t node = LOG_NODE_COMPLETE;

    for (uint32_t i = 0; i < MODULES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/usr/lib/libsynthetic%" PRIu32 ".so", i);
        module[i] = log_builder_module(g->builder, path, "\x12\x34\x56\x78", 4,
                                       0x7f0000000000 + ((uint64_t)i << 24), g->ticks);
    }
    for (uint64_t i = 0; i < depth; i++)
        node = log_builder_node(g->builder, node, module[0], 0x7f0000001000 + 16 * i);
    g->stacks = check_memory(calloc(g->settings.n_stacks, sizeof(*g->stacks)));
    g->stacks[0] = node;
    for (uint64_t i = 1; i < g->settings.n_stacks; i++) {
        uint64_t n_new = 1 + below(g, 2 * FRAMES_PER_STEP - 1);
        node = below(g, 4) == 0 ? g->stacks[0] : g->stacks[below(g, i)];
        for (uint64_t k = 0; k < n_new; k++) {
            uint64_t which = below(g, MODULES);
            node = log_builder_node(g->builder, node, module[which],
                                    0x7f0000000000 + (which << 24) + 0x1000 + 4 * below(g, 200000));
        }
        g->stacks[i] = node;
    }
}

static void generate(struct generator *g)
{
    static const char *const arguments[] = {"synthetic", "--some", "arguments", NULL};
    struct log_builder_options options = {.is_packed = g->settings.is_packed,
                                          .zstd_level = g->settings.zstd_level};

    g->builder = log_builder_open(g->settings.path, &options);
    g->ticks = log_builder_header(g->builder)->start_ticks;
    g->random = g->settings.seed * 0x9e3779b97f4a7c15u + 1;
    g->next_address = 0x555500000010;
    g->threads = check_memory(calloc(g->settings.n_threads, sizeof(*g->threads)));
    g->thread_ends_at = check_memory(calloc(g->settings.n_threads, sizeof(*g->thread_ends_at)));
    log_builder_process(g->builder, "/usr/bin/synthetic", arguments);
    make_stacks(g);
    map_all(g, true);
    run(g);
    map_all(g, false);
    log_builder_header(g->builder)->end_kind = LOG_END_EXIT;
    log_builder_header(g->builder)->last_ticks = g->ticks;
    log_builder_header(g->builder)->last_monotonic_ns = g->ticks;
    log_builder_close(g->builder);
}

static void print_truth(const struct generator *g)
{
    printf("{\"events\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"frees\": %" PRIu64
           ", \"reallocs\": %" PRIu64 ", \"leaked_blocks\": %" PRIu64 ", \"leaked_bytes\": %" PRIu64
           ", \"threads\": %" PRIu32 "}\n",
           g->n_events, g->n_allocations, g->n_frees, g->n_reallocs, g->leaked_blocks,
           g->leaked_bytes, g->n_threads_ever);
}

static uint64_t parse_number(const char *text, struct argp_state *state, uint64_t low)
{
    char *end;
    double value = strtod(text, &end);

    if (*end != '\0' || value < (double)low || value > 1e15)
        argp_error(state, "'%s' is not a number of at least %" PRIu64, text, low);
    return (uint64_t)value;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'e':
        settings->n_events = parse_number(argument, state, 1);
        return 0;
    case 's':
        settings->n_stacks = parse_number(argument, state, 1);
        return 0;
    case 't':
        settings->n_threads = parse_number(argument, state, 1);
        if (settings->n_threads > 60000)
            argp_error(state, "at most 60000 threads at a time");
        return 0;
    case OPTION_LIFE:
        settings->thread_events = parse_number(argument, state, 1);
        return 0;
    case OPTION_DEPTH:
        settings->depth = parse_number(argument, state, 1);
        return 0;
    case OPTION_MARKERS:
        settings->n_markers = parse_number(argument, state, 0);
        return 0;
    case OPTION_MAPPINGS:
        settings->n_mappings = parse_number(argument, state, 0);
        return 0;
    case OPTION_SPAN:
        settings->span_s = parse_number(argument, state, 1);
        return 0;
    case OPTION_LEAKED:
        settings->leaked_share = strtod(argument, NULL);
        return 0;
    case OPTION_LEVEL:
        settings->zstd_level = (int)parse_number(argument, state, 0);
        return 0;
    case 'r':
        settings->seed = parse_number(argument, state, 0);
        return 0;
    case 'p':
        settings->is_packed = true;
        return 0;
    case ARGP_KEY_ARG:
        if (settings->path)
            return ARGP_ERR_UNKNOWN;
        settings->path = argument;
        return 0;
    case ARGP_KEY_END:
        if (!settings->path)
            argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"events", 'e', "N", 0, "events in all (1e6)", 0},
        {"stacks", 's', "N", 0, "distinct allocating stacks (10000)", 0},
        {"threads", 't', "N", 0, "threads alive at a time (4)", 0},
        {"thread-life", OPTION_LIFE, "N", 0, "events in a thread's life, then another takes over",
         0},
        {"depth", OPTION_DEPTH, "N", 0, "frames that all stacks share (12)", 0},
        {"leaked", OPTION_LEAKED, "SHARE", 0, "share of blocks that never die (0.01)", 0},
        {"markers", OPTION_MARKERS, "N", 0, "set in equal distances (0)", 0},
        {"span", OPTION_SPAN, "SECONDS", 0, "from the first event to the last (120 ns for each)",
         0},
        {"mappings", OPTION_MAPPINGS, "N", 0, "made before all events, unmapped after them (0)", 0},
        {"seed", 'r', "N", 0, "another log of the same kind (1)", 0},
        {"packed", 'p', NULL, 0, "as the recorder writes it, not raw", 0},
        {"level", OPTION_LEVEL, "N", 0, "of zstd in a packed log (1)", 0},
        {0},
    };
    static const struct argp argp = {
        options, parse_option, "FILE", "Write a synthetic log and say what is in it, as JSON.",
        NULL,    NULL,         NULL};
    struct generator generator = {.settings = {.n_events = 1000000,
                                               .n_stacks = 10000,
                                               .n_threads = 4,
                                               .seed = 1,
                                               .depth = 12,
                                               .leaked_share = 0.01,
                                               .zstd_level = 1}};

    argp_parse(&argp, argc, argv, 0, NULL, &generator.settings);
    generate(&generator);
    print_truth(&generator);
    for (int i = 0; i < SIZE_CLASSES; i++)
        free(generator.free_lists[i].addresses);
    free(generator.heap);
    free(generator.stacks);
    free(generator.threads);
    free(generator.thread_ends_at);
    return 0;
}
