/* SPDX-License-Identifier: MIT */
#include "importer/pairing/pending.h"

#include "lib/abi/invariant.h"

#include <string.h>

void pending_remove(struct pending_list *list, struct pending *item)
{
    size_t index = (size_t)(item - list->items);

    memmove(item, item + 1, (list->n - index - 1) * sizeof *item);
    list->n--;
}

struct pending *pending_find(struct pending_list *list, const struct event *event,
                             uint64_t inversion_ns)
{
    for (size_t i = 0; i < list->n; i++) {
        struct pending *item = &list->items[i];
        if (item->address == event->address && item->process == event->process
            && event->time_ns - item->time_ns <= inversion_ns && item->thread != event->thread)
            return item;
    }
    return NULL;
}

struct pending *pending_push(struct pending_list *list, const struct event *event)
{
    struct pending *item = &list->items[list->n];

    MTRACE_ASSERT(list->n < PENDING_MAX);
    list->n++;
    *item = (struct pending){
        .time_ns = event->time_ns,
        .address = event->address,
        .process = event->process,
        .thread = event->thread,
        .backtrace = event->backtrace,
        .group = event->group,
        .is_realloc = event->kind == EVENT_REALLOC_BEGIN,
    };
    return item;
}
