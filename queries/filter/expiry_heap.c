/* SPDX-License-Identifier: MIT */
#include "queries/filter/expiry_heap.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

static void swap(struct free_event *a, struct free_event *b)
{
    struct free_event kept = *a;

    *a = *b;
    *b = kept;
}

bool expiry_heap_push(struct expiry_heap *queue, struct free_event free_event)
{
    size_t at = queue->n;
    struct free_event *list =
        dynamic_array_reserve(queue->list, &queue->capacity, at + 1, sizeof(*list));

    if (!list)
        return false;
    queue->list = list;
    queue->list[queue->n++] = free_event;
    for (; at > 0 && queue->list[at].at_ns < queue->list[(at - 1) / 2].at_ns; at = (at - 1) / 2)
        swap(&queue->list[at], &queue->list[(at - 1) / 2]);
    return true;
}

static void sink(struct expiry_heap *queue)
{
    struct free_event *list = queue->list;
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < queue->n && list[child + 1].at_ns < list[child].at_ns)
            child++;
        if (child >= queue->n || list[at].at_ns <= list[child].at_ns)
            return;
        swap(&list[at], &list[child]);
        at = child;
    }
}

bool expiry_heap_pop(struct expiry_heap *queue, int64_t at_ns, struct free_event *ret_free_event)
{
    if (queue->n == 0 || queue->list[0].at_ns > at_ns)
        return false;
    *ret_free_event = queue->list[0];
    queue->list[0] = queue->list[--queue->n];
    sink(queue);
    return true;
}

void expiry_heap_done(struct expiry_heap *queue)
{
    free(queue->list);
    *queue = (struct expiry_heap){0};
}
