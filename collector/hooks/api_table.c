/* SPDX-License-Identifier: MIT */
/*
 * api_table: the functions that a program calls through include/mtrace.h and
 * include/mtrace_objects.h, and those of bytehound's API.
 *
 * Like the wrappers, each calls lifecycle_is_ready first. While nothing is recorded, ids and scopes
 * are maintained: recording may be switched on later.
 */
#include "collector/events/record.h"
#include "collector/groups/event_callbacks.h"
#include "collector/groups/groups.h"
#include "collector/groups/object_walk.h"
#include "collector/groups/scopes.h"
#include "collector/hooks/api_pools.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/process/lifecycle.h"
#include "collector/process/self_report.h"
#include "collector/sampling/live_block_index.h"
#include "collector/sampling/sampled_blocks.h"
#include "collector/thread/state.h"
#include "include/mtrace.h"
#include "include/mtrace_objects.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* True also before a log is written: recording may be switched on later.
 * In this order: the first call lets a fork child detect that it is one. */
static bool is_present(void)
{
    return lifecycle_is_ready() && (state_is_recording() || !state_is_off());
}

/* ---- groups ---------------------------------------------------------------------------------- */

static uint32_t group_register(const char *name, const struct mtrace_tag *tags, size_t n_tags)
{
    return is_present() ? groups_add(name, tags, n_tags, false) : MTRACE_GROUP_ROOT;
}

static uint32_t group_intern(const char *name, const struct mtrace_tag *tags, size_t n_tags)
{
    return is_present() ? groups_add(name, tags, n_tags, true) : MTRACE_GROUP_ROOT;
}

static struct mtrace_scope enter(uint32_t group)
{
    return scopes_enter(groups_check(group));
}

static void exit_scope(struct mtrace_scope scope)
{
    if (mtrace_unlikely(!scopes_exit(scope)))
        groups_count_stale_exit();
}

static bool move(void *block, uint32_t group)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    uint32_t checked = groups_check(group);

    if (!block || checked != group || !lifecycle_is_ready() || !state_is_recording())
        return false;
    if (mode_has(MODE_SAMPLED) && !sampled_blocks_has(block))
        return true; /* the log does not know it */
    return record_move(block, group, &origin);
}

/* Blocks are indexed from the first call on: a program that never calls it pays nothing. */
static uint32_t group_of(const void *block)
{
    struct known_block known;

    if (!is_present() || !live_block_index_begin())
        return MTRACE_GROUP_UNTRACKED;
    state_set_callbacks();
    return live_block_index_find(block, &known) ? known.group : (uint32_t)MTRACE_GROUP_UNTRACKED;
}

static struct mtrace_context context_capture(void)
{
    return (struct mtrace_context){scopes_group(), scopes_innermost()};
}

static struct mtrace_scope context_adopt(struct mtrace_context context)
{
    return enter(context.group);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void tracking(bool on)
{
    if (lifecycle_is_ready())
        lifecycle_switch_tracing(on, LOG_SWITCH_PROGRAM);
}

static bool is_tracking(void)
{
    return lifecycle_is_ready() && state_is_recording() && state_is_tracing();
}

static void marker(const char *text)
{
    uint64_t words[3] = {0, 0, 0};

    if (lifecycle_is_ready())
        (void)record_labelled(LOG_MARK, 0, words, 3, text, NULL);
}

static _Atomic uint32_t
    g_n_phases; /* continues in fork children, so that phase numbers are unique */

static struct mtrace_scope phase_begin(const char *name)
{
    uint32_t number = atomic_fetch_add_explicit(&g_n_phases, 1, memory_order_relaxed) + 1;
    uint64_t words[3] = {0, 0, (uint64_t)number << 32};
    bool has_begun = lifecycle_is_ready() && record_labelled(LOG_PHASE, 0, words, 3, name, NULL);

