/* SPDX-License-Identifier: MIT */
#include "recorder/allocator/allocator.h"

#include "recorder/allocator/elf_file.h"
#include "recorder/allocator/entry_names.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const char *const g_with_operators[] = {
    "libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc_proxy", "libsnmalloc", "librpmalloc",
    "libhoard",    "libasan.so",  "libtsan.so",  "liblsan.so",         "libclang_rt", NULL,
};

static const char *const g_first[] = {"libasan.so", "libclang_rt.asan", NULL};

/* The one that the text names, or NULL. */
static const char *names_one(const char *text, const char *const *libraries)
{
    while (*libraries && !strstr(text, *libraries))
        libraries++;
    return *libraries;
}

/* ---- what a program is linked with ----------------------------------------------------------- */

static const char *at_address(const struct elf_file *file, uint64_t address)
{
    Elf64_Phdr segment;
    const uint8_t *bytes = NULL;

    return elf_file_find_loaded(file, address, 1, &segment, &bytes) ? (const char *)bytes : NULL;
}

static const char *needs_one(const struct elf_file *file, const Elf64_Dyn *dynamic, size_t n,
                             const char *const *libraries)
{
    const char *found = NULL;
    const char *end = (const char *)file->bytes + file->n_bytes;
    const char *names = NULL;

    for (size_t i = 0; i < n; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            names = at_address(file, dynamic[i].d_un.d_ptr);
    for (size_t i = 0; names && !found && i < n; i++) {
        uint64_t offset = dynamic[i].d_un.d_val;
        if (dynamic[i].d_tag == DT_NEEDED && offset < (uint64_t)(end - names)
            && memchr(names + offset, '\0', (size_t)(end - names) - offset))
            found = names_one(names + offset, libraries);
    }
    return found;
}

static const char *linked_one(const struct elf_file *file, void *libraries)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; elf_file_get_segment(file, i, &segment); i++) {
        const Elf64_Dyn *dynamic = elf_file_at(file, segment.p_offset, segment.p_filesz);
        if (segment.p_type == PT_DYNAMIC && dynamic && segment.p_offset % 8 == 0)
            return needs_one(file, dynamic, segment.p_filesz / sizeof(*dynamic), libraries);
    }
    return NULL;
}

/* ---- what is inside it ------------------------------------------------------------------------ */

static bool is_none(const struct elf_file_symbol *symbol, void *context)
{
    const char **found = context;
    struct entry_name name;

    if (!elf_file_is_function(&symbol->symbol))
        return true;
    if (entry_names_jemalloc_prefix(symbol->name) >= 0)
        *found = "jemalloc";
    else if (entry_names_find(symbol->name, NULL, &name) && name.is_telling)
        *found = name.allocator;
    return *found == NULL;
}

static const char *find_inside(const struct elf_file *file, void *context)
{
    const char *found = NULL;

    (void)context;
    elf_file_visit_symbols(file, is_none, &found);
    return found;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool allocator_wants_to_be_first(const char *path, const char *preload)
{
    return (preload && names_one(preload, g_first))
           || elf_file_ask(path, linked_one, (void *)(uintptr_t)g_first);
}

static const char *look(const struct elf_file *file, void *context)
{
    struct allocator_use *use = context;

    use->has_operators =
        use->has_operators || linked_one(file, (void *)(uintptr_t)g_with_operators);
    if (use->wanted != ALLOCATOR_LET_BE)
        entry_plan_read(file, use->wanted == ALLOCATOR_PLAN_ANY, &use->plan);
    return NULL;
}

void allocator_look(const char *path, const char *preload, enum allocator_plan wanted,
                    struct allocator_use *ret_use)
{
    *ret_use = (struct allocator_use){
        .wanted = wanted, .has_operators = preload && names_one(preload, g_with_operators)};
    (void)elf_file_ask(path, look, ret_use);
}

const char *allocator_inside(const char *path)
{
    return elf_file_ask(path, find_inside, NULL);
}
