/* SPDX-License-Identifier: MIT */
/*
 * Runs libraries of shapes and compares every stack with libunwind's, frame by frame.
 * Usage: run_shapes [--alone | --depth N] LIBRARY…; exit status 1 if any stack differs. With
 * --alone nothing is compared: it is enough that every walk ends and that lies are noticed. With
 * --depth longer stacks are to be cut.
 */
#include "collector/log/modules.h"
#include "collector/unwind/unwind.h"
#include "collector/unwind/unwind_state.h"
#include "lib/abi/log_format.h"
#include "tests/unwind/plain_modules.h"
#include "tests/unwind/probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__mips__)
#    include <unwind.h>
#else
#    define UNW_LOCAL_ONLY
#    include <libunwind.h>
#endif

enum {
    MAX_FRAMES = 1 << 16,
    MAX_SHOWN = 5
};

#if defined(__x86_64__)
static const bool IS_SET_FOR_CALLER =
    true; /* libunwind sets it for the frame outside a signal frame */
#elif !defined(__mips__)
static const bool IS_SET_FOR_CALLER = false;
#endif

struct stack {
    uintptr_t pcs[MAX_FRAMES];
    bool exact[MAX_FRAMES];
    size_t n_frames;
    bool is_complete;
};

static __thread struct unwind_memory g_memory;
static struct stack g_expected;
static struct stack g_found;
static bool g_is_alone;
static size_t g_depth; /* 0: no limit */
static unsigned long g_checked;
static unsigned long g_different;
static unsigned long g_incomplete;

#if defined(__mips__)

static const struct unwind_origin *g_origin; /* of the walk that is made */
static bool g_is_inside;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *stack)
{
    struct stack *found = stack;
    int is_exact = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);

    if (pc & 2) { /* as in reference_unwinder_libgcc.c */
        pc &= ~(uintptr_t)3;
        is_exact = 1;
    }
    g_is_inside |= pc == g_origin->pc;
    if (g_is_inside && found->n_frames < MAX_FRAMES) {
        found->pcs[found->n_frames] = pc;
        found->exact[found->n_frames++] = is_exact != 0;
    }
    return pc != 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* libunwind is of no use there (reference_unwinder_libgcc.c). */
static void walk_with_libunwind(const struct unwind_origin *origin, struct stack *ret_stack)
{
    g_origin = origin;
    g_is_inside = false;
    ret_stack->n_frames = 0;
    _Unwind_Backtrace(add_frame, ret_stack);
}

#else

/* The code to which a function of makecontext returns has no CFI on i386, and libunwind guesses its
 * caller by a frame pointer of another stack. */
static bool is_stack_bottom(uintptr_t pc)
{
#    if defined(__i386__)
    Dl_info info = {0};

    return dladdr((void *)(pc - 1), &info) != 0 && info.dli_sname != NULL
           && strcmp(info.dli_sname, "makecontext") == 0;
#    else
    (void)pc;
    return false;
#    endif
}

static void walk_with_libunwind(const struct unwind_origin *origin, struct stack *ret_stack)
{
    unw_context_t context;
    unw_cursor_t cursor;
    bool is_exact = false;
    bool is_inside = false;
    bool is_step;
    unw_word_t last_pc = 0;
    unw_word_t last_sp = 0;

    ret_stack->n_frames = 0;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    do {
        unw_word_t pc;
        unw_word_t sp;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        pc = arch_code_address(pc);
        if (pc == origin->pc && sp == origin->cfa)
            is_inside = true;
        if (pc == 0 || (pc == last_pc && sp == last_sp)) /* a step that leads nowhere */
            break;
        last_pc = pc;
        last_sp = sp;
        if (is_inside && ret_stack->n_frames < MAX_FRAMES) {
            ret_stack->pcs[ret_stack->n_frames] = pc;
            ret_stack->exact[ret_stack->n_frames++] = is_exact;
        }
        is_exact = !IS_SET_FOR_CALLER && unw_is_signal_frame(&cursor) > 0;
        is_step = unw_step(&cursor) > 0;
        is_exact |= IS_SET_FOR_CALLER && unw_is_signal_frame(&cursor) > 0;
    } while (is_step && !(is_inside && is_stack_bottom(last_pc)));
}

#endif

static void read_node(uint32_t node, struct stack *ret_stack)
{
    ret_stack->n_frames = 0;
    while (node >= LOG_NODE_FIRST && ret_stack->n_frames < MAX_FRAMES) {
        const struct plain_node *slot = plain_node(node);
        ret_stack->pcs[ret_stack->n_frames] = slot->address;
        ret_stack->exact[ret_stack->n_frames++] = slot->is_exact;
        node = slot->parent;
    }
    ret_stack->is_complete = node == LOG_NODE_COMPLETE;
}

static bool is_inside_same(const struct stack *a, const struct stack *b, size_t n_frames)
{
    for (size_t i = 0; i < n_frames; i++)
        if (a->pcs[i] != b->pcs[i] || a->exact[i] != b->exact[i])
            return false;
    return true;
}

