/* SPDX-License-Identifier: MIT */
/*
 * generate_week FILE: writes a bounded log as its recorder does, of a program that has done the
 * same for a week; says on stdout what it wrote so far.
 *
 * A fixed number of threads, stacks and live blocks: each step ends a block and begins another in
 * its place, or moves it. Most live shortly, some a hundred times as long, some ten thousand times,
 * some for good. Threads open phases, and recording is switched off and on. Time is simulated: all
 * events take the span, however fast they are written. Segments of all threads are written in
 * rounds, as their beginnings are when the clocks are read: what comes before a reading is written
 * before it. Where rotated logs have more than they may, nothing is written until they have less.
 */
#include "lib/base/error.h"
#include "lib/logfile/log_rotation.h"
#include "recorder/pack/rotated_log.h"
#include "tests/lib/log_builder.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    TICKS_PER_NS = 2,
    MODULES = 8,
    DEPTH = 12,
    THREADS = 4,
    ROUND_STEPS = THREADS * 128, /* of a realloc or two events, in a segment of each thread */
    ROUNDS_PER_LOOK = 32,
    ROUNDS_PER_WINDOW = 4,
    PHASE_NAMES = 100,
    FREES_PER_STACK = 4,
    BLOCK_ROOM = 1024,
    PARTS = 20,
    LOOK_REST_NS = 20000000,
    SAMPLE_NS = 1000000000,
    MAX_SAMPLES = 1024,
    MAX_STACKS = 1 << 20,
};

/* Blocks by how long they live: `share` of 1000 steps ends one of them, whichever it is. */
struct lifetime {
    uint32_t share, n_blocks;
};

static const struct lifetime lifetimes[] = {{800, 256}, {180, 20000}, {20, 50000}, {0, 50000}};

enum {
    LIFETIMES = sizeof(lifetimes) / sizeof(*lifetimes),
    BLOCKS = 256 + 20000 + 50000 + 50000
};

struct settings {
    const char *path;
    uint64_t n_events, n_stacks, span_s, max_bytes;
};

struct block {
    uint32_t stack; /* of `stacks` */
    uint16_t size_bytes;
    bool is_at_other; /* of the two places that it may have */
};

struct week {
    struct settings settings;
    struct log_builder *builder;
    struct rotated_log rotated;
    struct rotated_log_run run;
    struct block blocks[BLOCKS];
    uint32_t stacks[MAX_STACKS]; /* nodes */
    uint64_t random, ticks, ticks_per_step, n_steps, n_rounds, n_phases;
    uint32_t phase[THREADS]; /* 0: none */
    uint64_t n_events, n_allocations, n_frees, live_bytes, n_windows, n_samples;
    uint64_t sample_ns; /* of the last one */
};

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "generate_week: %s\n", why);
    exit(1);
}

static uint64_t below(struct week *week, uint64_t n)
{
    week->random ^= week->random << 13;
    week->random ^= week->random >> 7;
    week->random ^= week->random << 17;
    return n ? (week->random * 0x2545f4914f6cdd1du >> 11) % n : 0;
}

/* Small numbers mostly: few stacks allocate much. */
static uint32_t any_stack(struct week *week)
{
    return (uint32_t)below(week, 1 + below(week, week->settings.n_stacks));
}

/* ---- where it goes */

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LOOK_REST_NS}, NULL);
}

/* The header lies in the live log of a real one, and says how many were begun. */
static void put_frame(void *context, const struct log_header *header, const void *frame,
                      size_t n_bytes)
{
    struct week *week = context;
    struct error err;

    while (rotated_log_append(&week->rotated, header, frame, n_bytes, &err) != 0) {
        if (!week->rotated.is_full)
            die(err.text);
        rest();
    }
    log_builder_header(week->builder)->n_rotated_logs = week->rotated.number;
}

/* One a second, in a frame. */
static void sample_memory(struct week *week)
{
    struct log_sample samples[MAX_SAMPLES];
    const struct log_header *header = log_builder_header(week->builder);
    uint64_t now_ns =
        header->start_monotonic_ns + (week->ticks - header->start_ticks) / TICKS_PER_NS;
    size_t n = 0;

    for (; n < MAX_SAMPLES && week->sample_ns + SAMPLE_NS <= now_ns; n++)
        samples[n] = (struct log_sample){.monotonic_ns = week->sample_ns += SAMPLE_NS,
                                         .kind = LOG_SAMPLE_MEMORY,
                                         .a = (100 << 20) + below(week, 1 << 20),
                                         .b = 90 << 20,
                                         .c = 8 << 20};
    if (n)
        log_builder_samples(week->builder, samples, n);
    week->n_samples += n;
}

static void end_round(struct week *week)
{
    for (uint32_t thread = 1; thread <= THREADS; thread++)
        log_builder_seal(week->builder, thread);
    sample_memory(week);
    week->n_rounds++;
    while (week->n_rounds % ROUNDS_PER_LOOK == 0
           && log_rotation_run_bytes(week->settings.path) > week->settings.max_bytes)
        rest();
}

