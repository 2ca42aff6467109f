/* SPDX-License-Identifier: MIT */
#include "collector/events/record.h"

#include "collector/arch/arch.h"
#include "collector/events/capture.h"
#include "collector/events/reservation.h"
#include "collector/groups/event_callbacks.h"
#include "collector/groups/groups.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/real.h"
#include "collector/sampling/sampled_blocks.h"
#include "collector/sampling/sampler.h"
#include "collector/thread/state.h"
#include "lib/abi/invariant.h"

void record_init(void)
{
    const struct config *config = state_config();
    uint64_t seed = config->sample_seed;

    g_event_builder_has_chunk_headers = real_is_glibc_malloc();
    if (!g_capture_has_free_backtraces)
        state_set_no_free_stacks();
    if (config->zeroes_memory || real_has_bootstrap_blocks())
        state_set_special_blocks();
    if (config->sample_bytes == 0 || mode_has(MODE_SAMPLED)) /* a fork child */
        return;
    if (seed && config->ancestor[0]) /* after an exec, for other random numbers */
        seed += config->ancestor_run_id;
    sampler_begin(config->sample_bytes, seed);
    state_set_sampled();
}

/* ---- writing --------------------------------------------------------------------------------- */

/* False: the event was dropped, and counted as dropped. */
static bool write_built(struct thread *thread, const struct event_builder *builder, uint64_t ticks)
{
    uint64_t *out = reservation_begin(thread, &ticks, builder->words[0], builder->words[1]);

    if (!out)
        return false;
    for (unsigned i = 2; i < builder->n_words; i++)
        out[i] = builder->words[i];
    reservation_commit(thread, out + builder->n_words);
    return true;
}

/* May an event without a usable thread state use the fallback segment? Counts the event as stranded
 * if this process does not record. */
static bool may_use_fallback(void)
{
    if (mtrace_unlikely(state_is_recording()))
        return !thread_is_muted(&g_thread);
    thread_count_stranded();
    return false;
}

/* Events of the process, which are no heap calls, are recorded inside a guarded call, too
 * (RY-3). */
static bool is_of_process(uint64_t head)
{
    switch ((enum log_event_kind)(head & 0xff)) {
    case LOG_TRACING:
    case LOG_MARK:
    case LOG_PHASE:
    case LOG_FORK:
    case LOG_EXEC_FAILED:
    case LOG_END:
        return true;
    default:
        return false;
    }
}

static bool may_write_fallback(const struct event_builder *builder)
{
    return (is_of_process(builder->words[0]) && state_is_recording()) || may_use_fallback();
}

/* An event that goes to the fallback segment. */
struct fallback {
    struct fallback_place place;
    struct signals_block quiet;
    bool is_quiet;
};

static void end_fallback(const struct fallback *fallback)
{
    if (fallback->is_quiet)
        signals_block_end(&fallback->quiet);
}

/* Must be followed by end_fallback. A dead thread's guard stays open here, so signals are blocked:
 * a handler must not fork or leave by siglongjmp. Other callers are nested in a recording whose
 * guard is closed, or are new. False: a signal handler forked, and this child has no log. */
static bool enter_fallback(struct fallback *fallback)
{
    fallback->is_quiet = g_thread.is_dead;
    return !fallback->is_quiet || signals_block_begin(&fallback->quiet);
}

/* The time is taken afterwards (SD-3). False: the event was dropped, and counted as dropped. */
static bool reserve_fallback(struct fallback *fallback)
{
    if (reservation_fallback_reserve(&fallback->place))
        return true;
    segment_count_drop(LOG_DROP_NESTED);
    return false;
}

/* The time is taken afterwards (SD-3), then end_fallback follows. On false, it has been called. */
static bool begin_fallback(struct fallback *fallback)
{
    if (!enter_fallback(fallback))
        return false;
    if (reserve_fallback(fallback))
        return true;
    end_fallback(fallback);
    return false;
}

static void fill_fallback(const struct fallback_place *place, const struct event_builder *builder,
                          uint64_t ticks)
{
    uint32_t group = g_thread.group;

    if (group != LOG_GROUP_ROOT)
        groups_define(group);
    reservation_fallback_write(place, builder->words, builder->n_words, ticks, g_thread.index,
                               group);
}

/* Also defines a group: signals are blocked, or the guard of the interrupted recording is closed.
 * False: the event was dropped, and counted as dropped. */