    return (struct mtrace_scope){has_begun ? (uint32_t)words[2] : 0, 0, number};
}

/* The scope of a group has the number of its thread in the upper half. */
static bool is_phase(struct mtrace_scope phase)
{
    return phase.owner >> 32 == 0
           && (uint32_t)phase.owner <= atomic_load_explicit(&g_n_phases, memory_order_relaxed);
}

/* The importer determines whether the phase is open. */
static void phase_end(struct mtrace_scope phase)
{
    const uint64_t words[3] = {0, 0, (uint64_t)phase.owner << 32};

    if (mtrace_unlikely(!is_phase(phase)))
        groups_count_stale_exit();
    else if (phase.group != 0 && lifecycle_is_ready() && state_is_recording())
        record_event(LOG_PHASE, 0, words, 3, NULL);
}

/* ---- trackers -------------------------------------------------------------------------------- */

static int tracker_add(event_callbacks_callback *callback, void *user, unsigned kinds)
{
    return is_present() ? event_callbacks_add(callback, user, kinds) : 0;
}

/* Also after recording has ended: another thread may still be inside. */
static int tracker_remove(int handle, bool waits)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    int code;

    (void)lifecycle_is_ready(); /* a fork child detects here that it is one */
    code = event_callbacks_remove(handle, waits, &origin);
    if (code == ENOENT)
        groups_count_bad_handle();
    return code;
}

static int report(const char *request, int fd)
{
    return lifecycle_is_ready() ? self_report_ask(request, fd) : ENOTCONN;
}