/* ---- what it does */

static uint64_t address_of(const struct week *week, uint32_t index)
{
    return 0x555500000010 + (2 * (uint64_t)index + week->blocks[index].is_at_other) * BLOCK_ROOM;
}

static void allocate(struct week *week, uint32_t thread, uint32_t index)
{
    uint32_t stack = any_stack(week);
    struct block *block = &week->blocks[index];

    block->stack = stack;
    block->size_bytes = (uint16_t)(1 + stack * 7919 % 1000);
    log_builder_malloc(week->builder, thread, ++week->ticks, address_of(week, index),
                       block->size_bytes, week->stacks[stack]);
    week->live_bytes += block->size_bytes;
    week->n_allocations++;
    week->n_events++;
}

static void end(struct week *week, uint32_t thread, uint32_t index)
{
    uint64_t site = week->blocks[index].stack + below(week, FREES_PER_STACK);

    log_builder_free(week->builder, thread, week->ticks, address_of(week, index),
                     week->stacks[site % week->settings.n_stacks]);
    week->live_bytes -= week->blocks[index].size_bytes;
    week->n_frees++;
    week->n_events++;
}

static void move(struct week *week, uint32_t thread, uint32_t index)
{
    uint32_t stack = any_stack(week);
    struct block *block = &week->blocks[index];
    uint64_t old = address_of(week, index);

    week->live_bytes -= block->size_bytes;
    block->is_at_other = !block->is_at_other;
    block->stack = stack;
    block->size_bytes = (uint16_t)(1 + stack * 7919 % 1000);
    log_builder_realloc(week->builder, thread, week->ticks, week->ticks + 1, old,
                        address_of(week, index), block->size_bytes, week->stacks[stack]);
    week->ticks++;
    week->live_bytes += block->size_bytes;
    week->n_allocations++;
    week->n_frees++;
    week->n_events++;
}

static uint32_t any_block(struct week *week)
{
    uint32_t kind = (uint32_t)below(week, 1000);
    uint32_t first = 0;

    for (unsigned i = 0; i < LIFETIMES; i++) {
        if (kind < lifetimes[i].share)
            return first + (uint32_t)below(week, lifetimes[i].n_blocks);
        kind -= lifetimes[i].share;
        first += lifetimes[i].n_blocks;
    }
    return 0;
}

/* A thread ends the phase that it is in, if it is in one, and begins another. */
static void change_phase(struct week *week, uint32_t thread)
{
    uint32_t *phase = &week->phase[thread - 1];
    uint64_t words[3] = {LOG_PHASE, 0, (uint64_t)*phase << 32};

    if (*phase)
        log_builder_event(week->builder, thread, week->ticks, words, 3);
    *phase = (uint32_t)++week->n_phases;
    words[2] = (1 + *phase % PHASE_NAMES) | (uint64_t)*phase << 32;
    log_builder_event(week->builder, thread, ++week->ticks, words, 3);
}

static void change_window(struct week *week)
{
    for (uint64_t is_open = 0; is_open < 2; is_open++) {
        const uint64_t words[2] = {LOG_TRACING | is_open << 32, LOG_SWITCH_CONTROL};
        log_builder_event(week->builder, 1, ++week->ticks, words, 2);
    }
    week->n_windows++;
}

/* Each thread begins its segment immediately, as the clock is read then. */
static void step(struct week *week)
{
    uint64_t in_round = week->n_steps++ % ROUND_STEPS;
    uint32_t thread = 1 + (uint32_t)(in_round < THREADS ? in_round : below(week, THREADS));
    uint32_t index = any_block(week);

    week->ticks += week->ticks_per_step / 2 + below(week, week->ticks_per_step);
    if (in_round == ROUND_STEPS / 2)
        change_phase(week, thread);
    if (in_round == ROUND_STEPS / 3 && week->n_rounds % ROUNDS_PER_WINDOW == 0)
        change_window(week);
    if (below(week, 50) == 0) {
        move(week, thread, index);
    } else {
        end(week, thread, index);
        allocate(week, thread, index);
    }
    if (in_round == ROUND_STEPS - 1)
        end_round(week);
}

/* ---- all of it */

static void define(struct week *week)
{
    static const char *const arguments[] = {"week", NULL};
    uint32_t module[MODULES];
    uint32_t node = LOG_NODE_COMPLETE;
    char name[64];

    log_builder_process(week->builder, "/usr/bin/week", arguments);
    for (uint32_t i = 0; i < MODULES; i++) {
        (void)snprintf(name, sizeof(name), "/usr/lib/libweek%" PRIu32 ".so", i);
        module[i] = log_builder_module(week->builder, name, "\x12\x34\x56\x78", 4,
                                       0x7f0000000000 + ((uint64_t)i << 24), week->ticks);
    }
    for (uint32_t i = 1; i <= PHASE_NAMES; i++) {
        const struct log_def def = {.kind = LOG_DEF_MARKER, .id = i};
        int n = snprintf(name, sizeof(name), "phase %" PRIu32, i);
        log_builder_def(week->builder, &def, name, (size_t)n);
    }
    for (uint32_t i = 1; i <= THREADS; i++)
        (void)log_builder_thread(week->builder, 1000 + i, "worker", week->ticks);
    for (uint64_t i = 0; i < DEPTH; i++)
        node = log_builder_node(week->builder, node, module[0], 0x7f0000001000 + 16 * i);
    for (uint64_t i = 0; i < week->settings.n_stacks; i++)
        week->stacks[i] =
            log_builder_node(week->builder, i < 8 ? node : week->stacks[below(week, i)],
                             module[i % MODULES], 0x7f0000002000 + (i % MODULES << 24) + 8 * i);
    log_builder_flush(week->builder);
}

