/* SPDX-License-Identifier: MIT */
#include "queries/filter/death_queue.h"

#include "lib/base/growing.h"

#include <stdlib.h>

static void swap(struct death *a, struct death *b)
{
    struct death kept = *a;

    *a = *b;
    *b = kept;
}

bool death_queue_push(struct death_queue *queue, struct death death)
{
    size_t at = queue->n;
    struct death *list = growing_reserve(queue->list, &queue->capacity, at + 1, sizeof(*list));

    if (!list)
        return false;
    queue->list = list;
    queue->list[queue->n++] = death;
    for (; at > 0 && queue->list[at].at_ns < queue->list[(at - 1) / 2].at_ns; at = (at - 1) / 2)
        swap(&queue->list[at], &queue->list[(at - 1) / 2]);
    return true;
}

static void sink(struct death_queue *queue)
{
    struct death *list = queue->list;
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

bool death_queue_pop(struct death_queue *queue, int64_t at_ns, struct death *ret_death)
{
    if (queue->n == 0 || queue->list[0].at_ns > at_ns)
        return false;
    *ret_death = queue->list[0];
    queue->list[0] = queue->list[--queue->n];
    sink(queue);
    return true;
}

void death_queue_done(struct death_queue *queue)
{
    free(queue->list);
    *queue = (struct death_queue){0};
}
