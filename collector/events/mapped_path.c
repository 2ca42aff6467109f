/* SPDX-License-Identifier: MIT */
#include "collector/events/mapped_path.h"

#include "collector/log/definition.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "collector/thread/quiet.h"

#include <stdatomic.h>

enum {
    N_KNOWN = 1024,        /* hashes of paths defined before; a power of two */
    MOST_PATH_BYTES = 1024 /* on the caller's stack; a longer path is not recorded */
};

/* Hash in the high half, id in the low half; 0 = free. A path whose place is taken is defined
 * again. */
static _Atomic uint64_t g_known[N_KNOWN];
static _Atomic uint32_t g_last_id;

void mapped_path_forget(void)
{
    for (unsigned i = 0; i < N_KNOWN; i++)
        atomic_store_explicit(&g_known[i], 0, memory_order_relaxed);
}

static uint32_t hash_of(const char *path, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t find_or_define(int fd)
{
    char link[32];
    char path[MOST_PATH_BYTES];
    struct fmt out = FMT_BUFFER(link);
    uint32_t hash;
    uint64_t known;
    uint32_t id;
    long length;

    fmt_string(&out, "/proc/self/fd/");
    fmt_decimal(&out, (uint64_t)fd);
    length = sys_readlink(link, path, sizeof(path));
    if (length <= 0 || length == sizeof(path))
        return 0;
    hash = hash_of(path, (size_t)length);
    known = atomic_load_explicit(&g_known[hash % N_KNOWN], memory_order_acquire);
    if (known >> 32 == hash && known != 0)
        return (uint32_t)known;
    id = atomic_fetch_add_explicit(&g_last_id, 1, memory_order_relaxed) + 1;
    if (!definition_text(LOG_DEF_PATH, id, path, (size_t)length))
        return 0;
    atomic_store_explicit(&g_known[hash % N_KNOWN], (uint64_t)hash << 32 | id,
                          memory_order_release);
    return id;
}

uint32_t mapped_path_id(int fd)
{
    struct quiet quiet;
    uint32_t id;

    if (!quiet_begin(&quiet))
        return 0;
    id = find_or_define(fd);
    quiet_end(&quiet);
    return id;
}
