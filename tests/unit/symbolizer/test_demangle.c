/* SPDX-License-Identifier: MIT */
#include "symbolizer/demangle.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

static void assert_demangled(char *(*demangle)(const char *), const char *raw, const char *expected)
{
    char *name = demangle(raw);

    assert_string_equal(name ? name : "NULL", expected);
    free(name);
}

TEST(cxx_and_rust_are_known)
{
    assert_demangled(demangle_full, "_Znwm", "operator new(unsigned long)");
    assert_demangled(demangle_full, "_ZNKSt6vectorIiSaIiEE4sizeEv",
                     "std::vector<int, std::allocator<int> >::size() const");
    assert_demangled(demangle_full, "_Z3fooi.cold", "foo(int) [clone .cold]");
    assert_demangled(demangle_full, "_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE",
                     "alloc::raw_vec::finish_grow");
    assert_demangled(demangle_full, "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

TEST(d_is_known)
{
    assert_demangled(demangle_full, "_D3app4growFiZPv", "app.grow(int)");
    assert_demangled(demangle_qualified, "_D3app4growFiZPv", "app.grow");
    assert_demangled(demangle_full, "_D3app__T4ListTiZQi3getMxFNaNbNiNfZi",
                     "app.List!(int).List.get() const");
    assert_demangled(demangle_qualified, "_D3app__T4ListTiZQi3getMxFNaNbNiNfZi",
                     "app.List!(int).List.get");
    assert_demangled(demangle_full, "_D3app4mainFZ5innerMFNbNiiZv", "app.main().inner(int)");
    assert_demangled(demangle_qualified, "_D3app4mainFZ5innerMFNbNiiZv", "app.main().inner");
    assert_demangled(demangle_full, "_Dmain", "D main");
    assert_demangled(demangle_full, "_D", "NULL");
    assert_demangled(demangle_full, "_DYNAMIC", "NULL");
    assert_demangled(demangle_full, "_D3ap", "NULL");
}

/* A pair of equal types doubles the text, and a pointer to a pointer takes stack. */
TEST(exponential_d_types_are_not_demangled)
{
    static char raw[100000] = "_D1a1fFHii";
    size_t used = strlen(raw);

    for (int i = 0; i < 60; i++)
        used += (size_t)snprintf(raw + used, sizeof(raw) - used, i ? "HQgQi" : "HQeQg");
    (void)snprintf(raw + used, sizeof(raw) - used, "Zv");
    assert_demangled(demangle_full, raw, "NULL");
    memset(raw + 5, 'F', sizeof(raw) - 6);
    free(demangle_full(raw));
    raw[4096] = '\0';
    free(demangle_full(raw));
}

TEST(plain_names_are_not_demangled)
{
    assert_demangled(demangle_full, "main", "NULL");
    assert_demangled(demangle_full, "", "NULL");
    assert_demangled(demangle_full, "_", "NULL");
    assert_demangled(demangle_full, "_start", "NULL");
    assert_demangled(demangle_full, "_Z", "NULL");
    assert_demangled(demangle_full, "_ZN", "NULL");
}

TEST(qualified_names_have_no_types_around)
{
    assert_demangled(demangle_qualified, "_Z5makerIiESsv", "maker<int>");
    assert_demangled(demangle_qualified, "_Znam", "operator new[]");
    assert_demangled(demangle_qualified, "_ZNSt6vectorIiSaIiEE9push_backERKi",
                     "std::vector<int, std::allocator<int> >::push_back");
}

/* Each substitution doubles the text: some 100 bytes stand for 2^40 parameters. */
TEST(exponential_substitutions_are_not_demangled)
{
    char raw[512] = "_Z1fI1aIi";
    size_t used = strlen(raw);

    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf(raw + used, sizeof(raw) - used, "S%c_S%c_E1aI", '0' + i % 10,
                                 '0' + i % 10);
    free(demangle_full(raw));
    strcpy(raw, "_Z1fM1aS_");
    used = strlen(raw);
    for (int i = 0; i < 40; i++)
        used +=
            (size_t)snprintf(raw + used, sizeof(raw) - used, "MS%c_S%c_", '0' + i % 9, '0' + i % 9);
    free(demangle_full(raw));
}
