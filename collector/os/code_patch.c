/* SPDX-License-Identifier: MIT */
#include "collector/os/code_patch.h"

#include "collector/arch/arch.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

enum {
    STEP_BYTES = 65536,
    MAX_STEPS = 256,
    ROOM_BYTES = ARCH_STUB_BYTES + CODE_PATCH_MAX_MOVED, /* of one patch */
};

static bool is_as_planned(const struct code_patch *patch)
{
    uint8_t bytes[CODE_PATCH_MAX_EXPECTED];

    return sys_copy_own(bytes, patch->address, patch->n_expected) == patch->n_expected
           && bytes_equal(bytes, patch->expected, patch->n_expected);
}

/* Directly below the program, where no mapping grows; else a little further down. 0: no space. */
static uintptr_t map_room(uintptr_t start, size_t size_bytes)
{
    size_t n_bytes = (size_bytes + ARCH_PAGE_BYTES - 1) & ~(size_t)(ARCH_PAGE_BYTES - 1);
    uintptr_t at = start & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);

    for (unsigned i = 0; i < MAX_STEPS && at > STEP_BYTES + n_bytes; i++, at -= STEP_BYTES) {
        long got = sys_map_code(at - n_bytes, n_bytes);
        if (got == (long)(at - n_bytes))
            return at - n_bytes;
        if (got > 0 || got < -ARCH_PAGE_BYTES) /* an old kernel that ignores the flag */
            sys_unmap((void *)(uintptr_t)got, n_bytes);
    }
    return 0;
}

static bool write_room(int memory, uintptr_t at, struct code_patch *patch)
{
    uint8_t bytes[ROOM_BYTES];
    uint8_t *moved = bytes + ARCH_STUB_BYTES;
    size_t n_bytes = ARCH_STUB_BYTES + (size_t)patch->n_moved;

    patch->original = at + ARCH_STUB_BYTES;
    arch_write_stub(bytes, patch->argument, patch->hook);
    memcpy(moved, patch->moved, patch->n_moved);
    for (size_t i = 0; i < patch->n_fixes; i++)
        if (!arch_write_displacement(moved + patch->fixes[i].at,
                                     patch->original + patch->fixes[i].end, patch->fixes[i].target))
            return false;
    return sys_pwrite(memory, bytes, n_bytes, at) == (long)n_bytes;
}

static bool write_jump(int memory, uintptr_t at, const struct code_patch *patch)
{
    uint8_t bytes[ARCH_JUMP_BYTES];

    return arch_write_jump(bytes, patch->address, at)
           && sys_pwrite(memory, bytes, sizeof(bytes), patch->address) == sizeof(bytes);
}

/* Stubs first: a jump to a stub is written only after all stubs. */
static bool write_all(int memory, uintptr_t room, struct code_patch *patches, size_t n)
{
    size_t n_done = 0;

    for (size_t i = 0; i < n; i++)
        if (!write_room(memory, room + i * ROOM_BYTES, &patches[i]))
            return false;
    while (n_done < n && write_jump(memory, room + n_done * ROOM_BYTES, &patches[n_done]))
        n_done++;
    if (n_done == n)
        return true;
    while (n_done-- > 0)
        (void)sys_pwrite(memory, patches[n_done].expected, ARCH_JUMP_BYTES,
                         patches[n_done].address);
    return false;
}

enum log_embedded code_patch_apply(struct code_patch *patches, size_t n, uintptr_t start)
{
    uintptr_t room;
    bool is_written;
    long memory;

    for (size_t i = 0; i < n; i++)
        if (!is_as_planned(&patches[i]))
            return LOG_EMBEDDED_CHANGED;
    room = map_room(start, n * ROOM_BYTES);
    if (!room)
        return LOG_EMBEDDED_NO_ROOM;
    memory = sys_open("/proc/self/mem", O_RDWR, 0);
    is_written = memory >= 0 && write_all((int)memory, room, patches, n);
    if (memory >= 0)
        sys_close((int)memory);
    if (!is_written)
        sys_unmap((void *)room, n * ROOM_BYTES);
    return is_written ? LOG_EMBEDDED_RECORDED : LOG_EMBEDDED_REFUSED;
}
