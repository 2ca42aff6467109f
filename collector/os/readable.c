/* SPDX-License-Identifier: MIT */
#include "collector/os/readable.h"

#include "collector/arch/arch.h"
#include "collector/os/sys.h"

#include <stdint.h>

static uintptr_t page_of(uintptr_t at)
{
    return at & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
}

enum {
    NO_PAGE = 1
};

/* *page was found readable before. Neighbours are mostly on one page. */
static bool is_readable(uintptr_t at, uintptr_t *page)
{
    if (page_of(at) == *page)
        return true;
    if (!sys_is_readable(page_of(at)))
        return false;
    *page = page_of(at);
    return true;
}

static bool is_string(const char *text, uintptr_t *page)
{
    for (;; text++) {
        if (!is_readable((uintptr_t)text, page))
            return false;
        if (!*text)
            return true;
    }
}

bool readable_string(const char *text)
{
    uintptr_t page = NO_PAGE;

    return is_string(text, &page);
}

bool readable_strings(char *const *array)
{
    uintptr_t page_of_array = NO_PAGE;
    uintptr_t page_of_strings = NO_PAGE;

    for (;; array++) {
        const uintptr_t first = (uintptr_t)array;
        if (!is_readable(first, &page_of_array)
            || !is_readable(first + sizeof(*array) - 1, &page_of_array))
            return false;
        if (!*array)
            return true;
        if (!is_string(*array, &page_of_strings))
            return false;
    }
}
