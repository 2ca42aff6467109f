/* SPDX-License-Identifier: MIT */
#include "importer/totals/address_set.h"

#include <search.h>
#include <stdlib.h>

static int compare(const struct address_item *left, const struct address_item *right)
{
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->of > right->of) - (left->of < right->of);
}

static int compare_items(const void *left, const void *right)
{
    return compare(left, right);
}

/* First member: <search.h> passes a pointer to the searched item as first argument, also in
 * tfind. */
struct search {
    struct address_item item;
    const struct address_item *before, *behind; /* nearest so far */
};

static int compare_and_note(const void *left, const void *right)
{
    struct search *search = (struct search *)(uintptr_t)left;
    const struct address_item *item = right;
    int order = compare(&search->item, item);

    if (order < 0)
        search->behind = item;
    else
        search->before = item;
    return order;
}

void address_set_done(struct address_set *set)
{
    while (set->root) {
        struct address_item *item = *(struct address_item **)set->root;
        tdelete(item, &set->root, compare_items);
        free(item);
    }
}

int address_set_put(struct address_set *set, const struct address_item *item, struct error *err)
{
    struct address_item *copy = malloc(sizeof(*copy));
    struct address_item **found = copy ? tsearch(item, &set->root, compare_items) : NULL;

    if (!found) {
        free(copy);
        return error_set(err, ERROR_NOMEM, "out of memory for blocks of pools");
    }
    *copy = *item;
    if (*found != item)
        free(*found);
    *found = copy;
    return 0;
}

void address_set_remove(struct address_set *set, uint64_t address, uint32_t of)
{
    const struct address_item key = {.address = address, .of = of};
    struct address_item **found = tfind(&key, &set->root, compare_items);
    struct address_item *item = found ? *found : NULL;

    if (!item)
        return;
    tdelete(item, &set->root, compare_items);
    free(item);
}

const struct address_item *address_set_last_at(const struct address_set *set, uint64_t address)
{
    struct search search = {.item = {.address = address, .of = UINT32_MAX}};

    tfind(&search, &set->root, compare_and_note);
    return search.before;
}

const struct address_item *address_set_first_at(const struct address_set *set, uint64_t address)
{
    struct search search = {.item = {.address = address}};
    void *const *found = tfind(&search, &set->root, compare_and_note);

    return found ? search.before : search.behind;
}

const struct address_item *address_set_next(const struct address_set *set,
                                            const struct address_item *item)
{
    uint32_t of = item->of + 1;
    struct search search = {.item = {.address = item->address + (of == 0), .of = of}};
    void *const *found;

    if (of == 0 && search.item.address == 0)
        return NULL;
    found = tfind(&search, &set->root, compare_and_note);
    return found ? search.before : search.behind;
}