static MTRACE_COLD bool write_fallback(const struct event_builder *builder, uint32_t group)
{
    struct fallback fallback;

    if (!begin_fallback(&fallback))
        return false;
    groups_define(group);
    fill_fallback(&fallback.place, builder, clock_ticks_after());
    end_fallback(&fallback);
    return true;
}

/* False: the event was dropped, and counted as dropped. */
static MTRACE_COLD bool record_wide(struct thread *thread, const void *block,
                                    const struct event_builder_extent *extent, size_t alignment,
                                    uint32_t node, uint64_t ticks)
{
    struct event_builder builder;

    event_builder_alloc(&builder, block, extent, alignment);
    builder.words[0] |= (uint64_t)node << 32;
    return write_built(thread, &builder, ticks);
}

/* The thread is new, nested or dead, or the process does not record. False: not recorded. */
static MTRACE_COLD bool alloc_fallback(const void *block, size_t size_bytes, enum log_call call,
                                       size_t alignment, const struct event_builder_usable *known)
{
    struct event_builder_extent extent;
    struct event_builder builder;

    if (!may_use_fallback())
        return false;
    extent = event_builder_extent_of(block, size_bytes, call, known);
    event_builder_alloc(&builder, block, &extent, alignment);
    return write_fallback(&builder, LOG_GROUP_ROOT);
}

/* *ret_node: stack id. False: not recorded, since the thread is muted or there is no space, which
 * is counted. */
MTRACE_INLINE bool write_alloc(const void *block, size_t size_bytes, enum log_call call,
                               size_t alignment, const struct unwind_origin *origin,
                               const struct event_builder_usable *known, uint32_t *ret_node)
{
    bool is_written = true;
    struct thread *thread;
    struct event_builder_extent extent;
    uint64_t ticks;
    uint64_t *out;
    uint32_t node;

    thread = thread_enter(origin);
    if (mtrace_unlikely(!thread)) {
        *ret_node = LOG_NODE_NONE;
        return alloc_fallback(block, size_bytes, call, alignment, known);
    }
    node = capture_stack_id(thread, origin);
    extent = event_builder_extent_of(block, size_bytes, call, known);
    /* The clock waits for all earlier loads. After the stack was walked, so that its cache misses
     * overlap with the allocator's. */
    ticks = clock_ticks_after();
    if (mtrace_unlikely(!extent.is_narrow || alignment != 0)) {
        is_written = record_wide(thread, block, &extent, alignment, node, ticks);
    } else if ((out = reservation_begin(thread, &ticks, LOG_ALLOC | (uint64_t)node << 32,
                                        event_builder_address(block)))) {
        out[2] = extent.narrow_word;
        reservation_commit(thread, out + 3);
    } else {
        is_written = false;
    }
    thread_leave(thread);
    *ret_node = node;
    return is_written;
}

/* ---- event callbacks ---- */

/* Events of this call are recorded and go to event callbacks. */
static bool reaches_callbacks(void)
{
    return state_has_callbacks() && state_is_recording() && !thread_is_muted(&g_thread);
}

static struct known_block known_of(const void *block, size_t size_bytes, uint32_t node,
                                   const struct event_builder_usable *usable)
{
    return (struct known_block){
        .size_bytes = size_bytes,
        .usable_bytes = usable ? usable->size_bytes : event_builder_usable_of(block).size_bytes,
        .group = g_thread.group,
        .thread = g_thread.index,
        .node = node,
    };
}

/* Returns the group to restore afterwards (TK-1 of event_callbacks.h). */
static uint32_t charge_to_no_group(void)
{
    uint32_t group = g_thread.group;

    thread_set_group(LOG_GROUP_UNTRACKED);
    return group;
}

/* Looks for commands also outside of windows, where no event is written (RO-4). */
static MTRACE_COLD void look_for_commands(void)
{
    const struct unwind_origin here = RECORD_ORIGIN();
    uint64_t guard;

    if (mode_has(MODE_TRACING_OFF) && thread_read_begin(&here, &guard)) {
        if (segment_commands_are_due())
            state_set_command_pending();
        thread_read_end(guard);
    }
    state_run_pending();
}

/* ---- samples --------------------------------------------------------------------------------- */

/* SB-1. False: counted. */
static bool add_sample(const void *block)
{
    bool is_added = !mode_has(MODE_SAMPLED) || sampled_blocks_add(block);

    if (!is_added)
        signals_block_count_drop(LOG_DROP_NO_MEMORY);
    return is_added;
}