static bool is_same(const struct stack *a, const struct stack *b)
{
    return a->n_frames == b->n_frames && is_inside_same(a, b, a->n_frames);
}

/* libgcc's unwinder ends in code without CFI, of libc on MIPS, where mtrace's continues by reading
 * the code. */
static bool is_further(const struct stack *found, const struct stack *expected)
{
#if defined(__mips__)
    return !found->is_complete && expected->n_frames > 0 && found->n_frames > expected->n_frames
           && is_inside_same(found, expected, expected->n_frames);
#else
    (void)found;
    (void)expected;
    return false;
#endif
}

static void show(const char *title, const struct stack *stack)
{
    printf("%s: %zu frames\n", title, stack->n_frames);
    for (size_t i = 0; i < stack->n_frames && i < 40; i++) {
        Dl_info info = {0};
        dladdr((void *)(stack->pcs[i] - !stack->exact[i]), &info);
        printf("  %3zu %#lx%s %s %s\n", i, (unsigned long)stack->pcs[i],
               stack->exact[i] ? " exact" : "", info.dli_sname ? info.dli_sname : "?",
               info.dli_fname ? info.dli_fname : "?");
    }
}

/* The expected stack when only g_depth frames are wanted. */
static void cut_expected(void)
{
    g_expected.is_complete = g_depth == 0 || g_expected.n_frames <= g_depth;
    if (!g_expected.is_complete)
        g_expected.n_frames = g_depth;
}

/* Called through a pointer by shapes; its own frame stands for the wrapper's. */
__attribute__((noinline)) static void probe(void)
{
    struct unwind_origin origin = {
        .pc = ARCH_RETURN_ADDRESS(), .cfa = ARCH_CFA(), .fp = ARCH_CALLER_FP()};
    uint32_t node = unwind_capture(&g_memory, &origin);

    read_node(node, &g_found);
    g_checked++;
    if (!g_is_alone)
        walk_with_libunwind(&origin, &g_expected);
    if (!g_is_alone && is_further(&g_found, &g_expected))
        return;
    g_incomplete += !g_found.is_complete;
    if (g_is_alone)
        return;
    cut_expected();
    if (is_same(&g_found, &g_expected) && g_found.is_complete == g_expected.is_complete)
        return;
    if (g_different++ < MAX_SHOWN) {
        show("libunwind", &g_expected);
        show("ours", &g_found);
    }
}

/* A limit on depth ends the walk: of a deep stack met for the first time no more is remembered. */
__attribute__((noinline)) static size_t count_remembered_at(int depth)
{
    size_t n_frames = 0;

    if (depth > 0) {
        n_frames = count_remembered_at(depth - 1);
    } else {
        probe();
        n_frames = ((const struct unwind_state *)g_memory.state)->last_record->n_frames;
    }
    __asm__ volatile("" : "+r"(n_frames)); /* or the recursion becomes a loop */
    return n_frames;
}

static bool stops_early(void)
{
    enum {
        DEEP = 1000
    };

    unwind_memory_done(&g_memory);
    return g_depth == 0 || count_remembered_at(DEEP) == g_depth;
}

static void set_stack_bounds(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t n_bytes;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &n_bytes);
    pthread_attr_destroy(&attributes);
    g_memory.stack_low = (uintptr_t)low;
    g_memory.stack_high = (uintptr_t)low + n_bytes;
}

static void run(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*shapes)(probe_function *);

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    *(void **)&shapes = dlsym(library, "shapes_run");
    shapes(probe);
    /* the next library is likely to be mapped at the same addresses */
    modules_bump_epoch();
    dlclose(library);
    modules_bump_epoch();
#if !defined(__mips__)
    unw_flush_cache(unw_local_addr_space, 0, 0);
#endif
}

int main(int argc, char **argv)
{
    struct unwind_settings settings = {0};
    bool is_early;

    if (argc > 1 && strcmp(argv[1], "--alone") == 0) {
        g_is_alone = true;
        argc--;
        argv++;
    }
    if (argc > 2 && strcmp(argv[1], "--depth") == 0) {
        settings.max_depth = (uint32_t)strtoul(argv[2], NULL, 10);
        g_depth = settings.max_depth;
        argc -= 2;
        argv += 2;
    }
    unwind_init(&settings);
    for (int with_bounds = 0; with_bounds < 2; with_bounds++) {
        if (with_bounds)
            set_stack_bounds();
        for (int i = 1; i < argc; i++)
            run(argv[i]);
    }
    is_early = stops_early();
    unwind_memory_done(&g_memory);
    printf("%lu stacks checked, %lu differ, %lu not complete\n", g_checked, g_different,
           g_incomplete);
    if (g_is_alone)
        return g_incomplete == 0;
    return g_checked == 0 || g_different > 0 || (g_depth == 0) != (g_incomplete == 0) || !is_early;
}