/* All blocks that are live to the end, or until another takes their place. */
static void fill(struct week *week)
{
    for (uint32_t i = 0; i < BLOCKS; i++) {
        week->ticks += week->ticks_per_step;
        allocate(week, 1 + i % THREADS, i);
        if (i % ROUND_STEPS == ROUND_STEPS - 1)
            end_round(week);
    }
    end_round(week);
}

static void report(const struct week *week)
{
    printf("{\"events\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"frees\": %" PRIu64
           ", \"live_blocks\": %d, \"live_bytes\": %" PRIu64 ", \"phases\": %" PRIu64
           ", \"windows\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"written_bytes\": %" PRIu64
           "}\n",
           week->n_events, week->n_allocations, week->n_frees, BLOCKS, week->live_bytes,
           week->n_phases, week->n_windows, week->n_samples, week->run.written_bytes);
    (void)fflush(stdout);
}

static void generate(struct week *week)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct log_builder_options options = {.is_packed = true,
                                                .clock = LOG_CLOCK_TSC,
                                                .start_ns = (uint64_t)now.tv_sec * 1000000000,
                                                .start_ticks = UINT64_C(1) << 40,
                                                .ticks_per_ns = TICKS_PER_NS,
                                                .put_events = put_frame,
                                                .put_context = week};
    week->builder = log_builder_open(week->settings.path, &options);
    struct log_header *header = log_builder_header(week->builder);
    header->flags |= LOG_FLAG_BOUNDED | LOG_FLAG_FREE_BACKTRACES;
    week->ticks = header->start_ticks;
    week->sample_ns = options.start_ns;
    week->random = 0x9e3779b97f4a7c15u;
    week->run.log_path = week->settings.path;
    rotated_log_init(&week->rotated, week->settings.path, &week->run);
    week->ticks_per_step =
        week->settings.span_s * 1000000000 * TICKS_PER_NS / (week->settings.n_events / 2 + 1);
    define(week);
    fill(week);
    for (uint64_t part = 1; part <= PARTS; part++) {
        while (week->n_events < week->settings.n_events / PARTS * part)
            step(week);
        report(week);
    }
    end_round(week);
    header->end_kind = LOG_END_EXIT;
    header->last_ticks = week->ticks;
    header->last_monotonic_ns =
        header->start_monotonic_ns + (week->ticks - header->start_ticks) / TICKS_PER_NS;
    header->n_rotated_logs = week->rotated.number;
    log_builder_close(week->builder);
    rotated_log_done(&week->rotated);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    uint64_t *place = key == 'e'   ? &settings->n_events
                      : key == 's' ? &settings->n_stacks
                      : key == 'd' ? &settings->span_s
                      : key == 'm' ? &settings->max_bytes
                                   : NULL;
    char *rest_of = NULL;

    if (key == ARGP_KEY_ARG && !settings->path) {
        settings->path = argument;
        return 0;
    }
    if (key == ARGP_KEY_END && !settings->path)
        argp_usage(state);
    if (!place)
        return ARGP_ERR_UNKNOWN;
    double value = strtod(argument, &rest_of);
    if (*rest_of || value < 1 || value > 1e15)
        argp_error(state, "'%s' is not a number of at least 1", argument);
    *place = (uint64_t)value;
    if (settings->n_stacks > MAX_STACKS)
        argp_error(state, "at most %d stacks", MAX_STACKS);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"events", 'e', "N", 0, "in all (1e8)", 0},
        {"stacks", 's', "N", 0, "that allocate (5000)", 0},
        {"span", 'd', "SECONDS", 0, "from the first event to the last (604800)", 0},
        {"most", 'm', "BYTES", 0, "that generations may have before nothing is written (32 MiB)",
         0},
        {0},
    };
    static const struct argp argp = {
        options, parse_option, "FILE", "Write a bounded log, and say what is in it, as JSON.",
        NULL,    NULL,         NULL};
    static struct week week = {.settings = {.n_events = 100000000,
                                            .n_stacks = 5000,
                                            .span_s = 604800,
                                            .max_bytes = 2 * LOG_ROTATION_BYTES}};

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* no follower consumes anything any more */
    argp_parse(&argp, argc, argv, 0, NULL, &week.settings);
    generate(&week);
    return 0;
}