/* SB-1: a block whose allocation is not in the log has no free there. */
static inline void forget_sample_unless(const void *block, bool is_written)
{
    if (!is_written && mode_has(MODE_SAMPLED))
        sampled_blocks_forget(block);
}

/* A block that is not drawn also looks for commands; a drawn one does so before it is recorded. */
MTRACE_COLD bool record_draw_slow(size_t size_bytes)
{
    bool is_drawn = sampler_is_due() && sampler_draw(sampler_bytes_of(size_bytes));

    if (!is_drawn && mode_has(MODE_TRACING_OFF | MODE_COMMAND_PENDING))
        look_for_commands();
    return is_drawn;
}

MTRACE_COLD bool record_takes_slow(const void *block)
{
    bool is_taken = sampled_blocks_take(block);

    if (!is_taken && mode_has(MODE_COMMAND_PENDING))
        look_for_commands();
    return is_taken;
}

/* Slow path: tracing is off, there are event callbacks, or the block is a sample. In a fork child
 * this may begin a log. */
static MTRACE_COLD void alloc_slow(const void *block, size_t size_bytes, enum log_call call,
                                   size_t alignment, const struct unwind_origin *origin,
                                   const struct event_builder_usable *usable)
{
    struct known_block fresh;
    uint32_t group;
    uint32_t node;
    bool is_written;

    look_for_commands();
    if (!state_is_recording() || !state_is_tracing() || !add_sample(block))
        return;
    thread_force_slow_path(); /* RO-3 */
    if (event_callbacks_is_running(origin)) {
        group = charge_to_no_group();
        is_written = write_alloc(block, size_bytes, call, alignment, origin, usable, &node);
        thread_set_group(group);
        forget_sample_unless(block, is_written);
        return;
    }
    is_written = write_alloc(block, size_bytes, call, alignment, origin, usable, &node);
    forget_sample_unless(block, is_written);
    if (!reaches_callbacks())
        return;
    fresh = known_of(block, size_bytes, node, usable);
    event_callbacks_emit_alloc(block, &fresh);
}

MTRACE_INLINE void alloc(const void *block, size_t size_bytes, enum log_call call, size_t alignment,
                         const struct unwind_origin *origin,
                         const struct event_builder_usable *usable)
{
    uint32_t node;

    if (mtrace_likely(
            !mode_has(MODE_TRACING_OFF | MODE_CALLBACKS | MODE_COMMAND_PENDING | MODE_SAMPLED)))
        (void)write_alloc(block, size_bytes, call, alignment, origin, usable, &node);
    else
        alloc_slow(block, size_bytes, call, alignment, origin, usable);
}

void record_selected_alloc(const void *block, size_t size_bytes, enum log_call call,
                           size_t alignment, const struct unwind_origin *origin)
{
    alloc(block, size_bytes, call, alignment, origin, NULL);
}

void record_drawn_known(const void *block, size_t size_bytes, size_t usable_bytes,
                        enum log_call call, size_t alignment, const struct unwind_origin *origin)
{
    const struct event_builder_usable known = {usable_bytes, 0};

    alloc(block, size_bytes, call, alignment, origin, &known);
}

static MTRACE_COLD void free_fallback(const void *block)
{
    struct event_builder builder = {.words = {LOG_FREE, event_builder_address(block)},
                                    .n_words = 2};

    if (may_use_fallback())
        write_fallback(&builder, LOG_GROUP_ROOT);
}

MTRACE_INLINE uint32_t write_free(const void *block, const struct unwind_origin *origin,
                                  bool has_stack)
{
    struct thread *thread = thread_enter(origin);
    uint64_t ticks;
    uint64_t *out;
    uint32_t node;

    if (mtrace_unlikely(!thread)) {
        free_fallback(block);
        return LOG_NODE_NONE;
    }
    node = has_stack ? capture_stack_id(thread, origin) : LOG_NODE_NONE;
    ticks = clock_ticks_before();
    out = reservation_begin(thread, &ticks, LOG_FREE | (uint64_t)node << 32,
                            event_builder_address(block));
    if (mtrace_likely(out != NULL))
        reservation_commit(thread, out + 2);
    thread_leave(thread);
    return node;
}

