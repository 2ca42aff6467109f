/* SPDX-License-Identifier: MIT */
/* Which answers may be cached. */
#include "symbolizer/symbolizer.h"
#include "tests/lib/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
/* clang-format on */

static const struct symbolizer_options no_options;

static struct symbolizer *open_object(const char *path)
{
    struct symbolizer *symbolizer;
    struct error err;

    assert_int_equal(
        symbolizer_open(&no_options, &(struct symbolizer_object){.path = path}, &symbolizer, &err),
        0);
    return symbolizer;
}

/* A library of the distribution: its symbols are all there is, for every request. */
TEST(an_object_without_debug_info_has_an_identity)
{
    struct symbolizer *symbolizer;
    const char *identity;
    Dl_info found;

    assert_true(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &found) != 0);
    symbolizer = open_object(found.dli_fname);
    identity = symbolizer_identity(symbolizer);
    if (!symbolizer_note(symbolizer)) {
        symbolizer_close(symbolizer);
        print_message("cmocka has debug info here\n");
        skip();
    }
    assert_non_null(identity);
    assert_non_null(strstr(identity, found.dli_fname));
    assert_non_null(strstr(identity, "debug none"));
    symbolizer_close(symbolizer);
}

TEST(a_missing_object_has_none)
{
    struct symbolizer *symbolizer = open_object("/no/such/object");

    assert_non_null(symbolizer_note(symbolizer));
    assert_null(symbolizer_identity(symbolizer));
    symbolizer_close(symbolizer);
}
