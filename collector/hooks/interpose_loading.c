/* SPDX-License-Identifier: MIT */
/*
 * interpose_loading: dlopen, dlmopen, dlsym, dlvsym.
 *
 * The real functions identify the caller by their return address: its search path (DT_RUNPATH,
 * $ORIGIN), its linker namespace, and the object after it in lookup order. So each wrapper works
 * first and ends with a jump. CMakeLists.txt compiles this file accordingly in each configuration.
 */
#include "collector/hooks/reference_names.h"
#include "collector/os/fmt.h"
#include "collector/os/real.h"
#include "collector/process/lifecycle.h"
#include "collector/process/loading.h"
#include "lib/abi/attr.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_attribute)
#    if __has_attribute(musttail)
#        define JUMP __attribute__((musttail)) return
#    endif
#endif
#ifndef JUMP
#    define JUMP return
#endif

/* NULL while it is too early: a sanitizer's interceptor calls dlsym before a recording can
 * begin. */
static MTRACE_NOINLINE void *find(const char *name)
{
    return real_is_bootstrap() ? NULL : real_find(name);
}

#define REAL(type, name) (g_real.name ? g_real.name : (type)(uintptr_t)find(#name))

typedef void *open_function(const char *, int);
typedef void *open_in_function(Lmid_t, const char *, int);
typedef void *look_up_function(void *, const char *);
typedef void *look_up_version_function(void *, const char *, const char *);

static MTRACE_NOINLINE void expect(void)
{
    if (!lifecycle_is_ready())
        return;
    reference_names_add();
    loading_expect();
}

MTRACE_EXPORT void *dlopen(const char *path, int flags)
{
    open_function *real = REAL(open_function *, dlopen);

    if (!real)
        return NULL;
    if (flags & RTLD_DEEPBIND)
        expect();
    JUMP real(path, flags);
}

MTRACE_EXPORT void *dlmopen(Lmid_t space, const char *path, int flags)
{
    open_in_function *real = REAL(open_in_function *, dlmopen);

    if (!real)
        return NULL;
    if (space != LM_ID_BASE || (flags & RTLD_DEEPBIND))
        expect();
    JUMP real(space, path, flags);
}

/* ---- dlsym ---- */

/* Offset of the function in struct real; 0 is malloc, n: not a function of the allocator. */
static size_t offset_of(const char *name, size_t n)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"malloc", offsetof(struct real, malloc)},
        {"free", offsetof(struct real, free)},
        {"calloc", offsetof(struct real, calloc)},
        {"realloc", offsetof(struct real, realloc)},
        {"memalign", offsetof(struct real, memalign)},
        {"aligned_alloc", offsetof(struct real, aligned_alloc)},
        {"posix_memalign", offsetof(struct real, posix_memalign)},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (fmt_is_equal(name, functions[i].name))
            return functions[i].offset;
    return n;
}

/* If the handle is a library's, the result does not depend on the caller. */
static bool may_be_pointer(const void *handle, const char *name)
{
    return handle != RTLD_DEFAULT && handle != RTLD_NEXT && name
           && offset_of(name, sizeof(struct real)) < sizeof(struct real);
}

static void *count_pointer(void *pointer, const char *name)
{
    if (pointer && pointer == real_behind(offset_of(name, 0)))
        loading_count_pointer();
    return pointer;
}

MTRACE_EXPORT void *dlsym(void *handle, const char *name)
{
    look_up_function *real = REAL(look_up_function *, dlsym);

    if (!real)
        return NULL;
    loading_look();
    if (mtrace_unlikely(may_be_pointer(handle, name)))
        return count_pointer(real(handle, name), name);
    JUMP real(handle, name);
}

MTRACE_EXPORT void *dlvsym(void *handle, const char *name, const char *version)
{
    look_up_version_function *real = REAL(look_up_version_function *, dlvsym);

    if (!real)
        return NULL;
    loading_look();
    if (mtrace_unlikely(may_be_pointer(handle, name)))
        return count_pointer(real(handle, name, version), name);
    JUMP real(handle, name, version);
}
