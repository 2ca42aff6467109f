/* SPDX-License-Identifier: MIT */
/* A name identifies the function and its arguments; other names identify nothing. */
#include "recorder/patch/entry_names.h"
#include "tests/lib/unit.h"

static void is(const char *symbol, const char *allocator, const char *shape, enum log_call call)
{
    struct entry_name name;

    assert_true(entry_names_find(symbol, NULL, &name));
    assert_string_equal(name.allocator, allocator);
    assert_string_equal(name.shape, shape);
    assert_int_equal(name.call, call);
}

TEST(functions_of_known_allocators_are)
{
    is("malloc", "malloc", "+s", LOG_CALL_MALLOC);
    is("_rjem_rallocx", "jemalloc", "=psf", LOG_CALL_RALLOCX);
    is("je_sdallocx", "jemalloc", "-p", LOG_CALL_MALLOC);
    is("tc_newarray_aligned", "tcmalloc", "+sa", LOG_CALL_NEW);
    is("TCMallocInternalPosixMemalign", "tcmalloc", "@ras", LOG_CALL_POSIX_MEMALIGN);
    is("mi_calloc_aligned", "mimalloc", "+nsa", LOG_CALL_ALIGNED_ALLOC);
    is("mi_heap_realloc_aligned", "mimalloc", "=-psa", LOG_CALL_REALLOC);
    is("mi_theap_malloc", "mimalloc", "+-s", LOG_CALL_MALLOC);
    is("mi_heap_alloc_new_n", "mimalloc", "+-ns", LOG_CALL_NEW);
    is("sn_rust_realloc", "snmalloc", "=pa-s", LOG_CALL_REALLOC);
    is("rpaligned_calloc", "rpmalloc", "+ans", LOG_CALL_CALLOC);
    is("_ZdaPvmSt11align_val_t", "malloc", "-p", LOG_CALL_MALLOC);
}

/* The collector passes on five arguments; functions with more report all, so that none is
 * redirected. */
TEST(all_arguments_of_long_calls_are_reported)
{
    is("mi_recalloc_aligned_at", "mimalloc", "=pnsa-", LOG_CALL_REALLOCARRAY);
    is("mi_heap_rezalloc_aligned_at", "mimalloc", "=-psa-", LOG_CALL_REALLOC);
    is("mi_heap_recalloc_aligned_at", "mimalloc", "=-pnsa-", LOG_CALL_REALLOCARRAY);
    is("mi_theap_recalloc_aligned_at", "mimalloc", "=-pnsa-", LOG_CALL_REALLOCARRAY);
}

TEST(functions_without_hooks_are_listed)
{
    is("mi_reallocf", "mimalloc", "?", LOG_CALL_REALLOC);
    is("mi_heap_reallocf", "mimalloc", "?", LOG_CALL_REALLOC);
    is("rpmalloc_heap_free", "rpmalloc", "?", LOG_CALL_MALLOC);
    is("rpmalloc_heap_realloc", "rpmalloc", "?", LOG_CALL_REALLOC);
}

TEST(others_are_not)
{
    static const char *const names[] = {"",
                                        "main",
                                        "my_malloc",
                                        "mallocs",
                                        "_rjem_je_malloc_default",
                                        "mi_",
                                        "mi_heap_free",
                                        "mi_heap_destroy",
                                        "mi_heap_new", /* a heap */
                                        "mi_mallocx",
                                        "_ZN6malloc4freeEv",
                                        "_rjem_",
                                        "TCMallocInternalmalloc",
                                        "tc_mallocx",
                                        "dlmallocx"};
    struct entry_name name;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_false(entry_names_find(names[i], NULL, &name));
}

TEST(a_prefix_of_the_programs_own_may_be_reported)
{
    struct entry_name name;

    assert_false(entry_names_find("my_mallocx", NULL, &name));
    assert_true(entry_names_find("my_mallocx", "my_", &name));
    assert_string_equal(name.shape, "+sf");
    assert_string_equal(name.prefix, "my_");
    assert_true(entry_names_find("free", "my_", &name));
    assert_string_equal(name.prefix, "");
}
