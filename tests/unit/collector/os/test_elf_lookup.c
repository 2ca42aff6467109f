/* SPDX-License-Identifier: MIT */
/* The collector's symbol lookup against dlsym, over everything that libc defines. */
#include "collector/os/elf_lookup.h"
#include "collector/os/real.h"
#include "tests/lib/unit.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

static struct link_map *find_object(const char *part)
{
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (strstr(map->l_name, part))
            return map;
    return NULL;
}

/* The symbols of the table. The GNU hash gives their number only indirectly; MIPS, which has none,
 * gives it directly. */
static uint32_t count_symbols(const struct elf_lookup *object)
{
    const uint32_t *table = object->gnu_hash;
    const uint32_t *buckets;
    const uint32_t *chain;
    uint32_t last = 0;

    if (!table)
        return (uint32_t)object->n_symbols;
    buckets = table + 4 + table[2] * (sizeof(uintptr_t) / sizeof(*table));
    chain = buckets + table[0];
    for (uint32_t i = 0; i < table[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    while (!(chain[last - table[1]] & 1))
        last++;
    return last + 1;
}

TEST(libc_functions_are_those_of_dlsym)
{
    struct link_map *map = find_object("libc.so.6");
    struct elf_lookup libc = elf_lookup_open(map);
    void *handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
    unsigned n_compared = 0;

    assert_non_null(handle);
    for (uint32_t i = 1; i < count_symbols(&libc); i++) {
        const char *name = libc.strings + libc.symbols[i].st_name;
        const ElfW(Sym) *symbol = elf_lookup_find(&libc, name);
        unsigned type;
        if (!symbol)
            continue;
        type = ELF64_ST_TYPE(symbol->st_info);
        if (type != STT_FUNC && type != STT_GNU_IFUNC)
            continue;
        if (elf_lookup_resolve(&libc, symbol) != dlsym(handle, name))
            fail_msg("%s differs", name);
        n_compared++;
    }
    assert_true(n_compared > 1500);
    dlclose(handle);
}

/* To AArch64 the tag of that number is DT_AARCH64_AUTH_RELRSZ: bytes, and more than there are
 * symbols. */
TEST(only_mips_has_a_symbol_count_tag)
{
    ElfW(Dyn) dynamic[] = {{.d_tag = DT_MIPS_SYMTABNO, .d_un.d_val = 40}, {.d_tag = DT_NULL}};
    const struct link_map map = {.l_ld = dynamic};

#if defined(__mips__)
    assert_int_equal(elf_lookup_open(&map).n_symbols, 40);
#else
    assert_int_equal(elf_lookup_open(&map).n_symbols, 0);
#endif
}

/* Old versions of a name are hidden: symbols that cannot be linked today are not found. */
TEST(hidden_versions_are_skipped)
{
    struct link_map *map = find_object("libc.so.6");
    struct elf_lookup libc = elf_lookup_open(map);

    assert_null(elf_lookup_find(&libc, "cfree"));
    assert_null(elf_lookup_find(&libc, "no_such_function"));
    assert_null(elf_lookup_find(&libc, ""));
}

TEST(the_vdso_is_found)
{
    int (*gettime)(clockid_t, struct timespec *);
    void *found = real_find_in_vdso("__vdso_clock_gettime");
    struct timespec ours;
    struct timespec theirs;

    if (!found)
        skip();
    memcpy(&gettime, &found, sizeof(found));
    assert_int_equal(gettime(CLOCK_MONOTONIC, &ours), 0);
    clock_gettime(CLOCK_MONOTONIC, &theirs);
    assert_true(theirs.tv_sec - ours.tv_sec <= 1);
}

/* This program is first in load order, as a preloaded library nearly is. */
TEST(real_functions_are_the_next_definitions)
{
    assert_true(real_init(NULL));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these bring their own */
    assert_true(real_is_glibc_malloc());
#endif
    assert_ptr_equal((void *)(uintptr_t)g_real.malloc, dlsym(RTLD_NEXT, "malloc"));
    assert_ptr_equal((void *)(uintptr_t)g_real.exit_immediately, dlsym(RTLD_NEXT, "_exit"));
    assert_null(g_real.mallocx);
    assert_false(real_is_malloc_ours());
}

TEST(early_blocks_are_apart_and_keep_their_contents)
{
    char *a = real_bootstrap_allocate(0, 100);
    char *b = real_bootstrap_allocate(64, 100);
    char *moved;

    assert_false(real_is_bootstrap());
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)b % 64, 0);
    assert_true(b >= a + 100 || a >= b + 100);
    assert_true(real_is_bootstrap_block(a) && real_is_bootstrap_block(b)
                && !real_is_bootstrap_block(&a));
    strcpy(a, "kept");
    moved = real_bootstrap_reallocate(a, 200);
    assert_false(real_is_bootstrap_block(moved)); /* malloc works by now */
    assert_string_equal(moved, "kept");
    free(moved);
    assert_null(real_bootstrap_allocate(0, 1 << 20));
}