static MTRACE_COLD void free_slow(const void *block, const struct unwind_origin *origin)
{
    bool is_nested = event_callbacks_is_running(origin);
    uint32_t node;

    look_for_commands();
    if (mode_has(MODE_NO_WINDOW_YET))
        return;
    node = write_free(block, origin, !mode_has(MODE_NO_FREE_STACKS));

    if (!reaches_callbacks())
        return;
    if (is_nested)
        event_callbacks_pass_free(block);
    else
        event_callbacks_emit_free(block, node);
}

void record_selected_free(const void *block, const struct unwind_origin *origin)
{
    if (mtrace_likely(!mode_has(MODE_CALLBACKS | MODE_NO_FREE_STACKS | MODE_NO_WINDOW_YET
                                | MODE_COMMAND_PENDING | MODE_SAMPLED)))
        write_free(block, origin, true);
    else
        free_slow(block, origin);
}

/* The time when a call began that ended at `ended`. In a single-threaded process the CPU may
 * reorder the two readings (CK-1): then the start is set to the end. It is never before `last`, an
 * event of a signal handler. began 0: the begin was not recorded. */
static uint64_t begin_of_call(uint64_t last, uint64_t began, uint64_t ended)
{
    if (began == 0 || began > ended)
        began = ended;
    return began < last ? last : began;
}

static MTRACE_COLD bool realloc_fallback(const void *block, const void *old, size_t size_bytes,
                                         enum log_call call, uint64_t began_ticks,
                                         const struct event_builder_usable *known)
{
    struct event_builder_extent extent = event_builder_extent_of(block, size_bytes, call, known);
    struct fallback fallback;
    struct event_builder builder;
    uint64_t ticks;

    if (!begin_fallback(&fallback))
        return false;
    ticks = clock_ticks_after();
    event_builder_realloc(&builder, block, old, &extent,
                          ticks - begin_of_call(0, began_ticks, ticks));
    fill_fallback(&fallback.place, &builder, ticks);
    end_fallback(&fallback);
    return true;
}

/* Not inlined, so that the words of the event are on the stack only after the stack was walked. */
static MTRACE_NOINLINE bool put_realloc(struct thread *thread, const void *block, const void *old,
                                        const struct event_builder_extent *extent,
                                        uint64_t began_ticks, uint64_t ticks, uint32_t node)
{
    uint64_t since = begin_of_call(thread->last_ticks, began_ticks, ticks);
    struct event_builder builder;

    if (!reservation_make(thread, &ticks, since)) /* sets last_ticks */
        return false;
    event_builder_realloc(&builder, block, old, extent, ticks - since);
    builder.words[0] |= (uint64_t)node << 32;
    return write_built(thread, &builder, ticks);
}

static uint32_t write_realloc(const void *block, const void *old, size_t size_bytes,
                              enum log_call call, uint64_t began_ticks,
                              const struct unwind_origin *origin,
                              const struct event_builder_usable *known)
{
    struct thread *thread = thread_enter(origin);
    struct event_builder_extent extent;
    uint64_t ticks;
    uint32_t node;

    if (mtrace_unlikely(!thread && !may_use_fallback())) {
        forget_sample_unless(block, false);
        return LOG_NODE_NONE;
    }
    if (mtrace_unlikely(!thread)) {
        forget_sample_unless(block,
                             realloc_fallback(block, old, size_bytes, call, began_ticks, known));
        return LOG_NODE_NONE;
    }
    ticks = clock_ticks_after();
    extent = event_builder_extent_of(block, size_bytes, call, known);
    node = capture_stack_id(thread, origin);
    forget_sample_unless(block, put_realloc(thread, block, old, &extent, began_ticks, ticks, node));
    thread_leave(thread);
    return node;
}

/* After the real call the old address may belong to another block. */
MTRACE_COLD void record_hold_resized(struct record_resize *resize)
{
    if (reaches_callbacks() && !record_resize_is_alloc(resize))
        resize->place = live_block_index_hold(resize->old);
}

MTRACE_COLD void record_resize_cancel_slow(const struct record_resize *resize)
{
    if (resize->place)
        live_block_index_give_back(resize->place, resize->old);
    if (resize->is_sample)
        (void)add_sample(resize->old);
}

static void put_ended(struct thread *thread, const void *old, uint64_t began_ticks, uint32_t node)
{
    uint64_t ticks = begin_of_call(thread->last_ticks, began_ticks, clock_ticks_after());
    struct event_builder builder = {
        .words = {LOG_FREE | (uint64_t)node << 32, event_builder_address(old)}, .n_words = 2};

    if (reservation_make(thread, &ticks, ticks))
        write_built(thread, &builder, ticks);
}

