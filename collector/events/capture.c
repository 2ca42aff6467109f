/* SPDX-License-Identifier: MIT */
#include "collector/events/capture.h"

#include "collector/log/definition.h"
#include "collector/log/modules.h"
#include "collector/log/segment.h"
#include "collector/log/stack_tree.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/outward.h"
#include "collector/os/real.h"
#include "collector/thread/state.h"
#include "collector/unwind/own_stacks.h"
#include "collector/unwind/reference_unwinder.h"
#include "collector/unwind/unwind_state.h"
#include "lib/abi/log_format.h"

#include <dlfcn.h>
#include <stddef.h>

enum {
    MAX_ORACLE_FRAMES = 1 << 16,
    WALK_BYTES = MAX_ORACLE_FRAMES * (sizeof(uintptr_t) + sizeof(bool)),
};

/* All written by capture_init and capture_open_oracle, before threads. */
enum config_unwinder g_capture_unwinder = CONFIG_UNWINDER_NONE;
bool g_capture_has_free_backtraces;
static uint32_t g_max_depth;
static size_t (*g_oracle)(uintptr_t *, bool *, size_t);
static size_t (*g_oracle_fast)(uintptr_t *, size_t);

void capture_init(const struct config *config)
{
    struct unwind_settings settings = {.max_depth = config->max_depth};

    g_capture_has_free_backtraces = config->has_free_backtraces;
    g_max_depth = config->max_depth;
    g_capture_unwinder = config->unwinder;
    unwind_init(&settings);
}

void capture_open_oracle(const struct config *config)
{
    static char path[CONFIG_PATH_BYTES];
    const struct unwind_origin here = RECORD_ORIGIN();
    struct fmt out = FMT_BUFFER(path);
    const char *own = real_own_path();
    size_t directory_bytes = 0;
    struct thread *thread;
    void *(*open)(const char *, int) = NULL;
    void *(*find)(void *, const char *) = NULL;
    void *handle;

    if (g_capture_unwinder != CONFIG_UNWINDER_LIBUNWIND
        && config->unwinder != CONFIG_UNWINDER_CHECK)
        return;
    for (size_t i = 0; own[i]; i++)
        if (own[i] == '/')
            directory_bytes = i + 1;
    fmt_bytes(&out, own, directory_bytes);
    fmt_string(&out, "libmtrace-oracle.so");
    /* Allocations of ld.so and libunwind are not the program's. */
    thread = state_is_recording() ? thread_enter(&here) : NULL;
    if (thread)
        thread->is_muted = true;
    *(void **)(void *)&open = real_find_in_libc("dlopen");
    *(void **)(void *)&find = real_find_in_libc("dlsym");
    /* RTLD_DEEPBIND: the library must not call functions of the program. */
    handle = open && find ? open(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    if (handle) {
        *(void **)(void *)&g_oracle = find(handle, "mtrace_oracle_walk");
        *(void **)(void *)&g_oracle_fast = find(handle, "mtrace_oracle_walk_fast");
    }
    if (thread) {
        thread->is_muted = false;
        thread_leave(thread);
    }
    if (!g_oracle)
        message(CONFIG_LEVEL_ERROR, "MTRACE_UNWINDER needs a library that cannot be opened: ", path,
                0);
}

/* Turns frames into nodes, from the outermost inwards; i counts down to the wrapper's caller.
 * Modules on the stack stay loaded during this. Most callers are in the module of their callee. */
static uint32_t intern(const uintptr_t *pcs, const bool *exact, size_t n_frames, uint32_t root)
{
    struct module module = {.id = 0};
    uint32_t node = root;

    for (size_t i = n_frames; i-- > 0;) {
        bool is_exact = exact && exact[i];
        uintptr_t address = is_exact ? pcs[i] : pcs[i] - 1;
        uint32_t child;
        if (outward_has(pcs[i]))
            continue;
        if (module.id == 0 || address - module.start >= module.end - module.start)
            modules_find(address, &module);
        child = stack_tree_child(node, pcs[i], module.id, is_exact);
        if (child == LOG_NODE_NONE)
            return node == root ? LOG_NODE_NONE : node;
        node = child;
    }
    return node;
}

static uint32_t cut(size_t *n_frames, uint32_t root)
{
    if (g_max_depth == 0 || *n_frames <= g_max_depth)
        return root;
    *n_frames = g_max_depth;
    return LOG_NODE_TRUNCATED;
}

static uintptr_t *walk_of(struct thread *thread)
{
    if (!thread->walk)
        thread->walk = memory_map(thread->walk_bytes = WALK_BYTES);
    return thread->walk;
}

/* The result of the reference unwinder, in the thread's scratch memory. */
struct walk {
    const uintptr_t *pcs;
    const bool *exact; /* NULL: unknown; no frame counts as interrupted */
    size_t n_frames;   /* 0: failed, or the walk did not reach the wrapper's caller */
    bool is_cut;
};

/* The walk begins inside the reference unwinder. The program's part begins at the wrapper's return
 * address. */
static struct walk ask_oracle(struct thread *thread, const struct unwind_origin *origin)
{
    uintptr_t *pcs = walk_of(thread);
    bool *exact = pcs ? (bool *)(pcs + MAX_ORACLE_FRAMES) : NULL;
    size_t n_frames;
    size_t first = 0;

    if (!g_oracle || !g_oracle_fast || !pcs)
        return (struct walk){.n_frames = 0};
    thread->is_muted = true;
    if (g_capture_unwinder == CONFIG_UNWINDER_LIBUNWIND) {
        n_frames = g_oracle_fast(pcs, MAX_ORACLE_FRAMES);
        exact = NULL;
    } else {
        n_frames = g_oracle(pcs, exact, MAX_ORACLE_FRAMES);
    }
    thread->is_muted = false;
    while (first < n_frames && pcs[first] != origin->pc)
        first++;
    return (struct walk){pcs + first, exact ? exact + first : NULL, n_frames - first,
                         n_frames == MAX_ORACLE_FRAMES};
}

static uint32_t capture_by_oracle(struct thread *thread, const struct unwind_origin *origin)
{
    struct walk walk = ask_oracle(thread, origin);
    uint32_t root;

    if (walk.n_frames == 0)
        return LOG_NODE_NONE;
    root = cut(&walk.n_frames, walk.is_cut ? LOG_NODE_TRUNCATED : LOG_NODE_COMPLETE);
    return intern(walk.pcs, walk.exact, walk.n_frames, root);
}

/* ---- comparison with the reference unwinder ---- */

static void append_frame(struct fmt *out, const char *who, uintptr_t pc, size_t n_frames)
{
    fmt_string(out, who);
    fmt_string(out, " 0x");
    fmt_hex(out, pc);
    fmt_string(out, " of ");
    fmt_decimal(out, n_frames);
}

static void describe_difference(const struct unwind_frame *top, size_t n_ours, const uintptr_t *pcs,
                                size_t n_theirs, size_t index)
{
    char text[200];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, "at frame ");
    fmt_decimal(&out, index);
    append_frame(&out, ": ours", index < n_ours ? (top - index)->pc : 0, n_ours);
    append_frame(&out, ", libunwind's", index < n_theirs ? pcs[index] : 0, n_theirs);
    if (index > 0)
        append_frame(&out, ", inside it", (top - index + 1)->pc, n_ours);
    message(CONFIG_LEVEL_WARN, "a stack differs from libunwind's ", text, 0);
}

