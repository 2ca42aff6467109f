/* SPDX-License-Identifier: MIT */
#include "collector/events/embedded_patch.h"

#include "collector/arch/arch.h"
#include "collector/os/sys.h"

#include <fcntl.h>

/* ---- numbers and bytes ----------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint64_t read_number(struct embedded_patch *plan)
{
    const char *begin = plan->at;
    uint64_t value = 0;

    while (plan->at < plan->end && digit_of(*plan->at) >= 0 && plan->at - begin < 16)
        value = value << 4 | (unsigned)digit_of(*plan->at++);
    plan->is_bad |= plan->at == begin;
    return value;
}

static bool is_next(struct embedded_patch *plan, char c)
{
    if (plan->at == plan->end || *plan->at != c)
        return false;
    plan->at++;
    return true;
}

static void skip(struct embedded_patch *plan, char c)
{
    if (!is_next(plan, c))
        plan->is_bad = true;
}

static uint8_t read_bytes(struct embedded_patch *plan, uint8_t *ret_bytes, size_t most)
{
    size_t n = 0;

    for (; plan->end - plan->at >= 2 && digit_of(*plan->at) >= 0; plan->at += 2) {
        int low = digit_of(plan->at[1]);
        if (n == most || low < 0) {
            plan->is_bad = true;
            break;
        }
        ret_bytes[n++] = (uint8_t)(digit_of(*plan->at) << 4 | low);
    }
    return (uint8_t)n;
}

/* NULL: the letter is unknown, or an argument without a meaning. */
static uint8_t *argument_of(struct embedded_allocator_entry *entry, char letter)
{
    switch (letter) {
    case 's':
        return &entry->size;
    case 'n':
        return &entry->times;
    case 'a':
        return &entry->alignment;
    case 'f':
        return &entry->flags;
    case 'p':
        return &entry->block;
    case 'r':
        return &entry->store;
    default:
        return NULL;
    }
}

/* Arguments in order, up to the comma. */
static void read_shape(struct embedded_patch *plan, struct embedded_allocator_entry *entry)
{
    for (uint8_t i = 0; plan->at < plan->end && *plan->at != ','; i++) {
        char letter = *plan->at++;
        uint8_t *argument = argument_of(entry, letter);
        plan->is_bad |= i >= INSIDE_ARGUMENTS || (!argument && letter != '-');
        if (argument)
            *argument = i;
    }
}

static void read_fixes(struct embedded_patch *plan, uintptr_t base, struct code_patch *patch)
{
    while (is_next(plan, ',')) {
        uint64_t at = read_number(plan);
        uint64_t end = (skip(plan, '.'), read_number(plan));
        uint64_t target = (skip(plan, '.'), read_number(plan));
        if (patch->n_fixes == CODE_PATCH_MAX_FIXES || end > patch->n_moved || end < 4
            || at > end - 4) {
            plan->is_bad = true;
            return;
        }
        patch->fixes[patch->n_fixes].at = (uint8_t)at;
        patch->fixes[patch->n_fixes].end = (uint8_t)end;
        patch->fixes[patch->n_fixes++].target = base + (uintptr_t)target;
    }
}

static void read_entry(struct embedded_patch *plan, uintptr_t base,
                       struct embedded_allocator_entry *entry, struct code_patch *patch)
{
    char kind = plan->at < plan->end ? *plan->at++ : '\0';

    *entry = (struct embedded_allocator_entry){.usable = entry->usable,
                                               .size = EMBEDDED_ALLOCATOR_NO_ARGUMENT,
                                               .times = EMBEDDED_ALLOCATOR_NO_ARGUMENT,
                                               .alignment = EMBEDDED_ALLOCATOR_NO_ARGUMENT,
                                               .flags = EMBEDDED_ALLOCATOR_NO_ARGUMENT,
                                               .block = EMBEDDED_ALLOCATOR_NO_ARGUMENT,
                                               .store = EMBEDDED_ALLOCATOR_NO_ARGUMENT};
    *patch = (struct code_patch){.argument = (uintptr_t)entry};
    read_shape(plan, entry);
    skip(plan, ',');
    entry->call = (uint8_t)(read_number(plan) & LOG_CALL_MASK);
    skip(plan, ',');
    patch->address = base + (uintptr_t)read_number(plan);
    skip(plan, ',');
    patch->n_expected = read_bytes(plan, patch->expected, sizeof(patch->expected));
    skip(plan, ',');
    patch->n_moved = read_bytes(plan, patch->moved, sizeof(patch->moved));
    read_fixes(plan, base, patch);
    entry->kind = kind;
    plan->is_bad |= patch->n_expected < ARCH_JUMP_BYTES;
}

/* ";u,0,address": the function for usable sizes of the following entries. The first one of an
 * allocator holds; address 0 ends it. */
static bool read_usable(struct embedded_patch *plan, uintptr_t base, uintptr_t *usable)
{
    uint64_t address;

    if (!is_next(plan, 'u'))
        return false;
    skip(plan, ',');
    (void)read_number(plan);
    skip(plan, ',');
    address = read_number(plan);
    if (address == 0)
        *usable = 0;
    else if (*usable == 0)
        *usable = base + (uintptr_t)address;
    return true;
}

size_t embedded_patch_read(struct embedded_patch *plan, uintptr_t base,
                           struct embedded_allocator_entry *ret_entries,
                           struct code_patch *ret_patches, size_t most)
{
    uintptr_t usable = 0;
    size_t n = 0;

    while (!plan->is_bad && is_next(plan, ';')) {
        if (read_usable(plan, base, &usable))
            continue;
        if (n == most)
            return 0;
        ret_entries[n].usable = (size_t(*)(const void *, int))usable;
        read_entry(plan, base, &ret_entries[n], &ret_patches[n]);
        n++;
    }
    return plan->is_bad || plan->at != plan->end ? 0 : n;
}

bool embedded_patch_is_about_us(struct embedded_patch *plan)
{
    struct sys_file_id own = {0};
    long fd = sys_open("/proc/self/exe", O_PATH, 0);
    bool is_known = fd >= 0 && sys_file_id((int)fd, &own) >= 0;

    if (fd >= 0)
        sys_close((int)fd);
    is_known &= read_number(plan) == own.device;
    skip(plan, ',');
    is_known &= read_number(plan) == own.inode;
    skip(plan, ',');
    is_known &= read_number(plan) == (uint64_t)own.size_bytes;
    skip(plan, ',');
    return is_known && !plan->is_bad;
}

bool embedded_patch_is_partial(struct embedded_patch *plan)
{
    return read_number(plan) != 0;
}