/* RC-4: the old block was a sample, the new one is not. Its free has the time at which the call
 * began: afterwards the address may belong to another block. */
static uint32_t write_ended(const struct record_resize *resize, const struct unwind_origin *origin)
{
    struct thread *thread = thread_enter(origin);
    uint32_t node = LOG_NODE_NONE;

    if (!thread) {
        free_fallback(resize->old);
        return node;
    }
    if (!mode_has(MODE_NO_FREE_STACKS))
        node = capture_stack_id(thread, origin);
    put_ended(thread, resize->old, resize->began_ticks, node);
    thread_leave(thread);
    return node;
}

static MTRACE_COLD void end_sample(const struct record_resize *resize,
                                   const struct unwind_origin *origin)
{
    bool is_nested = event_callbacks_is_running(origin);
    uint32_t node = write_ended(resize, origin);

    if (resize->place && is_nested)
        event_callbacks_pass_ended(resize->place);
    else if (resize->place)
        event_callbacks_emit_ended(resize->old, resize->place, node);
}

static MTRACE_COLD void emit_resized(const void *block, size_t size_bytes, enum log_call call,
                                     const struct record_resize *resize,
                                     const struct unwind_origin *origin,
                                     const struct event_builder_usable *usable)
{
    bool is_nested = event_callbacks_is_running(origin);
    uint32_t group = is_nested ? charge_to_no_group() : g_thread.group;
    uint32_t node =
        write_realloc(block, resize->old, size_bytes, call, resize->began_ticks, origin, usable);
    struct known_block fresh = known_of(block, size_bytes, node, usable);

    if (is_nested) {
        thread_set_group(group);
        event_callbacks_pass_resize(resize->place, block, &fresh);
    } else if (resize->place) {
        event_callbacks_emit_resize(resize->old, resize->place, block, &fresh);
    } else if (reaches_callbacks() && state_is_tracing()) {
        event_callbacks_emit_alloc(block, &fresh);
    }
}

/* RC-4: the old block was a sample; draws for the new one. Outside of windows nothing is drawn. */
static MTRACE_COLD bool is_resize_of_samples(const void *block, size_t size_bytes,
                                             const struct record_resize *resize,
                                             const struct unwind_origin *origin)
{
    if (sampler_count_and_draw(size_bytes) && state_is_recording() && state_is_tracing()
        && add_sample(block))
        return true;
    end_sample(resize, origin);
    return false;
}

static MTRACE_COLD void resized_slow(const void *block, size_t size_bytes, enum log_call call,
                                     const struct record_resize *resize,
                                     const struct unwind_origin *origin,
                                     const struct event_builder_usable *usable)
{
    look_for_commands();
    if (mode_has(MODE_NO_WINDOW_YET))
        record_resize_cancel(resize);
    else if (mode_has(MODE_SAMPLED) && !is_resize_of_samples(block, size_bytes, resize, origin))
        return;
    else if (state_has_callbacks())
        emit_resized(block, size_bytes, call, resize, origin, usable);
    else
        write_realloc(block, resize->old, size_bytes, call, resize->began_ticks, origin, usable);
}

static inline void resized(const void *block, size_t size_bytes, enum log_call call,
                           const struct record_resize *resize, const struct unwind_origin *origin,
                           const struct event_builder_usable *usable)
{
    if (mtrace_unlikely(
            mode_has(MODE_CALLBACKS | MODE_NO_WINDOW_YET | MODE_COMMAND_PENDING | MODE_SAMPLED)))
        resized_slow(block, size_bytes, call, resize, origin, usable);
    else
        write_realloc(block, resize->old, size_bytes, call, resize->began_ticks, origin, usable);
}

void record_resized(const void *block, size_t size_bytes, enum log_call call,
                    const struct record_resize *resize, const struct unwind_origin *origin)
{
    resized(block, size_bytes, call, resize, origin, NULL);
}

void record_resized_known(const void *block, size_t size_bytes, size_t usable_bytes,
                          enum log_call call, const struct record_resize *resize,
                          const struct unwind_origin *origin)
{
    const struct event_builder_usable known = {usable_bytes, 0};

    resized(block, size_bytes, call, resize, origin, &known);
}