/* libgcc's unwinder (MIPS) ends at a frame that we found by instructions; the frames up to there
 * can be compared. On ARM libunwind guesses there, so such stacks are not compared. */
static bool is_comparable(uint32_t root)
{
    return root == LOG_NODE_COMPLETE
           || (ARCH_HAS_CODE_FRAMES && !ARCH_HAS_EXIDX && root == LOG_NODE_GUESSED);
}

/*
 * MTRACE_UNWINDER=check: compares the last capture of this memory with libunwind's frames of the
 * same stack, innermost first, and counts differences; is_exact[i] as in reference_unwinder.h.
 * Messages describe the first differences. A stack that is marked truncated or guessed is counted
 * neither as checked nor as different: libunwind guesses there, too.
 */
static void compare_with_reference(const struct unwind_memory *memory, const uintptr_t *pcs,
                                   const bool *is_exact, size_t n_frames)
{
    struct log_header *log = segment_log();
    size_t n_ours;
    const struct unwind_frame *frames = unwind_last_frames(memory, &n_ours);
    const struct unwind_frame *top = frames + n_ours - 1;
    size_t index = 0;

    if (log == NULL || n_ours == 0 || !is_comparable(unwind_last_root(memory)))
        return;
    if (unwind_last_root(memory) != LOG_NODE_COMPLETE && n_ours > n_frames)
        n_ours = n_frames;
    atomic_fetch_add_explicit(&log->unwind_checked, 1, memory_order_relaxed);
    while (index < n_ours && index < n_frames && (top - index)->pc == pcs[index]
           && ((top - index)->flags & FRAME_EXACT) == (is_exact[index] ? FRAME_EXACT : 0))
        index++;
    if (index == n_ours && index == n_frames)
        return;
    atomic_fetch_add_explicit(&log->unwind_mismatches, 1, memory_order_relaxed);
    describe_difference(top, n_ours, pcs, n_frames, index);
}

static uint32_t capture_and_check(struct thread *thread, const struct unwind_origin *origin)
{
    uint32_t node = unwind_capture(&thread->unwind, origin);
    struct walk walk = ask_oracle(thread, origin);

    if (g_oracle && !walk.is_cut)
        compare_with_reference(&thread->unwind, walk.pcs, walk.exact, walk.n_frames);
    return node;
}

/* A frame pointer is followed only outwards and inside the bounds of the thread's own stack. */
static uint32_t capture_by_frame_pointer(struct thread *thread, const struct unwind_origin *origin)
{
    uintptr_t *pcs = walk_of(thread);
    uintptr_t low = origin->cfa;
    uintptr_t fp = origin->fp;
    size_t n_frames = 0;
    uint32_t root;

    if (!pcs)
        return LOG_NODE_NONE;
    (void)own_stacks_refresh(&thread->unwind);
    pcs[n_frames++] = origin->pc;
    while (low >= thread->unwind.stack_low && fp >= low && fp % sizeof(fp) == 0
           && fp + 2 * sizeof(fp) <= thread->unwind.stack_high && n_frames < MAX_ORACLE_FRAMES) {
        const uintptr_t *frame = (const uintptr_t *)fp;
        if (frame[1] == 0)
            break;
        pcs[n_frames++] = frame[1];
        low = fp + 2 * sizeof(fp);
        fp = frame[0];
    }
    root = cut(&n_frames, LOG_NODE_GUESSED);
    return intern(pcs, NULL, n_frames, root);
}

uint32_t capture_stack_id_slow(struct thread *thread, const struct unwind_origin *origin)
{
    switch (g_capture_unwinder) {
    case CONFIG_UNWINDER_CHECK:
        return capture_and_check(thread, origin);
    case CONFIG_UNWINDER_LIBUNWIND:
        return capture_by_oracle(thread, origin);
    case CONFIG_UNWINDER_FRAME_POINTER:
        return capture_by_frame_pointer(thread, origin);
    case CONFIG_UNWINDER_FAST:
    case CONFIG_UNWINDER_NONE:
        break;
    }
    return LOG_NODE_NONE;
}
