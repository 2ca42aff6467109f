/* SPDX-License-Identifier: MIT */
/* Each rule of pairing.h by a few events, and by the sink's calls. */
#include "importer/pairing/pairing.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

enum {
    N_PROCESSES = 2,
    N_THREADS = 4,
    X = 0x1000,
    Y = 0x2000,
    FAR = 20000, /* ns; more than an inversion can be */
};

/* Calls of the sink, one word for each. */
struct story {
    struct pairing *pairing;
    char text[4096];
};

MTRACE_PRINTF(2, 3) static void emit(struct story *story, const char *format, ...)
{
    size_t n = strlen(story->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(story->text + n, sizeof story->text - n, format, arguments);
    va_end(arguments);
}

static int on_allocated(void *context, uint32_t process, const struct live_block *block,
                        uint32_t group, const struct pairing_link *link, struct error *err)
{
    (void)process;
    (void)err;
    if (group)
        emit(context, "in%u:", group);
    emit(context, link ? "born%u<%u " : "born%u ", (unsigned)block->allocation_id,
         link ? (unsigned)link->realloc_from_id : 0);
    return 0;
}

static int on_moved(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_move *move, struct error *err)
{
    (void)process;
    (void)err;
    emit(context, "moved%u@%u:%u>%u ", (unsigned)block->allocation_id, (unsigned)move->time_ns,
         move->from_group, move->group);
    return 0;
}

static int on_ended(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    static const char *const words[] = {"leaked", "freed", "realloc", "unseen", "exec"};

    (void)process;
    (void)err;
    emit(context, "%s%u@%u", words[end->ended_by], (unsigned)block->allocation_id,
         (unsigned)end->time_ns);
    if (end->thread)
        emit(context, "by%u", end->thread);
    if (end->intervening != PAIRING_UNKNOWN)
        emit(context, "+%u", (unsigned)end->intervening);
    if (end->group || end->block_group)
        emit(context, ":%u>%u", end->block_group, end->group);
    emit(context, " ");
    return 0;
}

static int on_explained(void *context, uint32_t process, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    emit(context, "explained:");
    return on_ended(context, process, block, end, err);
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    (void)err;
    emit(context, "chain%u..%u:%u ", (unsigned)chain->chain_id, (unsigned)chain->last_allocation_id,
         (unsigned)chain->length);
    return 0;
}

static int on_unmatched(void *context, const struct pairing_unmatched *unmatched, struct error *err)
{
    (void)err;
    emit(context, "unmatched-%s@%uby%u ", unmatched->is_realloc ? "realloc" : "free",
         (unsigned)unmatched->time_ns, unmatched->thread);
    return unmatched->address && unmatched->process && unmatched->backtrace == 3 ? 0 : ERROR_FORMAT;
}

static int on_live_at_end(void *context, uint32_t process, const struct live_block *block,
                          uint32_t group, enum pairing_ended_by ended_by, uint32_t chain_backtrace,
                          struct error *err)
{
    (void)process;
    (void)err;
    (void)chain_backtrace;
    if (group)
        emit(context, "in%u:", group);
    emit(context, "%s%u ", ended_by == PAIRING_EXEC ? "exec" : "leaked",
         (unsigned)block->allocation_id);
    return 0;
}

static int on_left_run(void *context, uint32_t process, const struct live_block *places,
                       size_t n_places, size_t *ret_n_others, struct error *err)
{
    (void)process;
    (void)err;
    emit(context, "run:");
    *ret_n_others = 0;
    for (size_t i = 0; i < n_places; i++)
        if (pairing_is_single(&places[i]))
            emit(context, "%u", (unsigned)places[i].allocation_id);
        else
            *ret_n_others += places[i].address != 0;
    emit(context, " ");
    return 0;
}

/* A process with these traits; following events belong to it. */
static void start_with(struct story *story, struct pairing_process traits, bool has_runs)
{
    struct pairing_sink sink = {story,        on_allocated,   on_moved,
                                on_ended,     on_explained,   on_chain_ended,
                                on_unmatched, on_live_at_end, has_runs ? on_left_run : NULL};
    struct error err = {0};

    *story = (struct story){0};
    assert_int_equal(pairing_new(N_PROCESSES, N_THREADS, &sink, &story->pairing, &err), 0);
    *pairing_process_get(story->pairing, 1) = traits;
}

static void start(struct story *story, struct pairing_process traits)
{
    start_with(story, traits, false);
}

static void give(struct story *story, struct event event)
{
    struct error err = {0};

    event.process = event.process ? event.process : 1;
    event.backtrace = 3;
    assert_int_equal(pairing_event(story->pairing, &event, &err), 0);
}

static void allocated(struct story *story, uint64_t at_ns, uint32_t thread, uint64_t address)
{
    give(story, (struct event){.kind = EVENT_ALLOC,
                               .time_ns = at_ns,
                               .thread = thread,
                               .address = address,
                               .size = 16});
}

static void freed(struct story *story, uint64_t at_ns, uint32_t thread, uint64_t address)
{
    give(story, (struct event){
                    .kind = EVENT_FREE, .time_ns = at_ns, .thread = thread, .address = address});
}

static void realloc_begin(struct story *story, uint64_t at_ns, uint32_t thread, uint64_t address)
{
    give(story, (struct event){.kind = EVENT_REALLOC_BEGIN,
                               .time_ns = at_ns,
                               .thread = thread,
                               .address = address,
                               .pair = thread});
}

static void realloc_end(struct story *story, uint64_t at_ns, uint32_t thread, uint64_t address)
{
    give(story, (struct event){.kind = EVENT_REALLOC_END,
                               .time_ns = at_ns,
                               .thread = thread,
                               .address = address,
                               .size = 32,
                               .pair = thread});
}

/* Ends the recording and compares calls and counts. */
static void finish(struct story *story, const char *reported, struct pairing_counts counts)
{
    struct error err = {0};
    const struct pairing_counts *counted = pairing_counts_get(story->pairing);

    assert_int_equal(pairing_finish(story->pairing, &err), 0);
    assert_string_equal(story->text, reported);
    assert_int_equal(counted->unknown_frees, counts.unknown_frees);
    assert_int_equal(counted->unknown_reallocs, counts.unknown_reallocs);
    assert_int_equal(counted->untracked_frees, counts.untracked_frees);
    assert_int_equal(counted->double_allocations, counts.double_allocations);
    assert_int_equal(counted->clock_inversions, counts.clock_inversions);
    pairing_free(story->pairing);
}

#define COUNTS(...)                   \
    (struct pairing_counts)           \
    {                                 \
        .allocations = 0, __VA_ARGS__ \
    }

static const struct pairing_process whole = {0};
static const struct pairing_process forked = {.is_forked = true};
static const struct pairing_process late = {.has_untracked_blocks = true};
static const struct pairing_process lossy = {.has_lost_events = true};

/* A block has the group of its allocation until it is moved; its free has both. */
TEST(groups)
{
    struct story story;

    start(&story, whole);
    allocated(&story, 5, 1, FAR);
    freed(&story, 6, 1, FAR); /* its place is taken next */
    give(&story,
         (struct event){.kind = EVENT_ALLOC, .time_ns = 10, .thread = 1, .address = X, .group = 7});
    give(&story,
         (struct event){.kind = EVENT_ALLOC, .time_ns = 20, .thread = 1, .address = Y, .group = 8});
    give(&story,
         (struct event){.kind = EVENT_MOVE, .time_ns = 30, .thread = 1, .address = Y, .group = 7});
    give(&story, (struct event){.kind = EVENT_MOVE, .time_ns = 31, .thread = 1, .address = 5 * X});
    give(&story,
         (struct event){.kind = EVENT_FREE, .time_ns = 40, .thread = 1, .address = X, .group = 9});
    allocated(&story, 50, 1, X); /* at the old address of X, and untracked */
    freed(&story, 60, 1, X);
    give(&story,
         (struct event){.kind = EVENT_ALLOC, .time_ns = 70, .thread = 2, .address = X, .group = 3});
    give(&story,
         (struct event){.kind = EVENT_ALLOC, .time_ns = 80, .thread = 3, .address = X, .group = 4});
    give(&story,
         (struct event){.kind = EVENT_FREE, .time_ns = 81, .thread = 2, .address = X, .group = 5});
    assert_int_equal(pairing_counts_get(story.pairing)->unknown_moves, 1);
    finish(
        &story,
        "born1 freed1@6by1+0 in7:born2 in8:born3 moved3@30:8>7 freed2@40by1+1:7>9 born4 "
        "freed4@60by1+0 in3:born5 unseen5@80:3>3 in4:born6 explained:freed5@80by2:3>5 in4:leaked6 "
        "in7:leaked3 ",
        COUNTS(.clock_inversions = 1));
}

/* PA-6: if every allocation is in the log, a free without a block is one that came too early. */
TEST(free_before_allocation)
{
    struct story story;

    start(&story, whole);
    freed(&story, 100, 2, X);
    allocated(&story, 150, 1, X);
    allocated(&story, 300, 1, X);
    finish(&story, "born1 freed1@150by2 born2 leaked2 ", COUNTS(.clock_inversions = 1));

    start(&story, whole); /* too long before */
    freed(&story, 100, 2, X);
    allocated(&story, 100 + PAIRING_INVERSION_NS + 1, 1, X);
    finish(&story, "born1 unmatched-free@100by2 leaked1 ", COUNTS(.unknown_frees = 1));
}

/* PA-6: blocks of the parent, from before, or whose allocation was lost are freed like any other,
 * and blocks allocated at their address right after may leak. */
TEST(unknown_free_then_allocation)
{
    const struct {
        struct pairing_process traits;
        const char *unmatched;
        struct pairing_counts counts;
    } cases[] = {
        {forked, "", COUNTS()},
        {late, "", COUNTS(.untracked_frees = 1)},
        {lossy, "unmatched-free@100by2 ", COUNTS(.unknown_frees = 1)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story;
        struct story expected = {0};
        start(&story, cases[i].traits);
        freed(&story, 100, 2, X);
        allocated(&story, 150, 1, X);
        emit(&expected, "%sborn1 leaked1 ", cases[i].unmatched);
        finish(&story, expected.text, cases[i].counts);

        start(&story, cases[i].traits);
        freed(&story, 100, 2, X);
        allocated(&story, 150, 1, X);
        freed(&story, 160, 2, X); /* its own */
        expected.text[0] = '\0';
        emit(&expected, "%sborn1 freed1@160by2 ", cases[i].unmatched);
        finish(&story, expected.text, cases[i].counts);
    }
}

/* PA-6: one unknown free that nothing explains shows that allocations are missing. */
TEST(allocations_shown_missing)
{
    struct story story;

    start(&story, whole);
    freed(&story, 100, 2, Y);
    freed(&story, 100 + FAR, 2, X);
    allocated(&story, 150 + FAR, 1, X);
    finish(&story, "unmatched-free@100by2 unmatched-free@20100by2 born1 leaked1 ",
           COUNTS(.unknown_frees = 2));

    start(&story, whole); /* a part of the log turns out to be unreadable */
    give(&story, (struct event){.kind = EVENT_LOST, .time_ns = 90, .thread = 4});
    freed(&story, 100, 2, X);
    allocated(&story, 150, 1, X);
    finish(&story, "unmatched-free@100by2 born1 leaked1 ", COUNTS(.unknown_frees = 1));
}

/* PA-7: if every free is in the log, that of a covered block is still to come. A fork child or a
 * late start lacks no frees. */
TEST(allocation_before_free)
{
    const struct pairing_process cases[] = {whole, forked, late};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story;
        start(&story, cases[i]);
        allocated(&story, 10, 1, X);
        allocated(&story, 1000, 2, X);
        freed(&story, 1500, 1, X);
        freed(&story, 1600, 1, X);
        finish(&story, "born1 unseen1@1000 born2 explained:freed1@1000by1 freed2@1600by1 ",
               COUNTS(.clock_inversions = 1));
    }
}

/* PA-7: with lost frees, the block that lives there is the freed one. */
TEST(lost_free_then_handed_over)
{
    struct story story;

    start(&story, lossy);
    allocated(&story, 10, 1, X);
    allocated(&story, 1000, 2, X);
    freed(&story, 1500, 1, X);
    finish(&story, "born1 unseen1@1000 born2 freed2@1500by1 ", COUNTS(.double_allocations = 1));

    start(&story, whole); /* lossy, as an unseen end before has shown */
    allocated(&story, 10, 1, Y);
    allocated(&story, 20, 1, Y);
    allocated(&story, 30, 1, X);
    allocated(&story, 1000 + FAR, 2, X);
    freed(&story, 1500 + FAR, 1, X);
    finish(&story, "born1 unseen1@20 born2 born3 unseen3@21000 born4 freed4@21500by1 leaked2 ",
           COUNTS(.double_allocations = 2));
}

/* PA-8 */
TEST(own_order_holds)
{
    struct story story;

    start(&story, whole);
    freed(&story, 100, 1, X);
    allocated(&story, 110, 1, X);
    finish(&story, "born1 unmatched-free@100by1 leaked1 ", COUNTS(.unknown_frees = 1));

    start(&story, whole);
    allocated(&story, 10, 1, X);
    allocated(&story, 100, 2, X);
    freed(&story, 110, 2, X);
    finish(&story, "born1 unseen1@100 born2 freed2@110by2+0 ", COUNTS(.double_allocations = 1));
}

/* A realloc ends a block like a free does; its successor is allocated without it. */
TEST(inverted_realloc)
{
    struct story story;

    start(&story, whole);
    realloc_begin(&story, 100, 2, X);
    allocated(&story, 150, 1, X);
    realloc_end(&story, 200, 2, Y);
    finish(&story, "born1 unseen1@150by2 born2 leaked2 ", COUNTS(.clock_inversions = 1));

    start(&story, whole);
    allocated(&story, 10, 1, X);
    allocated(&story, 1000, 2, X);
    realloc_begin(&story, 1500, 1, X);
    realloc_end(&story, 1600, 1, Y);
    finish(&story, "born1 unseen1@1000 born2 born3 leaked2 leaked3 ",
           COUNTS(.clock_inversions = 1));

    start(&story, forked); /* of an inherited block */
    realloc_begin(&story, 100, 2, X);
    allocated(&story, 150, 1, X);
    realloc_end(&story, 200, 2, Y);
    finish(&story, "born1 born2 leaked1 leaked2 ", COUNTS());
}

/* A thread with many unknown frees in a row must not push the important one off the list. */
TEST(many_at_once)
{
    struct story story;
    struct story expected = {.text = "born1 freed1@60by2 "};

    start(&story, whole);
    freed(&story, 1, 2, X);
    for (unsigned i = 0; i < 40; i++) {
        freed(&story, 2 + i, 2, Y + i * 16);
        emit(&expected, "unmatched-free@%uby2 ", 2 + i);
    }
    allocated(&story, 60, 1, X);
    finish(&story, expected.text, COUNTS(.clock_inversions = 1, .unknown_frees = 40));
}

static const struct live_block *allocate(struct story *story, const struct event *event)
{
    return pairing_event(story->pairing, event, NULL) == 0
               ? pairing_find(story->pairing, event->process, event->address)
               : NULL;
}

/* PA-9: ids continue beyond 2^40 as they began, to the last one; the allocation after it is
 * refused, and frees continue. */
TEST(ids_are_given_once)
{
    struct event event = {.kind = EVENT_ALLOC, .time_ns = 10, .thread = 1, .size = 8};
    const struct live_block *block;
    struct pairing_counts *counts;
    struct story story;
    struct error err = {0};

    start(&story, whole);
    counts = (void *)(uintptr_t)pairing_counts_get(story.pairing); /* as a state has them */
    counts->allocations = (UINT64_C(1) << 40) - 1;
    event.process = 1;
    for (uint64_t i = 0; i < 3; i++) {
        event.address = X + i * 16;
        block = allocate(&story, &event);
        assert_true(block && block->allocation_id == (UINT64_C(1) << 40) + i);
    }
    counts->allocations = LIVE_BLOCK_MAX_ID - 1;
    event.address = Y;
    block = allocate(&story, &event);
    assert_true(block && block->allocation_id == LIVE_BLOCK_MAX_ID);
    event.address = Y + 16;
    assert_null(allocate(&story, &event));
    assert_int_equal(pairing_event(story.pairing, &event, &err), ERROR_FORMAT);
    assert_non_null(strstr(err.text, "2^46"));
    event =
        (struct event){.kind = EVENT_FREE, .time_ns = 20, .process = 1, .thread = 1, .address = Y};
    assert_int_equal(pairing_event(story.pairing, &event, &err), 0);
    assert_null(pairing_find(story.pairing, 1, Y));
    pairing_free(story.pairing);
}
