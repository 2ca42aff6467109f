/* SPDX-License-Identifier: MIT */
/* recurring: events that a program repeats and that have a row each: windows, phases, object walks;
 * blocks of one stack that are freed on many other stacks, and by many threads. */
#include "include/mtrace_objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    N_WINDOWS = 60,
    N_PHASES = 200,
    N_DEPTHS = 40,
    N_THREADS = 40,
    N_WALKS = 40,
};

static void *volatile g_kept[N_PHASES];

struct node {
    struct node *next;
};

static struct node *g_list;

static void free_at(void *block, unsigned depth)
{
    if (depth)
        free_at(block, depth - 1);
    else
        free(block);
    __asm__ volatile(""); /* no tail call */
}

static void *free_here(void *block)
{
    free(block);
    return NULL;
}

static void windows(void)
{
    for (unsigned i = 0; i < N_WINDOWS; i++) {
        void *block;
        usleep(200);
        mtrace_tracking(true);
        block = malloc(100 + i);
        if (i % 3)
            free(block);
        usleep(200);
        mtrace_tracking(false);
    }
    mtrace_tracking(true);
}

static void phases(void)
{
    static const char *const names[] = {"load", "parse", "serve"};

    for (unsigned i = 0; i < N_PHASES; i++) {
        struct mtrace_scope outer = mtrace_phase_begin(names[i % 2]);
        struct mtrace_scope inner = mtrace_phase_begin(names[i % 3]);
        g_kept[i] = malloc(10 + i);
        mtrace_phase_end(i % 5 ? inner : outer);
        free(i % 4 ? g_kept[i] : NULL);
        mtrace_phase_end(i % 5 ? outer : inner);
    }
    mtrace_phase_begin("last");
}

static void frees(void)
{
    for (unsigned i = 0; i < 5 * N_DEPTHS; i++)
        free_at(malloc(1000), i * 7 % N_DEPTHS);
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, free_here, malloc(2000));
        pthread_join(thread, NULL);
    }
}

static void visit_node(struct mtrace_visitor *visitor, const void *object)
{
    const struct node *node = object;

    mtrace_visit_unique(visitor, "next", sizeof node->next, "node", node->next, sizeof *node,
                        visit_node);
}

static void walks(void)
{
    for (unsigned i = 0; i < N_WALKS; i++) {
        struct node *node = malloc(sizeof *node);
        struct mtrace_walk *walk = mtrace_walk_new();
        node->next = g_list;
        g_list = node;
        mtrace_walk_object(walk, "list", node, sizeof *node, visit_node);
        mtrace_walk_record(walk, "again");
        mtrace_walk_free(walk);
    }
}

int main(void)
{
    windows();
    phases();
    frees();
    walks();
    return 0;
}