void record_failure(const void *old, size_t size_bytes, enum log_call call, int error,
                    const struct unwind_origin *origin)
{
    uint64_t words[4] = {0, 0, (uint64_t)call | (uint64_t)arch_errno(error) << 8, size_bytes};

    if (state_is_recording() && state_is_tracing())
        record_event(LOG_FAILURE, (uintptr_t)old, words, 4, origin);
}

/* True: the name is defined, or there is none. False: counted. */
static bool define_name(const struct record_name *name)
{
    if (!name || (name->id != 0 && name->define(name->id)))
        return true;
    segment_count_drop(name->id ? segment_drop_reason() : LOG_DROP_NO_MEMORY);
    return false;
}

/* False: counted, or there is no log. */
static MTRACE_COLD bool write_named_fallback(const struct event_builder *builder,
                                             const struct record_name *name)
{
    struct fallback fallback;
    bool has_room;

    if (!may_write_fallback(builder) || !enter_fallback(&fallback))
        return false;
    has_room = define_name(name) && reserve_fallback(&fallback);
    if (has_room)
        fill_fallback(&fallback.place, builder, clock_ticks_after());
    end_fallback(&fallback);
    return has_room;
}

/* *ret_ticks: time of the event. */
static bool write_named(struct thread *thread, struct event_builder *builder,
                        const struct record_name *name, const struct unwind_origin *origin,
                        uint64_t *ret_ticks)
{
    uint64_t ticks;

    if (!define_name(name))
        return false;
    ticks = clock_ticks_after();
    if (origin)
        builder->words[0] |= (uint64_t)capture_stack_id(thread, origin) << 32;
    if (!write_built(thread, builder, ticks))
        return false;
    *ret_ticks = thread->last_ticks;
    return true;
}

bool record_named_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                        unsigned n_words, const struct unwind_origin *origin,
                        const struct record_name *name, uint64_t *ret_ticks)
{
    const struct unwind_origin here = RECORD_ORIGIN();
    struct event_builder builder = {
        .words = {kind, event_builder_address((const void *)(uintptr_t)address)},
        .n_words = n_words};
    struct thread *thread = thread_enter(origin ? origin : &here);
    uint64_t ticks = 0;
    bool is_written;

    for (unsigned i = 2; i < n_words; i++)
        builder.words[i] = words[i];
    if (mtrace_unlikely(!thread)) {
        is_written = write_named_fallback(&builder, name);
    } else {
        is_written = write_named(thread, &builder, name, origin, &ticks);
        thread_leave(thread);
    }
    if (ret_ticks)
        *ret_ticks = ticks;
    return is_written;
}

void record_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                  unsigned n_words, const struct unwind_origin *origin)
{
    (void)record_named_event(kind, address, words, n_words, origin, NULL, NULL);
}

bool record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words, unsigned n_words,
                     const char *text, uint64_t *ret_ticks)
{
    const struct record_name name = {groups_define_label, groups_label(text)};

    words[2] = (words[2] & ~(uint64_t)UINT32_MAX) | name.id;
    return record_named_event(kind, address, words, n_words, NULL, &name, ret_ticks);
}

/* Also defines a group. Inside the recursion guard: if a handler forks here, code outside of it
 * would find no log in the child. */
static bool write_note(enum log_event_kind kind, uint32_t value, uint64_t address, uint32_t group,
                       const struct unwind_origin *origin)
{
    struct event_builder builder = {
        .words = {kind | (uint64_t)value << 32,
                  event_builder_address((const void *)(uintptr_t)address)},
        .n_words = 2};
    struct thread *thread = thread_enter(origin);
    bool is_written;

    if (!thread)
        return may_write_fallback(&builder) && write_fallback(&builder, group);
    groups_define(group);
    is_written = write_built(thread, &builder, clock_ticks_after());
    thread_leave(thread);
    return is_written;
}

bool record_note(enum log_event_kind kind, uint32_t value, uint64_t address)
{
    const struct unwind_origin here = RECORD_ORIGIN();

    return write_note(kind, value, address, LOG_GROUP_ROOT, &here);
}

bool record_move(const void *block, uint32_t group, const struct unwind_origin *origin)
{
    bool is_nested = event_callbacks_is_running(origin);

    if (!write_note(LOG_MOVE, group, (uintptr_t)block, group, origin))
        return false;
    if (!reaches_callbacks())
        return true;
    if (is_nested)
        event_callbacks_pass_move(block, group);
    else
        event_callbacks_emit_move(block, group);
    return true;
}

void record_forget(void)
{
    reservation_fallback_forget();
}