static int heap_image(const char *name)
{
    return lifecycle_is_ready()
               ? self_report_heap_image("program", name ? name : "", SELF_REPORT_FRAME())
               : ENOTCONN;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Copies a structure as the program knows it. Members of later versions are zero. */
static void read_known(void *ret, size_t ret_bytes, const void *known, size_t known_bytes)
{
    const size_t both_bytes = known_bytes < ret_bytes ? known_bytes : ret_bytes;

    memset(ret, 0, ret_bytes);
    memcpy(ret, known, both_bytes);
}

static struct mtrace_root root_of(const void *known, size_t known_bytes)
{
    struct mtrace_root root;

    read_known(&root, sizeof(root), known, known_bytes);
    return root;
}

static bool roots_add(const struct mtrace_root *roots, size_t n_roots, size_t root_bytes)
{
    const unsigned char *known = (const unsigned char *)roots;
    bool all = true;

    for (size_t i = 0; i < n_roots; i++, known += root_bytes) {
        struct mtrace_root root = root_of(known, root_bytes);
        all &= object_roots_add(&root);
    }
    return all;
}

static struct mtrace_walk *walk_new(void)
{
    return is_present() ? object_walk_new(false) : NULL;
}

static void walk_roots(struct mtrace_walk *walk)
{
    const size_t n = object_roots_count();

    for (size_t i = 0; i < n; i++) {
        struct mtrace_root root = object_roots_at(i);
        if (root.object)
            object_walk_object(walk, &root);
    }
}

static void walk_object(struct mtrace_walk *walk, const struct mtrace_root *object,
                        size_t root_bytes)
{
    const struct mtrace_root root = root_of(object, root_bytes);

    object_walk_object(walk, &root);
}

static void visit(struct mtrace_visitor *visitor, const struct mtrace_member *known,
                  size_t member_bytes)
{
    struct mtrace_member member;

    read_known(&member, sizeof(member), known, member_bytes);
    object_walk_visit(visitor, &member);
}

static size_t walk_warnings(const struct mtrace_walk *walk, const char *const **ret_texts)
{
    if (ret_texts)
        *ret_texts = walk->warnings;
    return walk->n_warnings;
}

static int walk_record(const struct mtrace_walk *walk, const char *name)
{
    (void)lifecycle_is_ready(); /* a fork child detects here that it is one */
    return object_walk_record(walk, name);
}

static uint64_t size_of_unique(const struct mtrace_root *object, size_t root_bytes)
{
    struct mtrace_walk *walk = is_present() ? object_walk_new(true) : NULL;
    uint64_t bytes;

    if (!walk)
        return 0;
    walk_object(walk, object, root_bytes);
    bytes = walk->unique_bytes;
    object_walk_free(walk);
    return bytes;
}

static const struct mtrace_objects_api api_objects = {
    .size_bytes = sizeof(api_objects),
    .roots_add = roots_add,
    .roots_remove = object_roots_remove,
    .walk_new = walk_new,
    .walk_free = object_walk_free,
    .walk_roots = walk_roots,
    .walk_object = walk_object,
    .visit = visit,
    .walk_total_bytes = object_walk_total_bytes,
    .walk_warnings = walk_warnings,
    .walk_print = object_walk_print,
    .walk_record = walk_record,
    .size_of_unique = size_of_unique,
};

/* ---- the table ------------------------------------------------------------------------------- */

static struct mtrace_counts count_all(void)
{
    struct mtrace_counts counts = groups_counters();
    struct signals_block quiet;

    counts.unreported = event_callbacks_count_unreported() + live_block_index_count_lost();
    if (!lifecycle_is_ready() || !signals_block_begin(&quiet))
        return counts;
    for (unsigned i = 0; i < LOG_DROP_REASONS; i++)
        counts.dropped += atomic_load_explicit(&segment_log()->dropped[i], memory_order_relaxed);
    signals_block_end(&quiet);
    return counts;
}

/* Fills what fits into the program's structure. */
static void counters(struct mtrace_counts *ret_counts, size_t size_bytes)
{
    const struct mtrace_counts counts = count_all();

    memset(ret_counts, 0, size_bytes);
    memcpy(ret_counts, &counts, size_bytes < sizeof(counts) ? size_bytes : sizeof(counts));
}

MTRACE_EXPORT const struct mtrace_api mtrace_api_2 = {
    .version = MTRACE_API_VERSION,
    .size_bytes = sizeof(mtrace_api_2),
    .present = is_present,
    .group_register = group_register,
    .group_intern = group_intern,
    .enter = enter,
    .exit = exit_scope,
    .current_group = scopes_group,
    .move = move,
    .context_capture = context_capture,
    .context_adopt = context_adopt,
    .inherit_groups = scopes_inherit,
    .tracking = tracking,
    .is_tracking = is_tracking,
    .marker = marker,
    .phase_begin = phase_begin,
    .phase_end = phase_end,
    .counters = counters,
    .pool_create = api_pool_create,
    .pool_alloc = api_pool_alloc,
    .pool_resize = api_pool_resize,
    .pool_free = api_pool_free,
    .pool_destroy = api_pool_destroy,
    .objects = &api_objects,
    .group_of = group_of,
    .tracker_add = tracker_add,
    .tracker_remove = tracker_remove,
    .report = report,
    .heap_image = heap_image,
};

/* ---- bytehound's API, for programs that declare it ------------------------------------------- */

void memory_profiler_start(void);
void memory_profiler_stop(void);
void memory_profiler_sync(void);
void memory_profiler_set_marker(uint32_t value);
void memory_profiler_override_next_timestamp(uint64_t timestamp_us);

MTRACE_EXPORT void memory_profiler_start(void)
{
    mtrace_api_2.tracking(true);
}

MTRACE_EXPORT void memory_profiler_stop(void)
{
    mtrace_api_2.tracking(false);
}

/* Nothing to wait for: an event is in the log when its call returns. */
MTRACE_EXPORT void memory_profiler_sync(void)
{
}

MTRACE_EXPORT void memory_profiler_set_marker(uint32_t value)
{
    char text[16];
    struct fmt name = FMT_BUFFER(text);

    fmt_decimal(&name, value);
    mtrace_api_2.marker(text);
}

/* Not supported: times come from the clock only, since they order the threads and never decrease in
 * one. */
MTRACE_EXPORT void memory_profiler_override_next_timestamp(uint64_t timestamp_us)
{
    static _Atomic bool is_reported;

    (void)timestamp_us;
    if (!atomic_exchange_explicit(&is_reported, true, memory_order_relaxed))
        signals_block_message(
            CONFIG_LEVEL_WARN,
            "memory_profiler_override_next_timestamp is not followed: times are the clock's");
}
