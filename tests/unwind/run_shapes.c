/* SPDX-License-Identifier: MIT */
/*
 * Runs libraries of shapes and compares every stack with libunwind's, frame by frame.
 * Usage: run_shapes [--alone] LIBRARY…; exit status 1 if any stack differs. With --alone nothing is
 * compared: it is enough that every walk ends and that lies are noticed.
 */
#include "collector/modules.h"
#include "collector/unwind.h"
#include "common/log_format.h"
#include "tests/unwind/plain_modules.h"
#include "tests/unwind/probe.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FRAMES = 1 << 16,
    MAX_SHOWN = 5
};

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
static unsigned long g_checked;
static unsigned long g_different;
static unsigned long g_incomplete;

static void walk_with_libunwind(const struct unwind_origin *origin, struct stack *ret_stack)
{
    unw_context_t context;
    unw_cursor_t cursor;
    bool is_exact = false;
    bool is_inside = false;
    bool is_step;

    ret_stack->n_frames = 0;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    do {
        unw_word_t pc;
        unw_word_t sp;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (pc == origin->pc && sp == origin->cfa)
            is_inside = true;
        if (pc == 0)
            break;
        if (is_inside && ret_stack->n_frames < MAX_FRAMES) {
            ret_stack->pcs[ret_stack->n_frames] = pc;
            ret_stack->exact[ret_stack->n_frames++] = is_exact;
        }
        is_step = unw_step(&cursor) > 0;
        /* true for the frame outside a signal frame, which was interrupted */
        is_exact = unw_is_signal_frame(&cursor) > 0;
    } while (is_step);
}

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

static bool is_same(const struct stack *a, const struct stack *b)
{
    if (a->n_frames != b->n_frames)
        return false;
    for (size_t i = 0; i < a->n_frames; i++)
        if (a->pcs[i] != b->pcs[i] || a->exact[i] != b->exact[i])
            return false;
    return true;
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

/* Called through a pointer by shapes; its own frame stands for the wrapper's. */
__attribute__((noinline)) static void probe(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct unwind_origin origin = {.pc = (uintptr_t)__builtin_return_address(0),
                                   .cfa = (uintptr_t)(frame + 2),
                                   .fp = frame[0]};
    uint32_t node = unwind_capture(&g_memory, &origin);

    read_node(node, &g_found);
    g_checked++;
    g_incomplete += !g_found.is_complete;
    if (g_is_alone)
        return;
    walk_with_libunwind(&origin, &g_expected);
    if (is_same(&g_found, &g_expected) && g_found.is_complete)
        return;
    if (g_different++ < MAX_SHOWN) {
        show("libunwind", &g_expected);
        show("ours", &g_found);
    }
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
    unw_flush_cache(unw_local_addr_space, 0, 0);
}

int main(int argc, char **argv)
{
    struct unwind_settings settings = {0};

    if (argc > 1 && strcmp(argv[1], "--alone") == 0) {
        g_is_alone = true;
        argc--;
        argv++;
    }
    unwind_init(&settings);
    for (int with_bounds = 0; with_bounds < 2; with_bounds++) {
        if (with_bounds)
            set_stack_bounds();
        for (int i = 1; i < argc; i++)
            run(argv[i]);
    }
    unwind_memory_done(&g_memory);
    printf("%lu stacks checked, %lu differ, %lu not complete\n", g_checked, g_different,
           g_incomplete);
    if (g_is_alone)
        return g_incomplete == 0;
    return g_checked == 0 || g_different > 0 || g_incomplete > 0;
}
